"""Random queries some of whose windows have no fixed length.

Windows of a random query get other left ends: all the past, the last rows, a restart.
Some of those that take the first or the last value become as-of looks.
"""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from tests.random.queries import Case, random_case
from tiltpy.errors import QueryError
from tiltpy.ir.nodes import (
    At,
    Binary,
    Const,
    Edge,
    Element,
    Expr,
    Input,
    LastRows,
    Limit,
    Query,
    Reduce,
    Since,
    TemporalExpr,
    Window,
)
from tiltpy.ir.rows import objects_over_same_rows
from tiltpy.ir.traversal import rewrite, source_cuts
from tiltpy.passes.check_windows import check_windows
from tiltpy.types import ALL_FUTURE, ALL_PAST, BOOL, Scalar, TDom


def random_open_case(seed: int, *, by_rows: bool = True) -> Case | None:
    """A random case with open windows; None where no window can be opened."""
    return open_windows(random_case(seed, exact=True), seed, by_rows=by_rows)


def open_windows(case: Case, seed: int, *, by_rows: bool = True) -> Case | None:
    """Open windows of a case; None where no window can be opened.

    `by_rows`: objects over rows restart some of them.
    """
    random = Random(f"open {seed}")  # noqa: S311 - tests, not secrets
    conditions = [
        _condition(random, each, over_rows=over_rows)
        for each in case.query.inputs
        for over_rows in (False, True)[: 1 + by_rows]
    ]
    opener = _Opener(random, case.query, [c for c in conditions if c is not None])
    definitions = tuple(map(opener.definition, case.query.definitions))
    query = replace(case.query, definitions=(*opener.conditions, *definitions))
    try:
        check_windows(query)
    except QueryError:
        return None
    return replace(case, query=query) if opener.opened else None


def _condition(
    random: Random, declared: Input, *, over_rows: bool
) -> TemporalExpr | None:
    """An object of bools that is φ where the input is, or one over its rows."""
    if not isinstance(declared.type, Scalar) or declared.keys:
        return None
    value: Expr = At(declared.name, 0, declared.type, row=over_rows)
    if declared.type.is_number:
        bound = random.choice((0, 1))
        least = Const(float(bound) if declared.type.is_float else bound, declared.type)
        value = Binary(">", value, least, BOOL)
    elif declared.type != BOOL:
        return None
    name = f"restart_{declared.name}"
    tdom = TDom(precision=random.choice((1, 1, 1, 2)))
    if over_rows:
        name, tdom = f"row_{name}", TDom(rows=declared.name)
    return TemporalExpr(name, tdom, value, source_cuts(value))


class _Opener:
    def __init__(
        self, random: Random, query: Query, conditions: Sequence[TemporalExpr]
    ) -> None:
        self.random = random
        self.query = query
        self.same_rows: frozenset[str] = frozenset()
        self.conditions = conditions
        self.opened = False

    def definition(self, definition: TemporalExpr) -> TemporalExpr:
        """A definition with some of its windows opened."""
        whole = replace(
            self.query, definitions=(*self.conditions, *self.query.definitions)
        )
        self.same_rows = objects_over_same_rows(whole, definition)
        body = rewrite(definition.body, self.rule)
        return replace(definition, body=body, cuts=source_cuts(body))

    def rule(self, node: Expr) -> Expr:
        if not isinstance(node, Reduce) or self.random.random() < 0.3:
            return node
        self.opened = True
        is_end = node.reduction in ("first", "last")
        if is_end and isinstance(node.element, Element) and self.random.random() < 0.7:
            window = self.look(node)
            name = "first" if window.look == "next" else "last"
            return replace(node, window=window, reduction=name)
        return replace(node, window=self.window(node.window))

    def window(self, window: Window) -> Window:
        """The window with another left end, and maybe with a row at its right one."""
        kind = self.random.choice(("past", "rows", "since", "after", "fixed"))
        by_row = window.object in self.same_rows and window.end == 0
        if kind == "fixed":
            return replace(window, by_row=by_row and window.start < 0)
        limit: Limit | None = None
        if kind == "rows":
            limit = LastRows(self.random.choice((1, 2, 3, 5)))
        elif kind != "past" and self.conditions:
            limit = Since(self.random.choice(self.conditions).name)
            by_row &= limit.object in self.same_rows
        else:
            by_row &= self.random.random() < 0.5
        edge: Edge | None = "start" if kind == "after" and limit is not None else None
        near = limit is not None and self.random.random() < 0.3
        start = window.start if near else ALL_PAST
        return replace(window, start=start, limit=limit, edge=edge, by_row=by_row)

    def look(self, node: Reduce) -> Window:
        """An as-of look in the direction of a reduction."""
        window = node.window
        near = self.random.random() < 0.5
        if self.random.random() < 0.3:
            reach = self.random.choice((0, 1, 3, 8))
            center = window.end
            start, end = ALL_PAST, ALL_FUTURE
            if near:
                start, end = center - reach - 1, center + reach
            return replace(
                window,
                start=start,
                end=end,
                edge="start",
                look="nearest",
                center=center,
            )
        if node.reduction == "last":
            start = window.start if near else ALL_PAST
            return replace(window, start=start, edge="start", look="last")
        end = window.end if near else ALL_FUTURE
        return replace(window, end=end, edge="start", look="next")

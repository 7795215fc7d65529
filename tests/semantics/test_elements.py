"""Reductions over expressions of a window's element, with conditions.

`max(p * s for {price: p, size: s} in ~trades[t-1m : t] if s > 0)` and its kin, over
inputs and derived objects, fields that are null, regular and irregular rows, in texts
and in Python: each against a few lines of Python over the rows themselves.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random

import pytest

import tiltpy as tilt
from tests.compare import assert_same
from tests.compiled import Setting, run_compiled
from tests.random.queries import Case
from tiltpy.frontend.parse import parse
from tiltpy.frontend.python.builder import TDom, build_query, define, source
from tiltpy.frontend.python.expressions import Expression
from tiltpy.frontend.python.values import exists, phi
from tiltpy.interpreter.evaluate import Event, interpret
from tiltpy.ir.nodes import Query
from tiltpy.ir.print.query import format_query
from tiltpy.types import F64, I64

INPUT = "input q : { price: f64, size: i64 } interval\n"
LENGTH = 10
SETTINGS = (
    Setting(chunk=7, workers=2, special_shapes=False, optimize=False),
    Setting(vector=True, small=True, chunk=64, optimize=False),
    Setting(disabled_passes=frozenset({"fuse_operators"}), optimize=False),
)
Row = tuple[float | None, int | None]


@dataclass(frozen=True, slots=True)
class Form:
    """A reduction of `~q`, and what it is over rows that are all in the window."""

    text: str
    meant: Callable[[list[Row]], object]


def complete(rows: list[Row]) -> Iterator[tuple[float, int]]:
    """The rows without a null."""
    return ((p, s) for p, s in rows if p is not None and s is not None)


def some(values: list[float], fold: Callable[[list[float]], object]) -> object:
    """φ over none."""
    return fold(values) if values else None


FORMS = {
    "issue": Form(
        "max(p * s for {price: p, size: s} in ~q[t-10 : t] if s > 0)",
        lambda rows: some([p * s for p, s in complete(rows) if s > 0], max),
    ),
    "window": Form(
        "⊕(max, ~q[t-10 : t].price * ~q[t-10 : t].size)",
        lambda rows: some([p * s for p, s in complete(rows)], max),
    ),
    "whole": Form(
        "sum(v.size for v in ~q[t-10 : t] if v.price > 1 || v.size < 0)",
        lambda rows: some(
            [
                s
                for p, s in rows
                if s is not None and ((p is not None and p > 1) or s < 0)
            ],
            sum,
        ),
    ),
    "exists": Form(
        "count(v for v in ~q[t-10 : t] if v.price == φ)",
        lambda rows: sum(p is None for p, _ in rows),
    ),
    "missing": Form(
        "sum(v.price != φ ? v.price : 0.5 for v in ~q[t-10 : t])",
        lambda rows: some([0.5 if p is None else p for p, _ in rows], sum),
    ),
    "whole number": Form(
        "sum(60 // s for {size: s} in ~q[t-10 : t])",
        lambda rows: some([60 // s for _, s in rows if s], sum),
    ),
    "bool": Form(
        "any(s > 2 for {size: s} in ~q[t-10 : t])",
        lambda rows: some([s > 2 for _, s in rows if s is not None], any),
    ),
    "first": Form(
        "first(s * 2 for {size: s} in ~q[t-10 : t] if s != 0)",
        lambda rows: some([2 * s for _, s in rows if s], lambda found: found[0]),
    ),
    "last": Form(
        "last(p + 1 for {price: p} in ~q[t-10 : t])",
        lambda rows: some(
            [p + 1 for p, _ in rows if p is not None], lambda found: found[-1]
        ),
    ),
    "median": Form(
        "nunique(s % 3 for {size: s} in ~q[t-10 : t] if s > 0)",
        lambda rows: some(
            [s % 3 for _, s in rows if s is not None and s > 0],
            lambda found: len(set(found)),
        ),
    ),
    "struct": Form(
        "mean(m.notional for m in ~made[t-10 : t] if m.large)",
        lambda rows: some(
            [p * s for p, s in complete(rows) if s > 1],
            lambda found: sum(found) / len(found),
        ),
    ),
    "derived": Form(
        "min(v - 1 for v in ~notional[t-10 : t] if v > 0)",
        lambda rows: some([p * s - 1 for p, s in complete(rows) if p * s > 0], min),
    ),
}
DERIVED = """
~notional[t] = ~q[t].price * ~q[t].size
~made[t] = ~q[t] != φ
    ? { notional = ~q[t].price * ~q[t].size, large = ~q[t].size > 1 }
    : φ
"""


def rows_of(random: Random, *, regular: bool, nulls: bool) -> list[Event]:
    """Events of a tick or of a few, one after the other."""
    found, now = [], 0
    for _ in range(60):
        length = 1 if regular else random.randint(1, 4)
        now += 0 if regular else random.choice((0, 0, 1, 5))
        price = None if nulls and random.random() < 0.3 else random.randint(-8, 16) / 8
        size = None if nulls and random.random() < 0.2 else random.randint(-2, 5)
        found.append(Event(now, now + length, {"price": price, "size": size}))
        now += length
    return found


@pytest.mark.covering(1)
@pytest.mark.parametrize("rows", ["regular", "regular nulls", "irregular nulls"])
@pytest.mark.parametrize("name", FORMS)
def test_over_every_kind_of_rows(name: str, rows: str) -> None:
    form = FORMS[name]
    query = parse(f"{INPUT}{DERIVED}~o[t] = {form.text} output ~o")
    assert parse(format_query(query)) == query
    random = Random(f"{name} {rows}")  # noqa: S311
    events = rows_of(random, regular=rows.startswith("regular"), nulls="nulls" in rows)
    meant = interpret(query, {"q": events})
    check_meaning(query, events, form)
    for setting in SETTINGS:
        found = run_compiled(Case(query, {"q": events}, None, None), setting)
        assert_same(found, meant, query, exact=False)


def check_meaning(query: Query, events: list[Event], form: Form) -> None:
    """Check each tick against a look at the rows."""
    (snapshots,) = interpret(query, {"q": events}).values()
    at = {
        time: snapshot.value
        for snapshot in snapshots
        for time in range(snapshot.start + 1, snapshot.end + 1)
    }
    for time in range(events[0].start + 1, events[-1].end + 1):
        inside = [
            row_of(event)
            for event in events
            if event.start < time and event.end > time - LENGTH
        ]
        assert at.get(time) == pytest.approx(form.meant(inside)), time


def row_of(event: Event) -> Row:
    assert isinstance(event.value, Mapping)
    return event.value["price"], event.value["size"]


q = source("q", {"price": F64, "size": I64})
t = TDom()


def written(value: Expression) -> Query:
    """The query of one definition."""
    query = build_query(define("o", t, value))
    assert parse(format_query(query)) == query
    return query


def test_conditions_in_python() -> None:
    w = q[t - 10 : t]
    pairs = [
        (tilt.max(w.price * w.size, where=w.size > 0), FORMS["issue"].text),
        (tilt.max(w.price * w.size), FORMS["window"].text),
        (tilt.count(w, where=w.price == phi), FORMS["exists"].text),
        (
            tilt.sum(w.size, where=(w.price > 1) | (w.size < 0)),
            FORMS["whole"].text,
        ),
        (tilt.first(w.size * 2, where=w.size != 0), FORMS["first"].text),
    ]
    for value, text in pairs:
        assert written(value).definitions == parse(f"{INPUT}~o[t] = {text}").definitions
    query = written(tilt.quantile(w.price, 0.5, where=exists(w.size)))
    assert "v.price for v in ~q[t-10 : t] if v.size != φ" in format_query(query)


def test_a_where_needs_the_same_window() -> None:
    with pytest.raises(Exception, match="a second window inside one reduction"):
        written(tilt.max(q[t - 10 : t].price, where=q[t - 5 : t].size > 0))

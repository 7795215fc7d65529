"""The state of the elaboration of one body: its scope, its names, the errors so far.

The `elaborate_*` functions take it. Expressions contain names, reductions and calls,
which contain expressions again; each kind has a file that imports only those below it,
and the way back up is `Elaborator.expression`, whose rule `expressions.py` hands in.

An error in one operand does not hide an error in the next: `expressions` goes on, and a
construct with a wrong operand ends in `Poison`, which is not reported again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tiltpy.errors import QueryError
from tiltpy.frontend.elaboration.objects import Objects
from tiltpy.frontend.elaboration.poison import FatalPoison, Poison
from tiltpy.frontend.elaboration.scope import LocalBinding, Scope
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.durations import read_as_duration
from tiltpy.ir.nodes import Const, Expr, Window
from tiltpy.ir.temporal_types import is_temporal
from tiltpy.limits import MAX_ERRORS
from tiltpy.source import Span

_FATAL = ("E0301", "E0303", "E0304")
"""Codes of errors of size, after which the rest of a body is not worth elaborating."""


@dataclass(slots=True)
class ReductionFrame:
    """The inside of a reduction, and its window once that is known."""

    active: bool
    """Whether a point reference stands for the events that are alive there."""
    window: Window | None = None
    misplaced: QueryError | None = None
    """The error of the first reference to the present, if there is no window."""

    def see_present(self, error: QueryError) -> None:
        """Note a reference to the present, which is an error unless a window stands."""
        self.misplaced = self.misplaced or error


class Elaborator:
    """A body that is being elaborated.

    `home` is the scope of the query's functions: what stands outside of definitions.
    `frame` is set while the element of a reduction is elaborated.
    """

    def __init__(
        self,
        rule: Callable[["Elaborator", syntax.Expr, int], Expr],
        scope: Scope,
        objects: Objects,
        errors: list[QueryError],
        home: Scope | None = None,
    ) -> None:
        self._rule = rule
        self.scope = scope
        self.objects = objects
        self.errors = errors
        self.home = home or scope
        self.values: dict[LocalBinding, Expr] = {}
        self.lets: list[tuple[str, Expr, Span]] = []
        self.constants: dict[str, Const] = {}
        self.taken: set[str] = set()
        self.frame: ReductionFrame | None = None
        self.keyed: syntax.Ref | None = None
        """The first reference of the body to an object by key."""
        rows = scope.tdom.rows or scope.tdom.cells
        if rows is not None and objects.keys[rows]:
            self.keyed = syntax.Ref(rows, None, None, scope.tdom.span)

    def inner_body(self, scope: Scope) -> "Elaborator":
        """Make an elaborator for a body inside of this one."""
        return Elaborator(self._rule, scope, self.objects, self.errors, self.home)

    def expression(self, node: syntax.Expr, level: int) -> Expr:
        """Elaborate an expression; `level` is its depth in the body."""
        return self._rule(self, node, level)

    def expressions(self, nodes: Sequence[syntax.Expr], level: int) -> list[Expr]:
        """Elaborate several expressions; an error in one does not hide the others'."""
        values: list[Expr] = []
        for node in nodes:
            try:
                values.append(self._rule(self, node, level))
            except (QueryError, Poison) as error:
                self.report(error)
        if len(values) < len(nodes):
            raise Poison
        return values

    def operands(self, nodes: Sequence[syntax.Expr], level: int) -> list[Expr]:
        """Elaborate the operands of one operator.

        A string that was written in Python is a duration if an operand is a time or a
        duration.
        """
        values = self.expressions(nodes, level)
        if not any(is_temporal(value.type) for value in values):
            return values
        durations = [read_as_duration(node) for node in nodes]
        return [
            value if duration is None else self._rule(self, duration, level)
            for value, duration in zip(values, durations, strict=True)
        ]

    def report(self, error: QueryError | Poison) -> None:
        """Add an error to the list; raise `FatalPoison` if the body is given up."""
        if isinstance(error, QueryError):
            self.errors.append(error)
            if len(self.errors) >= MAX_ERRORS or error.code in _FATAL:
                raise FatalPoison from None
        elif isinstance(error, FatalPoison):
            raise error


def strip_parens(node: syntax.Expr) -> syntax.Expr:
    """Strip the parentheses around an expression."""
    while isinstance(node, syntax.Paren):
        node = node.operand
    return node

"""What the elaboration of one body keeps: its scope, its names, the errors so far.

An error in one operand does not hide an error in the next: `each` goes on, and a
construct of which a part was wrong ends in `Broken`, which says nothing again.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from tiltpy.errors import QueryError
from tiltpy.frontend.elaboration.reference_rules import Objects
from tiltpy.frontend.elaboration.scope import Bound, Scope
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.durations import beside_a_time
from tiltpy.frontend.surface.poison import Broken, Exhausted
from tiltpy.ir.nodes import Const, Expr, Window
from tiltpy.ir.temporal_types import is_temporal
from tiltpy.limits import MAX_ERRORS
from tiltpy.source import Span


@dataclass(slots=True)
class Frame:
    """The inside of a reduction, and its window once that is known."""

    active: bool
    """Whether it goes over the events that are alive at a point."""
    window: Window | None = None


class Elaboration(ABC):
    """A body that is being elaborated, and what every part of that needs.

    `home` is the scope of the query's own functions: all that stands outside of
    definitions. The parts build on each other: what references mean (`lookup.py`),
    local names (`locals.py`), reductions (`reducing.py`), all values (`values.py`),
    and the body with the functions and objects in it (`body.py`).
    """

    def __init__(
        self,
        scope: Scope,
        objects: Objects,
        errors: list[QueryError],
        home: Scope | None = None,
    ) -> None:
        self.scope = scope
        self.objects = objects
        self.errors = errors
        self.home = home or scope
        self.values: dict[Bound, Expr] = {}
        self.lets: list[tuple[str, Expr, Span]] = []
        self.constants: dict[str, Const] = {}
        self.taken: set[str] = set()
        self.frame: Frame | None = None
        self.keyed: syntax.Ref | None = None
        """The first reference of the body to an object by key."""

    @abstractmethod
    def expr(self, node: syntax.Expr, level: int) -> Expr:
        """The typed expression; `level` counts how deep it stands."""

    def _report(self, error: QueryError | Broken) -> None:
        """Keep an error and go on, but where what stands beside it is as deep."""
        if isinstance(error, QueryError):
            self.errors.append(error)
            enough = len(self.errors) >= MAX_ERRORS
            if enough or error.code in ("E0301", "E0303", "E0304"):
                raise Exhausted from None
        elif isinstance(error, Exhausted):
            raise error

    def each(self, nodes: Sequence[syntax.Expr], level: int) -> list[Expr]:
        """All of some expressions; an error in one does not hide the others'."""
        done: list[Expr] = []
        for node in nodes:
            try:
                done.append(self.expr(node, level))
            except (QueryError, Broken) as error:
                self._report(error)
        if len(done) < len(nodes):
            raise Broken
        return done

    def operands(self, nodes: Sequence[syntax.Expr], level: int) -> list[Expr]:
        """The same of what meets: in Python "10s" beside a duration is one too."""
        found = self.each(nodes, level)
        if not any(is_temporal(one.type) for one in found):
            return found
        meant = [beside_a_time(node) for node in nodes]
        return [
            one if new is None else self.expr(new, level)
            for one, new in zip(found, meant, strict=True)
        ]


def bare(node: syntax.Expr) -> syntax.Expr:
    """An expression without the parentheses around it."""
    while isinstance(node, syntax.Paren):
        node = node.operand
    return node

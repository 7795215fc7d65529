"""Random queries whose elements see the present.

`count(v for v in ~x[t-5 : t] if v < ~x[t])`: in elements there are point references,
the time, the bounds of events, and reductions, each as it is at `t`.
"""

from tests.random.expressions import Graded
from tests.random.grades import Level
from tests.random.open_windows import open_windows
from tests.random.queries import Case, QueryWriter, Templates, random_case
from tiltpy.types import Scalar

SEEN = 0.6
"""How likely a leaf in an element sees the present."""
DEEPEST = 2
"""Reductions inside elements of reductions, at most."""


def random_present_case(
    seed: int, *, exact: bool = True, specials: bool = False, opened: bool
) -> Case:
    """A case whose elements see the present; `opened`: in windows without a length."""
    case = random_case(seed, exact=exact, specials=specials, writes=PresentWriter)
    return (open_windows(case, seed) if opened else None) or case


class PresentWriter(QueryWriter):
    """Writes queries with windows, whose elements see the present now and then."""

    depth = 0

    def templates(self) -> Templates:
        return (*super().templates(), (24, self.window_body), (6, self.scalar_body))

    def leaf(self, scalar: Scalar, *, firm: bool = False) -> Graded:
        if self.element is None or self.depth == DEEPEST or not self.chance(SEEN):
            return super().leaf(scalar, firm=firm)
        element, names = self.element, self.locals
        self.element, self.locals, self.depth = None, [], self.depth + 1
        found = self.present(firm=firm)
        self.element, self.locals, self.depth = element, names, self.depth - 1
        if found[1].level is Level.ROUGH and (firm or found[0].type != scalar):
            return self.constant(scalar)
        return self.coerce(found, scalar)

    def present(self, *, firm: bool) -> Graded:
        """A value at the present."""
        drawn = self.random.random()
        if drawn < 0.3:
            return self.reduction(firm=firm)
        return self.clock() if drawn < 0.4 else self.column(self.reference())

    def reduced_element(self) -> Graded:
        """More often an expression, or with an `if`, than in other queries."""
        if self.chance(0.2):
            return super().reduced_element()
        assert self.element is not None
        value, grade = self.column(self.element)
        assert isinstance(value.type, Scalar)
        if grade.level < Level.ROUGH and self.chance(0.75):
            value, grade = self.number(value.type, 1)
        return self.filtered(value), grade

"""The earlier edges of windows: at a distance from the time, or where cells begin."""

from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import INF, add, i64, sub
from tiltpy.loops.nodes import LExpr, Var


@dataclass(frozen=True, slots=True)
class LowEdge:
    """The left edge of a window, from a time of the loop: `start` ticks, or `cells`.

    `cells` is a variable that the loop moves; it never moves back. `step` is the
    distance to the grid point before.
    """

    start: int
    step: LExpr
    cells: Var | None = None

    @property
    def offset(self) -> int:
        """The distance between the edge and the time that its row bound follows."""
        return self.start if self.cells is None else 0

    def follow(self, now: LExpr) -> LExpr:
        """The time that its row bound follows."""
        return now if self.cells is None else self.cells

    def at(self, now: LExpr) -> LExpr:
        """The time after which the window begins."""
        return add(now, i64(self.start)) if self.cells is None else self.cells

    def due(self, time: LExpr) -> LExpr:
        """The first time of the loop at which the window begins so late.

        A loop over cells visits each and asks for none.
        """
        return sub(time, i64(self.start)) if self.cells is None else INF

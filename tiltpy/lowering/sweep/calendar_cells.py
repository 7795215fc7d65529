"""Cells of a calendar in a sweep loop: each is a visit, evaluated at its last tick."""

from dataclasses import field

from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.calendar_cells import CellBounds
from tiltpy.ir.nodes import TemporalExpr, Window
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import sub
from tiltpy.loops.nodes import LExpr, Var
from tiltpy.lowering.sweep.low_edge import LowEdge
from tiltpy.types import Calendar


@dataclass(frozen=True, slots=True)
class CalendarCells:
    """The cell around the tick at which a visit begins.

    The loop goes from `tick` to the end of its cell, and goes on behind that. `starts`
    has the variable that says where the last so many cells start.
    """

    builder: KernelBuilder
    calendar: Calendar
    tick: Var
    step: Var
    starts: dict[int, Var] = field(default_factory=dict)

    @staticmethod
    def of(builder: KernelBuilder, definition: TemporalExpr) -> "CalendarCells | None":
        """The cells of a definition over a calendar; None of any other."""
        calendar = definition.tdom.calendar
        if calendar is None:
            return None
        tick, step = builder.fresh("tick"), builder.fresh("step")
        return CalendarCells(builder, calendar, tick, step)

    def low_edge(self, window: Window) -> LowEdge:
        """The earlier edge of a window."""
        if window.cells is None:
            return LowEdge(window.start, self.step)
        count = window.cells.count
        if count not in self.starts:
            self.starts[count] = self.builder.fresh("cells")
        return LowEdge(window.start, self.step, self.starts[count])

    def advance(self, block: Block, now: Var) -> None:
        """Find the cell around the tick; `now` becomes its end."""
        bounds = CellBounds.at(block, self.calendar, self.tick)
        start: LExpr = bounds.start(0)
        block.set(now, bounds.start(1))
        block.set(self.step, sub(now, start))
        for count, var in self.starts.items():
            block.set(var, start if count == 1 else bounds.start(1 - count))

"""Cells that are the intervals of an input: windows begin where some of them do."""

from dataclasses import field

from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.row_access import ObjectRows
from tiltpy.ir.nodes import IntervalSpan
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import greatest, i64, sub
from tiltpy.loops.nodes import LExpr, Var
from tiltpy.lowering.sweep.low_edge import LowEdge


@dataclass(frozen=True, slots=True)
class IntervalCells:
    """The intervals up to the one at which a loop over rows stands.

    `starts` has the variable that says where the last so many of them start.
    """

    builder: KernelBuilder
    starts: dict[int, Var] = field(default_factory=dict)

    def low_edge(self, span: IntervalSpan) -> LowEdge:
        """The earlier edge of a window; no loop over rows asks for its last one."""
        if span.count not in self.starts:
            self.starts[span.count] = self.builder.fresh("cells")
        return LowEdge(0, i64(1), self.starts[span.count])

    def advance(self, block: Block, rows: ObjectRows, row: LExpr) -> None:
        """Find where the intervals up to a row start."""
        for count, var in self.starts.items():
            first = greatest(sub(row, i64(count - 1)), i64(0))
            block.set(var, rows.start_at(first))

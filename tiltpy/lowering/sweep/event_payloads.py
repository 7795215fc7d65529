"""Payloads that readers compute from events, instead of loading them.

To store the payloads of an object that has one at each event, and to load them again,
takes two passes over memory. Those that follow from the event and the one before are
rematerialised where they are read.
"""

from dataclasses import replace

from tiltpy.emit.builder import Block, ExpressionBlock, KernelBuilder
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue, lower_expr
from tiltpy.ir.nodes import Expr, Window
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.nodes import LExpr
from tiltpy.lowering.sweep.event_reads import EventReads, OneEvent, WideEvents


@dataclass(frozen=True, slots=True)
class EventPayloads:
    """The payloads of an object with a snapshot at each of some events.

    Of each window in its `body` it sees the row before the event at most.
    """

    builder: KernelBuilder
    events: ObjectRows
    body: Expr
    windows: tuple[Window, ...]

    @property
    def rows_before(self) -> int:
        """The number of rows before an event that it sees at most."""
        return 1 if self.windows else 0

    def value(self, row: LExpr, exists: LExpr) -> LoopValue:
        """The payload at an event, φ unless its snapshot `exists`."""
        block = ExpressionBlock(self.builder)
        return self._lower(OneEvent(block, self.events, row), exists)

    def wide_value(self, block: Block, row: LExpr, exists: LExpr) -> LoopValue:
        """The payloads at a vector of events, before which there are others."""
        return self._lower(WideEvents(block, self.events, row), exists)

    def _lower(self, events: OneEvent | WideEvents, exists: LExpr) -> LoopValue:
        reads = EventReads(events, dict.fromkeys(self.windows, 1), {})
        return replace(lower_expr(events.block, reads.leaf, self.body), valid=exists)

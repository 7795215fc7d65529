"""Windows of all the past at the events of a point stream: `LANES` events at once.

Each lane has an event. States are combined in another order than one by one, which
exact ones do not show (`lane_scans`).
"""

from copy import copy
from dataclasses import replace

from tiltpy.abi.signature import LANES
from tiltpy.emit.builder import Block
from tiltpy.emit.output_arrays import OutputArrays, pack_snapshots
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue, Reading, lower_expr
from tiltpy.ir.nodes import At, Reduce, TemporalExpr
from tiltpy.loops.build import TRUE, add, conj, i64
from tiltpy.loops.nodes import Extract, LExpr, Var
from tiltpy.lowering.sweep.lane_scans import Restarts, TrackScans
from tiltpy.lowering.sweep.running_window import RunningWindow


class RunningVectors:
    """The visits of vectors of events, which all `windows` take in."""

    def __init__(
        self,
        definition: TemporalExpr,
        rows: ObjectRows,
        windows: list[RunningWindow],
    ) -> None:
        self.definition = definition
        self.rows = rows
        self.windows = windows

    def visit(self, block: Block, row: LExpr, out: OutputArrays, count: Var) -> None:
        """Write the results of the vector of rows from `row` on, which all exist."""
        payload = self.rows.wide_value(block, row, TRUE)
        scans = {
            each.window: scan_window(block, each, payload, TRUE, None)
            for each in self.windows
        }

        def leaf(node: Reading) -> LoopValue:
            match node:
                case At():
                    return payload
                case Reduce():
                    return scans[node.window].value(block, node)
                case _:
                    raise AssertionError("an event's value and windows are seen alone")

        value = lower_expr(block, leaf, self.definition.body)
        pack_snapshots(block, out, count, out.payload_columns(value), TRUE)
        for window in self.windows:
            leave_last(block, window, scans[window.window])
            block.set(window.hi.row, add(row, i64(LANES)))


def scan_window(
    block: Block,
    window: RunningWindow,
    payload: LoopValue,
    inside: LExpr,
    restarts: Restarts | None,
) -> RunningWindow:
    """Make the window with a state for each lane.

    It folds the `payload` of those that are `inside`, anew from one that restarts.
    """
    scan = copy(window)
    scan.occupied = restarts is None
    scan.states = copy(window.states)
    scan.states.tracks = {}
    for element, track in window.tracks.items():
        value = lower_expr(block, lambda _: payload, element)
        scans = TrackScans(track, value.valid == TRUE, restarts)
        value = replace(value, valid=conj(value.valid, inside))
        lanes = copy(track)
        lanes.running = {
            aggregate: scans.scan(block, aggregate, value)
            for aggregate in track.running
        }
        scan.tracks[element] = lanes
    return scan


def leave_last(block: Block, window: RunningWindow, scan: RunningWindow) -> None:
    """Leave the states of the last lane."""
    for element, track in window.tracks.items():
        lanes = scan.tracks[element]
        for aggregate, states in track.running.items():
            for state, scanned in zip(states, lanes.running[aggregate], strict=True):
                block.set(state, Extract(scanned, LANES - 1, state.type))

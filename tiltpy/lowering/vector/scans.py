"""Windows of lanes that fold on: rows go in one by one, results come out in lanes.

A round folds the cells of its lanes in a scalar loop, in order, and leaves the states
after each of them in small arrays; results are computed from vectors of these. So a
recurrence waits for nothing but itself, and all else of the kernel stays in lanes.

States are those of the sweep kernel, which computes the time before, and the time
behind: a call takes over what the one before has left, and leaves its own. In the lanes
before the time range the states are those at its beginning.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial

from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.abi.signature import LANES
from tiltpy.aggregates.running_states import RunningStates
from tiltpy.emit.builder import Block
from tiltpy.emit.cell_arrays import CellIndex, cells_of
from tiltpy.emit.lasting_states import LastingStates
from tiltpy.emit.references import reductions
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Reduce, TemporalExpr, Window
from tiltpy.loops.build import TRUE, add, conj, greatest, i64, le, least, sub
from tiltpy.loops.nodes import (
    Array,
    Bin,
    CountTrue,
    For,
    FromLanes,
    LExpr,
    Splat,
    Store,
    Var,
    Wide,
)
from tiltpy.lowering.vector.operands import LaneView
from tiltpy.types import BOOL, I64, Struct


@dataclass(slots=True)
class _Scan:
    """A window of a reader: the states of its reductions, in the order of the query.

    `base` is the row of the first lane's cell, `all_there` whether no cell of a round
    is null.
    """

    reader: TemporalExpr
    window: Window
    nodes: list[Reduce]
    states: RunningStates
    base: LExpr
    all_there: LExpr
    lasting: LastingStates
    reached: Var
    wide: dict[Var, Var] = field(default_factory=dict)
    arrays: dict[Var, Array] = field(default_factory=dict)


class LaneScans:
    """The scans of a loop over lanes; `rows` are those of sampled inputs."""

    def __init__(self, view: LaneView, rows: Mapping[str, ObjectRows]) -> None:
        self.view = view
        self.rows = rows
        self.scans: dict[tuple[str, Window], _Scan] = {}
        self.results: dict[tuple[str, Reduce], LoopValue] = {}

    def value(self, node: Reduce) -> LoopValue:
        """The results of a reduction over the window of each lane."""
        key = self.view.reader.name, node
        if key not in self.results:
            self._fold()
        return self.results[key]

    # A round of the loop

    def _fold(self) -> None:
        """Fold the cells of a round into the windows that can be folded now.

        Those are the reader's, and others that see inputs: several recurrences then
        wait for themselves at the same time.
        """
        view, block = self.view, self.view.block
        scans = self._begin()
        lane, each, results = view.builder.fresh("lane"), block.inner(), block.inner()
        for scan in scans:
            scan.states.insert(each, add(scan.base, lane), invariant=True)
            labelled = scan.states.relabel(partial(self._name_vector, scan))
            for node in scan.nodes:
                value = labelled.value(results, node, occupied=True)
                self.results[scan.reader.name, node] = value.in_variables(results)
        used = _variables(results.statements)
        for value in self.results.values():
            used |= _variables(value)
        for scan in scans:
            scan.wide = {var: wide for var, wide in scan.wide.items() if wide in used}
            for var, wide in scan.wide.items():
                array = view.builder.temporary(wide.name, var.type, (), LANES)
                scan.arrays[var] = array
                each.add(Store(array, lane, var))
        first, stop = self._lanes_of_range()
        some, whole = block.inner(), block.inner()
        some.add(For(lane, first, stop, each.body()))
        for scan in scans:
            for var, array in scan.arrays.items():
                some.set(scan.wide[var], Wide(array, i64(0), var.type))
        if len(each.statements) > block.costs.unrolled_scan:
            block.add(*some.statements)
        else:
            self._unroll(whole, scans)
            full = le(i64(LANES), sub(stop, first))
            block.either(conj(full, *(s.all_there for s in scans)), whole, some)
        block.add(*results.statements)

    def _lanes_of_range(self) -> tuple[LExpr, LExpr]:
        """Find the first lane in the time range, and the first one behind it."""
        view, block = self.view, self.view.block
        cell = block.name("cell", sub(view.cell, i64(view.lag)))
        ticks = sub(view.high, view.low)
        count = Bin("//", ticks, i64(view.reader.tdom.precision), I64)
        first = block.name("from", greatest(sub(i64(0), cell), i64(0)))
        return first, block.name("to", least(sub(count, cell), i64(LANES)))

    def _unroll(self, block: Block, scans: Sequence[_Scan]) -> None:
        """Fold all lanes without a loop, so that states stay in registers.

        No cell of the round is null. Where earlier ones may have been, no state is
        known to be invariant.
        """
        copies: dict[Var, list[LExpr]] = {
            wide: [] for scan in scans for wide in scan.wide.values()
        }
        complete = [
            scan.states.over(_without_nulls(scan.states.rows)) for scan in scans
        ]
        for lane in range(LANES):
            for scan, states in zip(scans, complete, strict=True):
                known = scan.all_there == TRUE
                states.insert(block, add(scan.base, i64(lane)), invariant=known)
                for var, wide in scan.wide.items():
                    label = f"{scan.window.object}.step"
                    copy = self.view.builder.fresh(label, var.type)
                    block.set(copy, var)
                    copies[wide].append(copy)
        for wide, lanes in copies.items():
            block.set(wide, FromLanes(tuple(lanes), wide.type))

    def _begin(self) -> list[_Scan]:
        """Begin the scans that can be folded now, in order of the query."""
        view = self.view
        stage = view.plan.stage_of[view.reader.name]
        begun = []
        for reader in stage.definitions:
            for window in view.plan.geometry.folds[reader.name]:
                key = reader.name, window
                known = reader is view.reader or window.object in self.rows
                if known and key not in self.scans and self._is_beside(reader):
                    self.scans[key] = self._scan(reader, window)
                    begun.append(self.scans[key])
        return begun

    def _is_beside(self, reader: TemporalExpr) -> bool:
        """Decide whether a reader's cells are those of the one under way."""
        return self.view.plan.lags[reader.name] == self.view.lag

    def _scan(self, reader: TemporalExpr, window: Window) -> _Scan:
        view, name = self.view, window.object
        newest = view.plan.geometry.newest(reader, window)
        after = newest.plus - view.plan.lags[reader.name]
        if name in self.rows:
            rows = self.rows[name]
            base = view.row(name, after)
        else:
            rows, base = self._stage(name, after), i64(0)
        nodes = [node for node in reductions(reader) if node.window == window]
        states = RunningStates(view.builder, rows)
        for node in nodes:
            states.track(node.element).reduce(node)
        reached = view.builder.fresh(f"{name}.reached")
        lasting = LastingStates(view.builder, name)
        there = self._all_there(rows, base)
        return _Scan(reader, window, nodes, states, base, there, lasting, reached)

    def _all_there(self, rows: ObjectRows, base: LExpr) -> LExpr:
        """Test whether no row of a round is null, nor any field of it."""
        masks = cells_of(rows).masks(self.view.block, CellIndex(base))
        if rows.presence is not None:
            masks.append(Wide(rows.presence, base, BOOL))
        if all(mask == TRUE for mask in masks):
            return TRUE
        count = CountTrue(conj(*masks), I64)
        return self.view.block.name("all", le(i64(LANES), count))

    def _stage(self, name: str, after: int) -> ObjectRows:
        """Lay the cells of an object that the loop computes out as rows."""
        view, block, builder = self.view, self.view.block, self.view.builder
        value = view.read_stream(name, after)
        parts = value.fields or (value,)

        def lay_out(what: str, vector: LExpr) -> Array:
            array = builder.temporary(f"{name}.{what}", vector.type, (), LANES)
            block.add(Store(array, i64(0), Splat(vector, vector.type)))
            return array

        def flags(what: str, valid: LExpr) -> Array | None:
            return None if valid == TRUE else lay_out(what, valid)

        struct = isinstance(value.type, Struct)
        valid = [flags("valid", part.valid) for part in parts]
        nullable = tuple(each is not None for each in valid)
        axis = view.plan.geometry.axes[name]
        return ObjectRows(
            name,
            value.type,
            Layout(TimeLayout.SAMPLED, nullable),
            i64(LANES),
            i64(LANES - 1),
            block.name("start", view.start(name, after)),
            i64(axis.period),
            None,
            None,
            tuple(lay_out("value", part.scalar) for part in parts),
            tuple(None if each is None else (each, i64(0)) for each in valid),
            presence=flags("alive", value.valid) if struct else None,
        )

    def _name_vector(self, scan: _Scan, var: Var) -> Var:
        """Name the vector of a state after each lane's cell."""
        if var not in scan.wide:
            label = f"{scan.window.object}.after"
            scan.wide[var] = self.view.builder.fresh(label, var.type)
        return scan.wide[var]

    # States of other calls

    def take_over(self, block: Block, reader: TemporalExpr) -> None:
        """Take over the states of a reader's windows, before the loop."""
        for window in self.view.plan.geometry.folds[reader.name]:
            scan = self.scans[reader.name, window]
            scan.states.reset(block)
            block.set(scan.reached, i64(0))
            variables = [scan.reached, scan.states.block_end, *scan.states.variables()]
            scan.lasting.add(variables)
            scan.lasting.take_over(block, block.inner())
            for var, array in scan.arrays.items():
                block.add(Store(array, i64(0), Splat(var, var.type)))

    def leave(self, block: Block, reader: TemporalExpr) -> None:
        """Leave the states at the end of the time range to the next call."""
        for window in self.view.plan.geometry.folds[reader.name]:
            scan = self.scans[reader.name, window]
            last = block.inner()
            last.set(scan.reached, add(self.view.high, i64(window.end)))
            scan.lasting.leave(block, last)


def _without_nulls(rows: ObjectRows) -> ObjectRows:
    return replace(rows, validity=(None,) * len(rows.values), presence=None)


def _variables(node: object) -> set[Var]:
    """Find all variables that occur in statements or values."""
    if isinstance(node, Var):
        return {node}
    if isinstance(node, Sequence) and not isinstance(node, str):
        return {var for each in node for var in _variables(each)}
    if is_dataclass(node):
        return _variables([getattr(node, each.name) for each in fields(node)])
    return set()

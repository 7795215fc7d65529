"""Many small keys as one: their rows are shifted to time ranges behind one another.

A call of the sweep kernel goes over the rows of many keys. What calls make is cut to
the keys' domains and shifted back (`key_shifts`).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace

import numpy as np

from tiltpy.abi.layouts import Layout
from tiltpy.abi.signature import Loop
from tiltpy.costs import KeyCosts
from tiltpy.ir.keys import KEY_STARTS
from tiltpy.lean_dataclass import dataclass
from tiltpy.plan.key_concatenation import KeyConcatenation
from tiltpy.plan.key_plan import LoopStarts
from tiltpy.plan.nodes import Refusal
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.pool import ScratchArrays
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer
from tiltpy.runtime.execution.call_numbers import total
from tiltpy.runtime.execution.call_table import CallTable
from tiltpy.runtime.execution.kernel import Kernel, Kernels
from tiltpy.runtime.execution.key_domains import (
    Domains,
    RowsByKey,
    key_domains,
)
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.ingest.keys import Groups
from tiltpy.runtime.keyed.key_shifts import (
    STARTS_LAYOUT,
    KeyRows,
    KeyShifts,
    concatenated_layout,
)
from tiltpy.runtime.keyed.snapshots import KeyedSnapshots
from tiltpy.runtime.keyed.sweep_calls import SweepBatch
from tiltpy.runtime.results.key_columns import KeySnapshots
from tiltpy.types import TDom


@dataclass(frozen=True, slots=True, eq=False)
class Concatenation:
    """The kernels for concatenated keys, and what they read of all keys.

    `offsets` count the rows of all inputs before each key, and all. If these are few,
    they are shifted once for all runs.
    """

    compile_for: Callable[[Mapping[str, Layout]], Kernels]
    kernels: Kernels
    plan: KeyConcatenation
    inputs: Mapping[str, Groups]
    tdoms: Mapping[str, TDom]
    """The time domains of the outputs, which their kernels may not have."""
    offsets: I64Array
    request: Request
    strings: Strings
    costs: KeyCosts
    _calls: "dict[tuple[int, int, int | None], _ShiftedKeys]" = field(
        default_factory=dict
    )

    @property
    def starts(self) -> LoopStarts:
        """The loops that a call for a key would start, and how many may in a batch."""
        query, costs = self.kernels.query, self.costs
        loops = self.kernels.sweep().signature.loops
        most = costs.loop_starts
        if any(_is_cut(loop) for loop in loops if loop.name in query.outputs):
            most = costs.cut_loop_starts
        if self.plan.restarts or any(
            _is_laid_out_anew(rows.buffer) for rows in self.inputs.values()
        ):
            most = costs.relaid_loop_starts
        if self.plan.restarts and any(loop.structures for loop in loops):
            most = costs.ranked_loop_starts
        return LoopStarts(len(query.definitions), most)

    @property
    def counts(self) -> I64Array:
        """The number of rows of all inputs that each key has."""
        if len(self.inputs) == 1:
            (rows,) = self.inputs.values()
            return rows.counts
        return np.diff(self.offsets)

    @staticmethod
    def of(
        compile_for: Callable[[Mapping[str, Layout]], Kernels],
        inputs: Mapping[str, RowsByKey],
        request: Request,
        strings: Strings,
        costs: KeyCosts,
    ) -> "Concatenation | Refusal":
        """Plan to concatenate keys, unless the query sees when its rows are."""
        groups = {n: rows for n, rows in inputs.items() if isinstance(rows, Groups)}
        for name in inputs.keys() - groups.keys():
            return Refusal(f"~{name} has no key")
        kernels = compile_for(_layouts(groups))
        tdoms = {each.name: each.tdom for each in kernels.query.definitions}
        if kernels.sees_beyond_keys:
            kernels = compile_for(_layouts(groups, confined=True))
        plan = kernels.concatenation
        if isinstance(plan, Refusal):
            return plan
        for name, rows in groups.items():
            if rows.buffer.domain_end is not None:
                loops = kernels.sweep().signature.loops
                # Rows of a row object have their lifetimes as they are.
                if plan.sees_bounds or any(loop.stamped for loop in loops):
                    return Refusal(f"rows of ~{name} may hold without end")
        first, *others = (rows.offsets for rows in groups.values())
        offsets = sum(others, first) if others else first
        return Concatenation(
            *(compile_for, kernels, plan, groups, tdoms, offsets),
            *(request, strings, costs),
        )

    @property
    def _is_confined(self) -> bool:
        """Tell whether kernels are of a query that is confined to keys."""
        return self.kernels.query.input(KEY_STARTS) is not None

    def describe(self) -> Iterator[str]:
        """Say what is done beside shifting rows."""
        if self.plan.restarts:
            yield "    windows of all the past restart with each key"

    def _kernels(self, most: int | None) -> Kernels:
        """Choose the kernels for keys of so many rows at most, if that is known."""
        if most is None:
            return self.kernels
        layouts = _layouts(self.inputs, most, confined=self._is_confined)
        return self.compile_for(layouts)

    def run(
        self, keys: I64Array, scratch: ScratchArrays, most: int | None
    ) -> dict[str, KeySnapshots] | None:
        """Compute the outputs of successive keys; None if there is no time enough.

        Each has so many rows at `most`, if that is known.
        """
        first, stop = int(keys[0]), int(keys[-1]) + 1
        call = self._calls.get((first, stop, most))
        if call is None:
            call = self._shift(first, stop, most)
            if call is None:
                return None
            if int(self.offsets[-1] - self.offsets[0]) <= self.costs.kept_rows:
                self._calls[first, stop, most] = call
        return call.run(keys, scratch)

    def _shift(self, first: int, stop: int, most: int | None) -> "_ShiftedKeys | None":
        """Shift the rows of some keys, if there is time enough."""
        kernels = self._kernels(most)
        query = kernels.query
        inputs = {n: rows.view(first, stop) for n, rows in self.inputs.items()}
        domains = {}
        count = stop - first
        for name, sources in query.boundaries:
            seen = [inputs[source] for source, _ in sources if source != KEY_STARTS]
            domains[name] = key_domains(self.tdoms[name], seen, count, self.request)
        reach = self.plan.reach
        shifts = KeyShifts.of(
            inputs.values(), domains.values(), self.plan.apart, self.plan.precision
        )
        if shifts is None:
            return None
        rows = {
            name: KeyRows.of(groups, self.inputs[name].counts[first:stop])
            for name, groups in inputs.items()
        }
        visible = {
            name: (shifts.shift(each, reach), inputs[name].offsets)
            for name, each in rows.items()
        }
        if self._is_confined:
            visible[KEY_STARTS] = shifts.starts(reach)
        kernel = kernels.sweep()
        loops = {
            loop.name: loop for loop in kernel.signature.loops if loop.name in domains
        }
        heads = _divide(
            self.offsets[first : stop + 1], _choose_rows(kernel, self.costs)
        )
        edges = np.append(heads, count)
        batch = SweepBatch.of_keys(
            kernel.signature,
            {
                name: _by_call(buffer, offsets[edges])
                for name, (buffer, offsets) in visible.items()
            },
            {name: shifts.cells(loop.tdom, heads) for name, loop in loops.items()},
            np.arange(len(heads)),
            self.request,
            self.strings,
        )
        limited = self.request.start is not None or self.request.end is not None
        table = batch.prepare(kernel)
        return _ShiftedKeys(
            batch, table, shifts, rows, domains, loops, limited, self.plan.moving
        )


@dataclass(frozen=True, slots=True, eq=False)
class _ShiftedKeys:
    """Some keys whose rows are shifted, and the calls over all of them.

    They can be made again and again. `loops` are those of the outputs, whose `domains`
    are `limited` if the caller gave a bound.
    """

    batch: SweepBatch
    table: CallTable
    shifts: KeyShifts
    rows: Mapping[str, KeyRows]
    domains: Mapping[str, Domains]
    loops: Mapping[str, Loop]
    limited: bool
    moving: Mapping[str, tuple[bool, ...]]

    def run(self, keys: I64Array, scratch: ScratchArrays) -> dict[str, KeySnapshots]:
        """Compute the outputs of these keys."""
        made = self.batch.run_again(self.table, scratch, views=True)
        pieces = {}
        for name, loop in self.loops.items():
            cut = self._cut(loop, made[name])
            cut = self.shifts.move_back(cut, self.moving[name])
            if 4 * len(cut.starts) < total(self.batch.coverage.capacity[name]):
                # Their memory has room for far more.
                cut = _copy_written(cut, made[name].columns)
            buffer = cut.buffer(row_object=loop.stamped)
            pieces[name] = KeySnapshots((buffer,), keys, cut.counts)
        return pieces

    def _cut(self, loop: Loop, made: KeyedSnapshots) -> KeyedSnapshots:
        read = self.rows.get(loop.reads[0].object)
        if read is not None and not self.limited and read.are(loop, made):
            times, columns = (read.starts, read.ends), made.columns
            return KeyedSnapshots(*times, columns, read.counts, shared=True)
        before = 0
        if loop.stamped:
            before = self.batch.coverage.slices[loop.reads[0].object].buffer.before
        return self.shifts.cut(loop, made, self.domains[loop.name], before)


def _layouts(
    inputs: Mapping[str, Groups], most: int | None = None, *, confined: bool = False
) -> dict[str, Layout]:
    """Describe all rows that kernels see, at `most` of a key; `confined` to keys."""
    layouts = {n: concatenated_layout(rows.buffer, most) for n, rows in inputs.items()}
    return layouts | {KEY_STARTS: STARTS_LAYOUT} if confined else layouts


def _is_cut(loop: Loop) -> bool:
    """Tell whether results have other times than the rows of an input."""
    return not (loop.implicit_times or loop.stamped)


def _is_laid_out_anew(buffer: SnapshotBuffer) -> bool:
    """Tell whether kernels read rows in another layout where they are concatenated."""
    return concatenated_layout(buffer).time is not buffer.abi_layout().time


def _choose_rows(kernel: Kernel, costs: KeyCosts) -> int:
    """Choose how many rows a call has, about."""
    ranked = any(loop.structures for loop in kernel.signature.loops)
    return min(costs.call_rows, costs.ranked_call_rows) if ranked else costs.call_rows


def _divide(offsets: I64Array, rows: int) -> I64Array:
    """Divide keys among calls of about so many rows: the first key of each call."""
    begin, end = int(offsets[0]), int(offsets[-1])
    heads = offsets[:-1].searchsorted(np.arange(begin + rows, end, rows))
    return np.unique(np.append(0, heads[heads < len(offsets) - 1]))


def _by_call(buffer: SnapshotBuffer, offsets: I64Array) -> Groups:
    """Group shifted rows by call, as if each were a key."""
    offsets = offsets - offsets[0]
    assert buffer.starts is not None
    some = offsets[:-1] < offsets[1:]
    edges = np.append(offsets[:-1][some], offsets[-1])
    nonempty = Groups.of(buffer, edges, buffer.starts[edges[:-1]])
    firsts, lasts = np.zeros((2, len(some)), np.int64)
    firsts[some], lasts[some] = nonempty.firsts, nonempty.lasts
    return Groups(buffer, offsets, firsts, lasts)


def _copy_written(made: KeyedSnapshots, written: tuple[Column, ...]) -> KeyedSnapshots:
    """Copy the columns that are as they were written."""
    columns = [
        replace(column, values=column.values.copy()) if column is before else column
        for column, before in zip(made.columns, written, strict=True)
    ]
    return replace(made, columns=tuple(columns))

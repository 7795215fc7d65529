"""Many small keys as one: their rows are shifted to time ranges behind one another.

One call of the sweep kernel goes over the rows of all keys of a batch. What it makes is
cut to the keys' domains and shifted back. The time ranges are so far apart that nothing
sees the rows of another key.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.abi.signature import Loop
from tiltpy.plan.key_concatenation import (
    common_precision,
    furthest_reach,
)
from tiltpy.plan.nodes import Refusal
from tiltpy.routines.catalogue import CUT_BY_KEY
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.dtypes import I64Array, Times
from tiltpy.runtime.arrays.pool import ScratchArrays, allocate
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer, pack_validity
from tiltpy.runtime.execution.kernel import Kernels
from tiltpy.runtime.execution.key_domains import (
    EARLIEST,
    LATEST,
    Domains,
    RowsByKey,
    key_domains,
)
from tiltpy.runtime.execution.time_domain import Cells, Request
from tiltpy.runtime.ingest.keys import Groups
from tiltpy.runtime.keyed.snapshots import KeyedSnapshots
from tiltpy.runtime.keyed.sweep_calls import SweepBatch
from tiltpy.runtime.results.key_columns import KeySnapshots
from tiltpy.types import I64, TDom

LONGEST = 1 << 60
"""The ticks of all time ranges of a batch, at most."""


def concatenated_layout(buffer: SnapshotBuffer) -> Layout:
    """Describe the rows of an input once they are concatenated."""
    return replace(
        buffer.abi_layout(), time=_time_layout(buffer), points=_are_points(buffer)
    )


@dataclass(frozen=True, slots=True, eq=False)
class KeyShifts:
    """The shifts of successive keys to time ranges behind one another.

    After it nothing of key `k` is at or before `lows[k]`, or ends after `highs[k]`.
    """

    shifts: Times
    lows: Times
    highs: Times

    @staticmethod
    def of(
        inputs: Iterable[Groups],
        domains: Iterable[Domains],
        reach: int,
        precision: int,
    ) -> "KeyShifts | None":
        """Lay out some keys; None if there is no time enough.

        Time ranges are more than twice `reach` apart, and shifts are multiples of
        `precision`.
        """
        low = high = None
        ranges = [(each.start, each.end, each.start < each.end) for each in domains]
        ranges += [
            (each.firsts, each.lasts, each.offsets[1:] > each.offsets[:-1])
            for each in inputs
        ]
        for firsts, lasts, some in ranges:
            whole = bool(some.all())
            begin = firsts if whole else np.where(some, firsts, LATEST)
            end = lasts if whole else np.where(some, lasts, EARLIEST)
            low = begin if low is None else np.minimum(low, begin)
            high = end if high is None else np.maximum(high, end)
        assert low is not None
        assert high is not None
        apart, lengths = 2 * reach + precision, high - low
        if lengths.min() < 0:  # of more than 63 bits
            return None
        if apart * len(low) + lengths.sum(dtype=np.float64) > LONGEST:
            return None
        lengths += apart
        shifts = lengths.cumsum()
        shifts -= lengths
        shifts -= low
        if precision > 1:
            shifts -= shifts % precision
        return KeyShifts(shifts, low, high)

    def cells(self, tdom: TDom) -> Cells[I64Array]:
        """The cells of all keys together, as those of one call."""
        low = int(self.lows[0] + self.shifts[0])
        high = int(self.highs[-1] + self.shifts[-1])
        first, last = np.array([tdom.ceil(low + 1)]), np.array([tdom.ceil(high)])
        return Cells(first, last, np.zeros(1, np.bool_), np.ones(1, np.bool_))

    def shift(self, groups: Groups, reach: int) -> SnapshotBuffer:
        """Shift the rows of an input, and end those that hold on beyond any reach."""
        offsets, buffer = groups.offsets, groups.buffer
        rows = slice(int(offsets[0]), int(offsets[-1]))
        n = rows.stop - rows.start
        columns = tuple(column.slice(rows.start, n) for column in buffer.columns)
        made = SnapshotBuffer(
            _time_layout(buffer),
            n,
            0,
            1,
            None,
            None,
            columns,
            buffer.fifo,
            _are_points(buffer),
            before=buffer.before,
        )
        if not n:
            nothing = np.zeros(1, np.int64)
            return replace(made, starts=nothing, ends=nothing)
        counts = offsets[1:] - offsets[:-1]
        single = n == len(counts) and bool((counts == 1).all())

        def repeat(numbers: Times) -> Times:
            return numbers if single else np.repeat(numbers, counts)

        if buffer.layout is TimeLayout.SAMPLED:
            origin = groups.firsts + self.shifts
            if not single:
                origin -= (offsets[:-1] - rows.start) * buffer.period
            starts = repeat(origin)
            if not single:
                starts += np.arange(n) * buffer.period
            return replace(made, starts=starts, ends=starts + buffer.period)
        assert buffer.ends is not None
        shifts, ends = repeat(self.shifts), buffer.ends[rows]
        if buffer.domain_end is not None:
            ends = np.minimum(ends, repeat(self.highs + reach))
        ends = ends + shifts
        if buffer.starts is not None:
            starts = buffer.starts[rows] + shifts
        elif made.points:
            starts = ends - 1
        else:
            starts = np.empty(n, np.int64)
            starts[1:] = ends[:-1]
            nonempty = counts > 0
            heads = offsets[:-1][nonempty] - rows.start
            starts[heads] = (groups.firsts + self.shifts)[nonempty]
        return replace(made, starts=starts, ends=ends)

    def cut(
        self,
        loop: Loop,
        made: KeyedSnapshots,
        domains: Domains,
        before: int,
    ) -> KeyedSnapshots:
        """Shift snapshots back, and cut them to the keys' domains.

        Rows are those of a key whose stamps its domain has, `before` ticks after they
        start, and keep their lifetimes.
        """
        lows, highs = domains.start + self.shifts, domains.end + self.shifts
        wanted = domains.wanted
        if not wanted.all():
            lows, highs = (np.where(wanted, each, EARLIEST) for each in (lows, highs))
        ends = made.ends
        if loop.stamped:
            lows, highs = lows - before, highs - before + 1
            ends = made.starts
        count, keys = len(made.starts), len(self.shifts)
        cut_starts, cut_ends, rows = (
            allocate(I64, count + keys).view(np.int64) for _ in range(3)
        )
        counts = np.empty(keys + 1, np.int64)
        CUT_BY_KEY(
            *(count, keys, made.starts, ends, lows, highs, self.shifts),
            *(cut_starts, cut_ends, rows, counts),
        )
        counts, again = counts[:-1], int(counts[-1])
        total = int(counts.sum())
        cut_starts, cut_ends, rows = (
            each[:total] for each in (cut_starts, cut_ends, rows)
        )
        columns = made.columns
        if again or total != count:
            columns = tuple(_take(column, rows, count) for column in columns)
        if loop.stamped:
            cut_ends = cut_starts + (made.ends - made.starts)[rows]
        return KeyedSnapshots(cut_starts, cut_ends, columns, counts)


@dataclass(frozen=True, slots=True, eq=False)
class Concatenation:
    """The kernel for concatenated keys, and what it reads of all keys.

    `offsets` count the rows of all inputs before each key, and all.
    """

    kernels: Kernels
    inputs: Mapping[str, Groups]
    offsets: I64Array
    request: Request
    strings: Strings

    @staticmethod
    def plan(
        compile_for: Callable[[Mapping[str, Layout]], Kernels],
        inputs: Mapping[str, RowsByKey],
        request: Request,
        strings: Strings,
    ) -> "Concatenation | Refusal":
        """Plan to concatenate keys, unless the query sees when its rows are."""
        groups = {n: rows for n, rows in inputs.items() if isinstance(rows, Groups)}
        for name in inputs.keys() - groups.keys():
            return Refusal(f"~{name} has no key")
        layouts = {n: concatenated_layout(rows.buffer) for n, rows in groups.items()}
        kernels = compile_for(layouts)
        if kernels.concatenation is not None:
            return kernels.concatenation
        for name, rows in groups.items():
            if rows.buffer.domain_end is not None:
                for loop in kernels.sweep().signature.loops:
                    if loop.stamped:  # it has the lifetimes of rows as they are
                        return Refusal(f"rows of ~{name} may hold without end")
        offsets = sum(rows.offsets for rows in groups.values())
        return Concatenation(kernels, groups, np.asarray(offsets), request, strings)

    def run(
        self, keys: I64Array, scratch: ScratchArrays
    ) -> dict[str, KeySnapshots] | None:
        """Compute the outputs of successive keys; None if there is no time enough."""
        first, stop = int(keys[0]), int(keys[-1]) + 1
        query = self.kernels.query
        inputs = {n: rows.view(first, stop) for n, rows in self.inputs.items()}
        domains = {}
        count = stop - first
        for name, sources in query.boundaries:
            definition = query.definition(name)
            assert definition is not None
            seen = [inputs[source] for source, _ in sources]
            domains[name] = key_domains(definition.tdom, seen, count, self.request)
        reach, precision = furthest_reach(query), common_precision(query)
        shifts = KeyShifts.of(inputs.values(), domains.values(), reach, precision)
        if shifts is None:
            return None
        rows = {n: shifts.shift(groups, reach) for n, groups in inputs.items()}
        kernel = self.kernels.sweep()
        loops = {
            loop.name: loop for loop in kernel.signature.loops if loop.name in domains
        }
        cells = {name: shifts.cells(loop.tdom) for name, loop in loops.items()}
        one = np.zeros(1, np.int64)
        batch = SweepBatch(
            kernel.signature, rows, cells, one, self.request, self.strings
        )
        made = batch.run(kernel, scratch)
        pieces = {}
        for name, loop in loops.items():
            before = rows[loop.reads[0].object].before if loop.stamped else 0
            cut = shifts.cut(loop, made[name], domains[name], before)
            buffer = cut.buffer(row_object=loop.stamped)
            pieces[name] = KeySnapshots((buffer,), keys, cut.counts)
        return pieces


def _take(column: Column, rows: I64Array, count: int) -> Column:
    """Copy some of `count` values of a column, or one where there are none."""
    if not len(rows):
        return Column(column.values[:1].copy(), strings=column.strings)
    validity = None
    if column.validity is not None:
        validity = pack_validity(column.valid(count)[rows])
    return Column(column.values.take(rows), validity, strings=column.strings)


def _time_layout(buffer: SnapshotBuffer) -> TimeLayout:
    if buffer.layout is TimeLayout.OVERLAPPING:
        return TimeLayout.OVERLAPPING
    return TimeLayout.INTERVALS


def _are_points(buffer: SnapshotBuffer) -> bool:
    return buffer.points or (buffer.layout is TimeLayout.SAMPLED and buffer.period == 1)

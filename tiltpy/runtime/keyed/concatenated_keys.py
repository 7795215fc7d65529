"""Many small keys as one: their rows are shifted to time ranges behind one another.

One call of the sweep kernel goes over the rows of all keys of a batch. What it makes is
cut to the keys' domains and shifted back. The time ranges are so far apart that nothing
sees the rows of another key.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import numpy as np

from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.abi.signature import Loop
from tiltpy.lean_dataclass import dataclass
from tiltpy.plan.key_concatenation import KeyConcatenation
from tiltpy.plan.nodes import Refusal
from tiltpy.routines.catalogue import (
    CUT_BY_KEY,
    LAY_OUT_KEYS,
    SHIFT_BY_KEY,
    SHIFT_POINTS,
)
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array, Times
from tiltpy.runtime.arrays.pool import ScratchArrays, allocate
from tiltpy.runtime.arrays.repetition import repeat_numbers
from tiltpy.runtime.arrays.same_memory import are_same
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


def concatenated_layout(buffer: SnapshotBuffer, most: int | None = None) -> Layout:
    """Describe the rows of an input once they are concatenated, at `most` of a key."""
    return replace(
        buffer.abi_layout(),
        time=_time_layout(buffer),
        points=_are_points(buffer),
        together=most,
    )


@dataclass(frozen=True, slots=True, eq=False)
class KeyRows:
    """The rows of an input that some keys have, `counts[k]` of key `k`, as they are."""

    buffer: SnapshotBuffer
    first: int
    counts: I64Array
    starts: Times
    ends: Times

    @staticmethod
    def of(groups: Groups, counts: I64Array) -> "KeyRows":
        """Find the times of rows, which may be the input's own."""
        buffer, offsets = groups.buffer, groups.offsets
        first, stop = int(offsets[0]), int(offsets[-1])
        if buffer.starts is not None and buffer.ends is not None:
            starts, ends = buffer.starts[first:stop], buffer.ends[first:stop]
            return KeyRows(buffer, first, counts, starts, ends)
        heads = offsets[:-1] - first
        if buffer.layout is TimeLayout.SAMPLED:
            origins = groups.firsts - heads * buffer.period
            starts = repeat_numbers(origins, counts, stop - first)
            starts += np.arange(stop - first) * buffer.period
            return KeyRows(buffer, first, counts, starts, starts + buffer.period)
        assert buffer.ends is not None
        ends = buffer.ends[first:stop]
        starts = np.empty_like(ends)
        starts[1:] = ends[:-1]
        nonempty = counts > 0
        starts[heads[nonempty]] = groups.firsts[nonempty]
        return KeyRows(buffer, first, counts, starts, ends)

    @property
    def count(self) -> int:
        """The number of rows."""
        return len(self.ends)

    def repeat(self, numbers: I64Array) -> I64Array:
        """Repeat the number of each key for its rows."""
        return repeat_numbers(numbers, self.counts, self.count)

    def shift(self, ends: Times, shifts: I64Array) -> tuple[Times, Times]:
        """Add the shift of its key to the start of each row, and to its end."""
        keys, count = np.ascontiguousarray(self.counts), self.count
        made = (allocate(I64, count).view(np.int64)[:count] for _ in range(2))
        shifted_starts, shifted_ends = made
        if _are_points(self.buffer):
            SHIFT_POINTS(
                *(len(keys), count, keys, shifts, np.ascontiguousarray(ends)),
                *(shifted_ends, shifted_starts),
            )
            return shifted_starts, shifted_ends
        for times, shifted in ((self.starts, shifted_starts), (ends, shifted_ends)):
            contiguous = np.ascontiguousarray(times)
            SHIFT_BY_KEY(len(keys), count, keys, shifts, contiguous, shifted)
        return shifted_starts, shifted_ends

    def are(self, loop: Loop, made: KeyedSnapshots) -> bool:
        """Tell whether snapshots are these rows, each in its key's domain."""
        every = len(made.starts) == self.count and self.buffer.domain_end is None
        return loop.implicit_times and made.shared and every


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
        ranges = [
            _where(None if each.complete else each.wanted, each.start, each.end)
            for each in domains
        ]
        ranges += [
            _where(None if each.complete else each.nonempty, each.firsts, each.lasts)
            for each in inputs
        ]
        for begin, end in ranges:
            if low is None or high is None:
                low, high = begin, end
            elif not (are_same(low, begin) and are_same(high, end)):
                low, high = np.minimum(low, begin), np.maximum(high, end)
        assert low is not None
        assert high is not None
        apart = 2 * reach + precision
        if apart > LONGEST:
            return None
        shifts = np.empty(len(low) + 1, np.int64)
        times = np.ascontiguousarray(low), np.ascontiguousarray(high)
        LAY_OUT_KEYS(len(low), apart, precision, LONGEST, *times, shifts)
        if shifts[-1] > LONGEST:
            return None
        return KeyShifts(shifts[:-1], low, high)

    def cells(self, tdom: TDom) -> Cells[int]:
        """The cells of all keys together, as those of one call."""
        low = int(self.lows[0] + self.shifts[0])
        high = int(self.highs[-1] + self.shifts[-1])
        return Cells(tdom.ceil(low + 1), tdom.ceil(high), seam=False, final=True)

    def shift(self, rows: "KeyRows", reach: int) -> SnapshotBuffer:
        """Shift the rows of an input, and end those that hold on beyond any reach."""
        buffer, ends = rows.buffer, rows.ends
        if buffer.domain_end is not None:
            ends = np.minimum(ends, rows.repeat(self.highs + reach))
        starts, ends = rows.shift(ends, self.shifts)
        made = replace(
            buffer.slice(rows.first, rows.first + rows.count),
            layout=_time_layout(buffer),
            start=0,
            period=1,
            starts=starts,
            ends=ends,
            points=_are_points(buffer),
            domain_end=None,
        )
        if rows.count:
            return made
        nothing = np.zeros(1, np.int64)
        return replace(made, starts=nothing, ends=nothing)

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
        ends = made.ends
        if loop.stamped:
            lows, highs = lows - before, highs - before + 1
            ends = made.starts
        if not domains.complete:
            wanted = domains.wanted
            lows, highs = (np.where(wanted, each, EARLIEST) for each in (lows, highs))
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

    def move_back(
        self, made: KeyedSnapshots, moving: tuple[bool, ...]
    ) -> KeyedSnapshots:
        """Shift the times in some columns back, those of each key by its shift."""
        count, keys = len(made.starts), len(self.shifts)
        if not count or not any(moving):
            return made
        counts, back = np.ascontiguousarray(made.counts), -self.shifts
        columns = list(made.columns)
        for number in np.flatnonzero(moving):
            values = columns[number].values[:count]
            times = allocate(I64, count).view(np.int64)
            SHIFT_BY_KEY(keys, count, counts, back, values, times)
            columns[number] = replace(columns[number], values=times)
        return replace(made, columns=tuple(columns))


@dataclass(frozen=True, slots=True, eq=False)
class Concatenation:
    """The kernels for concatenated keys, and what they read of all keys.

    `offsets` count the rows of all inputs before each key, and all.
    """

    compile_for: Callable[[Mapping[str, Layout]], Kernels]
    kernels: Kernels
    plan: KeyConcatenation
    inputs: Mapping[str, Groups]
    offsets: I64Array
    request: Request
    strings: Strings

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
    ) -> "Concatenation | Refusal":
        """Plan to concatenate keys, unless the query sees when its rows are."""
        groups = {n: rows for n, rows in inputs.items() if isinstance(rows, Groups)}
        for name in inputs.keys() - groups.keys():
            return Refusal(f"~{name} has no key")
        layouts = {n: concatenated_layout(rows.buffer) for n, rows in groups.items()}
        kernels = compile_for(layouts)
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
            compile_for, kernels, plan, groups, offsets, request, strings
        )

    def _kernels(self, most: int | None) -> Kernels:
        """Choose the kernels for keys of so many rows at most, if that is known."""
        if most is None:
            return self.kernels
        return self.compile_for(
            {
                name: concatenated_layout(rows.buffer, most)
                for name, rows in self.inputs.items()
            }
        )

    def run(
        self, keys: I64Array, scratch: ScratchArrays, most: int | None
    ) -> dict[str, KeySnapshots] | None:
        """Compute the outputs of successive keys; None if there is no time enough.

        Each has so many rows at `most`, if that is known.
        """
        first, stop = int(keys[0]), int(keys[-1]) + 1
        kernels = self._kernels(most)
        query = kernels.query
        inputs = {n: rows.view(first, stop) for n, rows in self.inputs.items()}
        domains = {}
        count = stop - first
        for name, sources in query.boundaries:
            definition = query.definition(name)
            assert definition is not None
            seen = [inputs[source] for source, _ in sources]
            domains[name] = key_domains(definition.tdom, seen, count, self.request)
        reach = self.plan.reach
        # Few rows are folded anew, in no blocks.
        precision = self.plan.precision if most is None else self.plan.grid
        shifts = KeyShifts.of(inputs.values(), domains.values(), reach, precision)
        if shifts is None:
            return None
        rows = {
            name: KeyRows.of(groups, self.inputs[name].counts[first:stop])
            for name, groups in inputs.items()
        }
        shifted = {n: shifts.shift(each, reach) for n, each in rows.items()}
        kernel = kernels.sweep()
        loops = {
            loop.name: loop for loop in kernel.signature.loops if loop.name in domains
        }
        cells = {name: shifts.cells(loop.tdom) for name, loop in loops.items()}
        batch = SweepBatch.of_rows(
            kernel.signature, shifted, cells, self.request, self.strings
        )
        made = batch.run(kernel, scratch)
        pieces = {}
        limited = self.request.start is not None or self.request.end is not None
        for name, loop in loops.items():
            read = rows.get(loop.reads[0].object)
            if read is not None and not limited and read.are(loop, made[name]):
                times, columns = (read.starts, read.ends), made[name].columns
                cut = KeyedSnapshots(*times, columns, read.counts, shared=True)
            else:
                before = 0
                if loop.stamped:
                    before = shifted[loop.reads[0].object].before
                cut = shifts.cut(loop, made[name], domains[name], before)
            cut = shifts.move_back(cut, self.plan.moving[name])
            buffer = cut.buffer(row_object=loop.stamped)
            pieces[name] = KeySnapshots((buffer,), keys, cut.counts)
        return pieces


def _where(wanted: BoolArray | None, low: Times, high: Times) -> tuple[Times, Times]:
    """Return the time ranges of some keys, by default of all; others have none."""
    if wanted is None:
        return low, high
    return np.where(wanted, low, LATEST), np.where(wanted, high, EARLIEST)


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

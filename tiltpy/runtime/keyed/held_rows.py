"""An input by key of a run in parts: the rows that came, and those still needed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from tiltpy.abi.layouts import TimeLayout
from tiltpy.lean_dataclass import record
from tiltpy.routines.catalogue import KEEP_ROWS
from tiltpy.routines.prepared_call import PreparedCall
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array, Times
from tiltpy.runtime.arrays.masks import is_any
from tiltpy.runtime.arrays.search_slices import search_slices
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrays.time_layout import lay_out, lay_out_apart, lay_out_as
from tiltpy.runtime.execution.column_formulas import Columns
from tiltpy.runtime.execution.key_domains import EARLIEST, LATEST
from tiltpy.runtime.ingest.group_by_code import offsets_of
from tiltpy.runtime.ingest.key_dictionary import KeyDictionary
from tiltpy.runtime.ingest.keys import Groups
from tiltpy.runtime.ingest.read_input import InputRows
from tiltpy.runtime.ingest.ungrouped_rows import GroupedByKey, UngroupedRows
from tiltpy.runtime.keyed.join import (
    concat_keys,
    join_by_key,
    select_keys,
    take_rows,
)
from tiltpy.runtime.keyed.row_arena import RowArena
from tiltpy.runtime.keyed.row_store import make_store
from tiltpy.runtime.keyed.snapshots import KeyedSnapshots
from tiltpy.types import ENDLESS, Scalar, Type

FEW_ROWS = 1 << 12
"""Rows whose layout as intervals is found sooner than a tighter one."""
FEW_JOINED = 1 << 15
"""Rows that are read as intervals, where that layout is known."""


@record(frozen=True, slots=True, eq=False)
class KeySpans:
    """The first start and the greatest end, for a domain, of rows of some keys."""

    codes: I64Array
    firsts: Times
    lasts: Times


@record(frozen=True, slots=True, eq=False)
class Heads:
    """The first stamps of some keys in each batch that came, in order of both."""

    keys: I64Array
    stamps: Times

    @staticmethod
    def of(heads: Sequence[tuple[I64Array, Times]], slots: I64Array) -> "Heads":
        """Sort the codes and stamps of batches; `slots` are the keys of codes."""
        if not heads:
            return Heads(np.zeros(0, np.int64), np.zeros(0, np.int64))
        keys = slots[np.concatenate([codes for codes, _ in heads])]
        stamps = np.concatenate([times for _, times in heads])
        order = np.lexsort((stamps, keys))
        return Heads(keys[order], stamps[order])

    def end(self, rows: KeyedSnapshots) -> tuple[KeyedSnapshots, BoolArray]:
        """End rows a tick before the first row of their key in a later batch.

        Returns which rows have such a one, too.
        """
        if not len(self.keys) or not len(rows.starts):
            return rows, np.zeros(len(rows.starts), np.bool_)
        keys = np.repeat(np.arange(len(rows.counts)), rows.counts)
        first, stop = (self.keys.searchsorted(keys, side) for side in ("left", "right"))
        later = search_slices(self.stamps, first, stop, rows.starts + 1, "right")
        there = later < stop
        ended = np.minimum(rows.ends, self.stamps[np.where(there, later, 0)] - 1)
        return replace(rows, ends=np.where(there, ended, rows.ends)), there


EDGES = "begin", "count", "first", "last", "end", "settled", "newest"
"""Edges of the rows of a key: its first row among those of all, and how many it has;
the first start, and the greatest end for a domain, of those that came; the greatest end
of all, the greatest one that is no hold, and the greatest start. Times are `LATEST` or
`EARLIEST` without rows. Rows that hold on count with their start as no hold."""


@record(frozen=True, slots=True, eq=False)
class TakenRows:
    """All rows of some keys, and their `EDGES`, each as `... of` the input.

    `heads` are those of the rows that came. All that came so far may be `points`; the
    stamp of each is `before` ticks behind its start. The layout as intervals, and
    whether ends are in order, may be known.
    """

    rows: KeyedSnapshots
    edges: Columns
    heads: Heads
    settled: Times
    points: bool
    before: int
    layout: tuple[TimeLayout, bool] | None


def find_edges(
    rows: KeyedSnapshots, firsts: Times, lasts: Times, *, points: bool
) -> I64Array:
    """Find the edges of the rows of keys, of which those of rows that came are known.

    All may be known to be `points`.
    """
    counts = rows.counts
    some = counts.nonzero()[0]
    begins = counts.cumsum() - counts
    edges = np.full((len(EDGES), len(counts)), EARLIEST)
    edges[:4] = begins, counts, firsts, lasts
    if points:
        last = begins[some] + counts[some] - 1
        edges[4:, some] = rows.ends[last], rows.ends[last], rows.starts[last]
    elif len(some):
        times = np.where(rows.ends < ENDLESS, rows.ends, rows.starts)
        for edge, each in enumerate((rows.ends, times, rows.starts), 4):
            edges[edge, some] = np.maximum.reduceat(each, begins[some])
    return edges


NO_HEADS = Heads.of((), np.zeros(0, np.int64))
NO_TRUTHS = np.zeros((0, 0), np.bool_)


class HeldRows:
    """The rows of an input by key, by the codes of its keys.

    A row that holds until the next one of its key is there before that comes, and ends
    once it does.
    """

    def __init__(self, name: str, payload: Type, keys: KeyDictionary) -> None:
        self.name = name
        self.payload = payload
        self.keys = keys
        self.store = make_store(payload)
        self.points = True
        self.before = 1
        self._places = {
            f"{edge} of {name}": (False, column) for column, edge in enumerate(EDGES)
        }
        self._keep = PreparedCall.of(KEEP_ROWS, 10)
        self._fresh: list[tuple[I64Array, KeyedSnapshots | UngroupedRows]] = []
        """The rows that came, batch by batch, and the codes of keys or of rows."""
        self._heads: list[tuple[I64Array, Times]] = []
        """The first stamps of keys in each batch, of rows that hold."""

    def receive(
        self, batches: Sequence[InputRows | UngroupedRows]
    ) -> Iterator[KeySpans]:
        """Take the rows that came, and yield between which times they are.

        Of rows that are not grouped yet `take` tells it.
        """
        for batch in batches:
            if isinstance(batch, UngroupedRows):
                self.points &= batch.lifetime.is_point
                self.before = batch.before
                codes = self.keys.encode(self.name, batch.keys)
                self._fresh.append((codes, batch))
                continue
            if batch.firsts is not None:
                keys, stamps = batch.firsts
                self._heads.append((self.keys.encode(self.name, keys.columns), stamps))
            if batch.keys is None or batch.groups is None or not batch.buffer.n:
                continue
            groups = batch.groups
            codes = self.keys.encode(self.name, batch.keys.columns)
            self.points &= groups.buffer.points
            self.before = groups.buffer.before
            rows = KeyedSnapshots(
                *groups.times(), groups.buffer.columns, np.diff(groups.offsets)
            )
            if isinstance(self.payload, Scalar):
                rows = rows.drop_nulls()
            self._fresh.append((codes, rows))
            yield KeySpans(codes, groups.firsts, groups.lasts)

    def save(self) -> dict[str, object]:
        """Make what `restore` takes, between two evaluations."""
        assert not self._fresh, "rows came that nothing has taken"
        assert not self._heads, "rows came that nothing has taken"
        store = self.store.save()
        return {"store": store, "points": self.points, "before": self.before}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take over saved rows."""
        self.store.restore(saved["store"])
        self.points, self.before = saved["points"], saved["before"]

    def list_touched(self) -> list[I64Array]:
        """List the codes of keys that have a row that came, or a null."""
        return [codes for codes, _ in (*self._fresh, *self._heads)]

    def take(self, codes: I64Array, slots: I64Array) -> TakenRows:
        """Take all rows of some keys, in the order of `codes`.

        `slots` tell where in them a code stands.
        """
        count = len(codes)
        known: tuple[TimeLayout, bool] | None = None
        store, came = self.store, list(self._list_ended())
        is_ended = len(came) == len(self._fresh) and not self._heads
        if isinstance(store, RowArena) and is_ended:
            edges = np.empty((len(EDGES), count), np.int64)
            rows, layout, is_fifo = store.join(codes, came, slots, edges)
            heads, known = NO_HEADS, (layout, is_fifo)
        else:
            rows, edges, heads = self._join_groups(codes, slots)
        self._fresh, self._heads = [], []
        columns = Columns(edges, NO_TRUTHS, self._places)
        settled = edges[EDGES.index("settled")]
        before, points = self.before, self.points
        return TakenRows(rows, columns, heads, settled, points, before, known)

    def _list_ended(self) -> Iterator[tuple[I64Array, UngroupedRows]]:
        """List the batches that came whose rows have ends, and are not grouped."""
        for codes, rows in self._fresh:
            if isinstance(rows, UngroupedRows) and not rows.lifetime.needs_next_row:
                yield codes, rows

    def _join_groups(
        self, codes: I64Array, slots: I64Array
    ) -> tuple[KeyedSnapshots, I64Array, Heads]:
        """Take the rows of keys, and their edges, as batches of groups."""
        count = len(codes)
        firsts, lasts = np.full(count, LATEST), np.full(count, EARLIEST)
        parts = [self.store.take(codes)]
        for numbers, several in self._merge_grouped():
            if isinstance(several, UngroupedRows):
                grouped = several.group(slots[numbers], count)
                parts.append(self._note(grouped, codes, several, firsts, lasts))
            else:
                parts.append(self._regroup(several, slots[numbers], count))
        rows = join_by_key(parts, self.payload)
        heads = Heads.of(self._heads, slots)
        rows, there = heads.end(rows)
        if is_any(there):
            keys = np.arange(count).repeat(rows.counts)
            np.maximum.at(lasts, keys[there], rows.ends[there])
        return rows, find_edges(rows, firsts, lasts, points=self.points), heads

    def _note(
        self,
        grouped: GroupedByKey,
        codes: I64Array,
        rows: UngroupedRows,
        firsts: Times,
        lasts: Times,
    ) -> KeyedSnapshots:
        """Note between which times the rows of keys are, and stamps that end others."""
        some = grouped.some
        firsts[some] = np.minimum(firsts[some], grouped.firsts)
        lasts[some] = np.maximum(lasts[some], grouped.lasts)
        if rows.lifetime.needs_next_row:
            stamps = grouped.starts[grouped.heads] + rows.lifetime.before
            self._heads.append((codes[some], stamps))
        return KeyedSnapshots(
            grouped.starts, grouped.ends, grouped.columns, grouped.counts
        )

    def put(
        self, codes: I64Array, rows: KeyedSnapshots, horizon: Times, last_rows: int
    ) -> None:
        """Put back the rows of keys that end after `horizon`, and the last before."""
        total = len(rows.starts)
        if not total:
            return
        counts, needed = np.empty_like(rows.counts), np.empty(total + 1, np.int64)
        _, count, *_ = self._keep(
            *(len(codes), 0, int(self.points), last_rows),
            *(rows.counts, rows.starts, rows.ends, horizon, counts, needed),
        )
        if count == total:
            self.store.put(codes, rows)
        elif count:
            some = needed[:count]
            payload = take_rows(rows.columns, some)
            starts, ends = rows.starts[some], rows.ends[some]
            self.store.put(codes, KeyedSnapshots(starts, ends, payload, counts))

    def _merge_grouped(
        self,
    ) -> Iterator[tuple[I64Array, KeyedSnapshots | UngroupedRows]]:
        """Put the rows of successive batches that are grouped behind one another."""
        for is_grouped, batches in groupby(
            self._fresh, lambda batch: isinstance(batch[1], KeyedSnapshots)
        ):
            if not is_grouped:
                yield from batches
                continue
            several = list(batches)
            codes = np.concatenate([codes for codes, _ in several])
            rows = [rows for _, rows in several if isinstance(rows, KeyedSnapshots)]
            yield codes, concat_keys(rows, self.payload)

    def _regroup(
        self, rows: KeyedSnapshots, places: I64Array, count: int
    ) -> KeyedSnapshots:
        """Join the rows of keys at `places`, of which several may be one."""
        order = np.argsort(places, kind="stable")
        rows = select_keys(rows, order)
        counts = np.bincount(places[order], rows.counts, count).astype(np.int64)
        return replace(rows, counts=counts)

    def groups(self, taken: TakenRows) -> Groups:
        """Lay the rows of keys out."""
        rows, counts = taken.rows, taken.rows.counts
        count = len(rows.starts)
        if not count:
            empty = np.zeros(len(counts), np.int64)
            nothing = SnapshotBuffer.empty(self.payload)
            return Groups(nothing, np.append(empty, 0), empty, empty)
        offsets = offsets_of(counts)
        some = counts > 0
        heads = offsets[:-1][some]
        firsts = np.zeros(len(counts), np.int64)
        firsts[some] = rows.starts[heads]
        if taken.layout is not None and count <= FEW_JOINED:
            buffer = lay_out_as(*taken.layout, rows.starts, rows.ends, rows.columns)
        elif count < FEW_ROWS:
            buffer = lay_out_apart(rows.starts, rows.ends, rows.columns, heads[1:])
        else:
            buffer = lay_out(rows.starts, rows.ends, rows.columns, heads[1:])
        holds = not self.points and bool((rows.ends == ENDLESS).any())
        end = int(taken.settled.max()) if holds else None
        buffer = SnapshotBuffer(
            buffer.layout,
            buffer.n,
            buffer.start,
            buffer.period,
            buffer.starts,
            buffer.ends,
            buffer.columns,
            buffer.fifo,
            points=self.points,
            domain_end=end,
            before=self.before,
        )
        return Groups(buffer, offsets, firsts, taken.settled, _counts=[counts])

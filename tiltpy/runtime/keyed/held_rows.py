"""An input by key of a run in parts: the rows that came, and those still needed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array, Times
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrays.time_layout import lay_out
from tiltpy.runtime.execution.key_domains import EARLIEST
from tiltpy.runtime.execution.row_slices import search_slices
from tiltpy.runtime.ingest.group_by_code import offsets_of
from tiltpy.runtime.ingest.key_dictionary import KeyDictionary
from tiltpy.runtime.ingest.keys import Groups
from tiltpy.runtime.ingest.read_input import InputRows
from tiltpy.runtime.keyed.join import (
    concat_keys,
    drop_first,
    join_by_key,
    no_rows,
    select_keys,
)
from tiltpy.runtime.keyed.row_store import RowStore
from tiltpy.runtime.keyed.snapshots import KeyedSnapshots
from tiltpy.types import ENDLESS, Scalar, Type


@dataclass(frozen=True, slots=True, eq=False)
class KeySpans:
    """The first start and the greatest end, for a domain, of rows of some keys."""

    codes: I64Array
    firsts: Times
    lasts: Times


@dataclass(frozen=True, slots=True, eq=False)
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


class HeldRows:
    """The rows of an input by key, by the codes of its keys.

    A row that holds until the next one of its key is there before that comes, and ends
    once it does.
    """

    def __init__(self, name: str, payload: Type, keys: KeyDictionary) -> None:
        self.name = name
        self.payload = payload
        self.keys = keys
        self.store = RowStore(payload)
        self.points = True
        self.before = 1
        self._fresh: list[tuple[I64Array, KeyedSnapshots]] = []
        self._heads: list[tuple[I64Array, Times]] = []
        """The first stamps of keys in each batch, of rows that hold."""

    def receive(self, batches: Sequence[InputRows]) -> list[KeySpans]:
        """Take the rows that came; returns between which times they are."""
        spans = []
        for batch in batches:
            if batch.firsts is not None:
                keys, stamps = batch.firsts
                self._heads.append((self.keys.encode(self.name, keys), stamps))
            if batch.keys is None or batch.groups is None or not batch.buffer.n:
                continue
            groups, codes = batch.groups, self.keys.encode(self.name, batch.keys)
            self.points &= groups.buffer.points
            self.before = groups.buffer.before
            spans.append(KeySpans(codes, groups.firsts, groups.lasts))
            rows = KeyedSnapshots(
                *groups.times(), groups.buffer.columns, np.diff(groups.offsets)
            )
            if isinstance(self.payload, Scalar):
                rows = rows.drop_nulls()
            self._fresh.append((codes, rows))
        return spans

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

    def take(
        self, codes: I64Array, slots: I64Array
    ) -> tuple[KeyedSnapshots, Times, Heads]:
        """Take all rows of some keys, in the order of `codes`.

        `slots` tell where in them a code stands. The times are the greatest ends of
        rows that held until another one came, `EARLIEST` where there is none.
        """
        rows = join_by_key(
            [self.store.take(codes), self._regroup(slots, len(codes))], self.payload
        )
        heads = Heads.of(self._heads, slots)
        self._heads, self._fresh = [], []
        ended = np.full(len(codes), EARLIEST)
        rows, there = heads.end(rows)
        if there.any():
            keys = np.repeat(np.arange(len(codes)), rows.counts)
            np.maximum.at(ended, keys[there], rows.ends[there])
        return rows, ended, heads

    def put(
        self, codes: I64Array, rows: KeyedSnapshots, horizon: Times, last_rows: int
    ) -> None:
        """Put back the rows of keys that end after `horizon`, and the last before."""
        if self.points:
            offsets = offsets_of(rows.counts)
            first, stop = offsets[:-1], offsets[1:]
            ended = search_slices(rows.ends, first, stop, horizon, "right")
            if last_rows:
                before = search_slices(rows.starts, first, stop, horizon, "left")
                ended = np.maximum(first, np.minimum(ended, before - last_rows))
            self.store.put(codes, drop_first(rows, ended - first))
            return
        keys = np.repeat(np.arange(len(codes)), rows.counts)
        needed = rows.ends > horizon[keys]
        if last_rows:
            before = np.bincount(
                keys[rows.starts < horizon[keys]], minlength=len(codes)
            )
            firsts = offsets_of(rows.counts)[:-1] + before - last_rows
            needed |= np.arange(len(keys)) >= firsts[keys]
        self.store.put(codes, rows.keep(needed))

    def _regroup(self, slots: I64Array, count: int) -> KeyedSnapshots:
        """Join the rows that came in several batches, by key."""
        if not self._fresh:
            return no_rows(self.payload, count)
        places = slots[np.concatenate([codes for codes, _ in self._fresh])]
        rows = concat_keys([rows for _, rows in self._fresh], self.payload)
        order = np.argsort(places, kind="stable")
        rows = select_keys(rows, order)
        counts = np.bincount(places[order], rows.counts, count).astype(np.int64)
        return replace(rows, counts=counts)

    def groups(self, rows: KeyedSnapshots, lasts: Times) -> Groups:
        """Lay the rows of keys out; `lasts` are the ends that count for domains."""
        counts, empty = rows.counts, np.zeros(len(rows.counts), np.int64)
        if not len(rows.starts):
            nothing = SnapshotBuffer.empty(self.payload)
            return Groups(nothing, np.append(empty, 0), empty, empty)
        offsets = offsets_of(counts)
        heads = offsets[:-1][counts > 0]
        buffer = lay_out(rows.starts, rows.ends, rows.columns, heads[1:])
        if (rows.ends == ENDLESS).any():
            buffer = replace(buffer, domain_end=int(lasts.max()))
        firsts = empty.copy()
        firsts[counts > 0] = rows.starts[heads]
        buffer = replace(buffer, points=self.points, before=self.before)
        return Groups(buffer, offsets, firsts, lasts)

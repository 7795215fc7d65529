"""Outcomes of peers, in the form in which they wrote them, beside tiltpy's result.

A peer's loop may write full tables, but where every cell of a grid has a value, or
nearly every one, it need not write times, and neither does tiltpy.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import tiltpy as tilt

Array = NDArray[Any]
Payload = tuple[Array, ...]

RELATIVE = 1e-4
"""How far floats that are not exact may lie apart."""
NEAR_ZERO = 1e-5
"""The same for values near zero, in units of the largest one."""
UNDECIDED = 1e-5
"""The share of comparisons of such floats that may fall the other way."""


@dataclass(frozen=True, slots=True)
class Table:
    """Snapshots with their times, in order; with `keys`, key after key."""

    starts: Array
    ends: Array
    payload: Payload
    keys: pa.Array | None = None


@dataclass(frozen=True, slots=True)
class Cells:
    """A value for each cell of a grid: the first is that of `(first, first + period]`.

    `exists` says which cells have one, where some have none.
    """

    payload: Payload
    period: int = 1
    first: int = 0
    exists: Array | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """The values of the cells that are kept, one after the other, and which they are.

    The first cell is `(0, period]`.
    """

    payload: Payload
    kept: Array
    period: int = 1

    def table(self) -> Table:
        """The same with times."""
        starts = np.flatnonzero(self.kept) * self.period
        return Table(starts, starts + self.period, self.payload)


Outcome = Table | Cells | Kept


def table_of(result: tilt.Result) -> Table:
    """A result of tiltpy as arrays."""
    table = result.to_arrow()
    keyed = table.schema.names[0] != "start"
    keys = table[0].combine_chunks() if keyed else None
    starts, ends, *payload = (one.to_numpy() for one in table.columns[int(keyed) :])
    return Table(starts.astype(np.int64), ends.astype(np.int64), (*payload,), keys)


def codes_of(keys: pa.Array) -> tuple[NDArray[np.int32], pa.Array]:
    """For each key its number in order, and the distinct keys in order."""
    encoded = keys if pa.types.is_dictionary(keys.type) else keys.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    ranks = np.empty(len(order), np.int32)
    ranks[order] = np.arange(len(order))
    return ranks[encoded.indices.to_numpy()], encoded.dictionary.take(order)


def difference(result: Table, found: Outcome, *, exact: bool) -> str | None:
    """Find a place where a peer's outcome is not that of tiltpy, if any."""
    if isinstance(found, Kept):
        found = found.table()
    pairs = _cells(result, found) if isinstance(found, Cells) else _rows(result, found)
    for name, ours, theirs in pairs:
        if len(ours) != len(theirs):
            return f"{len(ours):,} {name}, the peer has {len(theirs):,}"
        unlike = np.flatnonzero(~_alike(ours, theirs, exact=exact))
        allowed = UNDECIDED * len(ours) if ours.dtype == np.bool_ and not exact else 0
        if len(unlike) > allowed:
            i = unlike[0]
            return f"{name}[{i}] is {ours[i]}, the peer has {theirs[i]}"
    return None


def _rows(result: Table, found: Table) -> Iterator[tuple[str, Array, Array]]:
    if result.keys is not None and found.keys is not None:
        codes, distinct = codes_of(result.keys)
        found_codes, found_distinct = codes_of(found.keys)
        yield "keys", distinct.to_numpy(False), found_distinct.to_numpy(False)
        yield "numbers of keys", codes, found_codes
    yield "starts", result.starts, found.starts
    yield "ends", result.ends, found.ends
    yield from _payloads(result.payload, found.payload)


def _cells(result: Table, found: Cells) -> Iterator[tuple[str, Array, Array]]:
    """Both as cells; a snapshot of tiltpy may last for several."""
    lengths = (result.ends - result.starts) // found.period
    rows = np.repeat(np.arange(len(lengths)), lengths)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    times = result.starts[rows] + within * found.period
    index = np.arange(len(found.payload[0]))
    if found.exists is not None:
        index = index[found.exists]
    yield "cells", times, found.first + index * found.period
    ours = tuple(column[rows] for column in result.payload)
    yield from _payloads(ours, tuple(column[index] for column in found.payload))


def _payloads(ours: Payload, theirs: Payload) -> Iterator[tuple[str, Array, Array]]:
    assert len(ours) == len(theirs)
    for number, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        yield f"column {number}", mine, other


def _alike(ours: Array, theirs: Array, *, exact: bool) -> Array:
    """Return which entries are equal, but for rounding."""
    if exact or ours.dtype.kind != "f":
        same: Array = ours == theirs
        return same
    finite = np.abs(ours[np.isfinite(ours)])
    near = NEAR_ZERO * (finite.max() if len(finite) else 0)
    return np.isclose(ours, theirs, rtol=RELATIVE, atol=near, equal_nan=True)

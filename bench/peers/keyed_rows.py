"""Rows of several inputs that lie key after key, and keys as one column."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.outcome import Array, codes_of
from bench.workloads.offpath.rows import Inputs


@dataclass(frozen=True, slots=True)
class KeyAfterKey:
    """The rows of key `k`, the `k`th `distinct` one: `offsets[k]` to the next."""

    values: Array
    ends: Array
    offsets: Array
    distinct: pa.Array


def key_after_key(inputs: Inputs) -> list[KeyAfterKey]:
    """The rows of inputs with one column each, by the keys of all, in order of time."""
    keys = [one_column(list(rows.keys.values())) for rows in inputs.values()]
    codes, distinct = codes_of(pa.concat_arrays(keys))
    found, first = [], 0
    for rows in inputs.values():
        mine = codes[first : first + len(rows)]
        first += len(rows)
        _, ends = rows.times()
        order = np.lexsort((ends, mine))
        offsets = np.searchsorted(mine[order], np.arange(len(distinct) + 1))
        (values,) = rows.columns.values()
        found.append(KeyAfterKey(values[order], ends[order], offsets, distinct))
    return found


def one_column(columns: Sequence[pa.Array | pa.ChunkedArray]) -> pa.Array:
    """The key's columns as one: itself, or the texts of several side by side."""
    whole = [
        c.combine_chunks() if isinstance(c, pa.ChunkedArray) else c for c in columns
    ]
    if len(whole) == 1:
        return whole[0]
    texts = [pc.cast(column, pa.string()) for column in whole]
    padded = [pc.utf8_lpad(text, width=20) for text in texts]
    return pc.binary_join_element_wise(*padded, "")

"""The bytes that a workload has to move."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from bench.workloads.streams import Stream, Workload

TIME = 8
"""Bytes of a time."""


def bytes_moved(
    workload: Workload, streams: Mapping[str, Stream], schema: pa.Schema, rows: int
) -> float:
    """The least that is to be read and written for a result of so many rows.

    Read are values, their validity bits, and the times that say something: ends, and
    starts where there are gaps. Written are values (a byte for a bool) and, where a row
    may last for any time, its start and end; cells of a grid that may have no row, or
    share one, have two bits instead. Keys are not counted.
    """
    read = sum(_bytes_of(workload, stream) for stream in streams.values())
    values = [field for field in schema if field.name not in NO_VALUES]
    payload = sum(_width(field.type) for field in values)
    if not workload.sampled:
        return read + rows * (payload + 2 * TIME)
    cells = sum(len(stream.values) for stream in streams.values())
    bits = cells / 4 if workload.base in WITH_BITS else 0
    return read + rows * payload + bits


NO_VALUES = ("k", "start", "end")
WITH_BITS = ("where", "impute")
"""Sampled workloads that do not have a row in every cell."""


def _bytes_of(workload: Workload, stream: Stream) -> float:
    found: float = stream.values.nbytes
    if stream.valid is not None:
        found += len(stream.values) / 8
    if stream.ends is not None and not workload.sampled:
        found += stream.ends.nbytes
    if stream.starts is not None and workload.family == "intervals":
        found += stream.starts.nbytes
    return found


def _width(type: pa.DataType) -> int:
    """Bytes of a value as tiltpy and the peers write it."""
    return int(np.dtype(type.to_pandas_dtype()).itemsize)

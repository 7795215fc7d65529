"""A check of arrays against Arrow's columnar format, byte by byte.

Written from the specification, in plain Python and NumPy over the raw structures, so
that nothing is asked of pyarrow's own checks: it says which arrays must be refused.
"""

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

DAY = 86_400_000
Bytes = NDArray[np.uint8]
Bits = NDArray[np.bool_]


class _CArray(ctypes.Structure):
    """`struct ArrowArray` of Arrow's C interface."""


_CArray._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.c_void_p),
    ("children", ctypes.POINTER(ctypes.POINTER(_CArray))),
    ("dictionary", ctypes.POINTER(_CArray)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    ("private_data", ctypes.c_void_p),
]


@dataclass(frozen=True, slots=True)
class Node:
    """An array as it lies in memory; a buffer that is not there is None."""

    type: pa.DataType
    length: int
    null_count: int
    offset: int
    buffers: list[Bytes | None]
    children: list["Node"]
    dictionary: "Node | None"


def node_of(array: pa.Array) -> Node:
    """The raw structures of an array whose fields are as long as it says, at least."""
    raw = _CArray()
    array._export_to_c(ctypes.addressof(raw))
    try:
        return _node(array, raw, iter(array.buffers()))
    finally:
        raw.release(ctypes.addressof(raw))


def _node(array: pa.Array, raw: _CArray, buffers: Iterator[pa.Buffer | None]) -> Node:
    kind, count = array.type, raw.n_buffers
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        count -= 1  # the sizes of the others, for the C interface alone
    elif pa.types.is_run_end_encoded(kind) or pa.types.is_null(kind):
        count = 1  # which pyarrow lists as one that is not there
    own = [_bytes(next(buffers)) for _ in range(count)]
    inner: list[pa.Array] = []
    if pa.types.is_struct(kind):
        inner = [array.field(number) for number in range(kind.num_fields)]
    elif pa.types.is_run_end_encoded(kind):
        inner = [array.run_ends, array.values]
    children = [
        _node(one, raw.children[number].contents, buffers)
        for number, one in enumerate(inner)
    ]
    codes = isinstance(array, pa.DictionaryArray)
    dictionary = node_of(array.dictionary) if codes else None
    counts = raw.length, raw.null_count, raw.offset
    return Node(kind, *counts, own, children, dictionary)


def _bytes(buffer: pa.Buffer | None) -> Bytes | None:
    return None if buffer is None else np.frombuffer(buffer, np.uint8)


def fault_of(node: Node, field: str | None = None) -> str | None:
    """Return what is malformed in an array; None if nothing is.

    Of a struct, what says which are there, and one field.
    """
    kind, end = node.type, node.offset + node.length
    if node.length < 0 or node.offset < 0:
        return "a negative length"
    there = _validity(node)
    if isinstance(there, str):
        return there
    if pa.types.is_struct(kind):
        if any(child.length < end for child in node.children):
            return "a field is too short"
        place = kind.get_field_index(field)
        return fault_of(node.children[place])
    if pa.types.is_run_end_encoded(kind):
        return _run_ends_fault(node)
    if pa.types.is_null(kind):
        return None
    if kind in (pa.string(), pa.binary()):
        return _offsets_fault(node, np.dtype(np.int32))
    if kind in (pa.large_string(), pa.large_binary()):
        return _offsets_fault(node, np.dtype(np.int64))
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return _views_fault(node, there)
    width = kind.bit_width
    if node.length and _size(node.buffers[1]) * 8 < end * width:
        return "too few values"
    if node.dictionary is not None:
        return _indices_fault(node, there)
    if pa.types.is_date64(kind) and node.length:
        days = _values(node, np.dtype(np.int64), node.length)[there]
        return "a date within a day" if np.any(days % DAY) else None
    return None


def _size(buffer: Bytes | None) -> int:
    return 0 if buffer is None else len(buffer)


def _validity(node: Node) -> Bits | str:
    """Return which rows are there, or what is wrong with it."""
    if pa.types.is_null(node.type):
        return np.broadcast_to(np.False_, node.length)
    bitmap = node.buffers[0]
    if bitmap is None:
        wrong = node.null_count not in (-1, 0)
        there = np.broadcast_to(np.True_, node.length)  # however long it says it is
        return "a null count without bits" if wrong else there
    if len(bitmap) * 8 < node.offset + node.length:
        return "too few bits"
    bits = np.unpackbits(bitmap, bitorder="little")[node.offset :][: node.length]
    nulls = int(node.length - bits.sum())
    return "another null count" if node.null_count not in (-1, nulls) else bits == 1


def _values(node: Node, dtype: np.dtype[np.integer], count: int) -> NDArray[np.integer]:
    raw = node.buffers[1]
    assert raw is not None
    return np.frombuffer(raw.tobytes(), dtype, count, node.offset * dtype.itemsize)


def _offsets_fault(node: Node, dtype: np.dtype[np.integer]) -> str | None:
    if _size(node.buffers[1]) < (node.offset + node.length + 1) * dtype.itemsize:
        return "too few offsets" if node.length else None
    offsets = _values(node, dtype, node.length + 1).astype(object)
    if offsets[0] < 0 or (offsets[1:] < offsets[:-1]).any():
        return "offsets that do not ascend"
    beyond = node.length and offsets[-1] > _size(node.buffers[2])
    return "an offset beyond the data" if beyond else None


def _views_fault(node: Node, there: Bits) -> str | None:
    if node.length and _size(node.buffers[1]) < 16 * (node.offset + node.length):
        return "too few views"
    if node.length == 0:
        return None
    raw = node.buffers[1]
    assert raw is not None
    views = np.frombuffer(
        raw.tobytes(), "i4, i4, i4, i4", node.length, 16 * node.offset
    )
    for size, prefix, buffer, offset in views[there].tolist():
        if size < 0:
            return "a view of a negative size"
        if size <= 12:
            tail = np.array([prefix, buffer, offset], np.int32).tobytes()[size:]
            if any(tail):
                return "an inline view without zeros behind it"
            continue
        if not 0 <= buffer < len(node.buffers) - 2:
            return "a view of no buffer"
        data = node.buffers[2 + buffer]
        if offset < 0 or offset + size > _size(data):
            return "a view beyond its buffer"
        assert data is not None
        if data[offset : offset + 4].tobytes() != np.int32(prefix).tobytes():
            return "a view with another prefix"
    return None


def _indices_fault(node: Node, there: Bits) -> str | None:
    assert node.dictionary is not None
    kind = node.type.index_type
    letter = "u" if pa.types.is_unsigned_integer(kind) else "i"
    if node.length:
        dtype = np.dtype(f"{letter}{kind.bit_width // 8}")
        codes = _values(node, dtype, node.length)[there].astype(object)
        if ((codes < 0) | (codes >= node.dictionary.length)).any():
            return "an index beyond the dictionary"
    return fault_of(node.dictionary)


def _run_ends_fault(node: Node) -> str | None:
    ends, values = node.children
    inner = fault_of(ends) or fault_of(values)
    if inner is not None:
        return inner
    there = _validity(ends)
    if isinstance(there, str) or not there.all():
        return "a run without an end"
    if ends.length > values.length:
        return "a run without a value"
    if node.null_count not in (-1, 0):
        return "runs that are null"
    dtype = np.dtype(f"i{ends.type.bit_width // 8}")
    runs = [0, *(_values(ends, dtype, ends.length).tolist() if ends.length else ())]
    if any(later <= sooner for sooner, later in pairwise(runs)):
        return "run ends that do not ascend"
    last = runs[-1]
    return "too few runs" if last < node.offset + node.length else None

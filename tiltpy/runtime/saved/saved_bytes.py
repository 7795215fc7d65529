"""The format of a saved state: a tree of plain values, and blobs beside it.

    magic, version, length of the tree (8 bytes each, little-endian)
    the tree as JSON
    the blobs, each at a multiple of 64 bytes
    a digest of all that is before it

A tree has numbers, texts, lists, and maps; arrays, Arrow data and objects of a closed
set of classes are maps with a tag. Reading it makes these objects and no others.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from hashlib import blake2b
from struct import Struct as Layout
from typing import Any

import numpy as np
import pyarrow as pa

from tiltpy.abi.layouts import TimeLayout
from tiltpy.errors import TiltError
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer, pack_validity
from tiltpy.runtime.arrivals.live_source import Counts
from tiltpy.runtime.keyed.snapshots import KeyedSnapshots

MAGIC = b"tiltlive"
VERSION = 4
"""The version of the format, and of what a session puts into it."""
HEAD = Layout("<8sQQ")
DIGEST = 32
ALIGNMENT = 64
SPARE = 128
"""Readable bytes behind an array: kernels may read a vector from its last item."""
CLASSES: dict[str, type[Any]] = {
    each.__name__: each for each in (SnapshotBuffer, KeyedSnapshots, Counts)
}
"""The classes whose objects are saved by their fields."""
NO_FIELDS = frozenset({"_ends_so_far", "hidden", "without_hidden"})
"""Fields that are computed again."""


def write_state(state: object) -> bytes:
    """Write a tree of values as bytes."""
    blobs: list[bytes] = []
    tree = json.dumps(_pack(state, blobs), separators=(",", ":")).encode()
    digest = blake2b(digest_size=DIGEST)
    pieces = [HEAD.pack(MAGIC, VERSION, len(tree)), tree]
    size = HEAD.size + len(tree)
    for blob in blobs:
        gap = -size % ALIGNMENT
        pieces += [b"\0" * gap, blob]
        size += gap + len(blob)
    for piece in pieces:
        digest.update(piece)
    return b"".join([*pieces, digest.digest()])


def read_state(saved: bytes | bytearray | memoryview, name: str) -> Any:
    """Read what `write_state` wrote; `name` is what errors call it.

    Raises `TiltError` where the bytes are no state, of another version, or damaged.
    """
    view = memoryview(saved).cast("B")
    if len(view) < HEAD.size + DIGEST:
        raise TiltError(f"{name}: {len(view)} bytes are no saved state of a session")
    magic, version, length = HEAD.unpack_from(view)
    if magic != MAGIC:
        raise TiltError(f"{name}: this is no saved state of a session")
    if version != VERSION:
        raise TiltError(
            f"{name}: the state has version {version} of the format, and this tiltpy "
            f"reads version {VERSION}; go on with the tiltpy that wrote it"
        )
    body = view[:-DIGEST]
    if blake2b(body, digest_size=DIGEST).digest() != view[-DIGEST:]:
        raise TiltError(
            f"{name}: the state is damaged: its digest is another one; use an older "
            "one, or start anew"
        )
    tree = json.loads(bytes(body[HEAD.size : HEAD.size + length]))
    return _Reader(body, HEAD.size + length).unpack(tree)


def _pack(value: object, blobs: list[bytes]) -> object:
    """Make JSON of a value, whose arrays become blobs."""

    def add(blob: bytes) -> int:
        blobs.append(blob)
        return len(blob)

    match value:
        case TimeLayout():
            return {"layout": value.name}
        case None | bool() | int() | str():
            return value
        case np.integer():
            return int(value)
        case np.ndarray():
            assert value.ndim == 1, "arrays of one dimension alone are saved"
            return {"array": value.dtype.str, "bytes": add(value.tobytes())}
        case pa.Table():
            return {"table": add(_ipc_bytes(value))}
        case pa.Schema():
            return {"schema": add(value.serialize().to_pybytes())}
        case pa.Array():
            return {"column": add(_ipc_bytes(pa.table({"": value})))}
        case Strings():
            return {"strings": add(_ipc_bytes(pa.table({"": value.values})))}
        case list() | tuple():
            return [_pack(each, blobs) for each in value]
        case Mapping():
            return {"map": [[key, _pack(value[key], blobs)] for key in value]}
        case _ if type(value).__name__ in CLASSES:
            return _pack_object(value, blobs)
        case _:
            raise AssertionError(f"{type(value)} is not saved")


def _pack_object(value: Any, blobs: list[bytes]) -> object:
    """Make JSON of the fields of an object."""
    packed: dict[str, object] = {}
    for field in fields(value):
        if field.name in NO_FIELDS:
            continue
        item = getattr(value, field.name)
        if field.name == "columns":
            count = value.n if isinstance(value, SnapshotBuffer) else len(value.starts)
            packed[field.name] = [_pack_column(each, count, blobs) for each in item]
        else:
            if isinstance(item, np.ndarray) and isinstance(value, SnapshotBuffer):
                item = item[: max(1, value.n)]
            packed[field.name] = _pack(item, blobs)
    return {"object": type(value).__name__, "fields": packed}


def _pack_column(column: Column, count: int, blobs: list[bytes]) -> object:
    """Make JSON of the first rows of a column."""
    valid = pack_validity(column.valid(count)) if count else None
    values = column.values[: max(1, count)]
    return [_pack(each, blobs) for each in (values, valid, column.strings)]


def _ipc_bytes(table: pa.Table) -> bytes:
    """Write a table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


class _Reader:
    """Reads values of a tree, and their blobs one after the other."""

    def __init__(self, body: memoryview, position: int) -> None:
        self._body = body
        self._position = position

    def unpack(self, packed: Any) -> Any:
        """Make the value of JSON; all sequences are tuples."""
        if isinstance(packed, list):
            return tuple([self.unpack(each) for each in packed])
        if not isinstance(packed, dict):
            return packed
        (tag, value), *_ = packed.items()
        readers: dict[str, Callable[[], Any]] = {
            "array": lambda: self._array(value, packed["bytes"]),
            "table": lambda: self._table(value),
            "schema": lambda: pa.ipc.read_schema(pa.py_buffer(self._take(value))),
            "column": lambda: self._column(value),
            "strings": lambda: Strings(self._column(value)),
            "layout": lambda: TimeLayout[value],
            "map": lambda: {key: self.unpack(each) for key, each in value},
            "object": lambda: self._object(value, packed["fields"]),
        }
        return readers[tag]()

    def _take(self, size: int) -> memoryview:
        self._position += -self._position % ALIGNMENT
        first = self._position
        self._position += size
        return self._body[first : self._position]

    def _array(self, kind: str, size: int) -> np.ndarray[Any, Any]:
        dtype = np.dtype(kind)
        room = np.zeros(size + SPARE, np.uint8)
        room[:size] = np.frombuffer(self._take(size), np.uint8)
        return room[:size].view(dtype)

    def _table(self, size: int) -> pa.Table:
        with pa.ipc.open_stream(pa.py_buffer(bytes(self._take(size)))) as reader:
            return reader.read_all()

    def _column(self, size: int) -> pa.Array:
        column = self._table(size).column(0)
        return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)

    def _object(self, name: str, packed: Mapping[str, Any]) -> Any:
        items = {}
        for field, value in packed.items():
            items[field] = self.unpack(value)
            if field == "columns":
                items[field] = tuple(
                    Column(values, valid, strings=strings)
                    for values, valid, strings in items[field]
                )
        return CLASSES[name](**items)

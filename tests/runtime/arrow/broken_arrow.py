"""Arrow columns of every type a query takes, and damage to what they are made of.

`column` draws a sound column. `damage` writes over its offsets, indices, run ends,
views, validity and values where they lie; `through_stream` over the lengths, the counts
of nulls and the places of buffers, which Arrow's stream format has in its headers.
Either way the sizes of buffers are those that they really have.
"""

from collections.abc import Iterator, Sequence
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

WORDS = ("", "a", "bb", "key", "é", "a string of more than twelve bytes", "zz", "b")
STRINGS = (pa.string(), pa.large_string(), pa.string_view())
NUMBERS = (
    pa.int64(), pa.int32(), pa.int8(), pa.uint64(), pa.uint16(), pa.float64(),
    pa.float32(), pa.float16(), pa.bool_(), pa.timestamp("s"), pa.date32(),
    pa.date64(), pa.duration("s"),
)  # fmt: skip
BYTES = (pa.binary(), pa.large_binary(), pa.binary_view(), pa.decimal128(30, 2))
INDICES = (pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.uint32(), pa.int64())
RUN_ENDS = (pa.int16(), pa.int32(), pa.int64())
INTERESTING = (0, 1, -1, 2, 7, 255, 1000, 1 << 20, 0x7FFFFFFF, -(1 << 31), 1 << 62)


def random_type(random: Random, plain: Sequence[pa.DataType]) -> pa.DataType:
    """One of the types, or a dictionary or runs of it."""
    kind = random.choice(plain)
    form = random.random()
    if form < 0.3 and not pa.types.is_binary_view(kind):
        return pa.dictionary(random.choice(INDICES), kind)
    if form < 0.5 and not pa.types.is_binary_view(kind):
        return pa.run_end_encoded(random.choice(RUN_ENDS), kind)
    return kind


def column(random: Random, kind: pa.DataType, rows: int, *, nulls: bool) -> pa.Array:
    """Values of a type, of which some are null, sliced out of more."""
    before, behind = random.choice((0, 0, 1, 5, 8)), random.choice((0, 0, 3))
    count = max(1, before + rows + behind)
    absent = [nulls and random.random() < 0.3 for _ in range(count)]
    if pa.types.is_dictionary(kind):
        values = column(random, kind.value_type, 5, nulls=False)
        codes = pa.array(
            [None if no else random.randrange(5) for no in absent], kind.index_type
        )
        found = pa.DictionaryArray.from_arrays(codes, values)
    elif pa.types.is_run_end_encoded(kind):
        cuts = range(1, max(1, count))
        ends = [*sorted(random.sample(cuts, min(3, len(cuts)))), count]
        values = column(random, kind.value_type, len(ends), nulls=nulls)
        found = pa.RunEndEncodedArray.from_arrays(
            pa.array(ends, kind.run_end_type), values
        )
    else:
        found = _plain(random, kind, absent)
    return found.slice(before, rows)


def _plain(random: Random, kind: pa.DataType, absent: Sequence[bool]) -> pa.Array:
    if kind in STRINGS:
        drawn: list[object] = [random.choice(WORDS) for _ in absent]
        return pa.array(_without(drawn, absent), kind)
    if kind in BYTES[:3]:
        drawn = [random.choice(WORDS).encode() for _ in absent]
        return pa.array(_without(drawn, absent), kind)
    numbers = pa.array(_without([random.randrange(4) for _ in absent], absent))
    if pa.types.is_boolean(kind):
        return pc.greater(numbers, 1)
    if pa.types.is_date64(kind):
        return pc.multiply(numbers, 86_400_000).view(kind)
    if pa.types.is_date32(kind):
        return numbers.cast(pa.int32()).view(kind)
    if pa.types.is_float16(kind):
        return numbers.cast(pa.float32()).cast(kind)
    return numbers.cast(kind)


def _without(values: list[object], absent: Sequence[bool]) -> list[object]:
    return [None if no else one for no, one in zip(absent, values, strict=True)]


# -- damage ---------------------------------------------------------------------------


def damage(random: Random, array: pa.Array) -> None:
    """Write over some bytes of what an array is made of."""
    memories = [one for one in _memories(array) if len(one)]
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        if memories:
            _write_over(random, random.choice(memories))


def _memories(array: pa.Array) -> list[NDArray[np.uint8]]:
    """The bytes of all buffers that can be written to, those of dictionaries too."""
    found = [
        np.frombuffer(one, np.uint8)
        for one in array.buffers()
        if one is not None and one.is_mutable
    ]
    if isinstance(array, pa.DictionaryArray):
        found += _memories(array.dictionary)
    elif isinstance(array, pa.RunEndEncodedArray):
        found += _memories(array.values)
    elif isinstance(array, pa.StructArray):
        for number in range(array.type.num_fields):
            found += _memories(array.field(number))
    return found


def _write_over(random: Random, memory: NDArray[np.uint8]) -> None:
    width = random.choice([size for size in (1, 1, 4, 4, 8) if size <= len(memory)])
    words = memory[: len(memory) // width * width].view(f"u{width}")
    place = random.randrange(len(words))
    word = random.choice(INTERESTING)
    if random.random() < 0.5:
        word = int(words[place]) ^ (1 << random.randrange(8 * width))
    words[place] = word % (1 << 8 * width)


def through_stream(random: Random, table: pa.Table) -> pa.Table:
    """The table as read from a stream whose headers were written over.

    Raises what pyarrow raises where it finds out.
    """
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    memory = np.frombuffer(sink.getvalue().to_pybytes(), np.uint8).copy()
    headers = list(_headers(memory))
    for _ in range(random.choice((1, 1, 2, 3))):
        first, size = random.choice(headers)
        _write_over(random, memory[first : first + size])
    return pa.ipc.open_stream(pa.py_buffer(memory)).read_all()


def _headers(memory: NDArray[np.uint8]) -> Iterator[tuple[int, int]]:
    """Find the headers of batches and dictionaries, behind that of the schema."""
    reader, place = pa.BufferReader(pa.py_buffer(memory)), 0
    while True:
        try:
            message = pa.ipc.read_message(reader)
        except EOFError:
            return
        size = len(message.metadata)
        if message.type != "schema":
            yield place + 8, size  # a mark and the size come first
        place = reader.tell()

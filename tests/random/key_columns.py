"""Random key columns: values of every type that rows can be split by, many edges.

A `Family` is what the columns of one key are in all inputs that have it: types that
widen to one, and values that all of them hold. A value may be written in several ways
(a zero with either sign), which all are the one key.
"""

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

import pyarrow as pa

from tests.random.streams import WORDS

Value = object
"""What a key column holds; None is null."""


@dataclass(frozen=True, slots=True)
class Family:
    """The types that a key column may have, the one that holds all, and values."""

    types: tuple[pa.DataType, ...]
    widest: pa.DataType
    pool: tuple[Value, ...]

    def joined(self, types: Iterable[pa.DataType]) -> pa.DataType:
        """In which type keys go out that came in as these."""
        (one, *others) = {_decoded(kind) for kind in types}
        return one if not others and one not in TEXTS else self.widest


INTEGERS: tuple[tuple[tuple[pa.DataType, ...], pa.DataType], ...] = (
    ((pa.int64(),), pa.int64()),
    ((pa.int64(),), pa.int64()),
    ((pa.int8(),), pa.int8()),
    ((pa.int16(),), pa.int16()),
    ((pa.uint8(),), pa.uint8()),
    ((pa.uint64(),), pa.uint64()),
    ((pa.int8(), pa.int64()), pa.int64()),
    ((pa.int16(), pa.int32()), pa.int32()),
    ((pa.uint8(), pa.int8()), pa.int16()),
    ((pa.uint32(), pa.int8()), pa.int64()),
    ((pa.uint16(), pa.uint64()), pa.uint64()),
    ((pa.dictionary(pa.int8(), pa.int64()), pa.int32()), pa.int64()),
)
TEXTS = (
    pa.string(),
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int32(), pa.large_string()),
)
FLOATS: tuple[tuple[tuple[pa.DataType, ...], pa.DataType], ...] = (
    ((pa.float64(),), pa.float64()),
    ((pa.float32(),), pa.float32()),
    ((pa.float32(), pa.float64()), pa.float64()),
)
STAMPS: tuple[tuple[tuple[pa.DataType, ...], pa.DataType], ...] = (
    ((pa.timestamp("us"),), pa.timestamp("us")),
    ((pa.timestamp("s"), pa.timestamp("ms")), pa.timestamp("ms")),
    ((pa.timestamp("us", "Europe/Paris"),), pa.timestamp("us", "Europe/Paris")),
    (
        (pa.timestamp("us", "Europe/Paris"), pa.timestamp("s", "UTC")),
        pa.timestamp("us", "UTC"),
    ),
)


def random_family(random: Random) -> Family:
    """A key column's types and values."""
    kind = random.choice(
        (integers, integers, dense, texts, texts, dates, stamps, bools, floats, nulls)
    )
    family = kind(random)
    if random.random() < 0.3:
        return Family(family.types, family.widest, (*family.pool, None))
    return family


def integers(random: Random) -> Family:
    """Integers of any width, far apart."""
    types, joined = random.choice(INTEGERS)
    bounds = [_bounds(kind) for kind in types]
    low, high = max(b[0] for b in bounds), min(b[1] for b in bounds)
    ends = (low, low + 1, high - 1, high)
    drawn = {random.choice((*ends, random.randint(low, high))) for _ in range(24)}
    return Family(types, joined, tuple(sorted(drawn)))


def dense(random: Random) -> Family:
    """Integers next to each other, some of them missing."""
    types, joined = random.choice(INTEGERS)
    first = random.choice((0, 0, 1, 97))
    return Family(types, joined, tuple(range(first, first + random.choice((3, 9, 30)))))


def texts(random: Random) -> Family:
    kinds = tuple(random.sample(TEXTS, random.choice((1, 1, 2, 3))))
    words = dict.fromkeys((*WORDS, *(f"key {n}" for n in range(12))))
    return Family(kinds, pa.string(), tuple(words))


def dates(random: Random) -> Family:
    types, joined = random.choice(
        (
            ((pa.date32(),), pa.date32()),
            ((pa.date64(),), pa.date64()),
            ((pa.date32(), pa.date64()), pa.date64()),
        )
    )
    first = random.choice((dt.date(1969, 12, 27), dt.date(2024, 2, 27)))
    return Family(types, joined, tuple(first + dt.timedelta(n) for n in range(12)))


def stamps(random: Random) -> Family:
    types, joined = random.choice(STAMPS)
    zone = None if joined.tz is None else dt.UTC
    first = dt.datetime(1969, 12, 31, 23, 59, 58, tzinfo=zone)
    return Family(types, joined, tuple(first + dt.timedelta(0, n) for n in range(9)))


def bools(_: Random) -> Family:
    return Family((pa.bool_(),), pa.bool_(), (False, True))


def floats(random: Random) -> Family:
    types, joined = random.choice(FLOATS)
    pool = (0.0, math.nan, -math.inf, math.inf, 1.5, -1.5, 2.0**-126, 3.0, 4.0)
    return Family(types, joined, pool)


def nulls(random: Random) -> Family:
    """A column without any value, which may meet one with some."""
    if random.random() < 0.5:
        return Family((pa.null(),), pa.null(), (None,))
    kind = random.choice((pa.int32(), pa.string(), pa.bool_()))
    return Family((pa.null(), kind), kind, (None,))


def written(random: Random, value: Value) -> Value:
    """A value in one of the ways to write it."""
    if isinstance(value, float) and (math.isnan(value) or value == 0):
        return random.choice((value, -value))
    return value


def key_array(values: Sequence[Value], kind: pa.DataType) -> pa.Array:
    """The values as a column of a type."""
    if pa.types.is_dictionary(kind):
        plain = pa.array(values, kind.value_type)
        encoded = plain.dictionary_encode()
        return pa.DictionaryArray.from_arrays(
            encoded.indices.cast(kind.index_type), encoded.dictionary
        )
    return pa.array(values, kind, from_pandas=False)


def _bounds(kind: pa.DataType) -> tuple[int, int]:
    kind = _decoded(kind)
    bits = kind.bit_width
    if pa.types.is_unsigned_integer(kind):
        return 0, (1 << bits) - 1
    return -(1 << bits - 1), (1 << bits - 1) - 1


def _decoded(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind

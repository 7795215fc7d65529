"""Rows by key: codes of key columns, groups, lifetimes in each, inputs aligned."""

import datetime as dt
import math
from collections import defaultdict
from dataclasses import replace

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.frames import TRADE, check, events, m, read
from tiltpy import lifetimes
from tiltpy import types as ty
from tiltpy.abi.layouts import TimeLayout
from tiltpy.errors import DataError
from tiltpy.ir.nodes import Input
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrow.timestamps import PLAIN_TICKS
from tiltpy.runtime.ingest import sort_order as arrange
from tiltpy.runtime.ingest.binding import InputBinding, SampleTimes, bind
from tiltpy.runtime.ingest.group_by_code import GroupedRows, group_rows
from tiltpy.runtime.ingest.keys import Groups, Keys, align
from tiltpy.runtime.ingest.packed_sort import Codes
from tiltpy.runtime.ingest.read_input import InputRows

Row = tuple[object, ...]


def by(
    *keys: str, type: ty.Type = ty.I64, lifetime: lifetimes.Lifetime | None = None
) -> Input:
    declared = m(type, lifetime or lifetimes.Point())
    return replace(declared, time="t", keys=keys)


def rows(found: InputRows) -> dict[object, list[Row]]:
    """Each key's events; a key of one column is its value."""
    assert found.keys is not None
    assert found.groups is not None
    return groups_of(found.keys, found.groups)


def groups_of(keys: Keys, groups: Groups) -> dict[object, list[Row]]:
    """The rows by key, which must be what the parts of `Groups` say in all ways."""
    parts = zip(*(column.to_pylist() for column in keys.columns), strict=True)
    names = [part[0] if len(part) == 1 else part for part in parts]
    assert len(names) == len(keys) == len(groups)
    assert groups.offsets[0] == 0
    assert groups.offsets[-1] == groups.buffer.n
    starts, ends = (times.tolist() for times in groups.times())
    payload = [row[2:] for row in events(flat(groups))]
    found = {}
    for number, name in enumerate(names):
        low, high = groups.offsets[number : number + 2]
        span = slice(low, high)
        part = [
            (start, end, *values)
            for start, end, values in zip(
                starts[span], ends[span], payload[span], strict=True
            )
        ]
        segment = groups.segment(number)
        assert events(segment) == part
        if part:
            assert groups.firsts[number] == part[0][0]
            if groups.buffer.domain_end is None:
                assert groups.lasts[number] == max(row[1] for row in part)
            assert segment.bounds() == (groups.firsts[number], groups.lasts[number])
        found[plain(name)] = part
    assert len(found) == len(names)
    return found


def plain(value: object) -> object:
    """A part of a key that is itself: NaN is not."""
    return "nan" if isinstance(value, float) and math.isnan(value) else value


def flat(groups: Groups) -> SnapshotBuffer:
    """The buffer with times that can be asked for at once."""
    buffer = groups.buffer
    if buffer.layout is TimeLayout.CONTIGUOUS:
        starts, _ = groups.times()
        return replace(buffer, layout=TimeLayout.INTERVALS, starts=starts)
    return buffer


def table(*rows: Row, keys: pa.DataType | None = None) -> pa.Table:
    """Rows of key, time and value."""
    parts = [list(part) for part in zip(*rows, strict=True)] or [[], [], []]
    return pa.table(
        {
            "k": pa.array(parts[0], keys),
            "t": pa.array(parts[1], pa.int64()),
            "m": pa.array(parts[2], pa.int64()),
        }
    )


# Keys


ABC = ["b", "a", None, "a", "ä", ""]
KEYS: dict[str, tuple[pa.Array, list[object]]] = {
    "strings": (pa.array(ABC), [None, "", "a", "b", "ä"]),
    "large strings": (pa.array(ABC, pa.large_string()), [None, "", "a", "b", "ä"]),
    "string views": (pa.array(ABC, pa.string_view()), [None, "", "a", "b", "ä"]),
    "dictionaries": (pa.array(ABC).dictionary_encode(), [None, "", "a", "b", "ä"]),
    "a dictionary with repetitions": (
        pa.DictionaryArray.from_arrays(
            [0, 1, 2, 3, None, 0], ["b", "b", None, "unused", "never"]
        ),
        [None, "b", "unused"],
    ),
    "a dictionary of nulls": (
        pa.DictionaryArray.from_arrays([0, None, 0, 0, 0, 0], pa.nulls(1)),
        [None],
    ),
    "a dictionary of integers": (
        pa.array([7, 5, 7, None, 5, 5]).dictionary_encode(),
        [None, 5, 7],
    ),
    "run ends": (
        pa.RunEndEncodedArray.from_arrays([2, 3, 6], [9, None, 8]),
        [None, 8, 9],
    ),
    "integers": (pa.array([3, -1, 3, 0, 2, 2]), [-1, 0, 2, 3]),
    "bytes": (pa.array([127, -128, 0, 1, 1, 1], pa.int8()), [-128, 0, 1, 127]),
    "unsigned": (
        pa.array([2**64 - 1, 2**64 - 3, 2**64 - 1, None, 2**64 - 2, 0], pa.uint64()),
        [None, 0, 2**64 - 3, 2**64 - 2, 2**64 - 1],
    ),
    "the widest range": (
        pa.array([2**63 - 1, -(2**63), 0, None, 0, 5]),
        [None, -(2**63), 0, 5, 2**63 - 1],
    ),
    "the least, and null": (
        pa.array([-(2**63), None, -(2**63) + 1, None, None, None]),
        [None, -(2**63), -(2**63) + 1],
    ),
    "bools": (pa.array([True, False, None, True, True, True]), [None, False, True]),
    "floats": (
        pa.array([0.0, -0.0, math.nan, -math.nan, None, -math.inf]),
        [None, -math.inf, 0.0, "nan"],
    ),
    "halves": (
        pa.array(np.array([1.5, -0.0, 0.0, np.nan, 2, 2], np.float16)),
        [0.0, 1.5, 2.0, "nan"],
    ),
    "dates": (
        pa.array([3, 1, 1, None, 2, 2], pa.int32()).view(pa.date32()),
        [None, *(dt.date(1970, 1, day) for day in (2, 3, 4))],
    ),
    "stamps": (
        pa.array([10**15, 0, None, 0, 1, 1]).view(pa.timestamp("us")),
        [
            None,
            dt.datetime(1970, 1, 1),
            dt.datetime(1970, 1, 1, 0, 0, 0, 1),
            dt.datetime(2001, 9, 9, 1, 46, 40),
        ],
    ),
    "nulls alone": (pa.nulls(6), [None]),
    "nulls of a type": (pa.nulls(6, pa.int16()), [None]),
}


@pytest.mark.parametrize(("column", "expected"), KEYS.values(), ids=KEYS.keys())
@pytest.mark.parametrize("cut", ["whole", "chunks", "slice"])
def test_keys_in_their_order(
    column: pa.Array, expected: list[object], cut: str
) -> None:
    of = [plain(value) for value in column.to_pylist()]
    frame = pa.table({"k": column, "t": range(6), "m": range(6)})
    if cut == "chunks":
        frame = pa.concat_tables([frame.slice(0, 1), frame.slice(1, 0), frame.slice(1)])
    elif cut == "slice":
        frame = pa.concat_tables([frame, frame])
        if not pa.types.is_run_end_encoded(column.type):
            frame = frame.combine_chunks()
        frame = frame.slice(6)
    found = rows(read(frame, by("k")))
    wanted = defaultdict(list)
    for row, key in enumerate(of):
        wanted[key].append((row - 1, row, row))
    assert list(found) == expected
    assert found == dict(wanted)


def test_zeros_are_positive_and_types_stay() -> None:
    found = read(table((-0.0, 1, 1), keys=pa.float32()), by("k"))
    assert found.keys is not None
    assert found.keys.columns[0].equals(pa.array([0.0], pa.float32()))
    assert math.copysign(1, found.keys.columns[0][0].as_py()) == 1
    for kind in (
        pa.int8(),
        pa.uint64(),
        pa.bool_(),
        pa.date64(),
        pa.timestamp("s", "UTC"),
    ):
        keys = read(
            table((0, 1, 1), keys=pa.int64()).set_column(
                0,
                "k",
                pa.array([0])
                .cast(pa.int8() if kind == pa.bool_() else pa.int64())
                .cast(kind),
            ),
            by("k"),
        ).keys
        assert keys is not None
        assert keys.columns[0].type == kind


def test_several_columns() -> None:
    frame = pa.table(
        {
            "city": ["B", "A", None, "A", "B", "A"],
            "room": [2, 1, 1, None, 2, 1],
            "t": [1, 2, 3, 4, 5, 6],
            "m": [1, 2, 3, 4, 5, 6],
        }
    )
    found = rows(read(frame, by("city", "room")))
    assert list(found) == [(None, 1), ("A", None), ("A", 1), ("B", 2)]
    assert found["A", 1] == [(1, 2, 2), (5, 6, 6)]
    assert list(rows(read(frame, by("room", "city")))) == [
        (None, "A"), (1, None), (1, "A"), (2, "B"),
    ]  # fmt: skip


def test_many_keys_of_several_columns() -> None:
    """Pairs of codes of a range that is hashed, and codes of all widths."""
    random = np.random.default_rng(3)
    for size in (200, 5_000, 70_000):
        left, right = random.integers(0, size, (2, 20_000))
        frame = pa.table(
            {
                "a": left * 10**9,
                "b": [f"{number:06}" for number in right.tolist()],
                "t": np.arange(20_000),
                "m": np.arange(20_000),
            }
        )
        found = read(frame, by("a", "b"))
        assert found.keys is not None
        assert found.groups is not None
        expected = pl.DataFrame(frame).sort("a", "b", "t", maintain_order=True)
        distinct = expected.unique(["a", "b"], maintain_order=True)
        assert found.keys.columns[0].to_pylist() == distinct["a"].to_list()
        assert found.keys.columns[1].to_pylist() == distinct["b"].to_list()
        values = found.groups.buffer.columns[0].values
        assert values.tolist() == expected["m"].to_list()


@pytest.mark.parametrize("keys", [5, 30_000])
@pytest.mark.parametrize("nulls", [0, 1])
@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_integers_far_apart(keys: int, nulls: int, kind: type[np.integer]) -> None:
    """Few are hashed, many are sorted."""
    random = np.random.default_rng(keys)
    limits = np.iinfo(kind)
    known = random.integers(limits.min, limits.max, keys, kind, endpoint=True)
    known[:2] = limits.min, limits.max
    column = pa.array(known[random.integers(0, keys, 60_000)])
    if nulls:
        column = pc.if_else(pa.array(np.arange(60_000) % 97 == 0), None, column)
    count = np.arange(60_000)
    frame = pa.table({"k": column, "t": count, "m": count})
    found = read(frame, by("k"))
    expected = pl.DataFrame(frame).sort("k", "t")
    assert found.keys is not None
    distinct = expected["k"].unique(maintain_order=True)
    assert found.keys.columns[0].to_pylist() == distinct.to_list()
    values = found.buffer.columns[0].values
    assert values.tolist() == expected["m"].to_list()


# The way the rows lie


def test_rows_that_lie_by_key_are_shared() -> None:
    value = np.array([1, 2, 3, 4])
    stamps = np.array([5, 9, 1, 4])
    frame = pa.table({"k": [1, 1, 2, 2], "t": stamps, "m": value})
    found = read(frame, by("k"), allow_sort=False)
    assert rows(found) == {1: [(4, 5, 1), (8, 9, 2)], 2: [(0, 1, 3), (3, 4, 4)]}
    assert found.buffer.ends is not None
    assert np.shares_memory(found.buffer.ends, stamps)
    assert np.shares_memory(found.buffer.columns[0].values, value)


def test_rows_in_any_order() -> None:
    frame = table(("b", 5, 1), ("a", 3, 2), ("b", 4, 3), ("a", 9, 4), ("b", 4, 5))
    found = rows(read(frame, by("k")))
    assert found == {
        "a": [(2, 3, 2), (8, 9, 4)],
        "b": [(3, 4, 3), (3, 4, 5), (4, 5, 1)],
    }


def test_ties_are_broken_in_each_key() -> None:
    frame = table(("b", 4, 3), ("a", 4, 1), ("b", 4, 2), ("a", 4, 5), ("b", 1, 9))
    found = rows(read(frame, replace(by("k"), order=("m",))))
    assert found == {
        "a": [(3, 4, 1), (3, 4, 5)],
        "b": [(0, 1, 9), (3, 4, 2), (3, 4, 3)],
    }


def test_unsorted_rows_are_named_where_they_must_not_be() -> None:
    mixed = table(("b", 5, 1), ("a", 3, 2), ("b", 6, 3), ("a", 3, 4))
    assert rows(read(mixed, by("k"), allow_sort=False)) == rows(read(mixed, by("k")))
    bad = table(("b", 5, 1), ("a", 3, 2), ("b", 6, 3), ("a", 2, 4), ("b", 1, 5))
    check(
        bad, by("k"), "belongs before the one above it that has its key",
        "t", 3, allow_sort=False,
    )  # fmt: skip
    tied = table(("b", 5, 9), ("a", 3, 2), ("b", 5, 3))
    check(
        tied, replace(by("k"), order=("m",)), "belongs before", "t", 2,
        allow_sort=False,
    )  # fmt: skip


# Lifetimes


def layout(found: InputRows) -> tuple[TimeLayout, bool, bool]:
    assert found.groups is not None
    buffer = found.groups.buffer
    assert buffer is found.buffer
    return buffer.layout, buffer.fifo, buffer.points


def test_points_of_each_key() -> None:
    together = table(("a", 1, 1), ("b", 1, 2), ("a", 2, 3), ("b", 2, 4), ("c", 9, 5))
    found = read(together, by("k"))
    assert rows(found) == {
        "a": [(0, 1, 1), (1, 2, 3)],
        "b": [(0, 1, 2), (1, 2, 4)],
        "c": [(8, 9, 5)],
    }
    assert layout(found) == (TimeLayout.SAMPLED, True, True)
    assert found.buffer.period == 1
    apart = read(table(("a", 1, 1), ("b", 1, 2), ("a", 3, 3)), by("k"))
    assert layout(apart) == (TimeLayout.INTERVALS, True, True)
    assert apart.groups is not None
    assert apart.groups.segment(1).layout is TimeLayout.SAMPLED
    assert apart.groups.segment(1).points


def test_durations_of_each_key() -> None:
    frame = table(("a", 1, 1), ("b", 2, 2), ("a", 4, 3), ("b", 6, 4))
    found = read(frame, by("k", lifetime=lifetimes.FixedDuration(3)))
    assert rows(found) == {"a": [(0, 3, 1), (3, 6, 3)], "b": [(1, 4, 2), (5, 8, 4)]}
    assert layout(found) == (TimeLayout.INTERVALS, True, False)
    found = read(frame, by("k", lifetime=lifetimes.FixedDuration(4)))
    assert layout(found) == (TimeLayout.OVERLAPPING, True, False)
    assert found.groups is not None
    assert found.groups.segment(1).layout is TimeLayout.SAMPLED


def test_rows_hold_until_the_next_of_their_key() -> None:
    frame = table(("a", 1, 1), ("b", 2, 2), ("a", 4, 3), ("b", 9, 4), ("c", 3, 5))
    hold = by("k", lifetime=lifetimes.UntilNext())
    found = read(frame, hold)
    assert rows(found) == {
        "a": [(0, 3, 1), (3, ty.ENDLESS, 3)],
        "b": [(1, 8, 2), (8, ty.ENDLESS, 4)],
        "c": [(2, ty.ENDLESS, 5)],
    }
    assert layout(found) == (TimeLayout.CONTIGUOUS, True, False)
    assert found.groups is not None
    assert found.groups.lasts.tolist() == [4, 9, 3]
    assert found.groups.segment(0).bounds() == (0, 4)
    found = read(frame, by("k", lifetime=lifetimes.UntilNext(2)))
    assert rows(found) == {
        "a": [(0, 2, 1), (3, 5, 3)],
        "b": [(1, 3, 2), (8, 10, 4)],
        "c": [(2, 4, 5)],
    }
    assert found.groups is not None
    assert found.groups.lasts.tolist() == [4, 9, 3]
    assert layout(found) == (TimeLayout.INTERVALS, True, False)


def test_rows_of_one_stamp_and_key_end_together() -> None:
    frame = table(
        ("a", 1, 1), ("a", 1, 2), ("b", 1, 3), ("a", 4, 4), ("a", 4, 5), ("b", 7, 6)
    )
    found = read(frame, by("k", lifetime=lifetimes.UntilNext()))
    assert rows(found) == {
        "a": [(0, 3, 1), (0, 3, 2), (3, ty.ENDLESS, 4), (3, ty.ENDLESS, 5)],
        "b": [(0, 6, 3), (6, ty.ENDLESS, 6)],
    }
    assert layout(found) == (TimeLayout.OVERLAPPING, True, False)
    assert found.groups is not None
    assert found.groups.segment(1).layout is TimeLayout.CONTIGUOUS


def test_one_stamp_at_the_seam_of_two_keys_is_no_tie() -> None:
    frame = table(("a", 1, 1), ("a", 4, 2), ("b", 4, 3), ("b", 7, 4))
    found = read(frame, by("k", lifetime=lifetimes.UntilNext()))
    assert rows(found) == {
        "a": [(0, 3, 1), (3, ty.ENDLESS, 2)],
        "b": [(3, 6, 3), (6, ty.ENDLESS, 4)],
    }
    assert layout(found) == (TimeLayout.CONTIGUOUS, True, False)


def test_holds_of_one_length_are_sampled() -> None:
    frame = table(("a", 1, 1), ("b", 4, 2), ("a", 4, 3), ("b", 7, 4))
    hold = by("k", lifetime=lifetimes.UntilNext(3))
    found = read(frame, hold)
    assert rows(found) == {"a": [(0, 3, 1), (3, 6, 3)], "b": [(3, 6, 2), (6, 9, 4)]}
    assert layout(found) == (TimeLayout.SAMPLED, True, False)
    other = table(("a", 1, 1), ("b", 4, 2), ("a", 4, 3), ("b", 8, 4))
    assert layout(read(other, hold))[0] is TimeLayout.INTERVALS


def test_samples_of_each_key() -> None:
    frame = table(("a", 5, 1), ("b", 7, 2), ("a", 10, 3), ("b", 12, 4))
    found = read(frame, by("k", lifetime=lifetimes.Sampled(5)))
    assert rows(found) == {"a": [(0, 5, 1), (5, 10, 3)], "b": [(2, 7, 2), (7, 12, 4)]}
    assert layout(found) == (TimeLayout.SAMPLED, True, False)


def test_intervals_of_each_key() -> None:
    frame = pa.table(
        {
            "k": ["b", "a", "b", "a", "a"],
            "start": [4, 0, 0, 2, 9],
            "end": [5, 2, 9, 7, 11],
            "m": [1, 2, 3, 4, 5],
        }
    )
    declared = replace(by("k", lifetime=lifetimes.Interval()), time=None)
    found = read(frame, declared)
    assert rows(found) == {
        "a": [(0, 2, 2), (2, 7, 4), (9, 11, 5)],
        "b": [(0, 9, 3), (4, 5, 1)],
    }
    assert layout(found) == (TimeLayout.OVERLAPPING, False, False)
    assert found.groups is not None
    assert found.groups.lasts.tolist() == [11, 9]
    assert found.groups.segment(0).layout is TimeLayout.INTERVALS


# Rows that are no events


def test_null_values_are_no_events_but_end_holds() -> None:
    frame = table(
        ("a", 1, 1), ("b", 1, None), ("a", 3, None), ("c", 3, 4), ("a", 6, 5),
        ("b", 8, None),
    )  # fmt: skip
    found = read(frame, by("k", lifetime=lifetimes.UntilNext()))
    endless = [(0, 2, 1), (5, ty.ENDLESS, 5)]
    assert rows(found) == {"a": endless, "c": [(2, ty.ENDLESS, 4)]}
    assert found.groups is not None
    assert found.groups.lasts.tolist() == [6, 3]
    assert layout(found) == (TimeLayout.INTERVALS, True, False)
    assert found.buffer.abi_layout().nullable == (False,)
    found = read(frame, by("k"))
    assert rows(found) == {"a": [(0, 1, 1), (5, 6, 5)], "c": [(2, 3, 4)]}
    assert found.buffer.points
    nothing = read(table(("a", 1, None), ("b", 2, None)), by("k"))
    assert rows(nothing) == {}
    assert nothing.buffer.n == 0


def test_regular_rows_with_holes_stay_regular() -> None:
    frame = table(
        ("a", 1, 1), ("a", 2, None), ("a", 3, 3),
        ("b", 1, None), ("b", 2, None), ("b", 3, None),
        ("c", 5, None), ("c", 6, 4), ("c", 7, None),
        ("d", 1, 5), ("d", 2, 6), ("d", 3, None),
    )  # fmt: skip
    found = read(frame, by("k"))
    assert rows(found) == {
        "a": [(0, 1, 1), (1, 2, None), (2, 3, 3)],
        "c": [(5, 6, 4)],
        "d": [(0, 1, 5), (1, 2, 6)],
    }
    assert layout(found) == (TimeLayout.SAMPLED, True, True)
    assert found.groups is not None
    nullable = [found.groups.segment(key).abi_layout().nullable for key in range(3)]
    assert nullable == [(True,), (False,), (False,)]
    few = [("a", t, t if t in (1, 9) else None) for t in range(12)]
    found = read(table(*few), by("k"))
    assert rows(found) == {"a": [(0, 1, 1), (8, 9, 9)]}
    assert layout(found) == (TimeLayout.INTERVALS, True, True)


def test_null_structs_are_no_events_and_null_fields_stand() -> None:
    trades = [{"price": 1.0, "size": None}, None, None, {"price": None, "size": 2}]
    frame = pa.table({"k": [2, 1, 2, 2], "t": [1, 2, 3, 4], "trade": trades})
    found = read(frame, by("k", type=TRADE))
    assert rows(found) == {2: [(0, 1, 1.0, None), (3, 4, None, 2)]}
    wide = pa.table({"k": [2, 1], "t": [1, 2], "price": [None, 1.0], "size": [None, 3]})
    found = read(wide, by("k", type=TRADE))
    assert rows(found) == {1: [(1, 2, 1.0, 3)], 2: [(0, 1, None, None)]}
    assert found.groups is not None
    assert found.buffer.abi_layout().nullable == (True, True)
    assert found.groups.segment(0).abi_layout().nullable == (False, False)


def test_no_rows() -> None:
    empty = table(("a", 1, 1)).slice(0, 0)
    frames = (empty, pl.DataFrame({"k": [], "t": [], "m": []}))
    for frame in frames:
        for lifetime in (
            lifetimes.Point(),
            lifetimes.UntilNext(),
            lifetimes.Sampled(3),
        ):
            found = read(frame, by("k", lifetime=lifetime))
            assert rows(found) == {}
            assert found.buffer.n == 0


def test_strings_are_gathered() -> None:
    frame = pa.table({"k": [2, 1, 2, 1], "t": [1, 2, 3, 4], "m": ["x", "y", None, "x"]})
    found = read(frame, by("k", type=ty.STRING))
    (column,) = found.buffer.columns
    assert column.strings is not None
    codes = column.values[: found.buffer.n].tolist()
    assert [column.strings.values[code].as_py() for code in codes] == ["y", "x", "x"]


# Samples without a time column


def samples(frame: object, first: int, period: int) -> InputBinding:
    times = SampleTimes(first, period, PLAIN_TICKS)
    return InputBinding(frame, lifetime=lifetimes.Sampled(period), samples=times)


def test_samples_belong_to_keys() -> None:
    frame = pa.table({"k": ["b", "a", "a", "b", "a"], "m": [1, 2, 3, None, 5]})
    declared = replace(by("k"), lifetime=None, time=None)
    found = read(samples(frame, 100, 10), declared)
    assert rows(found) == {
        "a": [(110, 120, 2), (120, 130, 3), (140, 150, 5)],
        "b": [(100, 110, 1)],
    }
    runs = pa.table({"k": ["a", "a", "b"], "m": [1, 2, 3]})
    assert layout(read(samples(runs, 0, 4), declared))[0] is TimeLayout.SAMPLED
    values = pa.table({"k": ["b", "a"], "value": [1, 2]})
    assert rows(read(samples(values, 0, 1), declared))["a"] == [(1, 2, 2)]
    check(samples(values, 2**62, 4), declared, "beyond ±2**62 ticks")
    check(samples(pa.table({"m": [1]}), 0, 1), declared, "no such column", "k")


# Names


def test_frames_may_call_their_keys_otherwise() -> None:
    frame = pa.table({"ticker": [2, 1], "t": [1, 2], "v": [5, 6]})
    found = read(bind(frame, by="ticker"), by("symbol"))
    assert rows(found) == {1: [(1, 2, 6)], 2: [(0, 1, 5)]}
    assert found.keys is not None
    assert found.keys.names == ("symbol",)
    check(
        bind(frame, by=("ticker", "t")), by("symbol"),
        "the query declares the keys 'symbol', but 'ticker', 't' are bound",
    )  # fmt: skip
    check(
        bind(frame, by="ticker"), m(),
        "'ticker' are bound, but the query declares no key",
    )  # fmt: skip
    check(frame, by("ticket"), "did you mean 'ticker'?", "ticket")
    twice = pa.Table.from_arrays([[1], [2], [3], [4]], names=["k", "k", "t", "m"])
    check(twice, by("k"), "2 columns have this name", "k")


def test_keys_are_not_guessed_to_be_times_or_payload() -> None:
    day = pa.array([1, 2], pa.int32()).view(pa.date32())
    stamps = pa.array([60, 120]).view(pa.timestamp("s"))
    frame = pa.table({"day": day, "at": stamps, "v": [5, 6]})
    declared = replace(by("day"), time=None)
    assert list(rows(read(frame, declared, "s")).values()) == [
        [(59, 60, 5)], [(119, 120, 6)],
    ]  # fmt: skip
    named = pa.table({"m": [1, 1], "t": [1, 2], "v": [5, 6]})
    assert rows(read(named, by("m"))) == {1: [(0, 1, 5), (1, 2, 6)]}


def test_a_key_may_be_a_field() -> None:
    frame = pa.table({"size": [2, 1], "t": [1, 2], "price": [1.0, 2.0]})
    found = rows(read(frame, by("size", type=TRADE)))
    assert found == {1: [(1, 2, 2.0, 1)], 2: [(0, 1, 1.0, 2)]}


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([[1]]), "give each of its items a row"),
        (pa.array([{"a": 1}]), "give each field that is needed a column of its own"),
        (pa.array([1], pa.decimal128(5, 2)), "cast it to a string, or to an integer"),
        (pa.array([b"x"]), "write the bytes as a string"),
        (pa.array([b"x"]).dictionary_encode(), "write the bytes as a string"),
        (pa.array([1], pa.time32("s")), "cast it to an integer"),
        (pa.array([1], pa.duration("s")), "cast it to an integer"),
    ],
)
def test_what_is_no_key(column: pa.Array, message: str) -> None:
    frame = pa.table({"k": column, "t": [1], "m": [1]})
    check(frame, by("k"), f"rows cannot be split by {column.type}", "k")
    check(frame, by("k"), message, "k")


def test_keys_of_a_zone_that_nobody_could_write() -> None:
    column = pa.array([1], pa.timestamp("s", "Mars/Olympus"))
    for keys in (column, column.dictionary_encode()):
        frame = pa.table({"k": keys, "t": [1], "m": [1]})
        check(frame, by("k"), "whose time zone is unknown", "k")


def test_errors_name_the_row_of_the_frame() -> None:
    frame = table(("b", 1, 1), ("a", 2, 2), ("b", 2**62 + 1, 3))
    check(frame, by("k"), "", "t", 2)
    offsets = pa.py_buffer(np.array([0, 1], np.int32))
    text = pa.py_buffer(b"\xff")
    broken = pa.Array.from_buffers(pa.string(), 1, [None, offsets, text])
    frame = pa.table({"k": broken, "t": [1], "m": [1]})
    check(frame, by("k"), "the Arrow data are broken", "k")


# Several inputs

UTC = pa.timestamp("s", "UTC")
ONES = {pa.date64(): 86_400_000, pa.timestamp("ms"): 1_000}
"""The number that stands for a day or a second, where it is not one."""


def keyed(*rows: Row, keys: pa.DataType | None = None) -> tuple[Keys, Groups]:
    found = read(table(*rows, keys=keys), by("k"))
    assert found.keys is not None
    assert found.groups is not None
    return found.keys, found.groups


def test_inputs_are_aligned_over_all_keys() -> None:
    x = keyed(("b", 1, 1), ("d", 2, 2), ("b", 3, 3))
    y = keyed(("a", 1, 4), ("d", 2, 5), keys=pa.large_string())
    z = keyed((None, 9, 6), keys=pa.dictionary(pa.int8(), pa.string()))
    keys, found = align({"x": x, "y": y, "z": z})
    assert keys.names == ("k",)
    assert keys.columns[0].equals(pa.array([None, "a", "b", "d"]))
    b, d = [(0, 1, 1), (2, 3, 3)], [(1, 2, 2)]
    assert groups_of(keys, found["x"]) == {None: [], "a": [], "b": b, "d": d}
    wanted = {None: [], "a": [(0, 1, 4)], "b": [], "d": [(1, 2, 5)]}
    assert groups_of(keys, found["y"]) == wanted
    wanted = {None: [(8, 9, 6)], "a": [], "b": [], "d": []}
    assert groups_of(keys, found["z"]) == wanted


def test_inputs_of_the_same_keys_stay_as_they_are() -> None:
    x, y = keyed((1, 1, 1), (2, 2, 2)), keyed((2, 1, 1), (1, 2, 2))
    keys, found = align({"x": x, "y": y})
    assert found == {"x": x[1], "y": y[1]}
    assert keys is x[0]
    keys, found = align({"x": x})
    assert (keys, found["x"]) == x


def test_an_input_with_all_keys_stays_as_it_is() -> None:
    x, y = keyed((1, 1, 1), (2, 2, 2)), keyed((2, 1, 5), keys=pa.int8())
    keys, found = align({"y": y, "x": x})
    assert keys.columns[0].equals(pa.array([1, 2]))
    assert found["x"] is x[1]
    assert groups_of(keys, found["y"]) == {1: [], 2: [(0, 1, 5)]}


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (pa.int8(), pa.int32(), pa.int32()),
        (pa.uint8(), pa.int8(), pa.int16()),
        (pa.uint32(), pa.int16(), pa.int64()),
        (pa.uint8(), pa.int64(), pa.int64()),
        (pa.float32(), pa.float64(), pa.float64()),
        (pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("ms")),
        (pa.timestamp("s", "UTC"), pa.timestamp("s", "Asia/Tokyo"), UTC),
        (pa.null(), pa.int8(), pa.int8()),
        (pa.date32(), pa.date64(), pa.date64()),
        (pa.int64(), pa.uint64(), None),
        (pa.int64(), pa.string(), None),
        (pa.int64(), pa.float64(), None),
        (pa.bool_(), pa.int8(), None),
        (pa.timestamp("s"), pa.timestamp("s", "UTC"), None),
        (pa.date32(), pa.timestamp("s"), None),
    ],
)  # fmt: skip
def test_types_of_keys_widen(
    one: pa.DataType, other: pa.DataType, both: pa.DataType | None
) -> None:
    def of(kind: pa.DataType) -> tuple[Keys, Groups]:
        """The keys 0 and one in some type."""
        numbers = pa.array([0, ONES.get(kind, 1)])
        if pa.types.is_null(kind):
            column = pa.nulls(2)
        elif pa.types.is_temporal(kind):
            column = numbers.cast(f"int{kind.bit_width}").view(kind)
        else:
            column = numbers.cast(kind)
        frame = pa.table({"k": column, "t": [1, 2], "m": [3, 4]})
        found = read(frame, by("k"))
        assert found.keys is not None
        assert found.groups is not None
        return found.keys, found.groups

    for left, right in ((one, other), (other, one)):
        inputs = {"x": of(left), "y": of(right)}
        if both is not None:
            keys, _ = align(inputs)
            assert keys.columns[0].type == both
            with_null = pa.null() in (one, other)
            assert len(keys) == (3 if with_null else 2)
            continue
        with pytest.raises(DataError) as caught:
            align(inputs)
        assert (caught.value.input, caught.value.column) == ("y", "k")
        assert f"found {right}, but {left} in input 'x'" in str(caught.value)


def test_keys_that_do_not_fit_into_the_type_of_others() -> None:
    far = pa.table({"k": pa.array([2**62]).view(pa.timestamp("s")), "t": [1], "m": [1]})
    near = pa.table({"k": pa.array([1]).view(pa.timestamp("ns")), "t": [1], "m": [1]})
    inputs = {}
    for name, frame in (("far", far), ("near", near)):
        found = read(frame, by("k"))
        assert found.keys is not None
        assert found.groups is not None
        inputs[name] = found.keys, found.groups
    with pytest.raises(DataError, match="do not fit into timestamp") as caught:
        align(inputs)
    assert caught.value.input == "far"


# What is remembered


def test_a_bound_table_is_grouped_once(monkeypatch: pytest.MonkeyPatch) -> None:
    grouped: list[int] = []

    def noted(codes: Codes, size: int) -> GroupedRows:
        grouped.append(size)
        return group_rows(codes, size)

    monkeypatch.setattr(arrange, "group_rows", noted)
    frame = table(("b", 1, 1), ("a", 2, 2), ("b", 3, 3))
    frame = frame.append_column("n", pa.array([4, 5, 6]))
    binding = InputBinding(frame, column="m")
    found = read(binding, by("k"))
    assert read(binding, by("k")) is found
    hold = by("k", lifetime=lifetimes.UntilNext())
    assert rows(read(binding, hold))["a"] == [(1, ty.ENDLESS, 2)]
    assert len(grouped) == 1
    other = read(replace(binding, column="n"), by("k"))
    assert rows(other) == {"a": [(1, 2, 5)], "b": [(0, 1, 4), (2, 3, 6)]}
    assert rows(read(replace(binding, by=("n",)), by("k")))[6] == [(2, 3, 3)]
    assert len(grouped) == 3
    read(InputBinding(frame, column="m"), by("k"))
    assert len(grouped) == 4


# All of it, drawn

KEY_VALUES: dict[pa.DataType, list[object]] = {
    pa.int64(): [None, -5, 3, 10**15],
    pa.uint8(): [None, 0, 200, 255],
    pa.string(): [None, "", "b", "äö"],
    pa.string_view(): [None, "", "b", "a longer one of them"],
    pa.dictionary(pa.int8(), pa.string()): [None, "x", "b", "a"],
    pa.bool_(): [None, False, True],
    pa.float64(): [None, -0.0, 0.0, math.nan, 1.5],
    pa.date32(): [None, dt.date(2020, 1, 1), dt.date(1960, 1, 1)],
}
LIFETIMES = st.sampled_from(
    [
        lifetimes.Point(),
        lifetimes.FixedDuration(3),
        lifetimes.UntilNext(),
        lifetimes.UntilNext(2),
        lifetimes.Sampled(2),
        lifetimes.Interval(),
    ]
)


@st.composite
def frames(draw: st.DrawFn) -> tuple[pa.Table, tuple[str, ...]]:
    count = draw(st.integers(0, 14))
    names = ("k", "l")[: draw(st.integers(1, 2))]
    columns = {}
    for name in names:
        kind = draw(st.sampled_from(list(KEY_VALUES)))
        values = draw(
            st.lists(st.sampled_from(KEY_VALUES[kind]), min_size=count, max_size=count)
        )
        column = pa.array(values, getattr(kind, "value_type", kind))
        columns[name] = column.cast(kind) if column.type != kind else column

    def numbers(low: int, high: int, *, nulls: bool = False) -> list[int | None]:
        drawn = st.integers(low, high)
        some = st.none() | drawn if nulls else drawn
        return draw(st.lists(some, min_size=count, max_size=count))

    starts = numbers(-9, 9)
    if draw(st.booleans()):
        starts.sort(key=lambda start: start or 0)
    lengths = numbers(1, 4)
    columns["t"] = columns["start"] = pa.array(starts, pa.int64())
    ends = [(a or 0) + (b or 0) for a, b in zip(starts, lengths, strict=True)]
    columns["end"] = pa.array(ends, pa.int64())
    columns["seq"] = pa.array(numbers(0, 2, nulls=True), pa.int64())
    columns["m"] = pa.array(numbers(0, 5, nulls=True), pa.int64())
    columns["n"] = pa.array(numbers(0, 5, nulls=True), pa.float64())
    found = pa.table(columns)
    if draw(st.booleans()):
        cut = draw(st.integers(0, count))
        found = pa.concat_tables([found.slice(0, cut), found.slice(cut)])
    return found, names


def key_of(*parts: object) -> object:
    made = tuple(
        0.0 if isinstance(part, float) and part == 0 else plain(part) for part in parts
    )
    return made[0] if len(made) == 1 else made


@given(
    frames(),
    LIFETIMES,
    st.sampled_from([ty.I64, ty.Struct((("m", ty.I64), ("n", ty.F64)))]),
    st.sampled_from([(), ("seq",)]),
)
def test_groups_are_what_each_key_alone_would_be(
    drawn: tuple[pa.Table, tuple[str, ...]],
    lifetime: lifetimes.Lifetime,
    payload: ty.Type,
    order: tuple[str, ...],
) -> None:
    frame, names = drawn
    declared = replace(by(type=payload, lifetime=lifetime), order=order)
    if isinstance(lifetime, lifetimes.Interval):
        declared = replace(declared, time=None)
    column = "m" if payload == ty.I64 else None
    numbers = defaultdict(list)
    for row, parts in enumerate(
        zip(*(frame[n].to_pylist() for n in names), strict=True)
    ):
        numbers[key_of(*parts)].append(row)
    expected = {}
    for key, taken in numbers.items():
        mine = [row in taken for row in range(frame.num_rows)]
        rest = frame.drop_columns(list(names)).filter(pa.array(mine, pa.bool_()))
        alone = read(bind(rest, column=column), declared)
        part = events(alone.buffer)
        if column:
            part = [row for row in part if row[2] is not None]
        if part:
            expected[key] = part
    found = read(bind(frame, column=column), replace(declared, keys=names))
    assert found.keys is not None
    assert found.groups is not None
    ours = groups_of(found.keys, found.groups)
    if column:
        ours = {key: [row for row in part if row[2] is not None]
                for key, part in ours.items()}  # fmt: skip
    got = {key_of(*(key if isinstance(key, tuple) else (key,))): part
           for key, part in ours.items()}  # fmt: skip
    assert got == expected
    assert len(got) == len(ours)
    check_layout(found.groups)


def check_layout(groups: Groups) -> None:
    """The tightest layout that holds in every segment."""
    if not len(groups):
        return
    starts, ends = groups.times()
    fits = dict.fromkeys(("sampled", "contiguous", "intervals", "fifo"), True)
    lengths = {int(end - start) for start, end in zip(starts, ends, strict=True)}
    for low, high in zip(groups.offsets[:-1], groups.offsets[1:], strict=True):
        assert (np.diff(starts[low:high]) >= 0).all()
        left, right = ends[low : high - 1], starts[low + 1 : high]
        fits["contiguous"] &= bool((left == right).all())
        fits["intervals"] &= bool((left <= right).all())
        fits["fifo"] &= bool((np.diff(ends[low:high]) >= 0).all())
    one = len(lengths) == 1 and max(lengths) <= ty.MAX_OFFSET
    fits["sampled"] = fits["contiguous"] and one
    layout = groups.buffer.layout
    tightest = next((n for n in ("sampled", "contiguous", "intervals") if fits[n]), "")
    assert layout.value == (tightest or "overlapping")
    assert groups.buffer.fifo == fits["fifo"]

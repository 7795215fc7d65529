"""Values as people read them: nulls, times of every kind, durations, structs."""

import pyarrow as pa

import tiltpy as tilt
from tiltpy.cli.console import format_preview
from tiltpy.runtime.arrow.display import format_html, format_values


def test_values_of_every_kind() -> None:
    nanos = pa.array([1, None], pa.int64()).cast(pa.timestamp("ns", "Europe/Berlin"))
    far = pa.array([10**11], pa.int64()).cast(pa.timestamp("s"))
    for column, expected in (
        (pa.array([1.5, float("nan"), None]), ["1.5", "nan", "φ"]),
        (pa.array([True, False]), ["true", "false"]),
        (pa.array(["a", None]).dictionary_encode(), ["a", "φ"]),
        (nanos, ["1970-01-01 01:00:00.000000001+0100", "φ"]),
        (far, ["5138-11-16 09:46:40"]),
        (pa.array([90, None, -1], pa.duration("s")), ["1m30s", "φ", "-1s"]),
        (pa.array([0, 90_061_001], pa.duration("ms")), ["0s", "1d1h1m1s1ms"]),
        (pa.array([], pa.int64()), []),
    ):
        assert format_values(pa.chunked_array([column])) == expected


def test_fractions_of_a_second_are_shown_where_one_is_needed() -> None:
    for ticks, digits in (([0, 10**9], 0), ([0, 5 * 10**8], 3), ([1_000, None], 6)):
        for zone in (None, "UTC", "Asia/Kolkata"):
            column = pa.array(ticks, pa.int64()).cast(pa.timestamp("ns", zone))
            first, second = format_values(pa.chunked_array([column[:1], column[1:]]))
            written = first.split(".")[1].rstrip("Z").split("+")[0] if digits else ""
            assert len(written) == digits
            assert ("." in second) == (digits > 0 and second != "φ")


def test_structs_stand_in_braces() -> None:
    inner = pa.struct({"b": pa.duration("ms"), "c": pa.bool_()})
    rows = [{"a": 1, "i": {"b": 5, "c": None}}, None, {"a": None, "i": None}]
    column = pa.array(rows, pa.struct({"a": pa.int64(), "i": inner}))
    assert format_values(pa.chunked_array([column, column.slice(1, 1)])) == [
        "{ a = 1, i = { b = 5ms, c = φ } }",
        "φ",
        "{ a = φ, i = φ }",
        "φ",
    ]


def test_previews_and_notebooks_show_structs_in_structs() -> None:
    query = tilt.parse(
        "unit s\ninput x : f64 time t point\n"
        "~y[t] = { a = { b = ~x[t], c = 1 }, d = 2 }"
    )
    table = pa.table({"t": pa.array([1], pa.timestamp("s")), "x": [2.5]})
    found = query.run(x=table).to_arrow()
    assert format_preview(found).splitlines()[1].endswith("  { b = 2.5, c = 1 }  2")
    assert "<td>{ b = 2.5, c = 1 }</td><td>2</td>" in format_html(found, "y")


def test_wide_letters_take_two_columns_of_a_preview() -> None:
    table = pa.table({"city": ["東京", "Rome", "e\u0301"], "n": [1, 20, 3]})
    assert format_preview(table).splitlines()[:-1] == [
        "city   n",
        "東京   1",
        "Rome  20",
        "   e\u0301   3",
    ]

"""Text files: their styles, their times, and the places of what is wrong in them."""

import gzip
import io
import json
from codecs import BOM_UTF8
from pathlib import Path

import pyarrow as pa
import pytest

import tiltpy as tilt
from tiltpy.errors import DataError, TiltError
from tiltpy.runtime.arrow.files import read_source, write_tables
from tiltpy.runtime.arrow.formats import (
    FileFormat,
    TextStyle,
    detect_format,
    named_format,
)
from tiltpy.runtime.arrow.sources import file_source, pipe_source
from tiltpy.runtime.arrow.table_writers import open_writer
from tiltpy.runtime.arrow.text_faults import place_of_value
from tiltpy.runtime.ingest.text_types import cast_as_declared
from tiltpy.types import Unit

QUERY = tilt.parse(
    "unit ms\ninput x : { a: f64, n: i32, s: string, b: bool } time ts point\n"
    "~o[t] = ~x[t]\n"
)
TEXTS = tilt.parse("unit s\ninput x : { s: string } time ts point\n~o[t] = ~x[t]\n")


def read(
    path: Path, style: TextStyle | None = None, unit: Unit | None = None
) -> pa.Table:
    """Read a file as the command does, with the types that the input declares."""
    source = file_source(path, style=style)
    table = read_source(source)
    query = QUERY if "n" in table.column_names else TEXTS
    declared = query.query.inputs[0]
    binding = tilt.bind(table).binding("ms")
    return cast_as_declared(table, declared, binding, source, unit)


GERMAN = (
    "ts;a;n;s;b\n01.03.2024 09:30:05,250;1,5;3;007;true\n02.03.2024 00:00:00,5;;;;\n"
)
ROWS = [(1.5, 3, "007", True), (None, None, None, None)]


def values(table: pa.Table) -> list[tuple[object, ...]]:
    columns = [table[name].to_pylist() for name in "ansb"]
    return list(zip(*columns, strict=True))


def test_decimal_commas_and_dates(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(GERMAN)
    table = read(path, TextStyle(decimal=",", date_format="%d.%m.%Y %H:%M:%S.%f"))
    assert values(table) == ROWS
    stamps = [
        stamp.isoformat() for stamp in table["ts"].cast("timestamp[ms]").to_pylist()
    ]
    assert stamps == ["2024-03-01T09:30:05.250000", "2024-03-02T00:00:00.500000"]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".ndjson"])
@pytest.mark.parametrize("compression", ["", ".gz", ".zst"])
def test_text_formats_come_back(tmp_path: Path, suffix: str, compression: str) -> None:
    path = tmp_path / f"x{suffix}{compression}"
    stamps = pa.array([1_500, 2_000], pa.timestamp("ms"))
    columns = dict(zip("ansb", zip(*ROWS, strict=True), strict=True))
    write_tables({path: pa.table({"ts": stamps, **columns})})
    table = read(path)
    assert values(table) == ROWS
    assert table["ts"].cast("timestamp[ms]").to_pylist() == stamps.to_pylist()


def test_json_lines_are_json(tmp_path: Path) -> None:
    """Escapes, numbers without a finite value, structs, zones, and many rows."""
    texts = ['say "hi"', "back\\slash", "line\nbreak", "é", None, "tab\t", "\x01"]
    floats = [1.5, float("nan"), float("inf"), None, 1e20, -0.0, 5e-324]
    structs = [{"p": 1, "q": "x"}, None, *[{"p": None, "q": 'y"'}] * 5]
    stamps = pa.array([0, 1_500_000, *[None] * 5], pa.timestamp("us", "Europe/Berlin"))
    table = pa.table(
        {"s": texts, "f": floats, "o": structs, "ts": stamps, 'a"': [True] * 7}
    )
    table = pa.concat_tables([table] * 1200)
    path = tmp_path / "x.jsonl"
    write_tables({path: table})
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(lines) == 8_400
    assert [line["s"] for line in lines[:7]] == texts
    assert [line["f"] for line in lines[:7]] == [1.5, *[None] * 3, *floats[4:]]
    assert [line["o"] for line in lines[:7]] == structs
    assert lines[0]["ts"] == "1970-01-01T01:00:00.000000+01:00"
    assert lines[6]['a"'] is True
    assert lines[-7:] == lines[:7]


def test_times_of_json_keep_their_zone(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    row = '{"ts": "2024-03-01T09:30:05%s", "a": 1, "n": 1, "s": "x", "b": true}\n'
    for zone, unit, want in (
        ("", "s", None),
        ("Z", "s", "UTC"),
        (".25+01:00", "us", "UTC"),
    ):
        path.write_text(row % zone)
        assert read(path)["ts"].type == pa.timestamp(unit, want)


HEAD = "ts,a,n,s,b\n2024-03-01 00:00:00,1,1,x,true\n"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            '2024-03-01 00:00:01,"1,5",1,x,true',
            r"'a': found '1,5' at FILE:3:21, .*decimal",
        ),
        (
            "2024-03-01 00:00:01,one,1,x,true",
            r"'a': found 'one' at FILE:3:21, .* an f64",
        ),
        (
            "2024-03-01 00:00:01,1,1.5,x,true",
            r"'n': found '1.5' at FILE:3:23, .* an i32",
        ),
        ("2024-03-01 00:00:01,1,3000000000,,", r"found '3000000000' at FILE:3:23"),
        (
            "2024-03-01 00:00:01,1,1,x,maybe",
            r"'b': found 'maybe' at FILE:3:27, .* a bool",
        ),
        ("01/13/2024,1,1,x,true", r"'ts': found '01/13/2024' at FILE:3:1, "),
        (
            "2024-03-01T00:00:01Z,1,1,x,true",
            r"'ts': found '2024-03-01 00:00:02' at FILE:4:1, expected all times with",
        ),
        ("2024-03-01 00:00:01,1,1", r"FILE:3: found 3 values, expected 5"),
        ("2024-03-01 00:00:01", r"FILE:3: found 1 value, expected 5"),
        ('\n"2024-03-01 00:00:01",1,1,"a,\n""b",no\n', r"'b': found 'no' at FILE:5:6"),
        ('2024-03-01 00:00:01,1,1,5" pipe,"no"', r"'b': found 'no' at FILE:3:33"),
        ('2024-03-01 00:00:01,1,1,"5" pipe,no', r"'b': found 'no' at FILE:3:34"),
    ],
)
def test_a_wrong_value_has_a_place(tmp_path: Path, rows: str, message: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(HEAD + rows + "\n2024-03-01 00:00:02,2,2,y,false\n")
    with pytest.raises(DataError, match=message.replace("FILE", r".*/x\.csv")):
        read(path)


@pytest.mark.parametrize(
    ("suffix", "content", "message"),
    [
        (".csv", b"", "is empty; the first line must name the columns"),
        (".csv", b"ts;a;n\n1;2;3\n", r":1: found one column, .* add --delimiter ';'"),
        (".csv", b"ts;a\n1;2,5\n", r":2: found 2 values, .* ';' .* add --decimal ,"),
        (".csv", b"# made by hand\nts,a\n1,2\n", r":2: .* the first line must name"),
        (".csv", b"PAR1\x15\x04\xf4", r": its format is Parquet; call it \.parquet"),
        (".csv", HEAD.encode() + b"1,2,3,\xe4,1\n", r":3:7: the byte 0xe4 .* iconv"),
        (".jsonl", b"", "is empty; it needs one object a line"),
        (".jsonl", b"\n\n", "is empty; it needs one object a line"),
        (".jsonl", BOM_UTF8, "is empty; it needs one object a line"),
        (".csv", BOM_UTF8, "is empty; the first line must name the columns"),
        (".jsonl", b'{"a": 1}\n{"a" 2}\n', r":2:6: no JSON: expecting ':' delimiter"),
        (".jsonl", b'[\n{"a": 1}\n]\n', r":1:2: no JSON: .* one object a line"),
        (
            ".jsonl",
            b'[{"a": 1}]\n',
            r":1:1: found an array; expected one object a line",
        ),
        (".jsonl", b'{"a": 1}\n{"a": "x"}\n', r":2: column 'a': .* a string, where"),
        (".jsonl", b'{"ts": 1, "s": "\xe4"}\n', r":1:17: the byte 0xe4"),
    ],
)
def test_a_broken_file_has_a_place(
    tmp_path: Path, suffix: str, content: bytes, message: str
) -> None:
    path = tmp_path / f"x{suffix}"
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"x{suffix}.*{message}") as caught:
        read(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("unit", "stamps", "type"),
    [
        ("d", ["2024-03-01", "2024-03-02"], pa.date32()),
        ("d", ["2024-03-01 00:00:00", "2024-03-02 00:00:00"], pa.date32()),
        ("d", ["2024-03-01 06:00:00", "2024-03-02 00:00:00"], pa.timestamp("s")),
        ("d", ["2024-03-01 00:00:00Z"], pa.timestamp("s", "UTC")),
        ("h", ["2024-03-01", "2024-03-02"], pa.timestamp("s")),
        ("s", ["2024-03-01 00:00:00.000", "2024-03-01 00:00:01"], pa.timestamp("s")),
        ("ms", ["2024-03-01 00:00:00", "2024-03-01 00:00:01.5"], pa.timestamp("ms")),
        ("ms", ["2024-03-01 00:00:00.0005"], pa.timestamp("ns")),
        ("us", ["2024-03-01 00:00:00.0000005"], pa.timestamp("ns")),
        (None, ["2024-03-01 00:00:00.0005"], pa.timestamp("ns")),
    ],
)
def test_stamps_have_the_unit_of_the_tick(
    tmp_path: Path, unit: Unit | None, stamps: list[str], type: pa.DataType
) -> None:
    """A text has no unit; those that are no whole ticks stay, and are refused."""
    path = tmp_path / "x.csv"
    rows = "".join(f"{stamp},1,1,x,true\n" for stamp in stamps)
    path.write_text("ts,a,n,s,b\n" + rows)
    times = read(path, unit=unit)["ts"]
    assert times.type == type
    precise = [stamp.removesuffix("Z") for stamp in stamps]
    expected = pa.array(precise).cast(pa.timestamp("ns"))
    assert times.cast(pa.timestamp("ns")).to_pylist() == expected.to_pylist()


def test_a_hint_names_the_format_of_dates(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    for text, form in (
        ("13.03.2024 09:30:05", "%d.%m.%Y %H:%M:%S"),
        ("01/13/2024", "%m/%d/%Y"),
        ("3/14/2024 1:00 PM", "%m/%d/%Y %I:%M %p"),
        ("13-Mar-2024", "%d-%b-%Y"),
    ):
        path.write_text(f"ts,a,n,s,b\n{text},1,1,x,true\n")
        with pytest.raises(DataError) as caught:
            read(path)
        assert str(caught.value).endswith(f"; add --date-format '{form}'")
        assert read(path, TextStyle(date_format=form)).num_rows == 1


def test_a_hint_names_both_formats_where_day_and_month_could_be_each_other(
    tmp_path: Path,
) -> None:
    path = tmp_path / "x.csv"
    path.write_text("ts,a,n,s,b\n03/04/2024,1,1,x,true\n03/05/2024,1,1,x,true\n")
    with pytest.raises(DataError) as caught:
        read(path)
    hint = "; add --date-format '%d/%m/%Y', or '%m/%d/%Y' if the month comes first"
    assert str(caught.value).endswith(hint)


def test_numbers_are_dates_in_their_format(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("ts,a,n,s,b\n20240301,1,1,x,true\n")
    table = read(path, TextStyle(date_format="%Y%m%d"))
    assert str(table["ts"][0]) == "2024-03-01 00:00:00"


def test_the_first_bytes_tell_a_format() -> None:
    table = pa.table({"ts": [1], "x": [2.5]})
    for name in (
        "parquet",
        "csv",
        "csv.gz",
        "jsonl",
        "jsonl.zst",
        "arrow",
        "arrows",
        "tsv",
    ):
        form = named_format(name)
        source = pipe_source(io.BytesIO(written(table, form)), "<stdin>")
        assert source.format == form
        assert read_source(source).equals(table)
    assert detect_format(b"") == FileFormat("CSV")
    assert detect_format(BOM_UTF8 + b'\n{"ts": 1}') == FileFormat("JSON lines")
    assert detect_format(BOM_UTF8 + b"ts\tx\n") == FileFormat("TSV")


@pytest.mark.parametrize("header", ["ts,x", 'ts,"x"', "\ufeffts,x", "ts,x\n", "ts,x\r"])
@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz"])
def test_a_header_without_rows_names_columns(
    header: str, name: str, tmp_path: Path
) -> None:
    """Also where no newline ends it."""
    path, text = tmp_path / name, header.encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    table = read_source(file_source(path))
    assert (table.column_names, table.num_rows) == (["ts", "x"], 0)


def written(table: pa.Table, form: FileFormat) -> bytes:
    sink = pa.BufferOutputStream()
    with open_writer(sink, form, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


@pytest.mark.parametrize("length", [0, 1, 1 << 20, (1 << 20) - 9, (1 << 20) - 2])
@pytest.mark.parametrize("null", ["null", " null", "\t\r null"])
@pytest.mark.parametrize("rest", ["", '\n{"ts": 3, "x": 4.0}\n'])
def test_a_line_that_is_null(length: int, null: str, rest: str, tmp_path: Path) -> None:
    """Arrow's reader ends the process at some, and takes others for rows."""
    path = tmp_path / "x.jsonl"
    head = f'{{"ts": 1, "x": "{"-" * length}"}}\n' if length else ""
    path.write_text(head + null + rest)
    number = 2 if length else 1
    match = rf"x\.jsonl:{number}:1: found a value; expected one object a line"
    with pytest.raises(DataError, match=match):
        read(path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            '{"ts": 2, "x": 1e999}',
            "found '1e999', which no f64 holds; write null for φ",
        ),
        ('{"ts": 2, "x": 1, "x": 2}', "'x' is there twice; leave one of them out"),
    ],
)
def test_json_that_arrow_does_not_read(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(f'{{"ts": 1, "x": 1.5}}\n{line}\n')
    with pytest.raises(DataError, match=rf"x\.jsonl:2: {message}"):
        read(path)


def test_nulls_within_lines_are_values(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"ts": 1, "x":null}\n\n{"ts": 2, "x": 1.5, "s": "\\nnull"}\n')
    assert read(path)["x"].to_pylist() == [None, 1.5]


def test_names_of_formats() -> None:
    for name, message in (
        ("xml", "'xml' is no format; use csv, tsv"),
        ("csv.rar", "is no format"),
        ("parquet.gz", "Parquet is compressed inside; write parquet"),
    ):
        with pytest.raises(TiltError, match=message):
            named_format(name)


def test_a_truncated_compressed_file(tmp_path: Path) -> None:
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(HEAD.encode())[:-12])
    with pytest.raises(DataError, match=r"x\.csv\.gz: not readable as CSV"):
        read(path)
    path.write_bytes(HEAD.encode())
    with pytest.raises(DataError, match=r"x\.csv\.gz: not readable as CSV"):
        read(path)


KEYED = tilt.parse("unit s\ninput x by k : f64 time ts point\n~o[t] = ~x[t]\n")


def read_keys(path: Path) -> pa.ChunkedArray:
    """Read the keys of a file as the command does."""
    source = file_source(path)
    table = read_source(source)
    binding = tilt.bind(table).binding("s")
    declared = KEYED.query.inputs[0]
    return cast_as_declared(table, declared, binding, source).column("k")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("7 12 7", [7, 12, 7]),
        ("7 007 +7", ["7", "007", "+7"]),
        ("1.5 0.25 1e+20", [1.5, 0.25, 1e20]),
        ("1.1 1.10 1", ["1.1", "1.10", "1"]),
        ("89490200001234567890 89490200001234567891", None),
        ("true false", [True, False]),
        ("TRUE true", ["TRUE", "true"]),
        ("a NA b", ["a", "NA", "b"]),
        ("7 NA 8", ["7", "NA", "8"]),
        ("NA NA", ["NA", "NA"]),
        ("7 - 8", [7, None, 8]),
        ('a - ""', ["a", None, ""]),
    ],
)
def test_no_two_keys_of_delimited_text_become_one(
    tmp_path: Path, written: str, expected: list[object] | None
) -> None:
    """They keep the type that is guessed only if that writes them so; - is nothing."""
    path, keys = tmp_path / "x.csv", written.split()
    rows = [
        f"2026-03-01 08:00:{second:02},{'' if key == '-' else key},1"
        for second, key in enumerate(keys)
    ]
    path.write_text("\n".join(["ts,k,x", *rows, ""]))
    assert read_keys(path).to_pylist() == (keys if expected is None else expected)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ([10000000000000000001, 10000000000000000002], None),
        ([10**30 + 1, 10**30 + 2], [str(10**30 + 1), str(10**30 + 2)]),
        ([1.5, 2], [1.5, 2.0]),
        ([1.0, 2.0], None),
        (["", None], None),
        (["2024-01-01", "2024-01-01T00:00:00"], None),
    ],
)
def test_large_keys_of_json_stay_apart(
    tmp_path: Path, keys: list[object], expected: list[object] | None
) -> None:
    path = tmp_path / "x.jsonl"
    rows = [{"ts": "2026-03-01 08:00:00", "k": key, "x": 1} for key in keys]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read_keys(path).to_pylist() == (keys if expected is None else expected)


@pytest.mark.parametrize("scalar", ["u64", "string"])
def test_large_integers_of_json_are_exact(tmp_path: Path, scalar: str) -> None:
    path, large = tmp_path / "x.jsonl", 2**64 - 1
    path.write_text(f'{{"ts": "2026-03-01 08:00:00", "x": {large}}}\n')
    query = tilt.parse(f"unit s\ninput x : {scalar} time ts point\n~o[t] = ~x[t]\n")
    source = file_source(path)
    table = read_source(source)
    binding = tilt.bind(table).binding("s")
    values = cast_as_declared(table, query.query.inputs[0], binding, source)["x"]
    assert values.to_pylist() == [str(large) if scalar == "string" else large]


def test_values_may_be_long_and_have_newlines(tmp_path: Path) -> None:
    """Rows that no block of Arrow's own size holds, or that a block would cut."""
    rows = 3_000
    note = "one,\n2026-03-01 00:00:00,2,two\n" * 20
    path = tmp_path / "x.csv"
    quoted = "".join(f'{row},1,"{note}"\n' for row in range(rows))
    path.write_text(f"ts,x,note\n{quoted}")
    table = read_source(file_source(path))
    assert table["ts"].to_pylist() == list(range(rows))
    assert set(table["note"].to_pylist()) == {note}
    path = tmp_path / "x.jsonl"
    lines = [json.dumps({"ts": row, "note": "x" * 1_500_000}) for row in range(3)]
    path.write_text("\n".join(lines))
    assert read_source(file_source(path))["ts"].to_pylist() == [0, 1, 2]


def test_a_quote_without_an_end_has_a_place(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    rows = 'ts,x,note\n1,1,"a\nb"\n2,2,5" pipe\n3,3,"open\n4,4,x\n'
    path.write_text(rows.replace('5" ', "5 "))
    with pytest.raises(DataError, match=rf"{path}:5: a quote has no end, and all"):
        read_source(file_source(path))
    path.write_text(rows.replace('5" ', "5 ") + "y" * 200_000)
    with pytest.raises(DataError, match=rf"{path}:5: a quote has no end, and all"):
        read_source(file_source(path))
    # It ends nothing within a value that does not begin with it.
    path.write_text('ts,x,note\n1,1,"a\nb"\n2,2,5" pipe\n')
    assert read_source(file_source(path)).num_rows == 2
    path.write_text('ts,x,note\n1,1,5"\n2,2,"a\nb"\n')
    assert read_source(file_source(path))["note"].to_pylist() == ['5"', "a\nb"]
    path.write_text(rows.replace('"open', "open"))
    assert read_source(file_source(path))["note"].to_pylist() == [
        "a\nb", '5" pipe', "open", "x"
    ]  # fmt: skip


def test_a_quote_without_an_end_begins_the_last_value_that_has_a_place(
    tmp_path: Path,
) -> None:
    path = tmp_path / "x.csv"
    path.write_text('ts,x,note\n1,5" a,"open\n2,2,b\n')
    source = file_source(path)
    places = [place_of_value(source, 0, name) for name in ("ts", "x", "note")]
    assert places == [f"{path}:2:1", f"{path}:2:3", f"{path}:2:8"]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl"])
def test_durations_come_back_in_any_unit(tmp_path: Path, suffix: str) -> None:
    """They are texts with units: the stamps' unit is not the tick."""
    path = tmp_path / f"x.{suffix}"
    values = [5_400_000_000, None, -1_000_000]
    stamps = pa.array([0, 1_000_000, 2_000_000], pa.timestamp("us"))
    durations = pa.array(values, pa.duration("us"))
    table = pa.table({"ts": stamps, "x": durations})
    write_tables({path: table})
    assert "1h30m" in path.read_text()
    query = tilt.parse("unit s\ninput x : duration time ts point\n~o[t] = ~x[t]\n")
    source = file_source(path)
    table = read_source(source)
    binding = tilt.bind(table).binding("s")
    table = cast_as_declared(table, query.query.inputs[0], binding, source, "s")
    assert table["x"].to_pylist() == [5400, None, -1]
    rows = query.run(x=table)["o"].to_arrow()
    assert rows["o"].cast(pa.int64()).to_pylist() == [5400, -1]


@pytest.mark.parametrize(
    "text", ["1x", "1500ms", "h", "1h 30m", "9" * 30 + "h", "1_0h", "١h"]
)
def test_a_text_that_is_no_duration_has_a_place(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"ts,x\n2026-03-01 08:00:00,{text}\n")
    query = tilt.parse("unit s\ninput x : duration time ts point\n~o[t] = ~x[t]\n")
    source = file_source(path)
    table = read_source(source)
    binding = tilt.bind(table).binding("s")
    message = f"found '{text}' at {path}:2:21, expected a duration of whole ticks, 1s"
    with pytest.raises(DataError, match=message):
        cast_as_declared(table, query.query.inputs[0], binding, source, "s")


@pytest.mark.parametrize(
    "style", [TextStyle(), TextStyle(date_format="%Y-%m-%d %H:%M:%S.%f")]
)
@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_fractions_of_seconds_in_far_years(
    tmp_path: Path, suffix: str, style: TextStyle
) -> None:
    """Databases write what has no end as the last microsecond of 9999."""
    stamps = ["0001-01-01 00:00:00.5", "9999-12-31 23:59:59.999999"]
    path = tmp_path / f"x{suffix}"
    lines = ["ts,s", *(f"{stamp},a" for stamp in stamps)]
    if suffix == ".jsonl":
        lines = [json.dumps({"ts": stamp, "s": "a"}) for stamp in stamps]
    path.write_text("\n".join(lines) + "\n")
    times = read(path, style, "us")["ts"]
    assert times.type == pa.timestamp("us")
    assert times[1].value == 253_402_300_799_999_999

"""Strings: what is asked of them, and every way in and out."""

from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tiltpy as tilt
from tests.frames import POINT, check, m
from tiltpy import types as ty
from tiltpy.cli.main import main
from tiltpy.runtime.arrays import dictionary as strings
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrow import encode_strings as encoding
from tiltpy.runtime.arrow.encode_strings import Vocabulary, encode, encode_chunks
from tiltpy.runtime.ingest.read_input import ingest
from tiltpy.string_predicates import find_pattern_fault

WORDS = ["view", None, "", "é", "view", "a\0b", 'q"\\', "\uffff", "\U0001f600", "10s"]
KINDS = (
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.uint32(), pa.large_string()),
)


def words(values: list[str | None], kind: pa.DataType | None = None) -> pa.Table:
    """Rows at 1, 2, ..."""
    stamps = pa.array(range(1, len(values) + 1), pa.int64())
    column = pa.array(values, pa.string())
    if kind is not None:
        column = column.cast(kind)
    return pa.table({"time": stamps, "s": column})


def at(result: tilt.OutputTable, times: range) -> list[object]:
    """The value at each time, None where there is none."""
    found: dict[int, object] = {}
    for start, end, value in zip(
        *(result.to_arrow()[name].to_pylist() for name in ("start", "end")),
        result.to_arrow()[result.name].to_pylist(),
        strict=True,
    ):
        found.update(dict.fromkeys(range(start + 1, end + 1), value))
    return [found.get(time) for time in times]


def ask(expression: str, table: pa.Table, **options: int) -> list[object]:
    """An expression over `~s`, at the stamps of the rows."""
    query = tilt.parse(f"input s : string point\n~o[t] = {expression}")
    times = range(1, table.num_rows + 1)
    return at(query.run(s=table, **options)["o"], times)  # type: ignore[arg-type]


# -- what they mean -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "rule"),
    [
        ('~s[t] == "view"', lambda s: s == "view"),
        ('~s[t] != "view"', lambda s: s != "view"),
        ('~s[t] < "é"', lambda s: s.encode() < "é".encode()),
        ('"\uffff" <= ~s[t]', lambda s: s.encode() >= "\uffff".encode()),
        ('~s[t] > "nowhere"', lambda s: s.encode() > b"nowhere"),
        ('~s[t] >= ""', lambda _: True),
        ('~s[t] in ("view", "é", "nowhere")', lambda s: s in ("view", "é")),
        ('~s[t] in ("a\\u{0}b")', lambda s: s == "a\0b"),
        ('starts_with(~s[t], "v")', lambda s: s.startswith("v")),
        ('ends_with(~s[t], "s")', lambda s: s.endswith("s")),
        ('contains(~s[t], "ie")', lambda s: "ie" in s),
        ('contains(~s[t], "")', lambda _: True),
        ('contains(~s[t], "\\"")', lambda s: '"' in s),
        ('matches(~s[t], "^.$")', lambda s: len(s) == 1),
        ('matches(~s[t], "^\\\\d+s$")', lambda s: s == "10s"),
        ('matches(~s[t], "(?i)VIEW")', lambda s: s == "view"),
        ('~s[t] == "view" ? "yes" : "no"', lambda s: "yes" if s == "view" else "no"),
        ('{ x = ~s[t]; return x == "é" ? "e" : x }', lambda s: "e" if s == "é" else s),
    ],
)
def test_a_question_of_each_string(
    expression: str, rule: Callable[[str], object]
) -> None:
    expected = [None if s is None else rule(s) for s in WORDS]
    assert ask(expression, words(WORDS)) == expected
    assert ask(expression, words(WORDS), chunk=3, workers=2) == expected


def test_the_order_is_that_of_utf_8() -> None:
    # In UTF-16 the last would be before the one before it.
    ordered: list[str | None] = [
        "",
        "A",
        "B",
        "a",
        "aa",
        "b",
        "é",
        "\uffff",
        "\U00010000",
    ]
    backwards = words(ordered[::-1])
    assert ask("~s[t] > ~s[t-1]", backwards) == [None] + [False] * 8
    assert ask("max(~s[t-2 : t])", words(ordered)) == ordered
    assert ask("min(~s[t-9 : t])", backwards) == ordered[::-1]


def test_reductions() -> None:
    table = words(["b", "a", None, "b", "c", "a"])
    last: list[tuple[str, list[object]]] = [
        ("count(~s[t-3 : t])", [1, 2, 2, 2, 2, 3]),
        ("first(~s[t-3 : t])", ["b", "b", "b", "a", "b", "b"]),
        ("last(~s[t-3 : t])", ["b", "a", "a", "b", "c", "a"]),
        ("min(~s[t-3 : t])", ["b", "a", "a", "a", "b", "a"]),
        ("max(~s[t-3 : t])", ["b", "b", "b", "b", "c", "c"]),
        ("nunique(~s[t-4 : t])", [1, 2, 2, 2, 3, 3]),
        ("mode(~s[t-6 : t])", ["b", "b", "b", "b", "b", "b"]),
        ("topk(~s[t-3 : t], 2).top2", [None, "a", "a", "a", "b", "b"]),
        ("modes(~s[t-6 : t], 2).mode2", [None, "a", "a", "a", "a", "a"]),
        ('count(v for v in ~s[t-3 : t] if v == "a")', [0, 1, 1, 1, 0, 1]),
        ('last(v for v in ~s[t-4 : t] if v < "b")', [None, "a", "a", "a", "a", "a"]),
    ]
    for expression, expected in last:
        assert ask(expression, table) == expected, expression


def test_inputs_share_their_strings() -> None:
    query = tilt.parse(
        "input a : string point\ninput b : { s: string, t: string } point\n"
        "~same[t] = ~a[t] == ~b[t].s\n~less[t] = ~b[t].t < ~a[t]\n"
        "~either[t] = ~a[t] == ~b[t].s ? ~a[t] : ~b[t].t"
    )
    a = pa.table({"time": [1, 2, 3], "a": ["x", "y", "z"]})
    b = pa.table({"time": [1, 2, 3], "s": ["x", "z", None], "t": ["w", "yy", "a"]})
    found = query.run(a=a, b=b)
    assert at(found["same"], range(1, 4)) == [True, False, None]
    assert at(found["less"], range(1, 4)) == [True, False, True]
    assert at(found["either"], range(1, 4)) == ["x", "yy", None]


def test_strings_of_the_query_alone() -> None:
    query = tilt.parse(
        'input m : i64 point\n~o[t] = ~m[t] > 1 ? "many" : ~m[t] > 0 ? "one" : φ\n'
        '~p[t] = ~o[t] < "n" ? ~o[t] : "rest"'
    )
    found = query.run(m=pa.table({"time": [1, 2, 3], "m": [0, 1, 2]}))
    assert at(found["p"], range(1, 4)) == [None, "rest", "many"]


@pytest.mark.parametrize("many", [16, 17, 1000])
def test_many_options(many: int) -> None:
    options = ", ".join(f'"w{n}"' for n in range(many))
    table = words(["w0", f"w{many - 1}", f"w{many}", None])
    assert ask(f"~s[t] in ({options})", table) == [True, True, False, None]
    counted = ask(f"count(v for v in ~s[t-2 : t] if v in ({options}))", table)
    assert counted == [1, 2, 1, None]


def test_many_options_of_any_text() -> None:
    s = tilt.source("s", tilt.string, tilt.point())
    options = [word for word in WORDS if word is not None]
    others = [f"w{n}" for n in range(1000)]
    table = words([*WORDS, "View", "a", "w1000"])
    for given, expected in ((options + others, [True, False]), (others, [False] * 2)):
        t = tilt.TDom()
        found = tilt.compile(tilt.define("o", t, s[t].is_in(given))).run(s=table)["o"]
        known, unknown = expected
        answers = [None if word is None else known for word in WORDS]
        assert at(found, range(1, 14)) == [*answers, *[unknown] * 3]


def test_numbers_in_a_set() -> None:
    query = tilt.parse(
        "input m : f64 point\ninput n : i8 point\nparam k : i8 = 3\n"
        "param none : f64 = nan\n"
        "~a[t] = ~m[t] in (1, 2.5, none)\n~b[t] = ~n[t] in (k, 300, -1)"
    )
    times = range(1, 5)
    m_rows = pa.table({"time": times, "m": [1.0, 2.5, float("nan"), -0.0]})
    n_rows = pa.table({"time": times, "n": pa.array([3, 44, -1, None], pa.int8())})
    found = query.run(m=m_rows, n=n_rows)
    assert at(found["a"], times) == [True, True, False, False]
    assert at(found["b"], times) == [True, False, True, None]


def test_a_struct_in_a_struct() -> None:
    query = tilt.parse(
        "input e : { id: i64, who: { name: string, n: i64 } } point\n"
        '~o[t] = { who = ~e[t].who, first = contains(~e[t].who.name, "a") }'
    )
    who = [{"name": "ada", "n": 1}, {"name": None, "n": 2}, None]
    table = pa.table({"time": [1, 2, 3], "id": [1, 2, 3], "who": who})
    found = query.run(e=table).to_arrow()
    assert found["who"].to_pylist() == who
    assert found["first"].to_pylist() == [True, None, None]


# -- ways in --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_arrow_type_comes_in(kind: pa.DataType) -> None:
    table = words(WORDS, kind)
    pieces = [table.slice(7, 3), table.slice(0, 2), table.slice(2, 5)]
    chunked = pa.concat_tables(pieces)
    for frame in (table, chunked, pa.concat_tables([table.slice(0, 0), table])):
        assert ask("~s[t]", frame) == WORDS
        assert ask("max(~s[t-2 : t])", frame) == ask("max(~s[t-2 : t])", words(WORDS))
    assert ask("~s[t]", table.slice(4, 6)) == [None] * 4 + WORDS[4:][:2]


def test_run_ends_come_in() -> None:
    column = pa.RunEndEncodedArray.from_arrays(
        pa.array([2, 3, 5], pa.int32()), pa.array(["a", None, "b"])
    )
    table = pa.table({"time": [1, 2, 3, 4, 5], "s": column})
    assert ask("~s[t]", table) == ["a", "a", None, "b", "b"]


def test_a_dictionary_may_repeat_itself_and_hold_null() -> None:
    values = pa.array(["a", None, "a", "b", "unused"])
    codes = pa.array([0, 1, 2, None, 3], pa.int16())
    column = pa.DictionaryArray.from_arrays(codes, values)
    table = pa.table({"time": [1, 2, 3, 4, 5], "s": column})
    assert ask("~s[t]", table) == ["a", None, "a", None, "b"]
    assert ask("nunique(~s[t-9 : t])", table) == [1, 1, 1, 1, 2]


def frames() -> Iterator[object]:
    plain = {"time": [1, 2, 3], "s": ["b", None, ""]}
    yield pa.table(plain)
    yield pl.DataFrame(plain)
    yield pl.DataFrame(plain, schema_overrides={"s": pl.Categorical})
    yield pl.DataFrame(plain, schema_overrides={"s": pl.Enum(["", "b"])})
    yield pd.DataFrame(plain)
    yield pd.DataFrame(plain).astype({"s": "category"})
    yield pd.DataFrame(plain).astype({"s": object})
    yield duckdb.sql("select * from (values (1, 'b'), (2, NULL), (3, '')) r(time, s)")
    yield duckdb.sql(
        "select time, s::ENUM('', 'b') as s "
        "from (values (1, 'b'), (2, NULL), (3, '')) r(time, s)"
    )


@pytest.mark.parametrize(
    "frame", list(frames()), ids=lambda frame: type(frame).__name__
)
def test_every_frame_comes_in(frame: object) -> None:
    query = tilt.parse('input s : string point\n~o[t] = ~s[t] == "" ? "none" : ~s[t]')
    assert at(query.run(s=frame)["o"], range(1, 4)) == ["b", None, "none"]


def test_whole_tables_come_back_as_they_went_in(tmp_path: Path) -> None:
    query = tilt.parse("input e : { s: string, n: i64 } point\n~e2[t] = ~e[t]")
    n = pa.array(range(len(WORDS)), pa.int64())
    table = pa.table({"time": n, "s": pa.array(WORDS), "n": n})
    back = query.run(e=table).points("time")
    assert back.equals(table)
    pq.write_table(back, tmp_path / "e.parquet")
    assert query.run(e=pq.read_table(tmp_path / "e.parquet")).points("time") == table
    assert pl.DataFrame(query.run(e=table))["s"].to_list() == WORDS
    assert query.run(e=table).to_pandas()["s"].notna().tolist() == [
        word is not None for word in WORDS
    ]


def test_no_rows_and_nothing_but_nulls() -> None:
    assert ask("~s[t]", words([])) == []
    assert ask("~s[t]", words([None, None])) == [None, None]
    nulls = pa.table({"time": [1, 2], "s": pa.nulls(2)})
    assert ask('~s[t] == "a"', nulls) == [None, None]
    assert ask("count(~s[t-1 : t])", words([None, "a", None])) == [None, 1, None]


def test_samples_without_times() -> None:
    query = tilt.parse(
        "input s : string sampled 2\nt = TDom(-∞, ∞, 2)\n"
        '~n[t] = count(v for v in ~s[t-4 : t] if starts_with(v, "a"))'
    )
    for values in (["ab", "b", "a", "aa"], np.array(["ab", "b", "a", "aa"])):
        given = pa.array(values) if isinstance(values, list) else values
        found = query.run(s=tilt.sampled(given, 0, 2))
        assert at(found["n"], range(2, 9, 2)) == [1, 1, 1, 2]
    with pytest.raises(tilt.DataError, match="found int32, expected string"):
        query.run(s=tilt.sampled(np.zeros(3, np.int32), 0, 2))


def test_what_is_no_text_is_refused() -> None:
    numbers = pa.table({"t": [1], "v": [1]})
    check(numbers, m(ty.STRING, POINT), "found int64, expected string; declare", "v")
    text = pa.table({"t": [1], "v": ["1"]})
    check(text, m(ty.I64, POINT), "found string, expected i64; declare it as str", "v")
    offsets = pa.py_buffer(np.array([0, 1], np.int32))
    broken = pa.StringArray.from_buffers(1, offsets, pa.py_buffer(b"\xff"))
    table = pa.table({"t": [1], "v": broken})
    check(table, m(ty.STRING, POINT), "the Arrow data are broken: Invalid UTF8", "v")


# -- pieces, kernels, memory ----------------------------------------------------------


@pytest.mark.parametrize("size", [1, 3, 50])
def test_strings_that_come_piece_by_piece(size: int) -> None:
    values: list[str | None] = [
        None if n % 7 == 3 else f"{n * 37 % 101:03}" for n in range(400)
    ]
    table = words(values)
    query = tilt.parse(
        "input s : string point\n~o[t] = { a = max(~s[t-9 : t]), b = ~s[t-20], "
        'c = ~s[t] in ("005", "nowhere"), d = matches(~s[t], "^0"), '
        "e = nunique(~s[t-5 : t]) }\n~h[t] = first(~s[t-30 : t])"
    )
    whole = query.run(s=table)
    parts = iter([table.slice(n, size) for n in range(0, table.num_rows, size)])
    pieces = list(query.stream(s=parts))
    for name in ("o", "h"):
        found = pa.concat_tables([piece[name].to_arrow() for piece in pieces])
        assert found.combine_chunks().equals(whole[name].to_arrow().combine_chunks())


def test_a_stream_holds_no_strings_that_are_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes = []
    original = encoding.encode

    def watched(*given: object) -> object:
        found = original(*given)  # type: ignore[arg-type]
        sizes.append(len(found[1]))
        return found

    monkeypatch.setattr("tiltpy.runtime.execution.call_states.encode", watched)
    parts = (
        pa.table(
            {
                "time": np.arange(n, n + 1000),
                "s": [f"a rather long string, number {i}" for i in range(n, n + 1000)],
            }
        )
        for n in range(0, 60_000, 1000)
    )
    query = tilt.parse("input s : string point\n~o[t] = max(~s[t-9 : t])")
    rows = sum(r["o"].num_rows for r in query.stream(s=parts, memory="1MB"))
    assert rows == 60_000
    assert len(sizes) > 10
    assert max(sizes) < 30_000


def test_kernels_for_regular_rows() -> None:
    query = tilt.parse(
        "input s : string sampled 1\n"
        '~o[t] = { n = count(v for v in ~s[t-20 : t] if v == "w3"), '
        'm = matches(~s[t], "[05]$"), i = ~s[t] in ("w1", "w2"), '
        'big = max(~s[t-8 : t]), c = ~s[t] > "w4" ? ~s[t] : "small" }'
    )
    values = [None if n % 11 == 0 else f"w{n * 7919 % 10}" for n in range(10_000)]
    frame = pa.array(values)
    given = tilt.sampled(frame, 0, 1)
    text = query.explain(inputs={"s": given})
    assert "stencil" in text.split("== vector kernel ==")[1].split("\n")[1]
    found = query.run(s=given)["o"].to_arrow().to_pylist()
    for n in (1, 10, 11, 19, 20, 4321, 9997, 9998):
        row = next(r for r in found if r["start"] < n + 1 <= r["end"])
        past = [v for v in values[max(0, n - 19) : n + 1] if v is not None]
        near = [v for v in values[max(0, n - 7) : n + 1] if v is not None]
        own = values[n]
        assert row["n"] == past.count("w3")
        assert row["big"] == max(near, default=None)
        assert row["m"] == (None if own is None else own[-1] in "05")
        assert row["i"] == (None if own is None else own in ("w1", "w2"))
        expected = None if own is None else own if own > "w4" else "small"
        assert row["c"] == expected


def test_one_kernel_serves_any_strings() -> None:
    query = tilt.parse('input s : string point\n~o[t] = ~s[t] > "k" ? ~s[t] : "k"')
    assert at(query.run(s=words(["a", "z"]))["o"], range(1, 3)) == ["k", "z"]
    many: list[str | None] = [f"{n:05}" for n in range(3000)]
    found = query.run(s=words([*many, "l", "j"]))
    assert at(found["o"], range(3000, 3003)) == ["k", "l", "k"]


def test_a_bound_table_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted(chunks: list[pa.Array]) -> pa.DictionaryArray:
        calls.append(len(chunks))
        return encode_chunks(chunks)

    monkeypatch.setattr("tiltpy.runtime.arrow.read_frame.encode_chunks", counted)
    query = tilt.parse('input s : string point\n~o[t] = ~s[t] < "b"')
    bound = tilt.bind(words(["a", "b", "c"]))
    for _ in range(3):
        assert at(query.run(s=bound)["o"], range(1, 4)) == [True, False, False]
    assert calls == [1]


def test_codes_stay_where_nothing_is_ordered() -> None:
    query = tilt.parse('input m : string point\n~o[t] = ~m[t] == "z"').query
    table = pa.table({"t": [1, 2, 3], "m": ["b", "a", "b"]})
    read = ingest(query.inputs[0], tilt.bind(table).binding(None), unit=None).buffer
    rows, found = encode(Vocabulary.of(query), {"m": read})
    assert rows["m"] is read
    assert found.values.to_pylist() == ["b", "a", "z"]


def test_more_text_than_one_array_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strings, "MOST_BYTES", 20)
    found = tilt.parse("input s : string point\n~o[t] = ~s[t]").run(s=words(WORDS))
    column = found.to_arrow()["o"]
    assert column.num_chunks > 1
    assert column.to_pylist() == [word for word in WORDS if word is not None]


def test_many_different_strings() -> None:
    n = 200_000
    values = np.char.add("user-", (np.arange(n) * 7919 % n).astype(str))
    table = pa.table({"time": np.arange(1, n + 1), "s": pa.array(values)})
    query = tilt.parse(
        "input s : string point\n~o[t] = { a = max(~s[t-3 : t]), "
        'b = ends_with(~s[t], "99") }'
    )
    found = query.run(s=table).to_arrow()
    assert found.num_rows == n
    for place in (5, n // 2, n - 1):
        assert found["a"][place].as_py() == max(values[place - 2 : place + 1])
        assert found["b"][place].as_py() == values[place].endswith("99")


def test_a_dictionary_knows_its_strings() -> None:
    known = Strings.of(["b", "", "é"])
    assert [known.code(string) for string in ("b", "", "é")] == [0, 1, 2]
    assert known.decode(pa.array([2, None, 0], pa.int32())).to_pylist() == [
        "é",
        None,
        "b",
    ]


# -- other doors ----------------------------------------------------------------------


def test_a_csv_file_keeps_its_texts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "q.tilt").write_text(
        'input e : { code: string, n: f64 } time ts point\nparam k : string = "007"\n'
        "~o[t] = { code = ~e[t].code, same = ~e[t].code == k }"
    )
    (tmp_path / "e.csv").write_text(
        'ts,code,n\n1,007,1\n2,,2\n3,"",3\n4,NA,4\n5,1e3,5\n'
    )
    out = tmp_path / "out.parquet"
    words = ["run", str(tmp_path / "q.tilt"), "--input", f"e={tmp_path / 'e.csv'}"]
    assert main([*words, "--output", str(out)]) == 0
    assert pq.read_table(out)["code"].to_pylist() == ["007", None, "", "NA", "1e3"]
    assert pq.read_table(out)["same"].to_pylist() == [True, None, False, False, False]
    assert main([*words, "--output", str(out), "-p", "k=1e3"]) == 0
    assert pq.read_table(out)["same"].to_pylist() == [False, None, False, False, True]
    capsys.readouterr()


def test_parameters_are_taken_as_they_are() -> None:
    text = 'input s : string point\nparam k : string = "a"\n~o[t] = ~s[t] == k'
    for given in ("b", "it's", '"b"', "10s", "", "φ"):
        query = tilt.parse(text, params={"k": given})
        assert at(query.run(s=words(["a", given]))["o"], range(1, 3)) == [False, True]
        assert tilt.parse(str(query)).query == query.query
    with pytest.raises(tilt.QueryError, match="E0115"):
        tilt.parse(text, params={"k": 5})


def test_in_python() -> None:
    e = tilt.source("e", {"type": tilt.string, "contains": tilt.i64}, tilt.point())
    s, t = tilt.source("s", "string", tilt.point()), tilt.TDom(precision="1s")
    w = e[t - "10s" : t]
    o = tilt.define(
        "o",
        t,
        tilt.struct(
            a=e[t].type.is_in(["view", "10s"]) & ~s[t - "1m"].matches(r"^a\d"),
            b=tilt.max(w.type, where=w.type.starts_with("v") | w.type.ends_with("w")),
            c=tilt.when(s[t].contains("x"), "has", "has not"),
            d=tilt.count(w, where=w.field("contains") > 1),
        ),
    )
    assert str(tilt.compile(o)) == (
        "unit s\n"
        "input e : { type: string, contains: i64 } point\n"
        "input s : string point\n"
        "t = TDom(-∞, ∞, 1s)\n\n"
        '~o[t] = { a = ~e[t].type in ("view", "10s") && !matches(~s[t-1m], "^a\\\\d"), '
        "b = max(v.type for v in ~e[t-10s : t] "
        'if starts_with(v.type, "v") || ends_with(v.type, "w")), '
        'c = contains(~s[t], "x") ? "has" : "has not", '
        "d = count(v for v in ~e[t-10s : t] if v.contains > 1) }\n\n"
        "output ~o\n"
    )


def test_a_string_beside_a_time_is_a_duration() -> None:
    e = tilt.source("e", {"took": "duration", "kind": "string", "at": "time"})
    t = tilt.TDom(precision="1s")
    late = (e[t].took > "10s") & (e[t].at + "1m" < e[t - "3s"].at)
    o = tilt.define("o", t, late & (e[t].kind == "10s") & e[t].took.is_in(["1s"]))
    assert str(tilt.compile(o)).splitlines()[-3] == (
        "~o[t] = ~e[t].took > 10s && ~e[t].at + 1m < ~e[t-3s].at "
        '&& ~e[t].kind == "10s" && ~e[t].took in (1s)'
    )


def test_wrong_in_python() -> None:
    s, t = tilt.source("s", "string"), tilt.TDom()
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: s[t].is_in("view"), "E0206"),
        (lambda: s[t].is_in([]), "E0206"),
        (lambda: s[t] == "\ud800", "E0004"),
        (lambda: s[t].matches("("), "E0208"),
        (lambda: s[t].contains(s[t]), "E0116"),  # type: ignore[arg-type]
        (lambda: s[t] + "a", "E0201"),
        (lambda: s[t] == 1, "E0201"),
        (lambda: s[t - "soon"], "E0004"),
    ]
    for write, code in wrong:
        with pytest.raises(tilt.QueryError) as caught:
            tilt.compile(tilt.define("o", t, write()))  # type: ignore[arg-type]
        assert caught.value.code == code


def test_escapes_print_as_they_are_read() -> None:
    text = '"\\\\\\"\\n\\t\\r\\u{0}\\u{1F600}é \\u{2028}"'
    query = tilt.parse(f"input s : string\n~o[t] = ~s[t] == {text}")
    assert '== "\\\\\\"\\n\\t\\r\\u{0}😀é \\u{2028}"' in str(query)
    assert tilt.parse(str(query)).query == query.query


def test_regular_expressions_are_those_of_re2() -> None:
    assert find_pattern_fault("^[a-z]+(x|y)?$") is None
    for pattern in ("(", "(?=x)", "\\1", "a{2000}"):
        assert find_pattern_fault(pattern) is not None

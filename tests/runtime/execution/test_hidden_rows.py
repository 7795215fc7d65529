"""Rows that share a stamp, in queries with a result for each row: counted, and said."""

import warnings
from collections import Counter
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tiltpy as tilt
from tiltpy.cli.main import main

ROWS = pa.table({"k": list("aabba"), "ts": [1, 1, 1, 2, 2], "x": [1, 2, 3, 4, 5]})
QUOTES = pa.table({"ts": [0, 0, 1], "q": [1, 2, 3]})
X = "input x : i64 time ts point\n"
BY_KEY = "input x by k : i64 time ts point\n"
Q = "input q : i64 time ts until_next\n"

HIDING = {
    "strict": (X + "~o[t] = ~x[t] + 1", {"x": 3}),
    "condition": (X + "~o[t] = ~x[t] != φ ? sum(~x[t-5 : t]) : φ", {"x": 3}),
    "through another": (X + "~y[t] = ~x[t] * 2\n~o[t] = ~y[t-1] + 1", {"x": 3}),
    "function": (X + "def f(~a) = ~a[t] - mean(~a[t-9 : t])\n~o[t] = f(~x)", {"x": 3}),
    "join": (X + Q + "~o[t] = ~x[t] - ~q[t]", {"x": 3}),
    "by key": (BY_KEY + "~o[t] = ~x[t] != φ ? count(~x[t-5 : t]) : φ", {"x": 1}),
    "struct": (X + "~o[t] = ~x[t] != φ ? { v = ~x[t], n = t } : φ", {"x": 3}),
    "one of two": (X + "~o[t] = ~x[t]\n~s[t] = sum(~x[t-5 : t])", {"x": 3}),
}
QUIET = {
    "windows": X + "~o[t] = sum(~x[t-5 : t])",
    "windows by key": BY_KEY + "~o[t] = count(~x[t-5 : t])",
    "panes": X + "h = TDom(-∞, ∞, 5)\n~o[h] = count(~x[h-5 : h])",
    "coarse": X + "h = TDom(-∞, ∞, 2)\n~o[h] = ~x[h]",
    "not decided": X + "~o[t] = ~x[t] != φ ? 1 : 0",
    "held": "input x : i64 time ts until_next\n~o[t] = ~x[t]",
    "some ticks": "input x : i64 time ts duration 1\n~o[t] = ~x[t]",
    "numbered": "input x by k, n : i64 time ts point\n~o[t] = ~x[t]",
    "elsewhere": X + Q + "~o[t] = ~q[t] + count(~x[t-2 : t])",
}


def frames(query: tilt.CompiledQuery) -> dict[str, object]:
    numbered = ROWS.append_column("n", pa.array(range(5)))
    given = {"x": tilt.bind(numbered, column="x"), "q": QUOTES}
    return {one.name: given[one.name] for one in query.query.inputs}


def said(found: list[warnings.WarningMessage]) -> list[str]:
    return [str(one.message) for one in found if one.category is tilt.TiltWarning]


@pytest.mark.parametrize("case", HIDING)
def test_hidden_rows_are_counted(case: str) -> None:
    text, counts = HIDING[case]
    query = tilt.parse(text)
    with pytest.warns(tilt.TiltWarning) as caught:
        query.run(**frames(query), chunk=2)  # type: ignore[arg-type]
    assert len(caught) == 1
    assert caught[0].filename == __file__
    for name, count in counts.items():
        rows = f"{count} row{'s' * (count > 1)} of input '{name}' hidden"
        assert rows in str(caught[0].message)
    assert rows in query.explain(inputs=frames(query))


@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_said_where_no_row_is_hidden(name: str) -> None:
    query = tilt.parse(QUIET[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error", tilt.TiltWarning)
        query.run(**frames(query))  # type: ignore[arg-type]
        assert "hidden" not in query.explain(inputs=frames(query))


def test_inputs_and_lifetimes_that_are_bound() -> None:
    query = tilt.parse("input x : i64 time ts\n~o[t] = ~x[t]")
    with warnings.catch_warnings():
        warnings.simplefilter("error", tilt.TiltWarning)
        held = tilt.bind(ROWS, lifetime=tilt.until_next(), column="x")
        query.run(x=held)
        points = tilt.bind(ROWS, lifetime=tilt.point(), column="x")
        query.read_inputs(x=points)
    with pytest.warns(tilt.TiltWarning, match="3 rows"):
        query.run(x=points)
    with pytest.warns(tilt.TiltWarning, match="2 rows"):
        query.run(x=points, end=1)


# As they come, against a count in Python

STREAMED = tilt.parse(X + Q + "~o[t] = ~x[t] + ~q[t]")
KEYED = tilt.parse(BY_KEY + "~o[t] = ~x[t] + 1")


def hidden(rows: list[tuple[object, int]]) -> int:
    return sum(count - 1 for count in Counter(rows).values())


def told(found: list[warnings.WarningMessage]) -> int:
    messages = said(found)
    assert len(messages) <= 1
    return int(messages[0].split()[0]) if messages else 0


def check(seed: int, folder: Path) -> None:
    random = Random(seed)  # noqa: S311 - tests, not secrets
    stamps = sorted(random.choices(range(random.choice((5, 60))), k=25))
    values = [random.choice((None, 1, 2)) for _ in stamps]
    keys = random.choices("abc", k=25)
    x = pa.table({"k": keys, "ts": stamps, "x": pa.array(values, pa.int64())})
    rows = [
        (key, stamp)
        for key, stamp, value in zip(keys, stamps, values, strict=True)
        if value is not None
    ]
    start, end = random.choice(((None, None), (2, None), (None, 7), (1, 30)))
    wanted = [
        (key, stamp)
        for key, stamp in rows
        if (start is None or stamp > start) and (end is None or stamp <= end)
    ]
    plain = hidden([((), stamp) for _, stamp in wanted])
    q = QUOTES
    size = random.randrange(1, 6)
    column = tilt.bind(x, column="x")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        STREAMED.run(x=column, q=q, start=start, end=end)
    assert told(found) == plain, seed
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        KEYED.run(x=column, start=start, end=end)
    assert told(found) == hidden(list(wanted)), seed
    batches = x.to_batches(max_chunksize=size)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        reader = pa.RecordBatchReader.from_batches(x.schema, batches)
        bound = tilt.bind(reader, column="x")
        for _ in STREAMED.stream(x=bound, q=q, start=start, end=end):
            assert not found
    assert told(found) == plain, seed
    assert all(one.filename == __file__ for one in found)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        reader = pa.RecordBatchReader.from_batches(x.schema, batches)
        bound = tilt.bind(reader, column="x")
        STREAMED.run_to(folder / "o.arrow", x=bound, q=q, start=start, end=end)
    assert told(found) == plain, seed
    assert all(one.filename == __file__ for one in found)


def test_counts_in_every_kind_of_run(tmp_path: Path, *, deep: bool) -> None:
    for seed in range(1000 if deep else 10):
        check(seed, tmp_path)


def test_the_command_line_says_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query, file = tmp_path / "q.tilt", tmp_path / "x.parquet"
    query.write_text(HIDING["strict"][0])
    pq.write_table(ROWS, file)
    words = [str(query), "--input", str(file), "--column", "x"]
    for memory in ([], ["--memory", "100MB"]):
        assert main(["run", *words, *memory]) == 0
        err = capsys.readouterr().err
        assert err.startswith("warning: 3 rows of input 'x' hidden behind another")
        assert err.count("\n") == 1
    assert main(["explain", *words]) == 0
    out, err = capsys.readouterr()
    assert "== hidden rows ==\n3 rows of input 'x'" in out
    assert err == ""

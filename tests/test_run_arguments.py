"""Arguments of a run: options and inputs told apart, unused inputs, numpy's times."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jedi
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.plain import listed

STAMPS = pa.array([1, 2, 3, 10], pa.timestamp("s"))
X = pa.table({"ts": STAMPS, "x": [1.0, 2.0, 3.0, 4.0]})
SUM = """unit s
input x : f64 time ts point
input y : f64 time ts point
input z : { a: i64 } by k time ts point
t = TDom(0, stop, 1s)
~spare[t] = ~y[t]
~all[t] = sum(~x[t-3s : t])
output ~all
"""
SUM = SUM.replace("input z : { a: i64 } by k", "input z by k : { a: i64 }")


# Names of arguments


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        (
            "worker",
            "run() has no option 'worker'; did you mean workers=...? (inputs of",
        ),
        ("strat", "run() has no option 'strat'; did you mean start=...?"),
        ("param", "did you mean params=...?"),
        ("prices", "input 'prices': the query has no such input; it has x, y, z"),
        ("stopp", "no such input; it has x, y, z; did you mean stop?"),
    ],
)
def test_a_mistyped_option_is_told_from_an_input(argument: str, message: str) -> None:
    query = tilt.parse(SUM)
    with pytest.raises(tilt.DataError) as caught:
        query.run(x=X, stop=5, **{argument: 2})  # type: ignore[arg-type]
    assert message in str(caught.value)
    assert isinstance(caught.value, TypeError)


def test_the_method_is_named() -> None:
    query = tilt.parse(SUM)
    with pytest.raises(TypeError, match=r"stream\(\) has no option 'worker'"):
        query.stream(x=X, stop=5, worker=2)
    with pytest.raises(TypeError, match=r"run_to\(\) has no option 'memry'"):
        query.run_to("o.csv", x=X, stop=5, memry=2)
    with pytest.raises(TypeError, match=r"read_inputs\(\) has no option 'alow_sort'"):
        query.read_inputs(x=X, alow_sort=2)
    named = tilt.parse("input params : f64 time ts point\n~o[t] = ~params[t]")
    with pytest.raises(tilt.TiltError, match="'params' is an argument of run"):
        named.run(params=X)


@pytest.mark.parametrize("method", ["run", "stream", "run_to", "live", "read_inputs"])
def test_editors_complete_the_options(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of its own: another process may be writing to the cache that all share.
    monkeypatch.setattr(jedi.settings, "cache_directory", str(tmp_path))
    call = f"query.{method}("
    query = tilt.parse(SUM)
    for typed, option in (("sta", "start="), ("par", "params=")):
        completions = jedi.Interpreter(call + typed, [{"query": query}]).complete()
        assert option in [each.name for each in completions]


# What no output needs


def test_unused_inputs_need_not_be_bound() -> None:
    query = tilt.parse(SUM)
    expected = [(0, 1, 1.0), (1, 2, 3.0), (2, 3, 6.0), (3, 4, 5.0), (4, 5, 3.0)]

    def rows(result: tilt.Result) -> list[tuple[object, ...]]:
        table = result.to_arrow()
        times = [table[name].cast(pa.int64()).to_pylist() for name in ("start", "end")]
        return list(zip(*times, table["all"].to_pylist(), strict=True))

    assert rows(query.run(x=X, stop=5)) == expected
    assert rows(query.run(x=X, y=X, z="no frame", stop=5)) == expected
    pieces = list(query.stream(x=X, stop=5))
    assert [row for piece in pieces for row in rows(piece)] == expected
    assert list(query.read_inputs(x=X).keys()) == ["x"]
    y = X.rename_columns(["ts", "y"])
    assert list(query.read_inputs(x=X, y=y).keys()) == ["x", "y"]
    assert "~x" in query.explain(inputs={"x": X})
    assert [each.needed for each in query.inputs.values()] == [True, False, False]
    with pytest.raises(tilt.DataError, match="input 'x': nothing is bound to it"):
        query.run(y=X, stop=5)


def test_bounds_of_unused_objects_need_not_be_given() -> None:
    text = "input x : f64 time t point\nd = TDom(0, most, 1)\n~spare[d] = ~x[d]\n"
    query = tilt.parse(text + "~o[t] = ~x[t]\ninput y : i64\noutput ~o")
    table = pa.table({"t": [1], "x": [1.5]})
    assert listed(query.run(x=table)) == [(0, 1, 1.5)]
    assert listed(query.run(x=table, most=3)) == [(0, 1, 1.5)]


def test_what_untaken_branches_refer_to_is_needed() -> None:
    text = "input x : f64 time t point\ninput y : f64 time t point\n"
    query = tilt.parse(text + "~o[t] = true ? ~x[t] : ~y[t]")
    assert all(each.needed for each in query.inputs.values())


# Times


def test_times_of_numpy_and_pandas() -> None:
    x = tilt.source("x", tilt.f64, tilt.point(), time="ts")
    t = tilt.TDom(precision="1s")
    for length in (
        np.timedelta64(3, "s"),
        np.timedelta64(3000, "ms"),
        pd.Timedelta("3s"),
    ):
        query = tilt.compile(tilt.define("o", t, tilt.sum(x[t - length : t])))
        expected = query.run(x=X, start="1970-01-01T00:00:02", end=5).to_arrow()
        for start in (
            np.datetime64("1970-01-01T00:00:02"),
            np.datetime64(2_000_000_000, "ns"),
            pd.Timestamp("1970-01-01T00:00:02"),
        ):
            run = query.run(x=X, start=start, end=5, chunk=np.timedelta64(1, "s"))
            assert run.to_arrow() == expected
    assert repr(tilt.duration(np.timedelta64(2, "W"))) == "duration 14d"
    assert repr(tilt.TDom(np.datetime64("2020"), None, 1)).startswith(
        'TDom(time("2020-01-01"), ∞'
    )
    samples = tilt.sampled(
        np.ones(3), np.datetime64("1970-01-01"), np.timedelta64(1, "s")
    )
    query = tilt.parse("unit s\ninput x : f64\n~o[t] = ~x[t]")
    assert query.run(x=samples).schema.field("start").type == pa.timestamp("s")


def test_nanoseconds_of_pandas_are_kept() -> None:
    x = tilt.source("x", tilt.f64, tilt.point())
    t = tilt.TDom()
    assert repr(x[t - pd.Timedelta(5, "ns") : t]) == "~x[t - 5ns : t]"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.timedelta64("NaT"), "NaT is not a time"),
        (np.timedelta64(3, "M"), "has numpy's unit 'M', which is no fixed number of"),
        (np.timedelta64(3), "has numpy's unit 'generic'"),
        (pd.NaT, "NaT is not a time"),
    ],
)
def test_wrong_times_in_queries(wrong: Any, message: str) -> None:
    x = tilt.source("x", tilt.f64, tilt.point())
    t = tilt.TDom()
    with pytest.raises(tilt.QueryError, match=message):
        x[t - wrong : t]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": np.datetime64("NaT")}, "start=NaT: is not a time"),
        ({"start": np.timedelta64(1, "s")}, "start=1 seconds: expected ticks, a stamp"),
        (
            {"chunk": np.timedelta64(1, "ms")},
            "is not a whole number of the query's ticks",
        ),
        ({"chunk": np.timedelta64(1, "Y")}, "has numpy's unit 'Y'"),
    ],
)
def test_wrong_times_of_a_run(options: dict[str, Any], message: str) -> None:
    with pytest.raises(tilt.TiltError) as caught:
        tilt.parse(SUM).run(x=X, stop=5, **options)
    assert message in str(caught.value)


# Kinds of arguments


ONE: Any = 1
WRONG: dict[str, Callable[[], object]] = {
    "allow_sort: expected True or False": lambda: tilt.parse(SUM).run(
        x=X, stop=5, allow_sort=ONE
    ),
    "inputs: expected a dict": lambda: tilt.parse(SUM).explain(inputs=ONE),
    "name: expected a name": lambda: tilt.source(ONE, tilt.f64),
    "time: expected a column's name": lambda: tilt.source("x", tilt.f64, time=ONE),
    "options: expected CompileOptions": lambda: tilt.parse(SUM, options=ONE),
    "time: expected": lambda: tilt.bind(X, time=ONE),
    "column: expected": lambda: tilt.bind(X, column=ONE),
    "interval: expected a column's name": lambda: tilt.interval(ONE, ONE),
    "null: expected True or False": lambda: tilt.Rows(
        tilt.source("x", tilt.f64), null=ONE
    ),
}


@pytest.mark.parametrize("message", WRONG)
def test_an_argument_of_the_wrong_kind_is_a_type_error(message: str) -> None:
    with pytest.raises(tilt.TiltError) as caught:
        WRONG[message]()
    assert str(caught.value).startswith(message) or message in str(caught.value)
    assert isinstance(caught.value, TypeError)


QUERY = tilt.parse("unit s\ninput x : f64 time ts point\n~o[t] = ~x[t]")
SOURCE = tilt.source("x", tilt.f64, lifetime=tilt.point())
FLAGGED: dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = {
    "optimize cache": (tilt.CompileOptions, (), {}),
    "llvm asm": (QUERY.explain, (), {}),
    "allow_sort check_reductions": (QUERY.run, (), {"x": X}),
    "allow_sort": (QUERY.read_inputs, (), {"x": X}),
    "interactive": (QUERY.run(x=X).plot, (), {}),
    "left": (tilt.TDom, (), {"precision": "1s"}),
    "null": (tilt.Rows, (SOURCE,), {}),
    "distinct": (tilt.define, ("y", tilt.TDom(), SOURCE[tilt.TDom()]), {}),
    "bounds": (
        tilt.reduction,
        ("r", tilt.f64),
        {"init": 0.0, "acc": lambda s, v: s + v, "result": lambda s: s},
    ),
    "accepted": (tilt.ingress, (), {}),
    "early until_end": (
        tilt.run_live,
        (QUERY,),
        {"sources": {}, "into": {}, "form": "changes"},
    ),
    "follow": (tilt.sources.tail, ("examples/data/power.csv",), {}),
    "follow ": (tilt.sources.folder, ("examples/data",), {}),
}
"""Public functions by their flags, with the arguments that they cannot do without."""


@pytest.mark.parametrize("value", ["no", 0, None, np.array([1, 2])])
@pytest.mark.parametrize("flags", FLAGGED)
def test_flags_are_true_or_false(flags: str, value: object, tmp_path: Path) -> None:
    """Nothing else counts as one: "no" would be true, and an array neither."""
    call, arguments, named = FLAGGED[flags]
    if flags == "follow":
        (tmp_path / "x.csv").touch()
        arguments = (tmp_path / "x.csv",)
    for flag in flags.split():
        with pytest.raises(TypeError, match=f"{flag}: expected True or False") as error:
            call(*arguments, **{**named, flag: value})
        assert isinstance(error.value, tilt.TiltError)


@pytest.mark.parametrize("value", ["no", 3, None, np.array(["key", "time"]), X])
def test_words_are_those_there_are(value: Any) -> None:
    calls: dict[str, Callable[[], object]] = {
        "order: expected|order='no': expected": lambda: QUERY.run(x=X, order=value),
        "format": lambda: QUERY.explain(format=value),
        "late": lambda: tilt.ingress(late=value),
        "form": lambda: tilt.run_live(QUERY, sources={}, into={}, form=value),
    }
    for message, call in calls.items():
        with pytest.raises(tilt.TiltError, match=message):
            call()
    if value is not None:
        with pytest.raises(tilt.TiltError, match="by_key"):
            QUERY.run(x=X).plot(by_key=value)
        with pytest.raises(tilt.TiltError, match="format"):
            tilt.sources.folder("examples", format=value)
        with pytest.raises(tilt.TiltError, match="params"):
            tilt.parse("~o[t] = t", params=value)


def test_numbers_of_other_libraries() -> None:
    numbers: list[Any] = [np.int64(2), pa.scalar(2)]
    for workers in numbers:
        assert len(QUERY.run(x=X, workers=workers)) == 4
    wrongs: list[Any] = [0, np.array([1, 2])]
    for wrong in wrongs:
        with pytest.raises(tilt.TiltError, match="1 or more"):
            QUERY.live(workers=wrong)
    assert len(QUERY.run(x=X).head(10**30)) == 4


@pytest.mark.parametrize(
    ("path", "message"), [("", "an empty text"), ("\ud800", r"\\ud800 is not a path")]
)
def test_paths_that_the_system_cannot_be_asked_for(path: str, message: str) -> None:
    result = QUERY.run(x=X)
    calls: list[Callable[[], object]] = [
        lambda: tilt.load(path),
        lambda: result.write_parquet(path),
        lambda: QUERY.run_to(path, x=X),
        lambda: tilt.scan_parquet(path),
        lambda: tilt.sources.folder(path),
    ]
    for call in calls:
        with pytest.raises(tilt.TiltError, match=message):
            call()


def test_frames_are_given_by_name() -> None:
    with pytest.raises(TypeError, match=r"by name: run\(x=frame\)") as caught:
        tilt.parse(SUM).run(X)  # type: ignore[call-arg]
    assert isinstance(caught.value, tilt.TiltError)

"""Queries, what is bound to them, results and errors go to other processes and back."""

import copy
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from multiprocessing import get_context
from typing import TypeVar

import numpy as np
import polars
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests import ROOT
from tests.compiled import NO_STRATEGIES
from tests.random.events import random_event_case
from tests.random.grids import random_grid_case
from tests.random.keyed_queries import random_fold_case, random_keyed_case
from tests.random.payloads import random_payload_case
from tests.random.queries import random_case
from tiltpy.api import CompiledQuery
from tiltpy.errors import DataError, QueryError, QueryErrors
from tiltpy.ir.nodes import Query
from tiltpy.library import sma
from tiltpy.limits import MAX_STATEMENTS
from tiltpy.passes.pipeline import PASS_NAMES

T = TypeVar("T")
QUERIES = 8
"""Of each kind."""
DEEPER = 640
ROWS = 20_000
TICKS = np.arange(ROWS)
FRAME = pa.table(
    {
        "time": TICKS,
        "x": TICKS % 13 / 8,
        "key": TICKS % 7,
        "s": [f"name {one % 5}" for one in range(ROWS)],
    }
)
SUM = "input x : f64 time time until_next\n~o[t] = sum(~x[t-3 : t])\n"
TEXTS = (
    SUM,
    "input x : f64 time time point\n~o[t] = ~x[t] > 99 ? 1 : φ\n",
    "input x : { x : f64, s : string } time time point\n"
    "~o[t] = { a = ~x[t].s, b = { c = ~x[t].x } }\n~p[t] = ~x[t].s\n",
    "input x by key : f64 time time until_next\n~o[t] = sum(~x[t-30 : t])\n",
    "input x by key : f64 time time point\nt = TDom(-∞, ∞, 100)\n"
    "~o[t] = sum(~x[t-100 : t])\n",
    "input x by s : f64 time time point\nt = TDom(-∞, ∞, 100)\n"
    "~o[t] = count(~x[t-100 : t])\n",
)


def sent(value: T, protocol: int = pickle.DEFAULT_PROTOCOL) -> T:
    """The value as another process has it."""
    received: T = pickle.loads(pickle.dumps(value, protocol))  # noqa: S301
    return received


COPIES: tuple[Callable[[CompiledQuery], CompiledQuery], ...] = (
    sent,
    lambda query: sent(query, 2),
    lambda query: sent(sent(query)),
    copy.copy,
    copy.deepcopy,
)


def random_queries(count: int) -> Iterator[Query]:
    for seed in range(count):
        special = seed % 2 == 0
        yield random_case(seed, exact=special, specials=special).query
        yield random_payload_case(seed, exact=special, specials=special).query
        yield random_event_case(seed, exact=special).query
        yield random_grid_case(seed, exact=special).query
        yield random_keyed_case(seed, exact=special).query
        yield random_fold_case(seed).query


def check(
    query: CompiledQuery, *copies: Callable[[CompiledQuery], CompiledQuery]
) -> None:
    """Copies of a query say the same, and are compiled alike."""
    for copied in copies or COPIES:
        other = copied(query)
        assert other.query == query.query
        assert str(other) == str(query)
        assert other.options == query.options


def test_random_queries_are_the_same_after_the_journey(*, deep: bool) -> None:
    options = [
        None,
        tilt.CompileOptions(optimize=False, cache=False),
        tilt.CompileOptions(disabled_strategies=NO_STRATEGIES),
        tilt.CompileOptions(disabled_passes=frozenset(PASS_NAMES[:2])),
    ]
    for number, query in enumerate(random_queries(QUERIES * (DEEPER if deep else 1))):
        copied = COPIES[number % len(COPIES)]
        check(CompiledQuery(query, options[number % len(options)]), copied)


def test_examples_are_the_same_after_the_journey() -> None:
    paths = sorted((ROOT / "examples" / "queries").glob("*.tilt"))
    assert paths
    for path in paths:
        check(tilt.load(path))


mean_square = tilt.reduction(
    "mean_square",
    "f64",
    init={"s": 0.0, "n": 0},
    acc=lambda state, v: {"s": state.s + v * v, "n": state.n + 1},
    merge=lambda a, b: {"s": a.s + b.s, "n": a.n + b.n},
    result=lambda state: state.s / state.n,
)


def in_python() -> Iterator[CompiledQuery]:
    """Queries that were not read from a text."""
    t = tilt.TDom("begin", None, precision="1s", offset="500ms")
    x = tilt.source("x", "f64", tilt.until_next(max="1m"), time="time")
    quote = tilt.source("quote", {"bid": "f64", "ask": "f64"}, by=["venue", "symbol"])
    yield tilt.compile(tilt.define("o", t, tilt.mean(x[t - "10s" : t]) + np.float64(2)))
    yield tilt.compile(
        tilt.define("a", t, tilt.when(x[t] > 0.1, x[t - timedelta(seconds=1)])),
        tilt.define("b", t, quote[t].ask - quote[t].bid),
        tilt.define("c", t, sma(x, "10s") - mean_square(x[t - "1m" : t])),
        unit="us",
        options=tilt.CompileOptions(disabled_strategies=NO_STRATEGIES),
    )


def test_what_is_within_the_limits_stays_so_when_it_is_printed() -> None:
    calls = "\n".join(f"~o{n}[t] = twice(~x, {n})" for n in range(600))
    query = tilt.parse(
        "input x : f64\n"
        "def twice(~x, n) = {\n  ~a[t] = ~x[t] + n\n  return 2 * ~a[t]\n}\n"
        f"{calls}\noutput ~o0\n"
    )
    assert len(query.query.definitions) > MAX_STATEMENTS
    assert copy.deepcopy(query).query == query.query


def test_queries_in_python_are_the_same_after_the_journey() -> None:
    for query in in_python():
        check(query)


def test_parameters_and_names_stay() -> None:
    text = "param w : duration = 3s\ninput x : f64\n~o[t] = sum(~x[t-w : t])\n"
    query = tilt.parse(text, name="sums.tilt", params={"w": "5s"})
    check(query)
    other = sent(sent(query))
    assert "~x[t-5s:t]" in str(other).replace(" ", "")
    assert str(other.query.definitions[0].span) == "sums.tilt:3:1"


@pytest.mark.parametrize("text", TEXTS)
def test_results_are_the_same_after_the_journey(text: str) -> None:
    query = tilt.parse(text)
    result = sent(query).run(x=FRAME)
    other, copied = sent(query.run(x=FRAME)), copy.deepcopy(result)
    for name, output in result.items():
        for one in (other, copied):
            assert one[name].schema == output.schema
            assert one[name].num_rows == output.num_rows
            assert one[name].to_arrow() == output.to_arrow()
            assert list(one[name].rows_by_key()) == list(output.rows_by_key())
    assert sent(other).keys() == result.keys()


@pytest.mark.parametrize(
    "bound",
    [
        tilt.bind(FRAME, time="time", lifetime=tilt.until_next(max=5), column="x"),
        tilt.bind(polars.DataFrame(FRAME), lifetime=tilt.sampled(1), time="time"),
        tilt.sampled(np.arange(5.0), 0, 1),
        tilt.sampled(pa.array([1.0, None]), "2026-01-01", timedelta(seconds=1)),
    ],
)
def test_what_is_bound_is_the_same_after_the_journey(bound: object) -> None:
    unit = "unit s\n" if "2026" in str(bound) else ""
    query = tilt.parse(unit + "input x : f64\n~o[t] = ~x[t] + 1\n")
    expected = query.run(x=bound).to_arrow()  # and now it knows its rows
    for other in (sent(bound), copy.deepcopy(bound)):
        assert query.run(x=other).to_arrow() == expected


def test_a_bound_table_leaves_behind_what_was_found_in_it() -> None:
    bound = tilt.bind(FRAME, time="time", lifetime=tilt.point(), column="x")
    size = len(pickle.dumps(bound))
    tilt.parse("input x : f64\n~o[t] = ~x[t] + 1\n").run(x=bound)
    assert len(pickle.dumps(bound)) == size


def errors() -> Iterator[tilt.TiltError]:
    query = tilt.parse(SUM)
    for wrong in (
        lambda: tilt.parse("~o[t] = ~q[t] + zz"),
        lambda: tilt.parse("input x : f64\n~o[t] = f(~x[t])\ndef f(v) = v + 'a'\n"),
        query.run,
        lambda: query.run(x=FRAME.drop_columns(["x"])),
        lambda: query.run(x=FRAME)["missing"],
        lambda: tilt.load("nowhere.tilt"),
    ):
        with pytest.raises(tilt.TiltError) as caught:
            wrong()
        yield caught.value


def test_errors_are_the_same_after_the_journey() -> None:
    for error in errors():
        for other in (sent(error), sent(sent(error)), copy.deepcopy(error)):
            assert type(other) is type(error)
            assert str(other) == str(error)
            assert repr(other) == repr(error)
            if isinstance(error, QueryError):
                assert isinstance(other, QueryError)
                assert (other.code, other.span) == (error.code, error.span)
            if isinstance(error, QueryErrors):
                assert isinstance(other, QueryErrors)
                assert len(other.errors) == len(error.errors)
            if isinstance(error, DataError):
                assert isinstance(other, DataError)
                assert (other.input, other.row) == (error.input, error.row)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes_run_queries(method: str) -> None:
    query = tilt.parse(SUM)
    expected = query.run(x=FRAME).to_arrow()
    with ProcessPoolExecutor(1, get_context(method)) as pool:
        bound = tilt.bind(FRAME, column="x")
        for frame in (FRAME, bound):
            assert pool.submit(query.run, x=frame).result().to_arrow() == expected
        failed = pool.submit(query.run, x=FRAME.drop_columns(["x"])).exception()
        assert isinstance(failed, DataError)
        assert failed.input == "x"
        assert pool.submit(query.run, x=FRAME).result().to_arrow() == expected

"""The worked examples again, as queries written in Python."""

from collections.abc import Callable

import pytest

from tests.run_everywhere import run_everywhere
from tests.semantics.test_worked_examples import EXAMPLES, Example
from tiltpy.frontend.python.builder import TDom, build_query, define, source
from tiltpy.frontend.python.reductions import count
from tiltpy.frontend.python.reductions import sum as total
from tiltpy.frontend.python.values import phi, when
from tiltpy.interpreter.evaluate import Event
from tiltpy.ir.nodes import Query
from tiltpy.types import F64, I64


def select() -> Query:
    m, t = source("m", I64), TDom()
    return build_query(define("o", t, m[t] + 1))


def sliding_sum() -> Query:
    m, t = source("m", I64), TDom()
    return build_query(define("o", t, total(m[t - 2 : t])))


def tumbling_sum() -> Query:
    m, t = source("m", I64), TDom(precision=4)
    return build_query(define("o", t, total(m[t - 4 : t])))


def shift() -> Query:
    m, t = source("m", I64), TDom()
    return build_query(define("o", t, m[t - 1]))


def uncut_intermediate() -> Query:
    m, t = source("m", I64), TDom()
    a = define("a", t, m[t + 3])
    return build_query(define("b", t, a[t - 3]))


def one_gap() -> Query:
    n, t = source("n", I64), TDom()
    w = define("w", t, when(n[t] > 0, n[t]))
    return build_query(define("z", t, when(w[t] != phi, w[t], 0)))


def coarse() -> Query:
    k, t = source("k", I64), TDom(precision=10)
    counted = define("counted", t, count(k[t - 2 : t]))
    return build_query(counted, define("seen", t, k[t] != phi))


def figure_4() -> Query:
    m, n = source("m", I64), source("n", I64)
    t, coarse = TDom(), TDom(precision=5)
    both = (m[t] != phi) & (n[t] != phi)
    return build_query(
        define("select", t, m[t] + 1),
        define("where", t, when(m[t] % 2 == 0, m[t])),
        define("join", t, when(both, m[t] + n[t])),
        define("wsum", coarse, total(m[coarse - 10 : coarse])),
    )


def section_5_2() -> Query:
    stock, t = source("stock", F64), TDom()
    a10 = total(stock[t - 10 : t]) / 10
    a20 = total(stock[t - 20 : t]) / 20
    j = when((a10 != phi) & (a20 != phi), a10 - a20)
    return build_query(define("filter", t, when(j > 0, j)), unit="d")


IN_PYTHON: dict[str, Callable[[], Query]] = {
    "select": select,
    "sliding sum": sliding_sum,
    "tumbling sum": tumbling_sum,
    "shift": shift,
    "intermediates are not cut": uncut_intermediate,
    "one gap of an intermediate": one_gap,
    "windows and points over a coarse grid": coarse,
    "figure 4": figure_4,
    "section 5.2": section_5_2,
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_worked_example(example: Example) -> None:
    query = IN_PYTHON[example.name]()
    events = {
        name: [Event(*row) for row in rows] for name, rows in example.inputs.items()
    }
    found = run_everywhere(query, events, start=example.start, end=example.end)
    expected = example.outputs(query.outputs[0])
    assert {n: [tuple(s) for s in rows] for n, rows in found.items()} == expected

"""Machine arithmetic at the edges of its types, against what the language says.

Integer division traps on a processor, casts of NaN are undefined in LLVM, and libraries
differ in corners. Every operator runs over every pair of edges of every width.
"""

import math
import operator
from ctypes import c_float
from itertools import product
from random import Random

import pytest

import tiltpy as tilt
from tests.compare import assert_same
from tests.compiled import Setting, run_compiled
from tests.plain import check_engines, listed, steps
from tests.random.queries import Case
from tiltpy.abi.layouts import TimeLayout
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event, Value, interpret
from tiltpy.interpreter.scalars import call
from tiltpy.ops import FUNCTIONS
from tiltpy.types import SCALARS, int_range

INTEGERS = [name for name, scalar in SCALARS.items() if scalar.is_integer]
FLOATS = ("f32", "f64")
OPERATORS = ("+", "-", "*", "/", "//", "%", "==", "!=", "<", "<=", ">", ">=")
SHAPES = (Setting(), Setting(special_shapes=False))
"""The map over rows, and the general sweep."""

NAN, INF = math.nan, math.inf
EDGES = (
    0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.7, -3.7, 7.0, 127.9, 128.0,
    -128.9, -129.0, 255.5, 256.0, 2.0**31, -(2.0**31) - 1, 2.0**53 + 2, 2.0**63,
    -(2.0**63), 2.0**64, 2.0**64 - 2048, 1e-3, 5e-324, 1e308, -1e308, NAN, INF, -INF,
)  # fmt: skip


def edges(scalar: str) -> list[int]:
    """The values of an integer type near its ends and near 0."""
    low, high = int_range(SCALARS[scalar])
    near = (low, low + 1, -7, -1, 0, 1, 2, 3, 7, high // 2, high - 1, high)
    return sorted({value for value in near if low <= value <= high})


def float_edges(scalar: str) -> list[float]:
    if scalar == "f64":
        return list(EDGES)
    singles = [c_float(value).value for value in EDGES]
    return [*singles, 3.4028234663852886e38, c_float(1e-45).value]


def check_each(payload: str, expressions: list[str], values: list[Value]) -> None:
    """All expressions over `~x[t]` in one query, one tick a value."""
    lines = [f"~o{i}[t] = {text}" for i, text in enumerate(expressions)]
    rows = [(i, i + 1, value) for i, value in enumerate(values)]
    text = f"input x : {payload}\n" + "\n".join(lines)
    check_engines(text, {"x": rows}, settings=SHAPES)


def pairs(values: list[int] | list[float]) -> list[Value]:
    return [{"a": one, "b": other} for one in values for other in values]


@pytest.mark.parametrize("scalar", INTEGERS)
def test_integer_operators(scalar: str) -> None:
    payload = f"{{ a: {scalar}, b: {scalar} }}"
    operators = [f"~x[t].a {op} ~x[t].b" for op in OPERATORS]
    functions = [f"{name}(~x[t].a, ~x[t].b)" for name in ("min", "max")]
    check_each(payload, operators + functions, pairs(edges(scalar)))


@pytest.mark.parametrize("scalar", INTEGERS)
def test_integer_functions_casts_and_constant_divisors(scalar: str) -> None:
    low, high = int_range(SCALARS[scalar])
    unary = ["abs(~x[t])", "sign(~x[t])", *(["-~x[t]"] if low else [])]
    casts = [f"{to}(~x[t])" for to in SCALARS]
    divisors = [d for d in (0, 1, 2, -1, 7, low, high) if low <= d <= high]
    divided = [f"~x[t] {op} {scalar}({d})" for d in divisors for op in ("//", "%")]
    check_each(scalar, unary + casts + divided, list(edges(scalar)))


@pytest.mark.parametrize("scalar", FLOATS)
def test_float_operators(scalar: str) -> None:
    payload = f"{{ a: {scalar}, b: {scalar} }}"
    operators = [f"~x[t].a {op} ~x[t].b" for op in OPERATORS]
    functions = [f"{name}(~x[t].a, ~x[t].b)" for name in ("min", "max")]
    check_each(payload, operators + functions, pairs(float_edges(scalar)))


@pytest.mark.parametrize("scalar", FLOATS)
def test_float_casts_and_exact_functions(scalar: str) -> None:
    casts = [f"{to}(~x[t])" for to in SCALARS]
    names = ("abs", "sign", "floor", "ceil", "round", "trunc", "-")
    tests = ("is_nan", "is_inf", "is_finite")
    functions = [f"{name}(~x[t])" for name in (*names, *tests)]
    check_each(scalar, casts + functions, list(float_edges(scalar)))


@pytest.mark.parametrize("scalar", FLOATS)
def test_fma_rounds_once(scalar: str) -> None:
    """Of edges, and of products that the third argument nearly cancels."""
    few = [0.0, -0.0, 1.0, -2.5, 5e-324, 1e308, 3e38, NAN, INF, -INF]
    triples = list(product([_narrow(value, scalar) for value in few], repeat=3))
    random = Random(scalar)  # noqa: S311 - tests, not secrets
    for _ in range(300):
        a, b = (_narrow(random.gauss(0, 1), scalar) for _ in range(2))
        c = _narrow(-a * b * random.choice((1, 1, 2, 1e-9)), scalar)
        triples.append((a, b, c))
    rows: list[Value] = [{"a": a, "b": b, "c": c} for a, b, c in triples]
    expressions = ["fma(~x[t].a, ~x[t].b, ~x[t].c)"]
    check_each(f"{{ a: {scalar}, b: {scalar}, c: {scalar} }}", expressions, rows)
    fused = [call("fma", triple, SCALARS[scalar]) for triple in triples[1000:]]
    rounded = [_narrow(a * b, scalar) + c for a, b, c in triples[1000:]]
    assert sum(map(operator.ne, fused, rounded)) > 100


def _narrow(value: float, scalar: str) -> float:
    return value if scalar == "f64" else c_float(value).value


def test_bool_casts() -> None:
    check_each("bool", [f"{to}(~x[t])" for to in SCALARS], [True, False])


def test_single_precision_divides_like_double() -> None:
    # 2^31 // f32(127.9) lies between two singles, as near to one as to the other.
    row: Value = {"a": 2.0**31, "b": c_float(127.9).value}
    check_each("{ a: f32, b: f32 }", ["~x[t].a // ~x[t].b", "~x[t].a % ~x[t].b"], [row])


@pytest.mark.parametrize("scalar", FLOATS)
def test_library_functions(scalar: str) -> None:
    """Every function of every width exists, and is right to rounding."""
    values: list[Value] = list(float_edges(scalar))
    unary = [f"{f.name}(~x[t])" for f in FUNCTIONS.values() if f.arity == 1]
    check_each(scalar, unary, values)
    binary = [f"{f.name}(~x[t].a, ~x[t].b)" for f in FUNCTIONS.values() if f.arity == 2]
    few = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 1e30, NAN, INF, -INF]
    singles = [c_float(value).value for value in few]
    check_each(f"{{ a: {scalar}, b: {scalar} }}", binary, pairs(singles))


@pytest.mark.covering(1)
@pytest.mark.parametrize("scalar", INTEGERS)
@pytest.mark.parametrize("operator", ["//", "%"])
def test_division_by_zero_in_every_shape_of_loop(scalar: str, operator: str) -> None:
    """Maps, sweeps, elements of windows, and windows over regular samples."""
    low, high = int_range(SCALARS[scalar])
    values: list[Value] = [low, 0, high, 1, 0, low, low, 3] * 5
    rows = [(i, i + 1, value) for i, value in enumerate(values)]
    least = f"{scalar}({low})"
    divisor = f"{scalar}(0) - ~x[t]" if low else "~x[t]"
    text = f"""input x : {scalar}
        ~map[t] = {least} {operator} ({divisor})
        ~sweep[t] = ~x[t-1] {operator} ~x[t]
        ~window[t] = max({least} {operator} v for v in ~x[t-3:t])
        ~total[t] = sum(v {operator} v for v in ~x[t-2:t+2])
        output ~map, ~sweep, ~window, ~total"""
    gaps = [row for i, row in enumerate(rows) if i % 7]
    for some in (rows, gaps):
        check_engines(text, {"x": some}, settings=(*SHAPES, Setting(chunk=4)))


def test_the_least_integer_by_minus_one() -> None:
    query = tilt.parse("input x : i64\n~o[t] = ~x[t] // (0 - 1)")
    assert listed(query.run(x=steps([-(2**63)], "i64"))) == [(0, 1, -(2**63))]


def test_integers_wrap_in_windows_and_come_back() -> None:
    high = 2**63 - 1
    values: list[Value] = [high, high, 5, 6, 7, -(2**63), -(2**63), 1, 2, 3]
    rows = [(i, i + 1, value) for i, value in enumerate(values)]
    text = "input x : i64\n~o[t] = sum(~x[t-2:t])\n~p[t] = product(~x[t-3:t])"
    check_engines(text + "\noutput ~o, ~p", {"x": rows})


@pytest.mark.parametrize("layout", [None, *TimeLayout])
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 8, 40])
def test_a_sum_of_negative_zeros_is_zero(layout: TimeLayout | None, rows: int) -> None:
    query = parse("""
        input x : f64
        t = TDom(0, 50, 2)
        ~o[t] = { total = sum(~x[t-40 : t]), mean = mean(~x[t-40 : t]) }
    """)
    events = {"x": [Event(at, at + 1, -0.0) for at in range(rows)]}
    found = run_compiled(Case(query, events, 0, 50, {}), Setting(layout=layout))
    assert_same(found, interpret(query, events, start=0, end=50), query, exact=True)

"""Functions in the language: they are written out where they are called, and nothing
that a caller names changes what they mean."""

from collections.abc import Callable
from datetime import timedelta

import pytest

import tiltpy as tilt
from tests.run_everywhere import run_everywhere
from tiltpy.errors import QueryErrors
from tiltpy.frontend.elaboration.library import library_function, library_functions
from tiltpy.frontend.parse import parse
from tiltpy.frontend.python.builder import build_query
from tiltpy.frontend.text.format import format_source
from tiltpy.interpreter.evaluate import Event
from tiltpy.ir.nodes import Query
from tiltpy.ir.print.query import format_query

HEAD = """unit s
input x : f64
input y : f64
input q : { price: f64, size: i64 }
input flag : bool
param width : duration = 30s
param least : i64 = 3
hour = TDom(-∞, ∞, 1h)
"""


def assert_same(text: str, written_out: str) -> None:
    """Both texts are the same query, which prints to what parses back."""
    query, wanted = parse(HEAD + text), parse(HEAD + written_out)
    assert format_query(query) == format_query(wanted)
    assert query == wanted
    assert parse(format_query(query)) == query


SAME = {
    "a window": (
        "def avg(~v, w) = mean(~v[t-w : t])\n~a[t] = avg(~x, 10s) + avg(~y, width)",
        "~a[t] = mean(~x[t-10s : t]) + mean(~y[t-width : t])",
    ),
    "another time variable": (
        "def avg(~v, w) = mean(~v[t-w : t])\n~a[hour] = avg(~x, 1h)",
        "~a[hour] = mean(~x[hour-1h : hour])",
    ),
    "ticks and durations": (
        "def shift(~v, w = 2 * 5s, n = 3) = ~v[t - w - n] + n\n"
        "~a[t] = shift(~x) + shift(~x, width - 5s, least) + shift(~x, n = -2)",
        "~a[t] = (~x[t-13] + 3) + (~x[t-28] + least) + (~x[t-8] + -2)",
    ),
    "a value is computed once": (
        "def square(v) = v * v\n~a[t] = square(~x[t] + 1)",
        "~a[t] = { v = ~x[t] + 1 return v * v }",
    ),
    "literals stay literals": (
        "def plus(~v, n = 1) = ~v[t] + n\n"
        "input f : f32\n~a[t] = plus(~f) + plus(~f, 0.5)",
        "input f : f32\n~a[t] = (~f[t] + 1) + (~f[t] + 0.5)",
    ),
    "φ as an argument": (
        "def pick(c, a, b = φ) = c ? a : b\n~a[t] = pick(~flag[t], ~x[t])",
        "~a[t] = ~flag[t] ? ~x[t] : φ",
    ),
    "a field of a struct": (
        "def range(~v, w) = max(~v[t-w : t]) - min(v for v in ~v[t-w : t] if v > 0)\n"
        "~a[t] = range(~q.price, 10s)",
        "~a[t] = max(~q[t-10s : t].price)"
        " - min(p for {price: p} in ~q[t-10s : t] if p > 0)",
    ),
    "inside a reduction": (
        "def worth(p, s) = { all = p * f64(s) return all + p }\n"
        "~a[t] = sum(worth(p, s) for {price: p, size: s} in ~q[t-9 : t])",
        "~a[t] = sum(p * f64(s) + p for {price: p, size: s} in ~q[t-9 : t])",
    ),
    "constants inside a reduction": (
        "def many(~v, w, n) = { k = n * 2 return count(e for e in ~v[t-w : t] if e > n"
        " && e < k) }\n~a[t] = many(~x, 5s, 2)",
        "~a[t] = count(e for e in ~x[t-5s : t] if e > 2 && e < 4)",
    ),
    "functions of functions": (
        "def one(~v, w) = mean(~v[t-w : t])\n"
        "def two(~u, w, k) = one(~u, w) - one(~u, w * k)\n~a[t] = two(~x, 5s, 2)",
        "~a[t] = mean(~x[t-5s : t]) - mean(~x[t-10s : t])",
    ),
    "objects of its own": (
        "def moved(~v, w) = { ~d[t] = ~v[t] - ~v[t-1]\n return mean(~d[t-w : t]) }\n"
        "~a[t] = moved(~x, 5s) / moved(~x, 10s)\n~b[t] = moved(~y, 5s)",
        "~moved_d[t] = ~x[t] - ~x[t-1]\n"
        "~a[t] = mean(~moved_d[t-5s : t]) / mean(~moved_d[t-10s : t])\n"
        "~moved_d_2[t] = ~y[t] - ~y[t-1]\n~b[t] = mean(~moved_d_2[t-5s : t])\n"
        "output ~a, ~b",
    ),
    "its objects are over ticks": (
        "def moved(~v) = { ~d[t] = ~v[t] + 1\n return ~d[t-1h] }\n"
        "~a[t] = moved(~x)\n~b[hour] = moved(~x)",
        "~moved_d[t] = ~x[t] + 1\n~a[t] = ~moved_d[t-1h]\n"
        "~b[hour] = ~moved_d[hour-1h]\noutput ~a, ~b",
    ),
    "expressions for objects are over ticks": (
        "def avg(~v, w) = mean(~v[t-w : t])\nday = TDom(0, end, 24h, 1h)\n"
        "~a[day] = { low = ~x[day] - 1\n"
        "return avg(log(low), 5s) + avg(avg(-low, 9s), 7s) }",
        "~avg_v[t] = { low = ~x[t] - 1 return log(low) }\n"
        "~avg_v_2[t] = { low = ~x[t] - 1 return -low }\n"
        "~avg_v_3[t] = mean(~avg_v_2[t-9s : t])\nday = TDom(0, end, 24h, 1h)\n"
        "~a[day] = mean(~avg_v[day-5s : day]) + mean(~avg_v_3[day-7s : day])\n"
        "output ~a",
    ),
    "a value is over ticks in an object": (
        "def over(~v, limit) = { ~d[t] = ~v[t] > limit + ~y[t]\n"
        "return any(~d[t-5 : t]) && ~v[t] > limit }\n~a[hour] = over(~x, ~y[hour-1])",
        "~over_d[t] = ~x[t] > ~y[t-1] + ~y[t]\n"
        "~a[hour] = any(~over_d[hour-5 : hour]) && ~x[hour] > ~y[hour-1]\noutput ~a",
    ),
    "a block's objects are over the definition's domain": (
        "def late(~v) = { ~e[t] = ~v[t] return ~e[t-1] }\n"
        "~a[hour] = { ~d[hour] = ~x[hour] ~g[hour] = late(~d)\n return ~g[hour-1h] }",
        "~a_d[hour] = ~x[hour]\n~late_e[t] = ~a_d[t]\n~a_g[hour] = ~late_e[hour-1]\n"
        "~a[hour] = ~a_g[hour-1h]\noutput ~a",
    ),
    "an expression for an object": (
        "def avg(~v, w) = mean(~v[t-w : t])\n"
        "~a[t] = { low = ~x[t] - 1 return avg(log(low) + ~y[t], 5s) + low }",
        "~avg_v[t] = { low = ~x[t] - 1 return log(low) + ~y[t] }\n"
        "~a[t] = { low = ~x[t] - 1 return mean(~avg_v[t-5s : t]) + low }\noutput ~a",
    ),
    "a value that an object of its own uses": (
        "def over(~v, limit) = { ~d[t] = ~v[t] > limit\n return any(~d[t-5 : t]) }\n"
        "~a[t] = over(~x, mean(~x[t-60 : t]))\n~b[t] = over(~x, 3)",
        "~over_d[t] = { limit = mean(~x[t-60 : t]) return ~x[t] > limit }\n"
        "~a[t] = any(~over_d[t-5 : t])\n"
        "~over_d_2[t] = ~x[t] > 3\n~b[t] = any(~over_d_2[t-5 : t])\noutput ~a, ~b",
    ),
    "what is not used is not there": (
        "def some(~v, w, u = 3) = { ~d[t] = ~v[t] ~e[t] = ~d[t] a = ~e[t]\n"
        "return ~v[t] }\n~a[t] = some(~x, 5s, ~y[t])",
        "~a[t] = ~x[t]",
    ),
    "objects of a definition's own": (
        "~a'[t] = { k = 2 ~d[t] = { k = k + 1 return ~x[t] * k }\n"
        "~e'[t] = ~d[t-1] return ~e'[t] * k }",
        "~a_d[t] = ~x[t] * 3\n~a_e'[t] = ~a_d[t-1]\n~a'[t] = ~a_e'[t] * 2\noutput ~a'",
    ),
    "objects of objects": (
        "~a[t] = { ~d[t] = { ~e[t] = ~x[t] + 1 return ~e[t-1] } return ~d[t-1] }",
        "~a_d_e[t] = ~x[t] + 1\n~a_d[t] = ~a_d_e[t-1]\n~a[t] = ~a_d[t-1]\noutput ~a",
    ),
    "names are its own": (
        "def f(~x, v) = { low = v + 1 ~d[t] = ~x[t] * 2 return ~d[t] + low + ~y[t] }\n"
        "~d[t] = ~x[t] + ~y[t]\n"
        "~a[t] = { low = ~y[t] ~y[t] = ~x[t] return f(~d, low) + ~y[t] }",
        "~d[t] = ~x[t] + ~y[t]\n~a_y[t] = ~x[t]\n~f_d[t] = ~d[t] * 2\n"
        "~a[t] = { low = ~y[t] low_2 = low + 1"
        " return (~f_d[t] + low_2 + ~y[t]) + ~a_y[t] }\noutput ~a",
    ),
    "its own hides the query's, after its definition": (
        "~d[t] = ~x[t] + 1\n~a[t] = { ~e[t] = ~d[t] ~d[t] = ~e[t-1] return ~d[t] }",
        "~d[t] = ~x[t] + 1\n~a_e[t] = ~d[t]\n~a_d[t] = ~a_e[t-1]\n~a[t] = ~a_d[t]\n"
        "output ~a",
    ),
    "names that are taken": (
        "def f(~v) = { ~d[t] = ~v[t] + 1 return ~d[t-1] }\n"
        "~f_d[t] = ~x[t]\n~a[t] = f(~f_d)\n~f_d_2[t] = ~a[t]",
        "~f_d[t] = ~x[t]\n~f_d_3[t] = ~f_d[t] + 1\n~a[t] = ~f_d_3[t-1]\n"
        "~f_d_2[t] = ~a[t]\noutput ~f_d_2",
    ),
    "a name of the query inside": (
        "def late(~v) = ~v[t-width] + least + ~y[t]\n~a[t] = late(~x)",
        "~a[t] = ~x[t-width] + least + ~y[t]",
    ),
    "order of definitions": (
        "~a[t] = f() + 1\ndef f(w = g(~b)) = w + ~c[t]\ndef g(~v) = ~v[t]\n"
        "~c[t] = ~x[t]\n~b[t] = ~y[t]",
        "~c[t] = ~x[t]\n~b[t] = ~y[t]\n~a[t] = ~b[t] + ~c[t] + 1\noutput ~a",
    ),
    "the library's is hidden": (
        "def sma(~v, w) = ~v[t]\n~a[t] = sma(~x, 3)",
        "~a[t] = ~x[t]",
    ),
    "another domain of its own": (
        "def normal(~v, w) = { k = 2 win = TDom(-∞, ∞, w)\n"
        "~m[win] = mean(~v[win-w : win]) * k\n return ~v[t] - ~m[t] }\n"
        "~a[t] = normal(~x, 1h)\n~b[hour] = normal(~x, 1h)",
        "~normal_m[hour] = mean(~x[hour-1h : hour]) * 2\n"
        "~a[t] = ~x[t] - ~normal_m[t]\n~b[hour] = ~x[hour] - ~normal_m[hour]\n"
        "output ~a, ~b",
    ),
    "parts of constants": (
        "def mid(~v, w) = { h = w // 2 q = (w * 3 + 1s) // -7\n"
        "return mean(~v[t-h : t + w // 2]) + ~v[t+q] }\n~a[t] = mid(~x, 9s)",
        "~a[t] = mean(~x[t-4 : t+4]) + ~x[t-4]",
    ),
    "local durations and numbers of ticks": (
        "~a[t] = { w = 2 * width n = least + 1 width = 1s k = 4\n"
        "return ~x[t-w-n] + ~x[t-width-k] + n }",
        "~a[t] = { n = least + 1 return ~x[t-64s] + ~x[t-5s] + n }",
    ),
    "bounds of events": (
        "def age(~v) = t - start(~v[t-1])\n~a[t] = age(~q.price) + age(~x)",
        "~a[t] = (t - start(~q[t-1])) + (t - start(~x[t-1]))",
    ),
    "all events of a time": (
        "def most(~v) = max_active(~v[t]) - min_active(v for v in ~v[t-5] if v > 0)\n"
        "~a[t] = most(~x) + most(~q.price) + f64(count_active(~q[t]))",
        "~a[t] = (max(~x[t-1 : t]) - min(v for v in ~x[t-6 : t-5] if v > 0))"
        " + (max(~q[t-1 : t].price) - min(p for {price: p} in ~q[t-6 : t-5] if p > 0))"
        " + f64(count(~q[t-1 : t]))",
    ),
}


@pytest.mark.parametrize("case", SAME)
def test_a_call_is_what_it_would_be_written_out(case: str) -> None:
    assert_same(*SAME[case])


def codes(text: str) -> list[str]:
    with pytest.raises(QueryErrors) as caught:
        parse(HEAD + text)
    return [error.code for error in caught.value.errors]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("def f(~v) = low\n~a[t] = { low = ~x[t] return f(~x) }", "E0102"),
        ("def f(~v) = ~d[t]\n~a[t] = { ~d[t] = ~x[t] return f(~x) }", "E0101"),
        ("def f(v) = e + v\n~a[t] = sum(f(e) for e in ~x[t-9 : t])", "E0102"),
        (
            "def f(v) = sum(e + v for e in ~x[t-9 : t])\n"
            "~a[t] = sum(f(w) for w in ~x[t-9 : t])",
            "E0113",
        ),
        ("~a[t] = { ~d[t] = ~x[t] return ~d[t] }\n~b[t] = ~d[t]", "E0101"),
        ("~a[t] = { ~d[t] = ~x[t] return ~d[t] }\n~b[t] = ~a_d[t]", "E0101"),
        ("def f(~v) = ~a[t]\n~a[t] = f(~x)", "E0105"),
        ("def f(~v) = ~v[t-1]\n~a[t] = f(~a)", "E0105"),
        (
            "def f(~v) = { a = ~v[t] w = TDom(-∞, ∞, 2) ~m[w] = a return ~m[t] }\n"
            "~a[t] = f(~x)",
            "E0108",
        ),
        ("~a[t] = { w = TDom(-∞, ∞, 0) ~m[w] = ~x[w] return ~m[t] }", "E0111"),
        ("~a[t] = { w = TDom(-∞, ∞) return ~x[t] }", "E0206"),
        ("~a[t] = { w = TDom(-∞, ∞, 2) return ~x[t] + w }", "E0108"),
        ("~a[t] = { ~m[w] = ~x[w] w = TDom(-∞, ∞, 2) return ~m[t] }", "E0108"),
        ("~a[t] = ~x[t - 1 // 0]", "E0107"),
        ("def f(~v) = ~v[hour]\n~a[hour] = f(~x)", "E0108"),
    ],
)
def test_names_do_not_leak(text: str, code: str) -> None:
    assert codes(text) == [code]


def test_no_blow_up() -> None:
    lines = ["def f0(~v) = ~v[t]"]
    lines += [f"def f{i}(~v) = f{i - 1}(~v) + f{i - 1}(~v)" for i in range(1, 60)]
    text = "\n".join(line.replace("f32(", "g32(").replace("f64(", "g64(")
                     for line in lines)  # fmt: skip
    assert codes(text + "\n~a[t] = f59(~x)") == ["E0303"]
    double = "def double(v) = v + v\n"
    deep = "double(" * 60 + "~x[t-9 : t]" + ")" * 60
    assert codes(f"{double}~a[t] = sum({deep})") == ["E0301"]
    wide = "double(" * 20 + "~x[t-9 : t]" + ")" * 20
    assert codes(f"{double}~a[t] = sum({wide})") == ["E0303"]
    once = "double(" * 40 + "~x[t]" + ")" * 40
    assert len(parse(HEAD + double + f"~a[t] = {once}").definitions) == 1


@pytest.mark.parametrize(
    "nest",
    [
        lambda n: "~x[t]" + "".join(f" ~d{i}[t] = ~x[t]" for i in range(n)),
        lambda n: "{ ~d[t] = " * n + "~x[t]" + " return ~d[t] }" * n,
        lambda n: "f(" * n + "~x" + ")" * n,
        lambda n: "g(" * n + "~x[t]" + ")" * n,
        lambda n: "h(" * n + "~x[t]" + ")" * n,
    ],
)
def test_depth_is_refused_before_the_stack_ends(nest: Callable[[int], str]) -> None:
    defs = (
        "def f(~v) = ~v[t-1]\ndef g(v) = -v\n"
        "def h(v) = { ~d[t] = v + 1 a = ~d[t-1] return a }\n"
    )
    for n in (10, 40, 150, 900):
        try:
            parse(f"{HEAD}{defs}~a[t] = {nest(n)}")
        except QueryErrors as error:
            assert {e.code for e in error.errors} <= {"E0301", "E0114", "E0001"}  # noqa: PT017


def test_a_printed_query_has_no_functions() -> None:
    query = parse(HEAD + "def f(~v) = ~v[t] + 1\n~a[t] = f(~x)")
    assert "def" not in format_query(query)


def test_durations_in_functions_decide_the_tick_but_not_the_librarys() -> None:
    text = "input x : f64\ndef f(~v) = ~v[t-10ms]\n~a[t] = ~x[t-1s]"
    assert parse(text).unit == "ms"
    assert parse("input x : f64\n~a[t] = sma(~x, 1h)").unit == "h"


def test_formatting() -> None:
    text = """def  f( ~x,w=10s , n = 2 ) = {
~d [t]=~x[t]
  a=3;~e[t] = a
return mean( ~d[t-w:t]) }
~a[ t] = f( ~x,w=3s )
~b[t]={k = 4
 ~d[t] = 3;~e[t] = ~d[t]
 ~f[t] = { a = 3 ~g[t] = a
   return ~g[t] }
  return ~f[t] }
"""
    formatted = """def f(~x, w=10s, n=2) = {
    ~d[t] = ~x[t]
    a = 3; ~e[t] = a
    return mean(~d[t-w : t]) }
~a[t] = f(~x, w=3s)
~b[t] = { k = 4
    ~d[t] = 3; ~e[t] = ~d[t]
    ~f[t] = { a = 3; ~g[t] = a
        return ~g[t] }
    return ~f[t] }
"""
    found = format_source(text)
    assert format_source(found) == found
    assert found == formatted


# -- from Python ----------------------------------------------------------------------


def python_query() -> Query:
    x = tilt.source("x", tilt.f64)
    q = tilt.source("q", {"price": tilt.f64, "size": tilt.i64})
    t = tilt.TDom()
    a = tilt.define("a", t, tilt.library.sma(x, "10s") + tilt.library.sma(q.price, 5))
    low = x[t] + 1
    b = tilt.define("b", t, tilt.library.zscore(low * low, timedelta(seconds=20)))
    c = tilt.define("c", t, tilt.count_active(q[t]) + tilt.sum_active(q[t].size))
    return build_query(a, b, c)


def test_the_library_in_python() -> None:
    text = """unit s
    input x : f64
    input q : { price: f64, size: i64 }
    ~a[t] = sma(~x, 10s) + sma(~q.price, 5)
    ~b[t] = { v1 = ~x[t] + 1 return zscore(v1 * v1, 20s) }
    ~c[t] = count_active(~q[t]) + sum_active(~q[t].size)
    output ~a, ~b, ~c
    """
    assert format_query(python_query()) == format_query(parse(text))


# -- running --------------------------------------------------------------------------


def test_all_ways_of_running_agree() -> None:
    text = """unit s
    input x : f64
    input y : f64
    def moved(~v, w) = { ~d[t] = ~v[t] - ~v[t-w]  return max(~d[t-2*w : t]) + ~d[t] }
    ~a[t] = moved(~x, 2s) + moved(~y, 1s)
    ~b[t] = count_active(~x[t-1]) > 1 ? sum_active(~x[t-1]) : moved(~a, 3)
    output ~a, ~b
    """
    x = [Event(2 * i, 2 * i + 3, i * 0.5) for i in range(-3, 9)]
    y = [Event(i, i + 1, float(i % 3)) for i in range(-4, 16)]
    found = run_everywhere(parse(text), {"x": x, "y": y}, start=0, end=16)
    # at 16 two events of ~x are alive at 15: those that start at 12 and 14
    assert found["b"][-1].value == 6 * 0.5 + 7 * 0.5


# -- the library ----------------------------------------------------------------------


def test_a_function_of_the_library_is_read_once() -> None:
    assert library_function("sma") is library_function("sma")
    assert library_function("nothing") is None
    assert len({f.name.text for f in library_functions()}) == len(
        list(library_functions())
    )

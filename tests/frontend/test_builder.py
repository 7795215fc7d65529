"""Queries in Python: the same IR as from texts, errors at the caller's line."""

import inspect
from collections.abc import Callable
from datetime import timedelta

import numpy as np
import pytest

import tiltpy as tilt
from tests.query_texts import FIGURE_4_QUERY
from tiltpy.errors import QueryError, TiltError
from tiltpy.frontend.parse import parse
from tiltpy.frontend.python.builder import (
    Object,
    Rows,
    TDom,
    build_query,
    define,
    source,
)
from tiltpy.frontend.python.declarations import (
    duration,
    interval,
    point,
    sampled,
    until_next,
)
from tiltpy.frontend.python.expressions import Expression, Value, lift
from tiltpy.frontend.python.values import cast, end, exists, phi, start, struct, when
from tiltpy.ir.nodes import At, Let, Query
from tiltpy.ir.print.query import format_expr, format_query
from tiltpy.ir.verify.invariants import verify_source
from tiltpy.ops import FUNCTIONS, REDUCTIONS
from tiltpy.types import BOOL, F32, F64, I64, Struct

m = source("m", I64)
x = source("x", F32)
b = source("b", BOOL)
q = source("q", {"price": F64, "size": "i64"})
t = TDom()


def written(value: Value) -> str:
    """Return how a definition over all inputs reads in a text."""
    query = build_query(define("o", t, value))
    verify_source(query)
    assert parse(format_query(query)) == query
    return format_expr(query.definitions[-1].body, unit=query.unit)


def here() -> int:
    """The caller's line."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def test_figure_4_is_the_same_query() -> None:
    m, n = source("m", I64), source("n", I64)
    t, t5 = TDom(precision=1), TDom(precision=5)
    select = define("select", t, m[t] + 1)
    where = define("where", t, when(m[t] % 2 == 0, m[t], phi))
    join = define("join", t, when((m[t] != phi) & (n[t] != phi), m[t] + n[t]))
    wsum = define("wsum", t5, tilt.sum(m[t5 - 10 : t5]))
    assert build_query(select, where, join, wsum) == parse(FIGURE_4_QUERY)


def test_section_5_2_is_the_same_query() -> None:
    stock = source("stock", F64)
    t = TDom(precision="1d")
    a10 = tilt.sum(stock[t - "10d" : t]) / 10
    a20 = tilt.sum(stock[t - "20d" : t]) / 20
    j = when((a10 != phi) & (a20 != phi), a10 - a20)
    query = build_query(define("filter", t, when(j > 0, j, phi)))
    assert query == parse(
        "unit d\ninput stock : f64\n~filter[t] = {\n"
        "v1 = sum(~stock[t-10:t]) / 10\nv2 = sum(~stock[t-20:t]) / 20\n"
        "v3 = v1 != φ && v2 != φ ? v1 - v2 : φ\n return v3 > 0 ? v3 : φ }"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (m[t] + 1 - 2 * m[t] % 3 // 4, "~m[t] + 1 - 2 * ~m[t] % 3 // 4"),
        (1 / x[t] + 2 ** x[t], "1.0 / ~x[t] + pow(2.0, ~x[t])"),
        (3 // m[t] - (4 % m[t] - 5), "3 // ~m[t] - (4 % ~m[t] - 5)"),
        (-m[t], "-~m[t]"),
        (+m[t], "~m[t]"),
        (abs(m[t]), "abs(~m[t])"),
        (x[t] ** 2, "pow(~x[t], 2.0)"),
        (~b[t] | b[t] & (m[t] < 1), "!~b[t] || ~b[t] && ~m[t] < 1"),
        (True & b[t] | False, "true && ~b[t] || false"),
        ((m[t] <= 1) == (m[t] > 1), "(~m[t] <= 1) == (~m[t] > 1)"),
        (m[t] != phi, "~m[t] != φ"),
        (m[t] == phi, "~m[t] == φ"),
        (exists(m[t]), "~m[t] != φ"),
        (when(b[t], 1, 2.5), "~b[t] ? 1.0 : 2.5"),
        (cast(m[t], "u8"), "u8(~m[t])"),
        (cast(m[t], F32), "f32(~m[t])"),
        (m[t + "1m"] + m[t - timedelta(seconds=2)], "~m[t+1m] + ~m[t-2s]"),
        (m[t - 3] + t * 2, "~m[t-3] + t * 2"),
        (start(m[t]) - end(m[t - 1]), "start(~m[t]) - end(~m[t-1])"),
        (q[t].price + q[t].field("size"), "~q[t].price + f64(~q[t].size)"),
        (struct(a=m[t], b=1), "{ a = ~m[t], b = 1 }"),
        (
            q[t].replace(size=0),
            "~q[t] != φ ? { price = ~q[t].price, size = 0 } : φ",
        ),
        (tilt.max(m[t - 5 : t]), "max(~m[t-5 : t])"),
        (tilt.max(m[t], 5), "max(~m[t], 5)"),
        (tilt.std(x[t - 5 : t], ddof=1), "std(~x[t-5 : t], ddof=1)"),
        (tilt.count(q[t - 5 : t]), "count(~q[t-5 : t])"),
        (tilt.topk(m[t - 5 : t], n=2).top1, "topk(~m[t-5 : t], 2).top1"),
        (tilt.modes(m[t - 5 : t], n=2).count2, "modes(~m[t-5 : t], 2).count2"),
        (
            tilt.quantile(x[t - 5 : t], 1, where=x[t - 5 : t] > 0),
            "quantile(v for v in ~x[t-5 : t] if v > 0.0, 1.0)",
        ),
        (tilt.mean(q[t - 5 : t].price), "mean(~q[t-5 : t].price)"),
        (
            tilt.sum(m[t - 5 : t] * 2, where=m[t - 5 : t] > 0),
            "sum(v * 2 for v in ~m[t-5 : t] if v > 0)",
        ),
        (m[t] + lift(np.int64(3)), "~m[t] + 3"),
        (x[t] * lift(np.float32(0.5)), "~x[t] * 0.5"),
        (np.float64(3) < x[t], "3.0 < ~x[t]"),
        (x[t] >= np.float32(3), "~x[t] >= 3.0"),
    ],
)
def test_python_reads_as_the_language(value: Expression, text: str) -> None:
    assert written(value) == text


def test_every_function_and_reduction_is_there() -> None:
    for name, rule in FUNCTIONS.items():
        arguments = [x[t], x[t - 1], x[t - 2]][: rule.arity]
        texts = ", ".join(["~x[t]", "~x[t-1]", "~x[t-2]"][: rule.arity])
        assert written(getattr(tilt, name)(*arguments)) == f"{name}({texts})"
    for name, reduction in REDUCTIONS.items():
        of_bools = reduction.result == "bool"
        window = b[t - 1 : t] if of_bools else x[t - 1 : t]
        of = "b" if of_bools else "x"
        given = {"": (), "q": (0.25,), "n": (3,)}[reduction.parameter]
        more = "".join(f", {one}" for one in given)
        assert (
            written(getattr(tilt, name)(window, *given))
            == f"{name}(~{of}[t-1 : t]{more})"
        )


def test_sources_and_lifetimes() -> None:
    made = [
        source("a", F64, point(), time="ts", order=["seq", "venue"]),
        source("c", F64, duration("10s")),
        source("d", F64, until_next()),
        source("e", F64, until_next(max=timedelta(hours=1))),
        source("f", F64, sampled(5)),
        source("g", F64, interval("from", "to")),
        source("h", Struct((("Adj Close", F64),)), interval()),
        source("i", F64, by="symbol"),
        source("j", F64, by=("symbol", "a venue")),
    ]
    query = build_query(*(define(f"o{i}", t, one[t]) for i, one in enumerate(made)))
    assert [one.name for one in made] == list("acdefghij")
    assert (
        query.inputs
        == parse(
            "unit s\ninput a : f64 time ts point order seq, venue\n"
            "input c : f64 duration 10s\ninput d : f64 until_next\n"
            "input e : f64 until_next max 1h\ninput f : f64 sampled 5\n"
            "input g : f64 interval (from, to)\n"
            'input h : { "Adj Close": f64 } interval\n'
            'input i by symbol : f64\ninput j by symbol, "a venue" : f64\n~o[t] = t'
        ).inputs
    )


def test_time_domains() -> None:
    domains = [TDom("opening", 99, "2s", 1), TDom(None, "1m"), TDom(-3, precision=5)]
    outputs = [define(f"o{i}", d, m[d] + d) for i, d in enumerate(domains)]
    assert build_query(*outputs) == parse(
        "input m : i64\na = TDom(opening, 99, 2s, 1)\nb = TDom(-∞, 1m, 1)\n"
        "c = TDom(-3, ∞, 5)\n~o0[a] = ~m[a] + a ~o1[b] = ~m[b] + b ~o2[c] = ~m[c] + c"
    )


def test_row_domains() -> None:
    e, kept = Rows(m), Rows(m, null=True)
    high = define("high", e, when(m[e] > 1, m[e]))
    share = define("share", (f := Rows(high)), high[f] - x[f - 1])
    out = define("out", kept, high[kept])
    assert build_query(high, share, out) == parse(
        "input m : i64\ninput x : f32\ne = Rows(~m)\nf = Rows(~high)\n"
        "n = Rows(~m, null)\n~high[e] = ~m[e] > 1 ? ~m[e] : φ\n"
        "~share[f] = ~high[f] - ~x[f-1]\n~out[n] = ~high[n]\n"
        "output ~high, ~share, ~out"
    )
    number = define("number", Rows(x), 1.0)
    assert [i.name for i in build_query(number).inputs] == ["x"]


def test_the_unit_is_the_finest_or_the_one_given() -> None:
    late = define("late", t, m[t - "1m"])
    assert build_query(late).unit == "m"
    assert build_query(late, unit="s").definitions[0].body == At("m", -60, I64)
    assert build_query(define("o", t, m[t - 1])).unit is None
    with pytest.raises(QueryError, match="not a whole number of ticks"):
        build_query(late, unit="h")


def test_objects_are_found_through_their_users() -> None:
    a = define("a", t, m[t])
    c = define("c", t, a[t] + x[t])
    define("unused", t, c[t])
    query = build_query(c)
    assert [i.name for i in query.inputs] == ["m", "x"]
    assert [d.name for d in query.definitions] == ["a", "c"]
    assert query.outputs == ("c",)


def test_what_is_used_twice_gets_a_name() -> None:
    mean = tilt.mean(x[t - 10 : t])
    gap = x[t] - mean
    assert written(gap * gap + mean) == (
        "{ v1 = mean(~x[t-10 : t]); v2 = ~x[t] - v1; return v2 * v2 + v1 }"
    )


def test_sharing_keeps_queries_small() -> None:
    value = x[t] + 1
    for _ in range(60):
        value = value * value
    body = build_query(define("o", t, value)).definitions[0].body
    assert isinstance(body, Let)
    element = x[t - 1 : t]
    for _ in range(20):
        element = element + element
    with pytest.raises(QueryError) as caught:
        tilt.sum(element)
    assert caught.value.code == "E0303"


# -- errors ---------------------------------------------------------------------------


def deep() -> Expression:
    value: Expression = x[t]
    for _ in range(10_000):
        value = value + 1
    return value


OTHER = TDom(precision=2)
UNTYPED: Callable[..., Object] = define


@pytest.mark.parametrize(
    ("make", "code", "marked"),
    [
        (lambda: m[t] + (m[t] > 1), "E0201", "m[t] > 1"),
        (lambda: 2 * m, "E0103", "2 * m"),
        (lambda: m.price, "E0103", "m.price"),
        (lambda: m[t].price, "E0205", "m[t].price"),
        (lambda: m[t] if m[t] > 1 else 0, "E0201", "m[t] > 1"),
        (lambda: 0 < m[t] < 5, "E0201", "0 < m[t] < 5"),
        (lambda: m[t] > 1 and m[t] < 5, "E0201", "m[t] > 1"),
        (lambda: not m[t], "E0201", "not m[t]"),
        (lambda: m[t - 10 : t], "E0106", "m[t - 10 : t]"),
        (lambda: m[t : t - 10], "E0109", "m[t : t - 10]"),
        (lambda: m[:t], "E0106", "m[:t]"),
        (lambda: m[t * 2], "E0107", "t * 2"),
        (lambda: m[5], "E0107", "m[5]"),
        (lambda: m[t - "soon"], "E0004", 't - "soon"'),
        (lambda: m[t] + "10s", "E0201", 'm[t] + "10s"'),
        (lambda: m[OTHER], "E0108", ""),
        (lambda: m[t] == None, "E0201", "m[t] == None"),  # noqa: E711
        (lambda: UNTYPED("o", t, object()), "E0201", 'UNTYPED("o", t, object())'),
        (lambda: phi, "E0204", ""),
        (lambda: tilt.mean(m[t]), "E0113", "m[t]"),
        (lambda: tilt.sum(tilt.mean(m[t - 1 : t])), "E0113", "tilt.mean(m[t - 1 : t])"),
        (lambda: cast(m[t], "float"), "E0207", 'cast(m[t], "float")'),
        (lambda: m[t] + 10**400, "E0203", "m[t] + 10**400"),
        (deep, "E0301", "value + 1"),
        (lambda: define("two words", t, 1), "E0005", 'define("two words", t, 1)'),
        (lambda: UNTYPED("o", 5, m[t]), "E0107", 'UNTYPED("o", 5, m[t])'),
        (lambda: source("m", F64)[t] + m[t], "E0104", 'source("m", F64)'),
        (lambda: source("s", "text")[t], "E0202", 'source("s", "text")'),
        (lambda: define("o", TDom(5, 3), 1)[t], "E0111", "TDom(5, 3)"),
        (
            lambda: define("i", t, m[t])[t] + start(define("j", t, m[t])[t]),
            "E0112",
            "d",
        ),
    ],
)
def test_errors_point_at_the_caller(
    make: Callable[[], Value], code: str, marked: str
) -> None:
    with pytest.raises(QueryError) as caught:
        build_query(define("o", t, make()))
    error = caught.value
    assert error.code == code, error
    assert error.span.source.name == __file__
    text = error.span.source.text[error.span.start : error.span.end]
    assert text.startswith(marked), text
    assert f"--> {__file__}:" in str(error)


def test_the_line_is_the_right_one() -> None:
    line = here() + 1
    value = m[t] + (m[t] > 1)
    with pytest.raises(QueryError) as caught:
        build_query(define("o", t, value))
    assert caught.value.span.source.position(caught.value.span.start)[0] == line
    assert "value = m[t] + (m[t] > 1)" in str(caught.value)


def test_lines_of_code_without_a_file() -> None:
    names = {"m": m, "t": t, "define": define, "__name__": "notebook"}
    exec("\n\nbad = define('o', t, m[t] + (m[t] > 1))", names)  # noqa: S102
    with pytest.raises(QueryError, match=r"--> <string>:3:1"):
        build_query(names["bad"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "code", "message"),
    [
        (lambda: source("s", I64, "point"), "E0206", "expected a lifetime, found 'po"),  # type: ignore[arg-type]
        (lambda: source("s", float), "E0202", "<class 'float'> is no type"),  # type: ignore[arg-type]
        (lambda: TDom("2013-03-01"), "E0111", '"2013-03-01" is no bound'),
    ],
)
def test_what_is_no_part_of_a_query(
    make: Callable[[], object], code: str, message: str
) -> None:
    with pytest.raises(QueryError, match=message) as caught:
        make()
    assert caught.value.code == code


def test_one_column_that_breaks_ties() -> None:
    made = source("s", I64, order="seq")
    (declared,) = build_query(define("o", t, made[t])).inputs
    assert declared.order == ("seq",)


def test_several_errors_in_one_run() -> None:
    with pytest.raises(QueryError) as caught:
        build_query(define("o", t, m[t] + b[t]), define("p", t, m[t].price))
    assert str(caught.value).count("error[") == 2


def test_a_query_needs_outputs_that_are_defined() -> None:
    with pytest.raises(TiltError, match="at least one output"):
        build_query()
    with pytest.raises(QueryError, match="~m is an input"):
        build_query(m)


def test_expressions_are_not_containers() -> None:
    with pytest.raises(AttributeError):
        _ = m._private
    with pytest.raises(QueryError, match=r"write x\.contains"):
        _ = 3 in m
    for ask in (iter, len, float, int):
        with pytest.raises(QueryError, match="while the query is written"):
            ask(m)
    with pytest.raises(QueryError, match="is a field here, no method"):
        m[t].mean()
    with pytest.raises(QueryError, match=r"write \.price"):
        m[t]["price"]
    assert len({m[t], m[t]}) == 2
    assert "m[t]" in repr(when(m[t] > 0, m[t])) or __file__ in repr(m[t])


def test_both_doors_say_the_same() -> None:
    avg = define("avg", t, tilt.mean(x[t - "10s" : t]))
    above = define("above", t, when(x[t] > avg[t], struct(x=x[t], by=x[t] - avg[t])))
    query: Query = build_query(above)
    assert query == parse(
        "input x : f32\n~avg[t] = mean(~x[t-10s : t])\n"
        "~above[t] = ~x[t] > ~avg[t] ? { x = ~x[t], by = ~x[t] - ~avg[t] } : φ\n"
        "output ~above"
    )


def test_a_lone_duration_is_no_start_of_single_ticks() -> None:
    with pytest.raises(QueryError, match='single ticks that starts at "1m"') as raised:
        tilt.TDom("1m")
    assert 'write precision="1m"' in str(raised.value)
    assert repr(tilt.TDom("1m", "1h")) == "TDom(1m, 1h, 1)"
    length = tilt.param("length", tilt.duration, "5m")
    assert repr(tilt.TDom("1m", length)) == "TDom(1m, length, 1)"
    assert repr(tilt.TDom("1m", precision=length)) == "TDom(1m, ∞, length)"

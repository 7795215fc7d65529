"""Printing and formatting: what is written anew reads as the same query."""

from dataclasses import replace

import pytest

from tests.query_texts import ALL, TRADES, ascii_of
from tests.random.queries import random_case
from tiltpy.errors import QueryErrors
from tiltpy.frontend.parse import parse
from tiltpy.frontend.text.format import format_source
from tiltpy.ir.nodes import (
    Binary,
    Const,
    CutPoint,
    Element,
    Expr,
    If,
    InlinedCut,
    Input,
    Let,
    Phi,
    Query,
    Reduce,
    Time,
    Window,
)
from tiltpy.ir.print.query import format_cut, format_expr, format_query
from tiltpy.ir.traversal import drop_unused, rewrite, walk
from tiltpy.types import BOOL, F32, F64, I8, I64, Boundary, Reach

QUERIES = 150


# -- printing the IR ------------------------------------------------------------------


@pytest.mark.parametrize("text", [*ALL, *map(ascii_of, ALL)])
def test_printed_queries_parse_back(text: str) -> None:
    query = parse(text)
    printed = format_query(query)
    assert parse(printed) == query
    assert format_query(parse(printed)) == printed
    assert parse(format_query(query, annotate=True)) == query


def written(query: Query) -> Query | None:
    """A random query as a writer could have put it, if one could.

    Only used names bind something, `t + 1` is a sum, and blocks are whole bodies.
    """
    definitions = []
    for definition in query.definitions:
        body = rewrite(drop_unused(definition.body), _spelled)
        inner: Expr = body
        while isinstance(inner, Let):
            if any(isinstance(node, Let) for node in walk(inner.value)):
                return None
            inner = inner.body
        if any(isinstance(node, Let) for node in walk(inner)):
            return None
        definitions.append(replace(definition, body=body))
    return replace(query, definitions=tuple(definitions))


def _spelled(node: Expr) -> Expr:
    if not isinstance(node, Time) or node.offset == 0:
        return node
    amount = Const(abs(node.offset), I64)
    return Binary("+" if node.offset > 0 else "-", Time(0, I64), amount, I64)


def test_random_queries_parse_back() -> None:
    printed = 0
    for seed in range(QUERIES):
        query = written(random_case(seed, exact=seed % 2 == 0).query)
        if query is not None:
            keys = ((), ("key",), ("trade venue", "by"))[seed % 3]
            inputs = tuple(replace(one, keys=keys) for one in query.inputs)
            query = replace(query, inputs=inputs)
            assert parse(format_query(query)) == query, format_query(query)
            printed += 1
    assert printed > QUERIES * 0.9


def test_a_printed_query() -> None:
    assert format_query(parse(TRADES)) == (
        "unit ms\n"
        "input trades : { price: f64, size: i64 } time ts until_next max 1d "
        "order seq, venue\n"
        "t = TDom(opening, ∞, 1s, offset=500ms)\n"
        "\n"
        "~vwap[t] = {\n"
        "    value = sum(v.price * f64(v.size) for v in ~trades[t-1m : t] "
        "if v.size > 0)\n"
        "    size = sum(~trades[t-1m : t].size)\n"
        "    return size > 0 ? value / f64(size) : φ\n"
        "}\n"
        "\n"
        "output ~vwap\n"
    )


def test_time_variables_keep_clear_of_other_names() -> None:
    text = (
        "a = TDom(t, ∞, 1)\nb = TDom(-∞, ∞, 2)\n"
        "~x[a] = 1\n~y[b] = { t2 = ~x[b] return t2 + t2 }"
    )
    printed = format_query(parse(text))
    assert "t3 = TDom(t, ∞, 1)\nt4 = TDom(-∞, ∞, 2)" in printed
    assert parse(printed) == parse(text)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (Const(1, I64), "1"),
        (Const(1, I8), "i8(1)"),
        (Const(-1.5, F64), "-1.5"),
        (Const(0.10000000149011612, F32), "f32(0.1)"),
        (Const(float("inf"), F32), "f32(∞)"),
        (Const(float("nan"), F64), "nan"),
        (Const(-0.0, F64), "-0.0"),
        (Const(1e22, F64), "1e+22"),
        (Phi(F64), "f64(φ)"),
        (If(Const(True, BOOL), Phi(I64), Const(1, I64)), "true ? φ : 1"),
    ],
)
def test_constants_alone_say_their_type(expr: Expr, text: str) -> None:
    assert format_expr(expr) == text
    assert parse(f"~o[t] = {format_expr(expr)}").definitions[0].body == expr


def test_typed_constants_are_not_folded() -> None:
    for text in (
        "i64(1) + i64(2)",
        "-i8(5)",
        "sqrt(f64(2))",
        "f32(i64(5))",
        "i64(1) == i64(φ)",
        "~m[t] == φ ? i8(1) : i8(φ)",
        "min(i8(1), i8(2)) // i8(0)",
        "i64(φ) != φ && (φ || true)",
        "{ k = i64(3); return k * k }",
    ):
        query = parse(f"input m : i64\n~o[t] = {text}")
        assert parse(format_query(query)) == query


def test_optimised_queries_print_with_their_cuts() -> None:
    m = Reduce("sum", Window("m", -10, 0), Element(I64), I64)
    query = parse("unit s\ninput m : i64\n~o[t] = sum(~m[t-10:t])\noutput ~o")
    inner = (CutPoint("m", -5),)
    changed = replace(
        query,
        inputs=(replace(query.inputs[0], disjoint=True),),
        definitions=tuple(
            replace(d, cuts=(*d.cuts, InlinedCut(m, inner))) for d in query.definitions
        ),
        boundaries=(("o", (("m", Boundary(Reach(11), Reach(0))),)),),
    )
    assert format_query(changed, annotate=True) == (
        "unit s\n"
        "# no two events of ~m overlap\n"
        "input m : i64\n"
        "t = TDom(-∞, ∞, 1s)\n"
        "\n"
        "# ~o over (Ts, Te] needs ~m over (Ts - 11s, Te]\n"
        "# ~o is cut by ~m[t-10s : t]; {~m[t-5s]} but for gaps of sum(~m[t-10s : t])\n"
        "~o[t] = sum(~m[t-10s : t])\n"
        "\n"
        "output ~o\n"
    )
    assert format_cut(CutPoint("m", 60), unit="s") == "~m[t+1m]"


def test_nested_blocks_still_print() -> None:
    body = (
        parse("input m : i64\n~o[t] = { a = ~m[t] return a + a }").definitions[0].body
    )
    assert format_expr(If(parse("~o[t] = true").definitions[0].body, body, body)) == (
        "true ? { a = ~m[t]; return a + a } : { a = ~m[t]; return a + a }"
    )


def test_inputs_print_whatever_they_are_called() -> None:
    query = parse('input m : { "a b": f64, c: i64 } time "T s" order "a b"\n~o[t] = t')
    assert isinstance(query.inputs[0], Input)
    assert parse(format_query(query)) == query


# -- formatting texts -----------------------------------------------------------------

UGLY = """

# head
unit d ;  input   m:i64 interval(start,end) # trailing
input n : {a:f64,b : i64,} time ts until_next max 1d order seq,  "x y"



param k:i64=-3
point = TDom(-∞,∞,1,offset=2)
~select[t]=~m[t]+1;~where[t] = (~m[t]%2==0)?~m[t]:φ   # why
~join[t] = (~m[t] != φ && ~n[t] != φ) ?
   # inner comment
               (~m[t] + ~n[t].a) : φ

    t' = TDom(-∞, ∞, 5)
    ~wsum[t'] = ⊕( + , ~m[ t' - 10:t' ])
~filter[t] = {

        s10 = ⊕(+, ~m[t-10:t]); s20 = sum(~m[t-2*10:t]);
        # block comment
        a10 = -s10/10 +
           -4

        j = (a10 != φ && !(s20 != φ)) ? (a10-s20) : φ
        return (j > 0) ? j : φ }
~u[t] = ~m[t] > 0 ? {
  days   = 1,
  open=2
} : φ
~c[t]=max(p*s for{a:p,b:s}in ~n[t-1d:t]if s>0)+
 var( ~m[t-1:t],ddof=1 )
~e[t] = { x = 1 return { y = x,z=1e-3, } }
~f[t] = ~n[t]with{a=1}
output ~filter,~c
  # end"""

FORMATTED = """# head
unit d
input m : i64 interval (start, end)  # trailing
input n : { a: f64, b: i64 } time ts until_next max 1d order seq, "x y"

param k : i64 = -3
point = TDom(-∞, ∞, 1, offset=2)
~select[t] = ~m[t] + 1
~where[t] = (~m[t] % 2 == 0) ? ~m[t] : φ  # why
~join[t] = (~m[t] != φ && ~n[t] != φ) ?
    # inner comment
    (~m[t] + ~n[t].a) : φ

t' = TDom(-∞, ∞, 5)
~wsum[t'] = ⊕(+, ~m[t'-10 : t'])
~filter[t] = {
    s10 = ⊕(+, ~m[t-10 : t]); s20 = sum(~m[t-2*10 : t])
    # block comment
    a10 = -s10 / 10 +
        -4

    j = (a10 != φ && !(s20 != φ)) ? (a10 - s20) : φ
    return (j > 0) ? j : φ }
~u[t] = ~m[t] > 0 ? {
    days = 1,
    open = 2
} : φ
~c[t] = max(p * s for { a: p, b: s } in ~n[t-1d : t] if s > 0) +
    var(~m[t-1 : t], ddof=1)
~e[t] = { x = 1; return { y = x, z = 1e-3 } }
~f[t] = ~n[t] with { a = 1 }
output ~filter, ~c
# end
"""


def test_the_one_way_to_write_it() -> None:
    assert format_source(UGLY) == FORMATTED
    assert format_source(FORMATTED) == FORMATTED


@pytest.mark.parametrize("text", [*ALL, *map(ascii_of, ALL)])
def test_formatted_texts_are_the_same_query(text: str) -> None:
    once = format_source(text)
    assert parse(once) == parse(text)
    assert format_source(once) == once
    assert once.count("#") == text.count("#")


def test_printed_queries_are_formatted() -> None:
    for text in ALL:
        printed = format_query(parse(text))
        assert format_source(printed) == printed


@pytest.mark.parametrize(
    "text", ["", "\n\n", "# only\n\n\n# comments\n", ";;", "unit s"]
)
def test_almost_nothing(text: str) -> None:
    once = format_source(text)
    assert format_source(once) == once
    assert once == "" or once.endswith("\n")


def test_what_does_not_read_is_not_formatted() -> None:
    with pytest.raises(QueryErrors, match=r"x\.tilt:1:9"):
        format_source("~a[t] = )", name="x.tilt")
    assert format_source("~a[t]=~nowhere[t]") == "~a[t] = ~nowhere[t]\n"

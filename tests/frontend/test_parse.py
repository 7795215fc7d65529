"""Elaboration: what the words of a text become in the functional IR."""

from datetime import timedelta
from math import inf, isnan

import pytest

from tiltpy.errors import QueryError, QueryErrors, TiltError
from tiltpy.frontend.parse import parse
from tiltpy.ir.nodes import (
    At,
    Binary,
    Call,
    Cast,
    Const,
    CutPoint,
    CutTime,
    CutWindow,
    Element,
    EventBound,
    Exists,
    Expr,
    Field,
    If,
    Input,
    Let,
    Local,
    MakeStruct,
    Phi,
    Reduce,
    Time,
    Unary,
    Window,
)
from tiltpy.ir.print.query import format_expr
from tiltpy.ir.verify.invariants import verify_source
from tiltpy.lifetimes import FixedDuration, Interval, Point, Sampled, UntilNext
from tiltpy.limits import MAX_DEPTH
from tiltpy.types import (
    BOOL,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    MAX_OFFSET,
    SCALARS,
    U8,
    U64,
    Scalar,
    Struct,
    TDom,
)

INPUTS = "".join(f"input {name} : {name}\n" for name in SCALARS) + (
    "input q : { price: f64, size: i64 }\n"
)


def body(expression: str) -> Expr:
    """The typed form of an expression over inputs named like their types."""
    query = parse(INPUTS + f"~o[t] = {expression}")
    verify_source(query)
    return query.definitions[0].body


def code_of(text: str) -> str:
    with pytest.raises(QueryErrors) as caught:
        parse(text)
    return caught.value.code


# -- types ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right", "common"),
    [
        ("i8", "i32", "i32"),
        ("u8", "u64", "u64"),
        ("u8", "i8", "i16"),
        ("u16", "i64", "i64"),
        ("u32", "i8", "i64"),
        ("i16", "u8", "i16"),
        ("f32", "f64", "f64"),
        ("f32", "u16", "f32"),
        ("i8", "f32", "f32"),
        ("f32", "i32", "f64"),
        ("u64", "f32", "f64"),
        ("f64", "i8", "f64"),
    ],
)
def test_operands_widen(left: str, right: str, common: str) -> None:
    found = body(f"~{left}[t] * ~{right}[t]")
    assert isinstance(found, Binary)
    assert found.type == found.left.type == found.right.type == SCALARS[common]
    widened = [side for side in (found.left, found.right) if isinstance(side, Cast)]
    assert len(widened) == sum(name != common for name in (left, right))


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("~f32[t] + 1", F32),
        ("~f32[t] + 0.1", F32),
        ("~f32[t] * (2 / 3)", F32),
        ("~f32[t] * sqrt(2)", F32),
        ("~f32[t] + 16777217", F64),
        ("~f32[t] + 1e300", F64),
        ("~f32[t] + ∞", F32),
        ("~f32[t] * (~bool[t] ? 1 : 0.5)", F32),
        ("~f64[t] + 1", F64),
        ("~i8[t] + 1", I8),
        ("~i8[t] + 200", I16),
        ("~i8[t] + (100 + 100)", I16),
        ("~u8[t] - 1", U8),
        ("~u8[t] + (-1)", I16),
        ("~u64[t] + 18446744073709551615", U64),
        ("~i32[t] + 3000000000", I64),
        ("~i32[t] + 0.5", F64),
        ("~i8[t] / ~i8[t]", F64),
        ("~f32[t] / ~i8[t]", F32),
        ("~i8[t] // 2", I8),
        ("~i8[t] % 2", I8),
        ("~bool[t] ? ~i8[t] : 1000", I16),
        ("~bool[t] ? φ : (~bool[t] ? 1 : ~f32[t])", F32),
        ("~bool[t] ? 1 : 2", I64),
        ("~bool[t] ? 1 : 2.5", F64),
        ("9223372036854775808", U64),
        ("-9223372036854775808", I64),
        ("sqrt(~i8[t])", F64),
        ("sqrt(~f32[t])", F32),
        ("abs(~i8[t])", I8),
        ("min(~i8[t], ~u8[t])", I16),
        ("max(~f32[t], 2)", F32),
        ("is_nan(~i64[t])", BOOL),
        ("t + 1", I64),
        ("φ + ~f32[t]", F32),
        ("-~u8[t]", U8),
        ("1 < 2", BOOL),
        ("~bool[t] == true", BOOL),
        ("~bool[t] < false", BOOL),
        ("~bool[t] && φ", BOOL),
        ("φ ? 1 : 2", I64),
        ("sum(~i8[t-1:t])", I64),
        ("sum(~u8[t-1:t])", U64),
        ("sum(~bool[t-1:t])", I64),
        ("sum(~f32[t-1:t])", F32),
        ("mean(~f32[t-1:t])", F32),
        ("mean(~i8[t-1:t])", F64),
        ("std(~bool[t-1:t], ddof=1)", F64),
        ("max(~i8[t-1:t])", I8),
        ("last(~bool[t-1:t])", BOOL),
        ("count(~q[t-1:t])", I64),
        ("any(~i8[t-1:t] > 0)", BOOL),
        ("sum(1 for v in ~q[t-1:t])", I64),
    ],
)
def test_result_types(text: str, type: Scalar) -> None:
    assert body(text).type == type


def test_constants_take_the_type_they_meet() -> None:
    found = body("~f32[t] + 0.1")
    assert isinstance(found, Binary)
    assert found.right == Const(0.10000000149011612, F32)
    found = body("~f64[t] == 1")
    assert isinstance(found, Binary)
    assert found.right == Const(1.0, F64)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 + 3 * 4 - 1", 13),
        ("7 // 2 - -7 // 2", 7),
        ("-7 % 3", 2),
        ("7 / 2", 3.5),
        ("18446744073709551615 - 18446744073709551614", 1),
        ("0.5 + 1", 1.5),
        ("-0.0", -0.0),
        ("-∞", -inf),
        ("bool(3)", True),
        ("1 == 1.0", True),
        ("9007199254740993 > 9007199254740992.0", True),
        ("f32(0.1)", 0.10000000149011612),
        ("u8(-3.9)", 0),
        ("i8(nan)", 0),
        ("i64(∞)", 2**63 - 1),
    ],
)
def test_literals_are_folded_exactly(text: str, value: float) -> None:
    found = body(text)
    assert isinstance(found, Const)
    assert (found.value, type(found.value)) == (value, type(value))


def test_nan_is_a_literal() -> None:
    found = body("nan")
    assert isinstance(found, Const)
    assert isinstance(found.value, float)
    assert isnan(found.value)


def test_divisions_of_literals_by_zero_are_left_to_the_run() -> None:
    assert body("1 // 0") == Binary("//", Const(1, I64), Const(0, I64), I64)
    assert body("~f32[t] + 1 / 0") == Binary(
        "+",
        At("f32", 0, F32),
        Binary("/", Const(1.0, F32), Const(0.0, F32), F32),
        F32,
    )


def test_existence() -> None:
    there = Exists(At("q", 0, body("~q[t]").type), BOOL)
    assert body("~q[t] != φ") == body("φ != (~q[t])") == body("exists(~q[t])") == there
    assert body("~q[t] == φ") == Unary("!", there, BOOL)
    typed = body("~f64[t] == f64(φ)")
    assert typed == Binary("==", At("f64", 0, F64), Phi(F64), BOOL)


def test_structs() -> None:
    payload = Struct((("price", F64), ("size", I64)))
    row = At("q", -1, payload)
    assert body("~q[t-1].price") == Field(row, "price", F64)
    assert body("{ a = 1, b = ~f32[t] }") == MakeStruct(
        (Const(1, I64), At("f32", 0, F32)), Struct((("a", I64), ("b", F32)))
    )
    changed = body("~q[t-1] with { price = 1 }")
    kept = MakeStruct((Const(1.0, F64), Field(row, "size", I64)), payload)
    assert changed == If(Exists(row, BOOL), kept, Phi(payload))
    narrow = body("~q[t-1] with { price = ~f32[t] }").type
    assert narrow == Struct((("price", F32), ("size", I64)))


def test_with_of_an_expression_names_it() -> None:
    found = body("(~bool[t] ? ~q[t] : φ) with { size = 0 }")
    assert isinstance(found, Let)
    assert isinstance(found.value, If)
    repeated = "~q[t]" + " with { size = 0 }" * 50
    assert isinstance(body(repeated), Let)


# -- names and blocks -----------------------------------------------------------------


def test_blocks_become_lets() -> None:
    found = body("{ a = ~f32[t] + 1; b = a * a return b }")
    one = Binary("+", At("f32", 0, F32), Const(1.0, F32), F32)
    a, b = Local("a", F32), Local("b", F32)
    assert found == Let("a", one, Let("b", Binary("*", a, a, F32), b))


def test_a_name_bound_again_hides_the_first() -> None:
    found = body("{ a = ~i8[t]; a_2 = a; a = a + a_2; a' = a; a' = a'; return a' }")
    names = []
    while isinstance(found, Let):
        names.append(found.name)
        found = found.body
    assert names == ["a", "a_2", "a_3", "a'", "a_2'"]


def test_literals_have_no_names_and_unused_names_go() -> None:
    assert body("{ k = 10; n = φ; u = ~i8[t]; return ~f32[t] / k != n }") == body(
        "~f32[t] / 10 != φ"
    )


def test_a_typed_constant_may_stand_in_an_element() -> None:
    text = "{ k = i64(2); return sum(~i64[t-1:t] * k) + k }"
    assert format_expr(body(text)) == (
        "{ k = i64(2); return sum(v * 2 for v in ~i64[t-1 : t]) + k }"
    )


def test_definitions_stand_in_any_order() -> None:
    query = parse(
        "input m : i64\n~d[t] = ~b[t] + ~c[t]\n~c[t] = ~a[t]\n~b[t] = ~a[t-1]\n"
        "~e[t] = 1\n~a[t] = ~m[t]\n"
    )
    assert [d.name for d in query.definitions] == ["e", "a", "c", "b", "d"]
    assert query.outputs == ("e", "d")


def test_what_only_an_unused_name_refers_to_is_an_output() -> None:
    query = parse("input m : i64\n~a[t] = ~m[t]\n~b[t] = { x = ~a[t] return ~m[t] }")
    assert query.outputs == ("a", "b")
    assert query.definitions[1].cuts == (CutPoint("m", 0),)


def test_outputs_in_the_order_written() -> None:
    query = parse("output ~b, a\n~a[t] = 1\n~b[t] = 2\n~c[t] = 3\noutput c")
    assert query.outputs == ("b", "a", "c")


# -- references and times -------------------------------------------------------------


def test_references() -> None:
    found = body("~i64[t + 3] + start(~f32[t-2]) - end((~f32[t]))")
    assert isinstance(found, Binary)
    assert found.left == Binary(
        "+", At("i64", 3, I64), EventBound("start", "f32", -2, I64), I64
    )
    assert found.right == EventBound("end", "f32", 0, I64)


def test_time_as_a_number() -> None:
    assert body("t") == Time(0, I64)
    assert body("t + 1") == Binary("+", Time(0, I64), Const(1, I64), I64)


def test_cuts_are_the_references_in_order() -> None:
    query = parse(
        "input m : i64\n"
        "~o[t] = sum(v for v in ~m[t-2:t] if v > 0) > 0 ? ~m[t] + t : ~m[t-1] + ~m[t]"
    )
    (definition,) = query.definitions
    element = Element(I64)
    positive = If(Binary(">", element, Const(0, I64), BOOL), element, Phi(I64))
    assert definition.cuts == (
        CutWindow(Window("m", -2, 0), positive),
        CutPoint("m", 0),
        CutTime(),
        CutPoint("m", -1),
    )


@pytest.mark.parametrize(
    ("time", "offset"),
    [
        ("t", 0),
        ("t - 10", -10),
        ("t + 2 * (w - 1s)", 18),
        ("-w + t", -10),
        ("(t)", 0),
        ("2 * t - t - n", -3),
        ("t-1m", -60),
    ],
)
def test_times_are_t_and_constants(time: str, offset: int) -> None:
    query = parse(
        "unit s\ninput m : i64\nparam w : duration = 10s\nparam n : i64 = 3\n"
        f"~o[t] = ~m[{time}]"
    )
    assert query.definitions[0].body == At("m", offset, I64)


def test_time_domains() -> None:
    query = parse(
        "unit s\nparam w : duration = 1m\ninput m : i64\n"
        "a = TDom(-5, 10, 2, 7)\nb = TDom(opening, closing, w, offset=-1s)\n"
        "c = TDom((-∞), 1h, 1)\nd = TDom(-(3), ∞, 1)\n"
        "~a[a] = ~m[a] ~b[b] = ~m[b] ~c[c] = ~m[c] ~d[d] = ~m[d] ~e[t] = ~m[t]"
    )
    assert [d.tdom for d in query.definitions] == [
        TDom(-5, 10, 2, 1),
        TDom("opening", "closing", 60, 59),
        TDom(None, 3600, 1),
        TDom(-3, None, 1),
        TDom(),
    ]


def test_a_declared_t_is_that_t() -> None:
    query = parse("t = TDom(0, ∞, 3)\n~o[t] = t")
    assert query.definitions[0].tdom == TDom(0, None, 3)


def test_inputs() -> None:
    query = parse(
        "unit s\n"
        "input a : i64\n"
        "input ~b : { x: f64, y: bool } order seq, x time ts until_next max 1d\n"
        "input c : f32 point\ninput d : u8 duration (2 * 5)\ninput e : i8 sampled 1m\n"
        "input f : bool interval\ninput g : i16 interval (from, to)\n"
        'input h : i32 until_next\ninput i by x, "a b" : i64 order y\n~o[t] = ~a[t]'
    )
    struct = Struct((("x", F64), ("y", BOOL)))
    assert query.inputs == (
        Input("a", I64),
        Input("b", struct, UntilNext(86400), "ts", ("seq", "x")),
        Input("c", F32, Point()),
        Input("d", U8, FixedDuration(10)),
        Input("e", I8, Sampled(60)),
        Input("f", BOOL, Interval()),
        Input("g", I16, Interval("from", "to")),
        Input("h", I32, UntilNext()),
        Input("i", I64, order=("y",), keys=("x", "a b")),
    )


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("~o[t] = ~m[t-10]", None),
        ("~o[t] = ~m[t-1m] ~p[t] = ~m[t-2s]", "s"),
        ("u = TDom(-∞, ∞, 250ms) ~o[u] = ~m[u]", "ms"),
        ("input n : i64 sampled 1us ~o[t] = ~m[t]", "us"),
        ("param w : duration = 1h ~o[t] = ~m[t-w]", "h"),
        ("unit ns ~o[t] = ~m[t-1h]", "ns"),
        ("~o[t] = { unused = ~m[t-1s] return ~m[t] }", "s"),
    ],
)
def test_the_tick_is_the_finest_duration(text: str, unit: str | None) -> None:
    assert parse("input m : i64 " + text).unit == unit


def test_the_largest_offset() -> None:
    assert parse(f"input m : i64 ~o[t] = ~m[t-{MAX_OFFSET}]")
    assert code_of(f"input m : i64 ~o[t] = ~m[t-{MAX_OFFSET + 1}]") == "E0302"


# -- parameters -----------------------------------------------------------------------

PARAMS = """unit s
param w : duration = 10s
param k : f32 = 2
param n : u8 = 7
param on : bool = true
param twice : duration = 2 * w
input m : f32
~o[t] = on ? mean(~m[t-w : t]) * k + n : ~m[t-twice]
"""


def test_parameters_are_constants() -> None:
    assert format_expr(parse(PARAMS).definitions[0].body, unit="s") == (
        "true ? mean(~m[t-10s : t]) * 2.0 + f32(u8(7)) : ~m[t-20s]"
    )


def test_parameters_from_outside() -> None:
    given = {"w": "1m30s", "k": 0.5, "n": "9", "on": "false"}
    assert format_expr(parse(PARAMS, params=given).definitions[0].body, unit="s") == (
        "false ? mean(~m[t-90s : t]) * 0.5 + f32(u8(9)) : ~m[t-3m]"
    )
    for ninety in (90, "90", timedelta(seconds=90)):
        assert parse(PARAMS, params={"w": ninety}) == parse(PARAMS, params={"w": "90s"})


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"v": 1},
            "no parameter 'v' in this query; its parameters: w, k, n, on, twice",
        ),
        ({"w": "soon"}, "expected a duration, like '30s', found 'soon'"),
        ({"w": "250ms"}, "not a whole number of ticks"),
        ({"w": 2.5}, "times are whole ticks"),
        ({"w": "1 +"}, "expected a duration, like '30s', found '1 +'"),
        ({"w": ""}, "expected a duration, like '30s', found ''"),
        ({"k": "1 +"}, "parameter k:1:3"),
        ({"n": 300}, "the parameter `n` is of type u8"),
        ({"n": 10**400}, "beyond the range"),
        ({"n": "9" * 400}, "beyond the range"),
        ({"n": True}, "the parameter `n` is of type u8, its value is a bool"),
        ({"on": 1}, "the parameter `on` is of type bool"),
        ({"k": None}, "parameter 'k': a NoneType is no number"),
    ],
)
def test_wrong_parameters(params: dict[str, object], message: str) -> None:
    with pytest.raises(TiltError) as caught:
        parse(PARAMS, params=params)
    assert message in str(caught.value)


# -- limits ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expression",
    [
        "(" * 3_000 + "~m[t]" + ")" * 3_000,
        "-" * 3_000 + "~m[t]",
        "!" * 3_000 + "~m[t]",
        "~m[t]" + " + 1" * 3_000,
        "~m[t]" + " * ~m[t]" * 3_000,
        "~m[t] > 0 ? 1 : " * 3_000 + "2",
        "abs(" * 3_000 + "~m[t]" + ")" * 3_000,
        "~m[" + "(" * 3_000 + "t" + ")" * 3_000 + "]",
        "~m[t" + " + 1" * 3_000 + "]",
        "~m[t]" + " with { a = 1 }" * 3_000,
        "~m[t]" + ".a" * 3_000,
        "{ " + "".join(f"a{i + 1} = ~m[t] + a{i};" for i in range(3_000)).replace(
            "+ a0;", "+ 1;"
        ) + " return a3000 }",
    ],
)  # fmt: skip
def test_deep_nesting_is_an_error(expression: str) -> None:
    assert code_of(f"input m : i64\n~o[t] = {expression}") == "E0301"


def test_what_is_just_not_too_deep() -> None:
    chain = "~m[t]" + " + ~m[t]" * (MAX_DEPTH - 2)
    query = parse(f"input m : i64\n~o[t] = {chain}")
    verify_source(query)
    assert code_of(f"input m : i64\n~o[t] = {chain} + ~m[t] + 1") == "E0301"


def test_long_blocks_of_constants_are_cheap() -> None:
    names = "".join(f"k{i + 1} = k{i} * k{i}; " for i in range(1_000))
    assert code_of(f"~o[t] = {{ k0 = 3; {names} return k1000 }}") == "E0203"
    unused = "".join(f"a{i} = ~m[t] + {i}; " for i in range(1_000))
    assert parse(f"input m : i64\n~o[t] = {{ {unused} return a7 }}")


@pytest.mark.parametrize("digits", [20, 99, 101, 400, 5_000, 100_000])
def test_literals_of_many_digits(digits: int) -> None:
    nines = "9" * digits
    assert code_of(f"~o[t] = {nines}") == "E0203"
    assert code_of(f"input m : i64 ~o[t] = ~m[t-{nines}]") == "E0203"
    assert code_of(f"input m : i64 ~o[t] = ~m[t-{nines}d]") == "E0302"
    assert code_of(f"input m : i64 duration {nines}s ~o[t] = ~m[t]") == "E0302"
    assert parse(f"~o[t] = 0.{nines}").definitions[0].type == F64
    assert parse(f"~o[t] = {'0' * digits}7").definitions[0].body == Const(7, I64)


def test_an_error_in_one_operand_does_not_hide_the_next() -> None:
    with pytest.raises(QueryErrors) as caught:
        parse("~o[t] = { a = ~x[t] + b; c = sqrt(~y[t], 1) return a ? d : -true }")
    codes = [error.code for error in caught.value.errors]
    assert codes == ["E0101", "E0102", "E0206", "E0102", "E0201"]
    assert all(isinstance(error, QueryError) for error in caught.value.errors)


def test_math_functions_of_literals_stay_untyped() -> None:
    found = body("~f32[t] * sqrt(2)")
    assert isinstance(found, Binary)
    assert found.right == Call("sqrt", (Const(2.0, F32),), F32)


def test_two_windows_that_are_one() -> None:
    found = body("⊕(max, ~q[t-5:t].price * ~q[t - (2+3) : t].size)")
    assert isinstance(found, Reduce)
    assert found.window == Window("q", -5, 0)

"""The verifier: a sound query passes, and every violation is named precisely."""

from dataclasses import replace

import pytest

from tiltpy.ir.nodes import (
    At,
    Binary,
    Call,
    Cast,
    Const,
    Cut,
    CutPoint,
    CutTime,
    CutWindow,
    Element,
    EventBound,
    Exists,
    Expr,
    Field,
    If,
    InlinedCut,
    Input,
    Let,
    Local,
    MakeStruct,
    Phi,
    Query,
    Reduce,
    TemporalExpr,
    Time,
    Unary,
    Window,
)
from tiltpy.ir.traversal import source_cuts
from tiltpy.ir.verify.invariants import verify, verify_source
from tiltpy.limits import MAX_DEPTH
from tiltpy.ops import BinaryOp
from tiltpy.types import (
    BOOL,
    F32,
    F64,
    FLOAT_LITERAL,
    I8,
    I64,
    MAX_OFFSET,
    MAX_TIME,
    PHI,
    U8,
    Boundary,
    Struct,
    TDom,
)

TICK = Struct((("price", F64), ("size", I64)))
M, S, K = At("m", 0, F64), At("s", 0, TICK), At("k", 0, I64)
ONE = Const(1.0, F64)
T = TDom()


def over(body: Expr, tdom: TDom = T, cuts: tuple[Cut, ...] | None = None) -> Query:
    """A query whose one output has a body."""
    found = source_cuts(body) if cuts is None else cuts
    inputs = (Input("m", F64), Input("s", TICK), Input("k", I64))
    return Query(None, inputs, (TemporalExpr("o", tdom, body, found),), ("o",))


def binary(op: BinaryOp, left: Expr, right: Expr) -> Binary:
    assert not isinstance(left.type, Struct)
    return Binary(op, left, right, left.type)


def mean(element: Expr, window: Window) -> Reduce:
    return Reduce("mean", window, element, F64)


WINDOW = Window("m", -10, 0)
ELEMENT = Element(F64)
PRICE = Field(Element(TICK), "price", F64)
DEEP: Expr = M
for _ in range(MAX_DEPTH):
    DEEP = Unary("-", DEEP, F64)

SOUND: tuple[Expr, ...] = (
    M,
    binary("+", M, ONE),
    If(Exists(M, BOOL), M, Phi(F64)),
    Let("a", binary("*", M, M), binary("+", Local("a", F64), Local("a", F64))),
    mean(ELEMENT, WINDOW),
    mean(binary("-", ELEMENT, M), WINDOW),
    mean(binary("+", ELEMENT, Cast(Time(0, I64), F64)), WINDOW),
    mean(binary("-", ELEMENT, mean(ELEMENT, WINDOW)), WINDOW),
    Reduce("count", Window("s", -3, 4), Element(TICK), I64),
    Reduce("sum", Window("s", -3, 4), If(Exists(PRICE, BOOL), PRICE, Phi(F64)), F64),
    Reduce("var", WINDOW, Let("e", ELEMENT, Local("e", F64)), F64, 1),
    MakeStruct((Field(S, "price", F64), K), TICK),
    Cast(EventBound("start", "k", -1, I64), F32),
    Call("pow", (M, ONE), F64),
    Call("is_nan", (M,), BOOL),
    binary("+", Time(5, I64), K),
)


@pytest.mark.parametrize("body", SOUND, ids=lambda body: type(body).__name__)
def test_a_sound_body_passes(body: Expr) -> None:
    verify_source(over(body))


UNSOUND: tuple[tuple[Expr, str], ...] = (
    (At("x", 0, F64), "~x is not defined before it is used"),
    (At("m", 0, I64), "~m is f64, used as i64"),
    (At("m", MAX_OFFSET + 1, F64), "beyond ±2^59"),
    (Local("a", F64), "no 'a' in scope"),
    (Let("a", M, Local("a", I64)), "'a' is f64, used as i64"),
    (Let("a", M, Let("a", M, Local("a", F64))), "'a' is bound twice"),
    (ELEMENT, "Element outside a window"),
    (Let("a", M, mean(Local("a", F64), WINDOW)), "no 'a' in scope"),
    (mean(Element(I64), WINDOW), "the element is f64, used as i64"),
    (Let("a", M, mean(Local("a", F64), WINDOW)), "no 'a' in scope"),
    (mean(ELEMENT, Window("m", 0, 0)), "window from 0 to 0 is empty"),
    (mean(ELEMENT, Window("m", -MAX_OFFSET - 1, 0)), "beyond ±2^59"),
    (mean(ELEMENT, Window("x", -1, 0)), "~x is not defined before it is used"),
    (replace(mean(ELEMENT, WINDOW), reduction="middle"), "no reduction middle"),
    (replace(mean(ELEMENT, WINDOW), parameter=0.5), "mean with the parameter 0.5"),
    (Reduce("quantile", WINDOW, ELEMENT, F64), "quantile with the parameter None"),
    (Reduce("quantile", WINDOW, ELEMENT, F64, 0, 1.5), "with the parameter 1.5"),
    (Reduce("topk", WINDOW, ELEMENT, F64, 0, 65), "topk with the parameter 65"),
    (Reduce("modes", WINDOW, ELEMENT, F64, 0, 0), "modes with the parameter 0"),
    (Reduce("topk", WINDOW, ELEMENT, F64, 0, 1), "result of topk is f64, expected {"),
    (Reduce("median", WINDOW, Cast(ELEMENT, F32), F32), "is f32, expected f64"),
    (Reduce("nunique", Window("s", -1, 0), Element(TICK), I64), "nunique of { price"),
    (replace(mean(ELEMENT, WINDOW), ddof=1), "mean takes no ddof"),
    (replace(mean(ELEMENT, WINDOW), type=F32), "result of mean is f32, expected f64"),
    (Reduce("any", WINDOW, ELEMENT, BOOL), "any of f64"),
    (Reduce("sum", Window("s", -1, 0), Element(TICK), F64), "sum of { price"),
    (EventBound("end", "o", 0, I64), "neither an input nor distinct"),
    (EventBound("end", "m", 0, F64), "expected i64"),
    (Const(1.0, FLOAT_LITERAL), "type float literal in a finished query"),
    (Phi(PHI), "type phi in a finished query"),
    (Const(1, F64), "1 is no f64"),
    (Const(128, I8), "128 is no i8"),
    (Const(True, U8), "True is no u8"),
    (Const(0, BOOL), "0 is no bool"),
    (binary("+", M, K), "operands are f64 and i64"),
    (binary("/", K, K), "operands are i64, expected a float type"),
    (Binary("<", M, ONE, F64), "result is f64, expected bool"),
    (binary("&&", M, M), "operand is f64, expected bool"),
    (Binary("==", S, S, BOOL), "operands are structs"),
    (binary("+", Exists(M, BOOL), Exists(M, BOOL)), "expected a number"),
    (Unary("!", M, F64), "operand of ! is f64, expected bool"),
    (Unary("-", Exists(M, BOOL), BOOL), "expected a number"),
    (If(M, M, M), "condition is f64, expected bool"),
    (If(Exists(M, BOOL), M, K), "else branch is i64, expected f64"),
    (Exists(M, I64), "result is i64, expected bool"),
    (Cast(S, F64), "operand is the struct"),
    (Call("sin", (M, M), F64), "2 arguments, not 1"),
    (Call("sin", (K,), I64), "expected a float type"),
    (Call("max", (M, K), F64), "argument is i64, expected f64"),
    (Call("frobnicate", (M,), F64), "no function frobnicate"),
    (MakeStruct((M, M), TICK), "fields are f64, f64"),
    (Field(S, "volume", F64), "no field volume"),
    (Field(M, "price", F64), "f64 has no field price"),
    (DEEP, "levels deep"),
)


@pytest.mark.parametrize(("body", "fault"), UNSOUND, ids=[f for _, f in UNSOUND])
def test_an_unsound_body_is_named(body: Expr, fault: str) -> None:
    with pytest.raises(AssertionError) as raised:
        verify(over(body))
    assert fault in str(raised.value)
    assert str(raised.value).startswith("~o")


@pytest.mark.parametrize(
    ("declared", "fault"),
    [
        (Input("k", I64, keys=("a", "a")), "~k: a key column is listed twice"),
        (Input("k", I64, keys=("a", "start")), "~k: the key columns {'start'}"),
        (Input("k", I64, time="ts", keys=("ts",)), "~k: the key columns {'ts'}"),
        (Input("k", I64, order=("a", "b"), keys=("b",)), "~k: the key columns {'b'}"),
    ],
)
def test_unsound_keys_are_named(declared: Input, fault: str) -> None:
    with pytest.raises(AssertionError, match=fault):
        verify(Query(None, (declared,), (), ()))


def test_joined_objects_have_the_same_keys() -> None:
    query = over(binary("+", M, At("n", 0, F64)))
    inputs = (Input("m", F64, keys=("a",)), Input("n", F64, keys=("a",)))
    verify_source(replace(query, inputs=inputs))
    verify_source(replace(query, inputs=(inputs[0], Input("n", F64))))
    other = replace(query, inputs=(inputs[0], Input("n", F64, keys=("a", "b"))))
    with pytest.raises(AssertionError, match="~o joins the keys"):
        verify(other)


def test_an_output_has_no_column_like_its_keys() -> None:
    query = replace(over(M), inputs=(Input("m", F64, keys=("o",)),))
    verify(query)
    with pytest.raises(AssertionError, match="~o has columns like its keys"):
        verify_source(query)


@pytest.mark.parametrize(
    ("tdom", "fault"),
    [
        (TDom(precision=0), "precision 0"),
        (TDom(precision=MAX_OFFSET + 1), "precision"),
        (TDom(precision=5, offset=5), "offset 5 of precision 5"),
        (TDom(offset=-1), "offset -1"),
        (TDom(start=-MAX_TIME - 1), "beyond ±2^62"),
    ],
)
def test_a_domain_is_in_range(tdom: TDom, fault: str) -> None:
    with pytest.raises(AssertionError, match=fault.replace("^", r"\^")):
        verify(over(M, tdom))


POINT, CUT_WINDOW = CutPoint("m", 0), CutWindow(WINDOW, ELEMENT)


@pytest.mark.parametrize(
    ("body", "cuts", "fault"),
    [
        (M, (), "is read but does not cut"),
        (M, (CutPoint("m", 1),), "is read but does not cut"),
        (Time(0, I64), (), "CutTime() is read but does not cut"),
        (mean(ELEMENT, WINDOW), (POINT,), "is read but does not cut"),
        (M, (InlinedCut(M, ()),), "is read but does not cut"),
        (M, (POINT, POINT), "a cut is listed twice"),
        (M, (POINT, CutPoint("x", 0)), "~x is not defined"),
        (mean(binary("-", ELEMENT, M), WINDOW), (POINT,), "is read but does not cut"),
    ],
)
def test_cuts_cover_what_a_body_reads(
    body: Expr, cuts: tuple[Cut, ...], fault: str
) -> None:
    with pytest.raises(AssertionError) as raised:
        verify(over(body, cuts=cuts))
    assert fault in str(raised.value)


@pytest.mark.parametrize(
    ("body", "cuts"),
    [
        (ONE, (POINT, CUT_WINDOW, CutTime())),
        (M, (InlinedCut(M, (POINT,)),)),
        (mean(ELEMENT, WINDOW), (InlinedCut(ONE, (CUT_WINDOW,)),)),
        (Let("unused", M, ONE), ()),
    ],
)
def test_cuts_may_outlive_references(body: Expr, cuts: tuple[Cut, ...]) -> None:
    verify(over(body, cuts=cuts))


def test_a_source_has_the_cuts_of_its_bodies() -> None:
    with pytest.raises(AssertionError, match="its cuts are not its references"):
        verify_source(over(ONE, cuts=(POINT,)))


def test_names_and_order_of_definitions() -> None:
    query = over(M)
    definition = query.definitions[0]
    early = TemporalExpr("p", T, At("q", 0, F64), (CutPoint("q", 0),))
    late = replace(definition, name="q")
    wrong = {
        "~m is declared twice": replace(query, inputs=query.inputs[:1] * 2),
        "~o is defined twice": replace(query, definitions=(definition, definition)),
        "~m is defined twice": replace(
            query, definitions=(replace(definition, name="m"),)
        ),
        "~q is not defined before": replace(
            query, definitions=(early, late), outputs=("p",)
        ),
        "output ~z is undefined": replace(query, outputs=("z",)),
        "an output is listed twice": replace(query, outputs=("o", "o")),
        "which is no output": replace(query, boundaries=(("z", ()),)),
        "name ~o, no input": replace(query, boundaries=(("o", (("o", Boundary()),)),)),
    }
    for fault, each in wrong.items():
        with pytest.raises(AssertionError) as raised:
            verify(each)
        assert fault in str(raised.value)

"""The verifier of loop IR: real kernels pass, and each broken rule is named."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from random import Random
from typing import Any
from unittest.mock import patch

import pytest

from tests import GOLDEN
from tests.compiled import Setting, run_compiled
from tests.lowering.preaggregation import (
    test_golden_kernels as test_pane_lowering,
)
from tests.lowering.sweep import test_golden_kernels as test_lowering
from tests.lowering.vector import test_golden_kernels as test_grid_lowering
from tests.random.events import random_event_case
from tests.random.grids import random_grid_case
from tests.random.keyed_queries import random_fold_case, random_keyed_case
from tests.random.queries import Case, random_case
from tiltpy.abi.layouts import Layout, SamplingGrid, TimeLayout
from tiltpy.abi.signature import LANES, PaneAggregation
from tiltpy.compiler import stages
from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.output_selection import split_by_keys
from tiltpy.compiler.query_kernels import QueryKernels
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event
from tiltpy.ir.nodes import Query
from tiltpy.loops.build import FALSE, TRUE, add, f64, i64, load, lt, number, select
from tiltpy.loops.nodes import (
    Array,
    Assign,
    Bin,
    Branch,
    CallFn,
    Choose,
    Convert,
    CountTrue,
    Earlier,
    Extract,
    Fill,
    For,
    FromLanes,
    Lane,
    Lanes,
    LastTrue,
    LExpr,
    Load,
    LoopKernel,
    Not,
    Num,
    Pack,
    Pick,
    Pour,
    Prefetch,
    Select,
    Splat,
    Stmt,
    Store,
    Var,
    While,
    Wide,
    WriteSlot,
)
from tiltpy.loops.printer import format_kernel
from tiltpy.loops.verify import verify_kernel
from tiltpy.lowering.lowered import LoweredKernel
from tiltpy.lowering.sweep.kernel import lower
from tiltpy.types import (
    BOOL,
    F32,
    F64,
    I8,
    I32,
    I64,
    STRING,
    TIME,
    U8,
    Scalar,
    columns,
)

N, ROW, J = number("n"), number("row"), number("j")
D, B = Var("d", F64), Var("b", BOOL)
W, M = Var("w", F64), Var("m", BOOL)
X = Array("x", F64, 1)
S = Array("s", STRING, 2)
BITS = Array("bits", BOOL, 3, bits=True)
OUT = Array("out", F64, 4, written=True)
FLAGS = Array("flags", BOOL, 5, written=True, bits=True)
BASIN = Array("basin", F64, 6, written=True)
NEAR = Array("near", F64, -1, written=True)
ARRAYS = (X, S, BITS, OUT, FLAGS, BASIN)
SLOTS = 8
WIDE = Wide(X, i64(0), F64)
LANE = Lane(I64)
ORDER = tuple(range(LANES))
SET_WIDE = Assign(W, WIDE)
SET_MASK = Assign(M, Bin("<", W, f64(0.0), BOOL))
CHOOSE = Choose(NEAR, lt(N, i64(9)), BASIN, OUT)
EVER = Var("x", TIME)


def kernel(*body: Stmt, arrays: tuple[Array, ...] = ARRAYS) -> LoopKernel:
    """A kernel over the arrays above; the number `n` is in slot 0."""
    return LoopKernel(((N, 0),), arrays, body)


def call(name: str, to: Scalar, *arguments: LExpr) -> Stmt:
    return Assign(Var("c", to), CallFn(name, arguments, to))


def value(expr: LExpr) -> Stmt:
    return Assign(Var("v", expr.type), expr)


def loop(*body: Stmt) -> For:
    return For(ROW, i64(0), N, body)


SOUND = (
    Assign(J, i64(0)),
    Assign(D, f64(0.0)),
    loop(
        Branch(lt(ROW, i64(3)), (Assign(D, load(X, ROW)),), (Assign(D, f64(0.0)),)),
        Store(OUT, ROW, D),
        Prefetch(X, add(ROW, i64(64))),
    ),
    While(lt(J, N), (Assign(J, add(J, i64(1))),), head=(Assign(B, load(BITS, J)),)),
    Branch(B, (WriteSlot(7, J),)),
    SET_WIDE,
    SET_MASK,
    For(J, i64(0), N, (Store(OUT, J, Load(X, add(J, LANE), F64)),), LANES),
    Store(FLAGS, i64(LANES), M),
    Store(FLAGS, i64(0), FALSE),
    Store(OUT, i64(0), W, past=True),
    CHOOSE,
    Pack(NEAR, N, W, M),
    Pour(OUT, i64(0), BASIN, i64(LANES)),
    value(select(M, W, f64(1.0))),
    Assign(J, add(CountTrue(M, I64), CountTrue(TRUE, I64))),
    Assign(J, add(LastTrue(M, I64), LastTrue(TRUE, I64))),
    Assign(D, Extract(Pick(W, Splat(D, F64), ORDER, F64), 0, F64)),
    Assign(D, Extract(D, 1, F64)),
    Assign(W, Fill(W, M, D, False, F64)),
    Assign(W, Fill(f64(1.0), TRUE, D, True, F64)),
    Assign(W, FromLanes((D,) * LANES, F64)),
    Assign(W, Earlier(W, f64(0.0), 1, F64)),
    Assign(W, Wide(X, i64(0), F64, M)),
    Assign(Var("l", I32), Bin("+", Lanes(ORDER, I32), Lane(I32), I32)),
    call("sqrt", F64, f64(2.0)),
    Assign(B, CallFn("is_nan", (D,), BOOL)),
)
MORE = (
    Assign(N, CallFn("max_key", (D,), I64)),
    Assign(D, CallFn("from_key", (N,), F64)),
    Assign(D, CallFn("fma", (D, D, D), F64)),
    Assign(Var("o", STRING), CallFn("min", (load(S, N), Num(3, STRING)), STRING)),
    Assign(B, Not(Convert(N, BOOL), BOOL)),
    Assign(D, Convert(Bin("//", N, i64(2), I64), F64)),
)

BROKEN: dict[str, tuple[LoopKernel, str]] = {
    # Variables
    "read before": (
        kernel(value(J)),
        "v = j: a variable is assigned before it is read: j",
    ),
    "assigned in one arm": (
        kernel(Branch(lt(N, i64(0)), (Assign(J, N),)), value(J)),
        "v = j: a variable is assigned before it is read: j",
    ),
    "assigned in a body": (
        kernel(loop(Assign(J, ROW)), value(J)),
        "v = j: a variable is assigned before it is read: j",
    ),
    "read earlier in a body": (
        kernel(loop(value(J), Assign(J, ROW))),
        "v = j: a variable is assigned before it is read: j\n  in for row in 0 .. n",
    ),
    "assigned in the body of a while": (
        kernel(While(lt(J, N), (Assign(J, N),))),
        "while j < n: a variable is assigned before it is read: j",
    ),
    "two types": (
        kernel(value(i64(0)), value(f64(0.0))),
        "a variable has one type: v, i64 and f64",
    ),
    "read as another type": (
        kernel(value(Var("n", F64))),
        "a variable has one type: n, i64 and f64",
    ),
    "times": (kernel(Assign(EVER, N)), "x is assigned its type: i64, not time"),
    "assigned another type": (
        kernel(Assign(D, N)),
        "d = n: d is assigned its type: i64, not f64",
    ),
    "its loop's variable": (
        kernel(loop(Assign(ROW, N))),
        "row = n: a loop's body does not assign its variable: row\n  in for row in 0",
    ),
    "its loop's variable, by a loop": (
        kernel(loop(loop(value(ROW)))),
        "a loop's body does not assign its variable: row",
    ),
    # Types of operands
    "a time": (kernel(value(Convert(N, TIME))), "the code of a string: time"),
    "operands": (
        kernel(value(Bin("+", N, f64(1.0), I64))),
        "operands have one type: f64, not i64",
    ),
    "logic of numbers": (
        kernel(value(Bin("&&", N, N, BOOL))),
        "&& and || are of bools: i64, not bool",
    ),
    "a number of logic": (
        kernel(value(Bin("||", TRUE, TRUE, I64))),
        "&& and || give a bool: i64, not bool",
    ),
    "arithmetic of bools": (
        kernel(value(Bin("+", TRUE, TRUE, BOOL))),
        "arithmetic is of numbers, and / of floats: + of bool",
    ),
    "division of integers": (
        kernel(value(Bin("/", N, N, I64))),
        "arithmetic is of numbers, and / of floats: / of i64",
    ),
    "arithmetic's result": (
        kernel(value(Bin("+", N, N, I32))),
        "arithmetic gives its operands' type: i32, not i64",
    ),
    "comparison": (
        kernel(value(Bin("<", N, N, I64))),
        "a comparison is a bool: i64, not bool",
    ),
    "not of a number": (kernel(value(Not(N, BOOL))), "a negation is of a bool: i64"),
    "a number of not": (kernel(value(Not(TRUE, I64))), "a negation is a bool: i64"),
    "test of a choice": (
        kernel(value(Select(N, N, N, I64))),
        "a condition is a bool: i64, not bool",
    ),
    "choices": (
        kernel(value(Select(TRUE, N, TRUE, I64))),
        "both choices have one type: bool, not i64",
    ),
    "choice": (
        kernel(value(Select(TRUE, N, N, I32))),
        "a choice has its operands' type: i32, not i64",
    ),
    "bool as a number": (
        kernel(value(Num(value=True, type=I64))),
        "a constant is a value of its type: True as i64",
    ),
    "number as a bool": (
        kernel(value(Num(1, BOOL))),
        "a constant is a value of its type: 1 as bool",
    ),
    "too large a constant": (
        kernel(value(Num(256, U8))),
        "a constant is a value of its type: 256 as u8",
    ),
    "too large a float": (
        kernel(value(Num(1e300, F32))),
        r"a constant is a value of its type: 1e+300 as f32",
    ),
    "half as an integer": (
        kernel(value(Num(0.5, I64))),
        "a constant is a value of its type: 0.5 as i64",
    ),
    # Calls
    "no function": (kernel(call("sinus", F64, f64(0.0))), "a function is one of ops"),
    "arity": (kernel(call("min", I64, N)), "min takes 2 arguments: 1"),
    "arguments": (
        kernel(call("min", I64, N, TRUE)),
        "arguments have one type: bool, not i64",
    ),
    "root of an integer": (kernel(call("sqrt", I64, N)), "sqrt takes floats: i64"),
    "result": (kernel(call("sqrt", F32, f64(0.0))), "sqrt gives f64: f32, not f64"),
    "result of min": (
        kernel(call("min", I32, N, N)),
        "min gives its arguments' type: i32, not i64",
    ),
    "sign of a string": (
        kernel(call("sign", STRING, load(S, N))),
        "sign takes numbers: string",
    ),
    "classified as a number": (
        kernel(call("is_nan", I64, f64(0.0))),
        "is_nan gives bool: i64, not bool",
    ),
    "key": (
        kernel(call("max_key", I32, f64(0.0))),
        "a key has its float's width: i32, not i64",
    ),
    "from a key": (
        kernel(call("from_key", F32, N)),
        "a key has its float's width: i64, not i32",
    ),
    "no float from a key": (
        kernel(call("from_key", I64, N)),
        "from_key gives a float: i64",
    ),
    # Arrays
    "no such array": (
        kernel(value(load(X, N)), arrays=()),
        "v = x[n]: an array is declared or chosen before: x",
    ),
    "another array of that name": (
        kernel(value(load(replace(X, type=F32), N))),
        "an array is declared or chosen like this before: x",
    ),
    "wide load of no array": (
        kernel(value(WIDE), arrays=()),
        "an array is declared or chosen before: x",
    ),
    "array declared twice": (
        kernel(arrays=(X, replace(X, slot=2))),
        "an array is declared or chosen once: x",
    ),
    "arrays in one slot": (
        kernel(arrays=(X, replace(OUT, slot=1))),
        "arrays that are written do not overlap others: x, out",
    ),
    "bits of numbers": (
        kernel(arrays=(Array("x", F64, 1, bits=True),)),
        "a bitmap is of bools: x is of f64",
    ),
    "array of times": (
        kernel(arrays=(Array("x", TIME, 1),)),
        "a value is a bool, a number or the code of a string: time, in x",
    ),
    "entry": (
        kernel(value(Load(X, N, F32))),
        "an entry is of its array's type: f32, not f64",
    ),
    "index": (
        kernel(value(Load(X, f64(0.0), F64))),
        "an index is an i64: f64, not i64",
    ),
    "wide index of a wide load": (
        kernel(value(Wide(X, LANE, F64))),
        "an index is not wide",
    ),
    "wide index of a store": (kernel(Store(OUT, LANE, f64(0.0))), "not wide"),
    "store to what is read": (
        kernel(Store(X, N, f64(0.0))),
        "x[n] = 0.0: stores go to arrays that are written: x",
    ),
    "stored type": (
        kernel(Store(OUT, N, N)),
        "an entry is of its array's type: i64, not f64",
    ),
    "one bit": (
        kernel(Assign(B, lt(N, N)), Store(FLAGS, N, B)),
        "lanes are those of a wide value, or all alike of a constant",
    ),
    "bits in between": (
        kernel(Store(FLAGS, i64(3), TRUE)),
        "bits are stored at a multiple of LANES: 3",
    ),
    "one entry past the caches": (
        kernel(Store(OUT, N, f64(0.0), past=True)),
        "past the caches: out[n] = 0.0: past the caches goes a wide value",
    ),
    "bits past the caches": (
        kernel(SET_WIDE, SET_MASK, Store(FLAGS, i64(0), M, past=True)),
        "past the caches go entries, not bits",
    ),
    "prefetch of bits": (
        kernel(Prefetch(BITS, N)),
        "a prefetch is of entries, not of bits",
    ),
    # Packing and choosing
    "packed bits": (
        kernel(SET_WIDE, SET_MASK, Pack(FLAGS, N, M, M)),
        "lanes are packed into entries, not bits",
    ),
    "packed type": (
        kernel(SET_WIDE, SET_MASK, Pack(OUT, N, M, M)),
        "an entry is of its array's type: bool, not f64",
    ),
    "packed by one bool": (
        kernel(SET_WIDE, Assign(B, lt(N, N)), Pack(OUT, N, W, B)),
        "lanes are those of a wide value, or all alike of a constant",
    ),
    "packed by numbers": (
        kernel(SET_WIDE, Pack(OUT, N, W, W)),
        "a mask is a bool: f64, not bool",
    ),
    "packed into what is read": (
        kernel(SET_WIDE, SET_MASK, Pack(X, N, W, M)),
        "stores go to arrays that are written: x",
    ),
    "choice with a slot": (
        kernel(Choose(replace(NEAR, slot=7), TRUE, BASIN, OUT)),
        "an array that is chosen has no slot",
    ),
    "choice of another type": (
        kernel(Choose(NEAR, TRUE, FLAGS, OUT)),
        "an array is chosen of two of its type",
    ),
    "choice of what is read": (
        kernel(Choose(NEAR, TRUE, X, OUT)),
        "stores go to arrays that are written: x",
    ),
    "chosen in a branch": (
        kernel(Branch(lt(N, N), (CHOOSE,), (CHOOSE,)), Store(NEAR, N, f64(0.0))),
        "near[n] = 0.0: an array is declared or chosen before: near",
    ),
    "chosen twice": (
        kernel(CHOOSE, CHOOSE),
        "an array is declared or chosen once: near",
    ),
    "poured types": (
        kernel(Pour(OUT, i64(0), S, i64(LANES))),
        "an entry is of its array's type",
    ),
    "poured bits": (
        kernel(Pour(FLAGS, i64(0), BITS, i64(LANES))),
        "past the caches go entries, not bits",
    ),
    "poured count": (
        kernel(Pour(OUT, i64(0), BASIN, i64(LANES - 1))),
        f"a multiple of LANES is poured: {LANES - 1}",
    ),
    # Lanes
    "mask of bits": (
        kernel(value(Wide(BITS, N, BOOL, TRUE))),
        "lanes of a bitmap are loaded without a mask",
    ),
    "mask of numbers": (
        kernel(SET_WIDE, value(Wide(X, N, F64, W))),
        "a mask is a bool: f64, not bool",
    ),
    "numbers of lanes as floats": (
        kernel(value(Lane(F64))),
        "numbers of lanes are integers: f64",
    ),
    "too few constants": (
        kernel(value(Lanes((1, 2), I64))),
        "there is a constant for each lane: 2",
    ),
    "lanes' constants": (
        kernel(value(Lanes((300, *ORDER[1:]), I8))),
        "a constant is a value of its type: (300,",
    ),
    "splat": (kernel(value(Splat(N, I32))), "lanes have one type: i32, not i64"),
    "no such lane": (
        kernel(value(Extract(WIDE, LANES, F64))),
        f"a lane is one of {LANES}: {LANES}",
    ),
    "too few scalars": (
        kernel(value(FromLanes((f64(1.0),) * 2, F64))),
        "there is a scalar for each lane: 2",
    ),
    "a scalar of another type": (
        kernel(value(FromLanes((i64(1),) * LANES, F64))),
        "lanes have one type: f64, not i64",
    ),
    "a vector in a lane": (
        kernel(value(FromLanes((WIDE,) * LANES, F64))),
        "a lane has a scalar",
    ),
    "count of numbers": (
        kernel(value(CountTrue(LANE, I64))),
        "lanes are counted of a bool: i64, not bool",
    ),
    "count": (
        kernel(value(CountTrue(TRUE, I32))),
        "a number of lanes is an i64: i32, not i64",
    ),
    "last of numbers": (
        kernel(value(LastTrue(LANE, I64))),
        "a lane is found of a bool: i64, not bool",
    ),
    "last": (
        kernel(value(LastTrue(TRUE, I32))),
        "the number of a lane is an i64: i32, not i64",
    ),
    "too far back": (
        kernel(value(Earlier(WIDE, WIDE, LANES, F64))),
        f"lanes move by 1 to {LANES - 1}: {LANES}",
    ),
    "back of two scalars": (
        kernel(value(Earlier(N, N, 1, I64))),
        "of two values that lanes come from one is wide",
    ),
    "back of two types": (
        kernel(value(Earlier(WIDE, LANE, 1, F64))),
        "lanes have one type: i64, not f64",
    ),
    "too few picked": (
        kernel(value(Pick(WIDE, WIDE, (0,), F64))),
        "there is a lane to pick for each lane: 1",
    ),
    "picked": (
        kernel(value(Pick(WIDE, WIDE, (2 * LANES, *ORDER[1:]), F64))),
        f"a lane that is picked is one of {2 * LANES}: ({2 * LANES},",
    ),
    "filled by another type": (
        kernel(value(Fill(WIDE, TRUE, N, False, F64))),
        "lanes have one type: i64, not f64",
    ),
    "filled by lanes": (
        kernel(value(Fill(WIDE, TRUE, WIDE, False, F64))),
        "what is beyond all lanes is not wide",
    ),
    "filled where numbers are": (
        kernel(value(Fill(WIDE, LANE, f64(0.0), False, F64))),
        "lanes are valid by a bool: i64, not bool",
    ),
    # Loops and branches
    "wide condition": (
        kernel(SET_WIDE, SET_MASK, Branch(M, (value(N),))),
        "if m: a condition is not wide",
    ),
    "number as a condition": (
        kernel(Branch(N, (value(N),))),
        "a condition is a bool: i64, not bool",
    ),
    "branch without statements": (
        kernel(Branch(lt(N, N), ())),
        "if n < n: a branch does something",
    ),
    "endless": (
        kernel(Assign(J, N), While(lt(J, N), (value(N),))),
        "while j < n: a loop changes what its condition reads",
    ),
    "endless by a constant": (
        kernel(While(TRUE, (value(N),))),
        "while true: a loop changes what its condition reads",
    ),
    "wide condition of a loop": (
        kernel(SET_WIDE, SET_MASK, While(M, (SET_MASK,))),
        "a condition is not wide",
    ),
    "loop without statements": (kernel(loop()), "a loop does something"),
    "step": (
        kernel(For(ROW, i64(0), N, (value(N),), 0)),
        "for row in 0 .. n by 0: a loop counts by one or whole vectors: 0",
    ),
    "half a vector": (
        kernel(For(ROW, i64(0), N, (value(N),), LANES // 2)),
        f"a loop counts by one or whole vectors: {LANES // 2}",
    ),
    "wide bound": (
        kernel(For(ROW, i64(0), LANE, (value(N),))),
        "a bound is not wide",
    ),
    "float as a bound": (
        kernel(For(ROW, f64(0.0), N, (value(N),))),
        "a bound is an i64: f64, not i64",
    ),
    "float as a loop's variable": (
        kernel(For(D, i64(0), N, (value(N),))),
        "a loop's variable is an i64",
    ),
    "wide loop's variable": (
        kernel(Assign(ROW, LANE), loop(value(N))),
        "a loop's variable is not wide",
    ),
    "bound by itself": (
        kernel(Assign(ROW, N), For(ROW, i64(0), ROW, (value(N),))),
        "a loop's end does not read its variable: row",
    ),
    # Slots
    "number that is none": (
        LoopKernel(((D, 0),), (), ()),
        "a slot holds an i64: d is f64",
    ),
    "number twice": (
        LoopKernel(((N, 0), (N, 1)), (), ()),
        "a number has a variable of its own: n",
    ),
    "number of no slot": (
        LoopKernel(((N, SLOTS),), (), ()),
        f"a slot is one of the kernel's: {SLOTS} of {SLOTS}, number n",
    ),
    "array of no slot": (
        kernel(arrays=(NEAR,)),
        f"a slot is one of the kernel's: -1 of {SLOTS}, array near",
    ),
    "written to no slot": (
        kernel(WriteSlot(SLOTS, N)),
        f"a slot is one of the kernel's: {SLOTS} of {SLOTS}, written",
    ),
    "float in a slot": (
        kernel(WriteSlot(7, f64(0.0))),
        "a slot is an i64: f64, not i64",
    ),
    "written over an address": (
        kernel(WriteSlot(OUT.slot, N)),
        "a slot with an array's address is not written",
    ),
}


def test_a_sound_kernel_passes() -> None:
    verify_kernel(kernel(*SOUND, *MORE), SLOTS)
    verify_kernel(kernel(*SOUND, *MORE))  # of as many slots as there may be


@pytest.mark.parametrize("name", BROKEN)
def test_each_broken_rule_is_named(name: str) -> None:
    broken, rule = BROKEN[name]
    with pytest.raises(AssertionError, match=re.escape(rule)):
        verify_kernel(broken, SLOTS)


def test_both_arms_of_a_branch_and_the_head_of_a_loop_assign() -> None:
    arms = Branch(lt(N, i64(0)), (Assign(J, N),), (Assign(J, i64(0)),))
    head = While(B, (value(ROW),), head=(Assign(ROW, J), Assign(B, lt(ROW, N))))
    verify_kernel(kernel(arms, head, value(add(ROW, J))))


def test_an_array_may_be_chosen_for_each_arm() -> None:
    arm = CHOOSE, Store(NEAR, N, f64(0.0))
    verify_kernel(kernel(Branch(lt(N, N), arm, arm), *arm))


# Real kernels


def golden_kernels() -> Iterator[tuple[str, LoweredKernel]]:
    """Those whose loops are golden texts, by the name of the text."""
    for name, (text, layouts) in test_lowering.CASES.items():
        yield name, test_lowering.specialised(text, layouts).sweep_code.lower()
    for name, (text, layouts) in test_lowering.GRID_CASES.items():
        yield name, test_lowering.vector_code(text, layouts).lower()
    for name, (text, layout, period, _) in test_grid_lowering.CASES.items():
        found = test_grid_lowering.lowered(text, layout, period)
        assert isinstance(found, LoweredKernel)
        yield f"grid_{name}", found
    yield "grid_columns", test_grid_lowering.distributed()
    for name in ("TUMBLING", "HOPPING"):
        query = test_pane_lowering.specialised(getattr(test_pane_lowering, name))
        for code in query.preaggregation_code("o", narrow=True):
            yield f"fold_{name.lower()}", code.lower()


def test_the_kernels_of_golden_texts_pass() -> None:
    names = set()
    for name, lowered in golden_kernels():
        verify_kernel(lowered.kernel, len(lowered.signature.slots))
        names.add(name)
    assert names == {path.stem for path in (GOLDEN / "loops").iterdir()}


def test_no_variable_can_be_left_unassigned(*, deep: bool) -> None:
    """Without the assignments of any variable that is read no kernel passes."""
    refused, step = 0, 1 if deep else 3
    for name, lowered in golden_kernels():
        for var in sorted(assigned_variables(lowered.kernel.body))[::step]:
            body = without(lowered.kernel.body, var)
            broken = replace(lowered.kernel, body=body)
            if re.search(
                rf"(?<![\w.]){re.escape(var)}(?![\w.])", format_kernel(broken)
            ):
                assert fault_in(broken), f"{name} without {var}"
                refused += 1
    assert refused > 100


def fault_in(broken: LoopKernel) -> str | None:
    try:
        verify_kernel(broken)
    except AssertionError as fault:
        return str(fault)
    return None


def assigned_variables(body: Iterable[Stmt]) -> set[str]:
    names: set[str] = set()
    for statement in body:
        match statement:
            case Assign(var=var):
                names.add(var.name)
            case For(body=inner):
                names |= assigned_variables(inner)
            case While(head=head, body=inner):
                names |= assigned_variables((*head, *inner))
            case Branch(then=then, otherwise=otherwise):
                names |= assigned_variables((*then, *otherwise))
            case _:
                pass
    return names


def without(body: Iterable[Stmt], name: str) -> tuple[Stmt, ...]:
    """Statements without the assignments of a variable."""
    left: list[Stmt] = []
    for statement in body:
        match statement:
            case Assign(var=var) if var.name == name:
                pass
            case For():
                left.append(replace(statement, body=without(statement.body, name)))
            case While():
                head, inner = without(statement.head, name), statement.body
                left.append(replace(statement, head=head, body=without(inner, name)))
            case Branch():
                then = without(statement.then, name)
                otherwise = without(statement.otherwise, name)
                left.append(replace(statement, then=then, otherwise=otherwise))
            case _:
                left.append(statement)
    return tuple(left)


def lower_all(query: Query, random: Random) -> Iterator[LoweredKernel]:
    """The kernels of a query over inputs that are laid out in any way."""
    layouts, sampling_grids = {}, {}
    for one in query.inputs:
        time = random.choice((TimeLayout.SAMPLED, *TimeLayout))
        nullable = tuple(random.random() < 0.3 for _ in columns(one.type))
        fifo = time is not TimeLayout.OVERLAPPING or random.random() < 0.5
        points = time is TimeLayout.INTERVALS and random.random() < 0.5
        layouts[one.name] = Layout(time, nullable, fifo, points)
        sampling_grids[one.name] = SamplingGrid(1, 0)
    found = QueryKernels(query, layouts, CompileOptions(cache=False))
    codes = [found.sweep_code, found.baseline_code, found.vector_code(sampling_grids)]
    for output in query.outputs:
        if any(one.keys for one in query.inputs) and isinstance(
            found.pane_aggregation(output), PaneAggregation
        ):
            codes += found.preaggregation_code(output)
    return (code.lower() for code in codes if code is not None)


DRAWS: dict[str, Callable[[int], Query]] = {
    "queries": lambda seed: random_case(seed, exact=True).query,
    "grids": lambda seed: random_grid_case(seed, exact=True).query,
    "events": lambda seed: random_event_case(seed, exact=True).query,
    "keyed": lambda seed: random_keyed_case(seed, exact=True).query,
    "folds": lambda seed: random_fold_case(seed).query,
}
CASES, DEEPER = 12, 170


@pytest.mark.parametrize("kind", DRAWS)
def test_the_kernels_of_random_queries_pass(kind: str, *, deep: bool) -> None:
    count = 0
    for seed in range(CASES * (DEEPER if deep else 1)):
        random = Random(f"{kind} {seed}")  # noqa: S311 - tests, not secrets
        for query in split_by_keys(DRAWS[kind](seed)):
            for lowered in lower_all(query, random):
                verify_kernel(lowered.kernel, len(lowered.signature.slots))
                count += 1
    assert count > CASES


def test_moments_of_what_no_row_decides_pass() -> None:
    query = parse("""
        input x : u8
        t = TDom(-∞, ∞, 1)
        t7 = TDom(-∞, ∞, 7)
        ~y[t] = ~x[t] + 1
        ~o[t7] = var(u8(1) - 7 for v in ~y[t7-7 : t7])
        output ~o
    """)
    events = {"x": [Event(at, at + 1, at % 9) for at in range(60)]}
    setting = Setting(small=True, disabled_passes=frozenset({"fuse_operators"}))
    found = run_compiled(Case(query, events, 0, 60, {}), setting)
    assert [row[2] for row in found["o"]] == [0.0] * len(found["o"]) != []


# Where it is called


def test_all_that_tests_lower_is_verified() -> None:
    assert stages.VERIFY_KERNELS

    def lower_badly(*arguments: Any) -> LoweredKernel:
        lowered = lower(*arguments)
        body = (*lowered.kernel.body, value(J))
        return replace(lowered, kernel=replace(lowered.kernel, body=body))

    query, layouts = parse(test_lowering.WHERE), {"m": test_lowering.INTERVALS}
    options = CompileOptions(cache=False)
    with patch.object(stages, "lower", lower_badly):
        with pytest.raises(AssertionError, match="v = j: a variable is assigned"):
            QueryKernels(query, layouts, options).sweep_code.lower()
        with patch.object(stages, "VERIFY_KERNELS", new=False):
            QueryKernels(query, layouts, options).sweep_code.lower()

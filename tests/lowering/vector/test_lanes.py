"""Wide values: what lanes compute, load and store is what one lane would.

Small kernels are built by hand and run for this machine and for one without the
instructions that compress registers. All memory they touch lies between fences.
"""

from collections.abc import Iterator, Sequence
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.loops.trials import (
    HOST,
    PACKS,
    TARGETS,
    I,
    Numbers,
    Trial,
    compiled,
    items,
    same,
)
from tests.semantics.test_numbers import edges, float_edges
from tiltpy.abi.signature import LANES
from tiltpy.codegen import jit
from tiltpy.codegen.llvm.packing import PackMethod
from tiltpy.codegen.machine_code import Target
from tiltpy.loops.build import FALSE, add, eq, i64, load, lt, mul, negate, select
from tiltpy.loops.nodes import (
    Assign,
    Bin,
    Branch,
    CallFn,
    Convert,
    CountTrue,
    Earlier,
    Extract,
    Fill,
    FromLanes,
    Lane,
    Lanes,
    LastTrue,
    LExpr,
    Load,
    Pack,
    Pick,
    Prefetch,
    Splat,
    Stmt,
    Store,
    Var,
    Wide,
)
from tiltpy.ops import FUNCTIONS, BinaryOp
from tiltpy.runtime.arrays.pool import dtype_of
from tiltpy.types import BOOL, F64, I32, I64, SCALARS, Scalar

ALL = list(SCALARS.values())
PACKINGS = [
    p for p in PackMethod if p is not PackMethod.PERMUTE or "+avx2" in HOST.features
]
"""Those that this machine has the instructions for, or LLVM expands."""
ZERO = i64(0)


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    """A machine to generate code for, with passes that know of it."""
    chosen = TARGETS[request.param]
    with (
        patch.object(jit, "host", lambda: chosen),
        patch.object(jit, "_PASS_BUILDER", jit._PassBuilder()),
    ):
        yield chosen


@pytest.fixture
def trial() -> Iterator[Trial]:
    found = Trial()
    yield found
    for fences in found.fences.values():
        fences.open()


def whole_vectors(values: Sequence[bool | float], scalar: Scalar) -> Numbers:
    """Values, repeated to fill vectors."""
    size = -(-len(values) // LANES) * LANES
    return np.resize(np.array(values, dtype_of(scalar)), size)


def edge_values(scalar: Scalar) -> list[bool | float]:
    if scalar == BOOL:
        return [False, True]
    return [*(float_edges(scalar.name) if scalar.is_float else edges(scalar.name))]


# Operators and functions


COMPARISONS: tuple[BinaryOp, ...] = ("==", "!=", "<", "<=", ">", ">=")
ARITHMETIC: tuple[BinaryOp, ...] = ("/", "+", "-", "*", "//", "%")
"""The first of floats alone."""


def operations(scalar: Scalar, a: LExpr, b: LExpr) -> dict[str, LExpr]:
    """All that can be computed from two values of a type."""
    found: dict[str, LExpr] = {op: Bin(op, a, b, BOOL) for op in COMPARISONS}
    found["select"] = select(Bin("<", a, b, BOOL), b, a)
    found |= {f"to {to}": Convert(a, to) for to in ALL}
    if scalar == BOOL:
        found |= {op: Bin(op, a, b, BOOL) for op in ("&&", "||")}
        return found | {"not": negate(a)}
    kinds = ARITHMETIC if scalar.is_float else ARITHMETIC[1:]
    found |= {op: Bin(op, a, b, scalar) for op in kinds}
    for function in FUNCTIONS.values():
        if scalar.is_float or function.result == "same":
            result = BOOL if function.result == "bool" else scalar
            given = (a, b, a)[: function.arity]
            found[function.name] = CallFn(function.name, given, result)
    if scalar.is_float:
        key = SCALARS[f"i{scalar.bits}"]
        for name in ("max_key", "min_key"):
            found[name] = CallFn(name, (a,), key)
        found["from_key"] = CallFn("from_key", (found["max_key"],), scalar)
    return found


@pytest.mark.parametrize("scalar", ALL, ids=str)
@pytest.mark.usefixtures("target")
def test_operations_are_those_of_one_lane(scalar: Scalar, trial: Trial) -> None:
    values = edge_values(scalar)
    left, right = zip(*((x, y) for x in values for y in values), strict=True)
    a = trial.reads(scalar, whole_vectors(left, scalar))
    b = trial.reads(scalar, whole_vectors(right, scalar))
    size = trial.arrays[a].size
    wide = operations(scalar, Wide(a, I, scalar), Wide(b, I, scalar))
    single = operations(scalar, load(a, I), load(b, I))
    outputs = {}
    for name, expr in wide.items():
        (in_lanes, found), (alone, meant) = (
            trial.writes(expr.type, size) for _ in range(2)
        )
        trial.loop(size, Store(in_lanes, I, expr), step=LANES)
        trial.loop(size, Store(alone, I, single[name]))
        outputs[name] = found, meant
    trial.run()
    wrong = [name for name, (found, meant) in outputs.items() if not same(found, meant)]
    assert not wrong


@pytest.mark.parametrize("scalar", ALL, ids=str)
@pytest.mark.usefixtures("target")
def test_one_value_beside_wide_ones(scalar: Scalar, trial: Trial) -> None:
    """Constants and variables of one lane count for all."""
    given = items(scalar, LANES)
    one = Var("one", scalar)
    array = trial.reads(scalar, given)
    trial.body.append(Assign(one, load(array, i64(3))))
    equal, found = trial.writes(BOOL, LANES)
    splat, copies = trial.writes(scalar, LANES)
    trial.body.append(Store(equal, ZERO, eq(Wide(array, ZERO, scalar), one)))
    trial.body.append(Store(splat, ZERO, Splat(one, scalar)))
    trial.run()
    assert np.array_equal(found.astype(np.bool_), given == given[3])
    assert np.array_equal(copies, np.repeat(given[3], LANES))


# Lanes among each other


@pytest.mark.parametrize("scalar", ALL, ids=str)
@pytest.mark.usefixtures("target")
def test_lanes_move_and_are_picked(scalar: Scalar, trial: Trial) -> None:
    both = items(scalar, 2 * LANES)
    array = trial.reads(scalar, both)
    first, second = Wide(array, ZERO, scalar), Wide(array, i64(LANES), scalar)
    order = tuple(np.random.default_rng(1).integers(0, 2 * LANES, LANES).tolist())
    cases: list[tuple[LExpr, Numbers]] = [
        (Pick(first, second, order, scalar), both[list(order)])
    ]
    for by in range(1, LANES):
        moved = Earlier(second, first, by, scalar)
        cases.append((moved, both[LANES - by : 2 * LANES - by]))
    found = []
    for expr, _ in cases:
        output, memory = trial.writes(scalar, LANES)
        trial.body.append(Store(output, ZERO, expr))
        found.append(memory)
    alone, extracted = trial.writes(scalar, LANES)
    for lane in range(LANES):
        trial.body.append(Store(alone, i64(lane), Extract(first, lane, scalar)))
    backwards, reversed_ = trial.writes(scalar, LANES)
    lanes = tuple(load(array, i64(LANES - 1 - lane)) for lane in range(LANES))
    trial.body.append(Store(backwards, ZERO, FromLanes(lanes, scalar)))
    trial.run()
    for memory, (_, meant) in zip(found, cases, strict=True):
        assert same(memory, meant.astype(memory.dtype))
    assert same(extracted, both[:LANES].astype(extracted.dtype))
    assert same(reversed_, both[:LANES][::-1].astype(reversed_.dtype))


@pytest.mark.usefixtures("target")
def test_bools_of_bitmaps_meet_those_of_lanes(trial: Trial) -> None:
    """Their bits are combined in one register, whoever reads the results."""
    flags = items(BOOL, 3 * 32 * LANES).astype(np.bool_).reshape(3, -1)
    size = flags[0].size
    first, second = (trial.reads_bits(each) for each in flags[:2])
    third = trial.reads(BOOL, flags[2])
    a, b, c = Wide(first, I, BOOL), Wide(second, I, BOOL), Wide(third, I, BOOL)
    one, other, late = (Var(name, BOOL) for name in ("one", "other", "late"))
    lead = Var("lead", BOOL)
    flag, before = Bin("&&", a, negate(b), BOOL), Earlier(other, late, 3, BOOL)
    body: list[Stmt] = [
        Assign(one, flag),
        Branch(Extract(one, 5, BOOL), (Assign(other, c),), (Assign(other, one),)),
        Assign(lead, Bin("||", before, Bin("&&", one, c, BOOL), BOOL)),
    ]
    found = []
    unlike, alike = Bin("!=", lead, other, BOOL), eq(one, c)
    for value in (one, other, before, lead, negate(lead), unlike, alike):
        (in_bytes, lanes), (in_bits, bits) = (
            trial.writes(BOOL, size),
            trial.writes_bits(size),
        )
        body += [Store(in_bytes, I, value), Store(in_bits, I, value)]
        found.append((lanes, bits))
    trial.body.append(Assign(late, Splat(FALSE, BOOL)))
    trial.loop(size, *body, Assign(late, other), step=LANES)
    trial.run()
    ones = flags[0] & ~flags[1]
    vectors = (each.reshape(-1, LANES) for each in (ones, flags[2]))
    others = np.concatenate(
        [c if one[5] else one for one, c in zip(*vectors, strict=True)]
    )
    moved = np.concatenate([np.zeros(3, np.bool_), others[:-3]])
    leads = moved | (ones & flags[2])
    unlike_others, like_third = leads != others, ones == flags[2]
    expected = (ones, others, moved, leads, ~leads, unlike_others, like_third)
    for (lanes, bits), meant in zip(found, expected, strict=True):
        assert np.array_equal(lanes, meant)
        assert np.array_equal(np.unpackbits(bits, bitorder="little"), meant)


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("scalar", ALL, ids=str)
def test_lanes_are_filled_by_the_nearest_valid_one(
    scalar: Scalar, packing: PackMethod, trial: Trial
) -> None:
    """Before them or behind, whatever a machine permutes."""
    random = np.random.default_rng(3)
    given = items(scalar, 128 * LANES)
    flags = random.random(given.shape) < np.repeat(random.random(128), LANES)
    flags[: 2 * LANES] = np.arange(2 * LANES) < LANES  # all, and none
    array, valid = trial.reads(scalar, given), trial.reads_bits(flags)
    edges = trial.reads(scalar, items(scalar, 1, seed=4))
    found = {}
    for backwards in (False, True):
        wide, edge = Wide(array, I, scalar), load(edges, ZERO)
        nearest = Fill(wide, Wide(valid, I, BOOL), edge, backwards, scalar)
        output, found[backwards] = trial.writes(scalar, given.size)
        trial.loop(given.size, Store(output, I, nearest), step=LANES)
    trial.run(packing)
    rows, alive = given.reshape(-1, LANES), flags.reshape(-1, LANES)
    for backwards, memory in found.items():
        step = -1 if backwards else 1
        filled = _filled(rows[:, ::step], alive[:, ::step], trial.arrays[edges][0])
        assert same(memory, filled[:, ::step].ravel().astype(memory.dtype))


def _filled(rows: Numbers, valid: NDArray[np.bool_], edge: np.generic) -> Numbers:
    """Go on with the last valid value of a row, from an edge on."""
    filled, last = rows.copy(), np.full(len(rows), edge, rows.dtype)
    for lane in range(LANES):
        last = np.where(valid[:, lane], rows[:, lane], last)
        filled[:, lane] = last
    return filled


@pytest.mark.parametrize("scalar", [s for s in ALL if s.is_integer], ids=str)
@pytest.mark.usefixtures("target")
def test_numbers_of_lanes(scalar: Scalar, trial: Trial) -> None:
    constants = tuple((7 * lane + 3) % 100 for lane in range(LANES))
    (lanes, counted), (given, kept) = (trial.writes(scalar, LANES) for _ in range(2))
    trial.body.append(Store(lanes, ZERO, Lane(scalar)))
    trial.body.append(Store(given, ZERO, Lanes(constants, scalar)))
    trial.run()
    assert counted.tolist() == list(range(LANES))
    assert kept.tolist() == list(constants)


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("converts", [False, True])
def test_long_integers_become_the_nearest_doubles(
    trial: Trial, *, converts: bool
) -> None:
    near = [
        sign * (1 << power) + by
        for power in range(64)
        for sign in (1, -1)
        for by in range(-3, 4)
    ]
    near = [number for number in near if -(1 << 63) <= number < 1 << 63]
    numbers = np.array(near, np.int64)
    random = items(I64, 4096).astype(np.int64) >> np.arange(4096) % 64
    numbers = np.resize(np.concatenate([numbers, random]), 6144)
    array = trial.reads(I64, numbers)
    output, found = trial.writes(F64, numbers.size)
    double = Convert(Wide(array, I, I64), F64)
    trial.loop(numbers.size, Store(output, I, double), step=LANES)
    trial.run(converts=converts)
    assert same(found, numbers.astype(np.float64))
    assert not np.signbit(found[numbers == 0]).any()


def test_lanes_that_hold_are_counted(trial: Trial) -> None:
    flags = items(BOOL, 64 * LANES).astype(np.bool_)
    flags[: 2 * LANES] = np.arange(2 * LANES) < LANES  # all, and none
    array = trial.reads(BOOL, flags)
    output, counts = trial.writes(I64, flags.size)
    number = CountTrue(Wide(array, I, BOOL), I64)
    trial.loop(flags.size, Store(output, I, number), step=LANES)
    trial.run()
    assert counts[::LANES].tolist() == flags.reshape(-1, LANES).sum(1).tolist()


@pytest.mark.usefixtures("target")
def test_the_last_lane_that_holds_is_found(trial: Trial) -> None:
    flags = items(BOOL, 64 * LANES).astype(np.bool_)
    flags[: 2 * LANES] = np.arange(2 * LANES) < LANES  # all, and none
    flags[2 * LANES : 3 * LANES] = np.arange(LANES) < 1
    array = trial.reads(BOOL, flags)
    output, lanes = trial.writes(I64, flags.size)
    last = LastTrue(Wide(array, I, BOOL), I64)
    trial.loop(flags.size, Store(output, I, last), step=LANES)
    trial.run()
    vectors = flags.reshape(-1, LANES)
    expected = [max(np.flatnonzero(each), default=-1) for each in vectors]
    assert lanes[::LANES].tolist() == expected


# Memory


@pytest.mark.parametrize("scalar", ALL, ids=str)
@pytest.mark.usefixtures("target")
def test_vectors_are_loaded_from_anywhere(scalar: Scalar, trial: Trial) -> None:
    """Up to the last item, and stored near or past the caches."""
    given = items(scalar, 4 * LANES + 5)
    array = trial.reads(scalar, given)
    size = given.size - LANES + 1
    near, found = trial.writes(scalar, size + LANES - 1)
    past, beside = trial.writes(scalar, 64 * LANES)
    trial.body.append(Prefetch(array, i64(1 << 20)))
    loaded = Wide(array, I, scalar)
    trial.loop(size, Store(near, I, loaded))
    trial.loop(4 * LANES, Store(past, I, loaded, past=True), step=LANES)
    trial.run()
    assert same(found, given.astype(found.dtype))
    assert same(beside[: 4 * LANES], given[: 4 * LANES].astype(beside.dtype))


@pytest.mark.parametrize("scalar", ALL, ids=str)
@pytest.mark.usefixtures("target")
def test_each_lane_gathers_its_own(scalar: Scalar, trial: Trial) -> None:
    given = items(scalar, 100)
    array = trial.reads(scalar, given)
    places = np.random.default_rng(2).integers(-50, 50, LANES)
    indices = trial.reads(I64, places)
    lanes = Wide(indices, ZERO, I64)
    found = []
    fifty = i64(50)
    for index in (Bin("+", fifty, lanes, I64), add(lanes, fifty)):
        output, memory = trial.writes(scalar, LANES)
        trial.body.append(Store(output, ZERO, Load(array, index, scalar)))
        found.append(memory)
    trial.run()
    for memory in found:
        assert same(memory, given[50 + places].astype(memory.dtype))


@pytest.mark.parametrize("low", [False, True])
@pytest.mark.usefixtures("target")
def test_bits_are_read_from_anywhere(trial: Trial, *, low: bool) -> None:
    """At every offset, and never from a byte that has none of them."""
    bits = items(BOOL, 5 * LANES).astype(np.bool_)
    array = trial.reads_bits(bits, low=low)
    size = bits.size - LANES + 1
    wide, found = trial.writes(BOOL, size * LANES)
    single, alone = trial.writes(BOOL, bits.size)
    trial.loop(size, Store(wide, mul(I, i64(LANES)), Wide(array, I, BOOL)))
    trial.loop(bits.size, Store(single, I, load(array, I)))
    places = np.random.default_rng(3).integers(0, bits.size, LANES)
    indices = trial.reads(I64, places)
    output, gathered = trial.writes(BOOL, LANES)
    each = Load(array, Wide(indices, ZERO, I64), BOOL)
    trial.body.append(Store(output, ZERO, each))
    trial.run()
    windows = np.lib.stride_tricks.sliding_window_view(bits, LANES)
    assert np.array_equal(found.reshape(size, LANES), windows)
    assert np.array_equal(alone, bits)
    assert np.array_equal(gathered, bits[places])


@pytest.mark.usefixtures("target")
def test_bits_are_stored(trial: Trial) -> None:
    flags = items(BOOL, 6 * LANES).astype(np.bool_)
    array = trial.reads(BOOL, flags)
    output, found = trial.writes_bits(flags.size)
    trial.loop(flags.size, Store(output, I, Wide(array, I, BOOL)), step=LANES)
    trial.run()
    assert np.array_equal(np.unpackbits(found, bitorder="little"), flags)


# Packing


def pack_all(trial: Trial, scalar: Scalar, given: Numbers, mask: Numbers) -> Numbers:
    """Append a loop that packs what a mask says; returns where that goes."""
    array, flags = trial.reads(scalar, given), trial.reads(BOOL, mask)
    kept = int(mask.sum())
    output, found = trial.writes(scalar, kept + LANES)
    count = Var("count", I64)
    chosen = Wide(flags, I, BOOL)
    trial.body.append(Assign(count, ZERO))
    pack = Pack(output, count, Wide(array, I, scalar), chosen)
    further = Assign(count, add(count, CountTrue(chosen, I64)))
    trial.loop(given.size, pack, further, step=LANES)
    return found[:kept]


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("scalar", ALL, ids=str)
@pytest.mark.usefixtures("target")
def test_what_a_mask_says_is_packed(
    scalar: Scalar, trial: Trial, packing: PackMethod
) -> None:
    given = items(scalar, 40 * LANES)
    mask = items(BOOL, given.size, seed=4).astype(np.bool_)
    mask[: 3 * LANES] = np.arange(3 * LANES) < LANES  # all, then none of two vectors
    found = pack_all(trial, scalar, given, mask)
    trial.run(packing)
    assert same(found, given[mask].astype(found.dtype))


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.usefixtures("target")
def test_constants_are_packed(trial: Trial, packing: PackMethod) -> None:
    """Constants that are not wide are packed as if they were."""
    output, found = trial.writes(F64, LANES)
    few = lt(Lane(I32), Convert(i64(5), I32))
    trial.body.append(Pack(output, ZERO, Convert(i64(7), F64), few))
    trial.run(packing)
    assert found[:5].tolist() == [7.0] * 5


def test_the_other_target_has_no_wide_registers(trial: Trial) -> None:
    """Or the tests above would all run on one machine."""
    pack_all(trial, F64, items(F64, LANES), np.ones(LANES, np.bool_))
    texts = {}
    for name, chosen in TARGETS.items():
        with patch.object(jit, "host", lambda chosen=chosen: chosen):
            kernel = trial.kernel()
            texts[name] = jit.format_assembly(kernel, compiled(kernel))
    assert ("%zmm" in texts["host"]) == PACKS
    assert "%zmm" not in texts["without AVX-512"]

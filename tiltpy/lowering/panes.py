"""Windows of many cells that do not overlap much: one pass over the cells of each.

Tumbling and hopping reductions of section 6.1 of the paper. Sixteen lanes and four
vectors at a time are folded on their own and merged at the end, so that no addition
waits for the one before. Moments take two passes, the first for the mean: the cells of
a pane are still in the cache for the second.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tiltpy.abi import LANES
from tiltpy.ir.nodes import Element, Expr
from tiltpy.loops.build import (
    TRUE,
    add,
    conj,
    convert,
    disj,
    eq,
    f64,
    i64,
    lt,
    select,
)
from tiltpy.loops.nodes import (
    Bin,
    CountTrue,
    Earlier,
    Extract,
    For,
    Lane,
    LExpr,
    Num,
    Splat,
    Var,
)
from tiltpy.lowering.assembly import Block
from tiltpy.lowering.central_moments import ORDERS, moments_of
from tiltpy.lowering.floats import over, plus
from tiltpy.lowering.objects import Place, Stored
from tiltpy.lowering.reducers import COUNT, FIRST, kept_for
from tiltpy.lowering.states import Kept, State, lift_where
from tiltpy.lowering.values import Lowered, lower_expr
from tiltpy.types import BOOL, F32, F64, I64


def unrolled(cells: int) -> int:
    """How many vectors to fold side by side: more of them take longer to merge."""
    return 1 if cells < 256 else 4


STRAIGHT = 8 * LANES
"""Cells of a pane that is folded without a loop."""

Lift = Callable[[Block, Place, LExpr], State]
"""The states of a vector of cells; the bool says which of them are in the window."""


@dataclass(frozen=True, slots=True)
class Pane:
    """Some cells of a stored object: `cells` of them from `base` on."""

    source: Stored
    element: Expr
    base: LExpr
    cells: int

    def value(self, block: Block, where: Place) -> Lowered:
        """The element in a vector of cells; valid where a snapshot contributes.

        A snapshot that began before the pane contributes in its first cell.
        """
        given = self.source.value(block, where)

        def leaf(node: object) -> Lowered:
            assert isinstance(node, Element)
            return given

        value = lower_expr(block, leaf, self.element)
        begins: LExpr = TRUE
        if self.source.begins is not None:
            first = eq(Bin("+", where.base, Lane(I64), I64), self.base)
            begins = disj(self.source.beginning(block, where), first)
        valid = block.name("in", conj(given.valid, value.valid, begins))
        return Lowered(value.type, value.value, valid, value.fields)

    def starts(self, block: Block) -> bool:
        """Whether its first cell contributes: there it does not matter who began."""
        whole = replace(self, source=replace(self.source, begins=None))
        return whole.certain(block)

    def certain(self, block: Block) -> bool:
        """Whether each cell contributes."""
        return self.value(block.inner(), Place(self.base)).valid == TRUE


def fold(
    block: Block, pane: Pane, kinds: Mapping[Kept, Lift], *, fetch: bool = False
) -> dict[Kept, State]:
    """The states over all cells of a pane, each with what lifts a cell's value.

    `fetch`: the cells have not been read before.
    """
    unroll = unrolled(pane.cells)
    counted = block.assembly.fresh("count") if COUNT in kinds else None
    if counted is not None:
        block.set(counted, i64(0))
    running = {
        kept: [
            tuple(block.assembly.fresh(kept.name, kind) for kind in kept.types)
            for _ in range(1 if kept.ordered else unroll)
        ]
        for kept in kinds
        if kept != COUNT
    }
    for kept, lanes in running.items():
        for state in lanes:
            for var, nothing in zip(state, kept.identity, strict=True):
                block.set(var, nothing if kept.ordered else Splat(nothing, var.type))
    step = unroll * LANES
    whole, rest = divmod(pane.cells, step)
    if pane.cells <= STRAIGHT:
        whole, rest = 0, pane.cells

    def take(inner: Block, at: LExpr, lane: int, inside: LExpr) -> None:
        if fetch:
            pane.source.prefetch(inner, at)
        for kept, vectors in running.items():
            state = vectors[0 if kept.ordered else lane]
            lifted = kinds[kept](inner, Place(at), inside)
            if kept.ordered:
                lifted = _in_order(inner, kept, lifted)
            inner.assign("m", state, kept.merge(inner, state, lifted))
        if counted is not None:
            contributes = conj(pane.value(inner, Place(at)).valid, inside)
            more = CountTrue(Splat(contributes, BOOL), I64)
            inner.set(counted, add(counted, more))

    end = add(pane.base, i64(whole * step))
    if whole:
        at = block.assembly.fresh("at")
        inner = block.inner()
        for lane in range(unroll):
            take(inner, add(at, i64(lane * LANES)), lane, TRUE)
        block.add(For(at, pane.base, end, inner.body(), step))
    for lane in range(-(-rest // LANES)):
        inside: LExpr = TRUE
        if rest < (lane + 1) * LANES:
            inside = lt(Lane(I64), i64(rest - lane * LANES))
        take(block, add(end, i64(lane * LANES)), lane % unroll, inside)
    states = {
        kept: lanes[0] if kept.ordered else _merged(block, kept, lanes)
        for kept, lanes in running.items()
    }
    return states if counted is None else {**states, COUNT: (counted,)}


def _merged(block: Block, kept: Kept, lanes: list[tuple[Var, ...]]) -> State:
    """All lanes of all vectors as one state, in any order."""
    states: list[State] = [*lanes]
    while len(states) > 1:
        pairs = zip(states[::2], states[1::2], strict=True)
        states = [_named(block, kept.merge(block, a, b)) for a, b in pairs]
    (state,) = states
    by = LANES
    while by > 1:
        by //= 2
        turned = tuple(Earlier(part, part, by, part.type) for part in state)
        state = _named(block, kept.merge(block, _named(block, turned), state))
    return _named(block, tuple(Extract(part, 0, part.type) for part in state))


def _in_order(block: Block, kept: Kept, lanes: State) -> State:
    """All lanes of a vector as one state: the last has itself and all before it."""
    state = tuple(block.name("m", Splat(part, part.type)) for part in lanes)
    for by in (1, 2, 4, 8):
        older = tuple(Earlier(part, part, by, part.type) for part in state)
        state = _named(block, kept.merge(block, _named(block, older), state))
    return _named(block, tuple(Extract(p, LANES - 1, p.type) for p in state))


def _named(block: Block, state: State) -> State:
    return tuple(block.name("m", part) for part in state)


def lift_with(pane: Pane, kept: Kept) -> Lift:
    """How a cell's value becomes a state, the identity where it does not contribute."""

    def lift(block: Block, where: Place, inside: LExpr) -> State:
        value = pane.value(block, where)
        row = Bin("+", where.base, Lane(I64), I64)
        return lift_where(block, kept, value, conj(value.valid, inside), row)

    return lift


def _powers(name: str, number: int) -> Kept:
    def merge(_: Block, a: State, b: State) -> State:
        return tuple(Bin("+", x, y, F64) for x, y in zip(a, b, strict=True))

    zeros = tuple(f64(0.0) for _ in range(number))
    return Kept(name, (F64,) * number, zeros, lambda _block, _row, _value: (), merge)


def moments(block: Block, pane: Pane, order: int, number: LExpr, mean: LExpr) -> State:
    """Count, mean and central sums of powers, as `reducers` keeps them."""
    powers = _powers("powers", order - 1)
    found = fold(block, pane, {powers: _powers_of(pane, powers, mean, first=2)})
    return (number, mean, *found[powers])


DEVIATIONS = _powers("deviations", 1)
"""The sum of the deviations from a value."""


def deviations_from(pane: Pane, origin: LExpr) -> Lift:
    """What `DEVIATIONS` sums."""
    return _powers_of(pane, DEVIATIONS, origin)


def _powers_of(pane: Pane, kept: Kept, origin: LExpr, first: int = 1) -> Lift:
    """The powers of a value's deviation, from the first one on."""

    def lift(block: Block, where: Place, inside: LExpr) -> State:
        value = pane.value(block, where)
        deviation = block.name("d", Bin("-", convert(value.scalar, F64), origin, F64))
        contributes = conj(value.valid, inside)
        if contributes != TRUE:
            nothing = select(contributes, deviation, f64(0.0))
            deviation = block.name("d", nothing)
        powers = [deviation]
        while len(powers) < first + len(kept.types) - 1:
            powers.append(block.name("d", Bin("*", powers[-1], deviation, F64)))
        return tuple(powers[first - 1 :])

    return lift


def some_value(block: Block, pane: Pane) -> LExpr:
    """The first value that contributes, as a double; 0 if none does."""
    if pane.starts(block):
        place = Place(pane.base)
        first = pane.value(block, place)
        return Extract(convert(first.scalar, F64), 0, F64)
    (row,) = fold(block, pane, {FIRST: lift_with(pane, FIRST)})[FIRST]
    last = add(pane.base, i64(pane.cells - 1))
    found = select(lt(last, row), pane.base, row)
    value = pane.value(block, Place(block.name("row", found)))
    number = Extract(convert(value.scalar, F64), 0, F64)
    return select(lt(last, row), f64(0.0), number)


def states_of(block: Block, pane: Pane, names: set[str]) -> dict[Kept, State]:
    """What the reductions of a pane need; moments take a second pass."""
    lifts: dict[Kept, Lift] = {}
    for name in sorted(names.difference(ORDERS, ("count",))):
        kept = kept_for(name, pane.element.type, block.assembly.own)
        lifts[kept] = lift_with(pane, kept)
    if not pane.certain(block):
        lifts[COUNT] = lift_with(pane, COUNT)
    orders = sorted({ORDERS[name] for name in names.intersection(ORDERS)})
    origin: LExpr = f64(0.0)
    # A mean must be exact where all values are equal. Doubles have room for the sum of
    # more of the same single than a pane can have; of others they sum deviations.
    single = pane.element.type == F32
    about = kept_for("sum", F32, {}) if single else DEVIATIONS
    if orders and not single:
        origin = block.name("origin", some_value(block, pane))
        lifts[about] = deviations_from(pane, origin)
    elif orders:
        lifts[about] = lift_with(pane, about)
    fetch = pane.source.start is not None
    found = fold(block, pane, lifts, fetch=fetch) if lifts else {}
    if orders:
        count = found[COUNT][0] if COUNT in found else i64(pane.cells)
        number = some = block.name("n", convert(count, F64))
        if not isinstance(number, Num):
            some = select(lt(f64(0.0), number), number, f64(1.0))
        mean = block.name("mean", plus(origin, over(found[about][0], some)))
        for order in orders:
            found[moments_of(order)] = moments(block, pane, order, number, mean)
    return found

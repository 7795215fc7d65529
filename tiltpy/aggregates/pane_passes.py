"""Passes over the cells of a pane that compute the states of its reductions.

Moments take two passes, the first for the mean: the cells are still in the cache for
the second. Those of singles take one, by sums in doubles of the powers of deviations
from any of them, so that no cell waits for the sum of all.
"""

from collections.abc import Mapping
from dataclasses import replace

from tiltpy.aggregates.aggregate import Aggregate, State, lift_where
from tiltpy.aggregates.built_in import COUNT, FIRST, SQUARES, aggregate_for
from tiltpy.aggregates.central_moments import ORDERS, moments_of
from tiltpy.aggregates.pane_fold import Lift, Pane, fold, fold_rows
from tiltpy.emit.builder import Block
from tiltpy.emit.cell_arrays import CellIndex
from tiltpy.emit.floats import fma, minus, over, plus, times
from tiltpy.loops.build import TRUE, conj, convert, eq, f64, i64, lt, select, sub
from tiltpy.loops.nodes import Bin, Extract, Lane, LExpr, Num
from tiltpy.types import F32, F64, I64

States = Mapping[Aggregate, State]


def lift_with(pane: Pane, aggregate: Aggregate) -> Lift:
    """Lift cells to states, the identity where they do not contribute."""

    def lift(block: Block, where: CellIndex, inside: LExpr) -> State:
        value = pane.value(block, where)
        contributes = conj(value.valid, inside)
        return lift_where(block, aggregate, value, contributes, where.cell())

    return lift


def _power_sums(name: str, number: int) -> Aggregate:
    def combine(_: Block, a: State, b: State) -> State:
        return tuple(Bin("+", x, y, F64) for x, y in zip(a, b, strict=True))

    zeros = tuple(f64(0.0) for _ in range(number))
    return Aggregate(
        name, (F64,) * number, zeros, lambda _block, _row, _value: (), combine
    )


DEVIATIONS = _power_sums("deviations", 1)
"""The sum of the deviations from a value."""


def _powers_of(pane: Pane, aggregate: Aggregate, origin: LExpr, first: int = 1) -> Lift:
    """Lift cells to powers of their deviation from `origin`, from `first` on."""

    def lift(block: Block, where: CellIndex, inside: LExpr) -> State:
        value = pane.value(block, where)
        deviation = block.name("d", Bin("-", convert(value.scalar, F64), origin, F64))
        contributes = conj(value.valid, inside)
        if contributes != TRUE:
            masked = select(contributes, deviation, f64(0.0))
            deviation = block.name("d", masked)
        powers = [deviation]
        while len(powers) < first + len(aggregate.types) - 1:
            # The fourth is the square of the second: nobody waits for the third.
            half = powers[len(powers) // 2]
            other = powers[len(powers) - len(powers) // 2 - 1]
            powers.append(block.name("d", Bin("*", half, other, F64)))
        return tuple(powers[first - 1 :])

    return lift


def first_value(block: Block, pane: Pane) -> LExpr:
    """The first value that contributes, as a double; 0 if none does."""
    if pane.starts(block):
        first = pane.value(block, pane.first())
        return Extract(convert(first.scalar, F64), 0, F64)
    (row,) = fold(block, pane, {FIRST: lift_with(pane, FIRST)})[FIRST]
    last = sub(pane.end, i64(1))
    index = block.name("row", select(lt(last, row), pane.base, row))
    value = pane.value(
        block, CellIndex(index, mask=lt(Lane(I64), sub(pane.end, index)))
    )
    number = Extract(convert(value.scalar, F64), 0, F64)
    return select(lt(last, row), f64(0.0), number)


class Passes:
    """The passes over a pane's cells: one, and another for moments.

    The mean of equal values must be exact. A double has room for the sum of as many
    equal singles as a pane may hold; other types sum deviations from a first value.
    """

    def __init__(self, block: Block, pane: Pane, names: set[str]) -> None:
        self.pane = pane
        self.first: dict[Aggregate, Lift] = {}
        for name in sorted(names.difference(ORDERS, ("count",))):
            user_reductions = block.builder.user_reductions
            aggregate = aggregate_for(name, pane.element.type, user_reductions)
            self.first[aggregate] = lift_with(pane, aggregate)
        if not pane.certain(block):
            self.first[COUNT] = lift_with(pane, COUNT)
        self.orders = sorted({ORDERS[name] for name in names.intersection(ORDERS)})
        self.origin: LExpr = f64(0.0)
        single = pane.element.type == F32
        self.about = aggregate_for("sum", F32, {}) if single else DEVIATIONS
        if self.orders and not single:
            self.origin = block.name("origin", first_value(block, pane))
            self.first[self.about] = _powers_of(pane, DEVIATIONS, self.origin)
        elif self.orders:
            self.first[self.about] = lift_with(pane, self.about)

    def mean_of(self, block: Block, states: States) -> tuple[LExpr, LExpr]:
        """The number of values and their mean, after the first pass."""
        count = states[COUNT][0] if COUNT in states else self.pane.size
        number = divisor = block.name("n", convert(count, F64))
        if not isinstance(number, Num):
            divisor = select(lt(f64(0.0), number), number, f64(1.0))
        mean = over(states[self.about][0], divisor)
        return number, block.name("mean", plus(self.origin, mean))

    def second(self, mean: LExpr) -> dict[Aggregate, Lift]:
        """The sums of the powers of deviations from the mean."""
        kinds = [_power_sums("powers", order - 1) for order in self.orders]
        return {kind: _powers_of(self.pane, kind, mean, first=2) for kind in kinds}

    def moments(self, number: LExpr, mean: LExpr, powers: States) -> States:
        """The states of `moments_of`: count, mean and central sums of powers."""
        return {
            moments_of(len(kind.types) + 1): (number, mean, *state)
            for kind, state in powers.items()
        }


MOST_ABOUT = {2: 1 << 16, 3: 1 << 12, 4: 1 << 12}
"""The most cells of a pane whose moments of an order are sums about one of its values.

In a pane of `n` cells the sum of the powers of deviations from any of its values is at
most `2 ** (order - 1) * (n + 1)` times that about the mean: a double has room for that
factor, for the rounding of as many additions, and for the digits of singles.
"""


def _sums_about(order: int) -> Aggregate:
    """The sums of the first powers of a deviation, each cell's added in at once."""

    def accumulate(block: Block, sums: State, deviations: State) -> State:
        deviation, *_ = deviations
        if order == 2:
            return plus(sums[0], deviation), fma(deviation, deviation, sums[1])
        square = block.name("d", times(deviation, deviation))
        factors = (deviation, square)[: order - 2]
        higher = (
            fma(square, factor, total)
            for factor, total in zip(factors, sums[2:], strict=True)
        )
        return plus(sums[0], deviation), plus(sums[1], square), *higher

    return replace(_power_sums("about", order), accumulate=accumulate)


def _central_sums(
    block: Block, sums: State, cells: int
) -> tuple[LExpr, tuple[LExpr, ...]]:
    """The mean of deviations from a value, and the sums of powers of those from it."""
    total, squares, *higher = sums
    mean = block.name("share", times(total, f64(1.0 / cells)))
    central = [minus(squares, times(total, mean))]
    if higher:
        cubes, *_ = higher
        twice = times(f64(2.0), total, mean, mean)
        central.append(plus(minus(cubes, times(f64(3.0), mean, squares)), twice))
    if len(higher) > 1:
        cubes, fourths = higher
        even = plus(fourths, times(f64(6.0), mean, mean, squares))
        odd = plus(
            times(f64(4.0), mean, cubes), times(f64(3.0), total, mean, mean, mean)
        )
        central.append(minus(even, odd))
    return mean, tuple(block.name("spread", each) for each in central)


def _fold_moments(
    block: Block, pane: Pane, passes: Passes, cells: int, *, fetch: bool
) -> dict[Aggregate, State]:
    """Fold the moments of singles and their other reductions in one pass."""
    first = block.name("first", first_value(block, pane))
    finite = eq(minus(first, first), f64(0.0))
    origin = block.name("origin", select(finite, first, f64(0.0)))
    order = max(passes.orders)
    about = _sums_about(order)

    def lift(inner: Block, where: CellIndex, inside: LExpr) -> State:
        (deviation,) = _powers_of(pane, DEVIATIONS, origin)(inner, where, inside)
        return (deviation,) * order

    derived = passes.about, SQUARES
    kinds = {k: lift_cell for k, lift_cell in passes.first.items() if k not in derived}
    states = fold(block, pane, {**kinds, about: lift}, fetch=fetch)
    sums = states.pop(about)
    number = f64(float(cells))
    share, central = _central_sums(block, sums, cells)
    mean = block.name("mean", plus(origin, share))
    shift = times(number, origin)
    states[passes.about] = (block.name("sum", plus(sums[0], shift)),)
    if SQUARES in passes.first:
        twice = times(f64(2.0), sums[0])
        moved = plus(sums[1], times(plus(twice, shift), origin))
        finite = eq(minus(sums[1], sums[1]), f64(0.0))
        states[SQUARES] = (block.name("squares", select(finite, moved, sums[1])),)
    return states | {
        moments_of(each): (number, mean, *central[: each - 1]) for each in passes.orders
    }


def fold_pane(
    block: Block, pane: Pane, names: set[str], *, fetch: bool = True
) -> dict[Aggregate, State]:
    """Compute the states of a pane's reductions; moments may take a second pass.

    `fetch`: prefetch its cells, if they are an input's.
    """
    passes = Passes(block, pane, names)
    fetch &= pane.source.start is not None
    if passes.orders and pane.element.type == F32 and isinstance(pane.cells, int):
        short = pane.cells <= MOST_ABOUT[max(passes.orders)]
        if short and pane.certain(block):
            return _fold_moments(block, pane, passes, pane.cells, fetch=fetch)
    states = fold(block, pane, passes.first, fetch=fetch) if passes.first else {}
    if passes.orders:
        number, mean = passes.mean_of(block, states)
        for aggregate, lift in passes.second(mean).items():
            powers = fold(block, pane, {aggregate: lift})
            states |= passes.moments(number, mean, powers)
    return states


def fold_row_panes(
    block: Block, panes: Mapping[Pane, set[str]]
) -> dict[Pane, dict[Aggregate, State]]:
    """Compute the states of several panes of the same rows, in one pass or two."""
    passes = {pane: Passes(block, pane, names) for pane, names in panes.items()}
    first = {pane: pass_.first for pane, pass_ in passes.items() if pass_.first}
    states = fold_rows(block, first, fetch=True) if first else {}
    centres = {
        pane: pass_.mean_of(block, states[pane])
        for pane, pass_ in passes.items()
        if pass_.orders
    }
    if centres:
        second = {p: passes[p].second(mean) for p, (_, mean) in centres.items()}
        for pane, powers in fold_rows(block, second).items():
            states[pane] |= passes[pane].moments(*centres[pane], powers)
    return states

"""Passes over the cells of a pane that compute the states of its reductions.

Moments take two passes, the first for the mean: the cells are still in the cache for
the second. The variance of singles takes one, by sums in doubles of the deviations from
any of them.
"""

from collections.abc import Mapping
from dataclasses import replace

from tiltpy.aggregates.aggregate import Aggregate, State, lift_where
from tiltpy.aggregates.built_in import COUNT, FIRST, aggregate_for
from tiltpy.aggregates.central_moments import ORDERS, moments_of
from tiltpy.aggregates.pane_fold import Lift, Pane, fold, fold_rows
from tiltpy.emit.builder import Block
from tiltpy.emit.cell_arrays import CellIndex
from tiltpy.emit.floats import fma, minus, over, plus, times
from tiltpy.loops.build import TRUE, conj, convert, f64, i64, lt, select, sub
from tiltpy.loops.nodes import Bin, CallFn, Extract, Lane, LExpr, Num
from tiltpy.types import BOOL, F32, F64, I64

States = Mapping[Aggregate, State]


def lift_with(pane: Pane, aggregate: Aggregate) -> Lift:
    """Lift cells to states, the identity where they do not contribute."""

    def lift(block: Block, where: CellIndex, inside: LExpr) -> State:
        value = pane.value(block, where)
        row = Bin("+", where.base, Lane(I64), I64)
        return lift_where(block, aggregate, value, conj(value.valid, inside), row)

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


def _accumulate_about(_: Block, sums: State, deviations: State) -> State:
    total, squares = sums
    deviation, *_rest = deviations
    return plus(total, deviation), fma(deviation, deviation, squares)


ABOUT = replace(_power_sums("about", 2), accumulate=_accumulate_about)
"""The sums of the deviations from a value, and of their squares."""
MOST_ABOUT = 1 << 16
"""The most cells of a pane whose variance is computed by `ABOUT`.

About any value of the pane the sum of squares is at most so many times that about the
mean: a double has room for that factor and for the digits of singles.
"""


def _fold_variance(
    block: Block, pane: Pane, passes: Passes, *, fetch: bool
) -> dict[Aggregate, State]:
    """Fold the variance of singles and their other reductions in one pass."""
    first = first_value(block, pane)
    finite = CallFn("is_finite", (first,), BOOL)
    origin = block.name("origin", select(finite, first, f64(0.0)))

    def lift(inner: Block, where: CellIndex, inside: LExpr) -> State:
        (deviation,) = _powers_of(pane, DEVIATIONS, origin)(inner, where, inside)
        return deviation, deviation

    kinds = {k: lift_cell for k, lift_cell in passes.first.items() if k != passes.about}
    states = fold(block, pane, {**kinds, ABOUT: lift}, fetch=fetch)
    total, squares = states.pop(ABOUT)
    number = convert(pane.size, F64)
    share = block.name("share", over(total, number))
    spread = block.name("spread", minus(squares, times(total, share)))
    mean = block.name("mean", plus(origin, share))
    states[passes.about] = (block.name("sum", plus(total, times(number, origin))),)
    return states | {moments_of(2): (number, mean, spread)}


def fold_pane(block: Block, pane: Pane, names: set[str]) -> dict[Aggregate, State]:
    """Compute the states of a pane's reductions; moments may take a second pass."""
    passes = Passes(block, pane, names)
    fetch = pane.source.start is not None
    if passes.orders == [2] and pane.element.type == F32:
        exact = isinstance(pane.cells, int) and pane.cells <= MOST_ABOUT
        if exact and pane.certain(block):
            return _fold_variance(block, pane, passes, fetch=fetch)
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

"""What the reductions of a pane need: its cells lifted and folded, in a pass or two.

Moments take two passes, the first for the mean: the cells of a pane are still in the
cache for the second. But the variance of singles is made of sums in doubles about any
of them, in one.
"""

from collections.abc import Mapping
from dataclasses import replace

from tiltpy.aggregates.aggregate import Aggregate, State, lift_where
from tiltpy.aggregates.built_in import COUNT, FIRST, aggregate_for
from tiltpy.aggregates.central_moments import ORDERS, moments_of
from tiltpy.aggregates.pane_fold import Lift, Pane, fold, fold_rows
from tiltpy.emit.builder import Block
from tiltpy.emit.cell_arrays import CellIndex
from tiltpy.emit.floats import fused, minus, over, plus, times
from tiltpy.loops.build import (
    TRUE,
    conj,
    convert,
    f64,
    i64,
    lt,
    select,
    sub,
)
from tiltpy.loops.nodes import Bin, CallFn, Extract, Lane, LExpr, Num
from tiltpy.types import BOOL, F32, F64, I64

States = Mapping[Aggregate, State]


def lift_with(pane: Pane, kept: Aggregate) -> Lift:
    """How a cell's value becomes a state, the identity where it does not contribute."""

    def lift(block: Block, where: CellIndex, inside: LExpr) -> State:
        value = pane.value(block, where)
        row = Bin("+", where.base, Lane(I64), I64)
        return lift_where(block, kept, value, conj(value.valid, inside), row)

    return lift


def _powers(name: str, number: int) -> Aggregate:
    def merge(_: Block, a: State, b: State) -> State:
        return tuple(Bin("+", x, y, F64) for x, y in zip(a, b, strict=True))

    zeros = tuple(f64(0.0) for _ in range(number))
    return Aggregate(
        name, (F64,) * number, zeros, lambda _block, _row, _value: (), merge
    )


DEVIATIONS = _powers("deviations", 1)
"""The sum of the deviations from a value."""


def deviations_from(pane: Pane, origin: LExpr) -> Lift:
    """What `DEVIATIONS` sums."""
    return _powers_of(pane, DEVIATIONS, origin)


def _powers_of(pane: Pane, kept: Aggregate, origin: LExpr, first: int = 1) -> Lift:
    """The powers of a value's deviation from `origin`, the `first` one and on."""

    def lift(block: Block, where: CellIndex, inside: LExpr) -> State:
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
        first = pane.value(block, pane.first())
        return Extract(convert(first.scalar, F64), 0, F64)
    (row,) = fold(block, pane, {FIRST: lift_with(pane, FIRST)})[FIRST]
    last = sub(pane.end, i64(1))
    found = block.name("row", select(lt(last, row), pane.base, row))
    value = pane.value(
        block, CellIndex(found, inside=lt(Lane(I64), sub(pane.end, found)))
    )
    number = Extract(convert(value.scalar, F64), 0, F64)
    return select(lt(last, row), f64(0.0), number)


class Passes:
    """What the reductions of a pane need: a pass over its cells, or two for moments.

    A mean must be exact where all values are equal. Doubles have room for the sum of
    more of the same single than a pane can have; of others they sum deviations.
    """

    def __init__(self, block: Block, pane: Pane, names: set[str]) -> None:
        self.pane = pane
        self.first: dict[Aggregate, Lift] = {}
        for name in sorted(names.difference(ORDERS, ("count",))):
            kept = aggregate_for(name, pane.element.type, block.assembly.own)
            self.first[kept] = lift_with(pane, kept)
        if not pane.certain(block):
            self.first[COUNT] = lift_with(pane, COUNT)
        self.orders = sorted({ORDERS[name] for name in names.intersection(ORDERS)})
        self.origin: LExpr = f64(0.0)
        single = pane.element.type == F32
        self.about = aggregate_for("sum", F32, {}) if single else DEVIATIONS
        if self.orders and not single:
            self.origin = block.name("origin", some_value(block, pane))
            self.first[self.about] = deviations_from(pane, self.origin)
        elif self.orders:
            self.first[self.about] = lift_with(pane, self.about)

    def centre(self, block: Block, found: States) -> tuple[LExpr, LExpr]:
        """How many values there are, and their mean, after the first pass."""
        count = found[COUNT][0] if COUNT in found else self.pane.size
        number = some = block.name("n", convert(count, F64))
        if not isinstance(number, Num):
            some = select(lt(f64(0.0), number), number, f64(1.0))
        mean = over(found[self.about][0], some)
        return number, block.name("mean", plus(self.origin, mean))

    def second(self, mean: LExpr) -> dict[Aggregate, Lift]:
        """The sums of the powers of deviations from the mean."""
        powers = {_powers("powers", order - 1): order for order in self.orders}
        return {one: _powers_of(self.pane, one, mean, first=2) for one in powers}

    def moments(
        self, number: LExpr, mean: LExpr, powers: States
    ) -> dict[Aggregate, State]:
        """Count, mean and central sums of powers, as `reducers` keeps them."""
        return {
            moments_of(len(kept.types) + 1): (number, mean, *state)
            for kept, state in powers.items()
        }


def _squares(_: Block, sums: State, one: State) -> State:
    total, squares = sums
    deviation, *_rest = one
    return plus(total, deviation), fused(deviation, deviation, squares)


ABOUT = replace(_powers("about", 2), take=_squares)
"""The sums of the deviations from a value, and of their squares."""
MOST_ABOUT = 1 << 16
"""Cells of a pane whose variance can be made of these sums.

If the value is any of the pane's, the sum of the squares is at most so many times that
of those from the mean: doubles have room for the difference, and for singles.
"""


def _spread_in_a_pass(
    block: Block, pane: Pane, passes: Passes, *, fetch: bool
) -> dict[Aggregate, State]:
    """The variance of singles, and what else of them is asked for, in one pass."""
    first = some_value(block, pane)
    finite = CallFn("is_finite", (first,), BOOL)
    origin = block.name("origin", select(finite, first, f64(0.0)))

    def lift(inner: Block, where: CellIndex, inside: LExpr) -> State:
        (deviation,) = deviations_from(pane, origin)(inner, where, inside)
        return deviation, deviation

    kinds = {k: one for k, one in passes.first.items() if k != passes.about}
    found = fold(block, pane, {**kinds, ABOUT: lift}, fetch=fetch)
    total, squares = found.pop(ABOUT)
    number = convert(pane.size, F64)
    share = block.name("share", over(total, number))
    spread = block.name("spread", minus(squares, times(total, share)))
    mean = block.name("mean", plus(origin, share))
    found[passes.about] = (block.name("sum", plus(total, times(number, origin))),)
    return found | {moments_of(2): (number, mean, spread)}


def states_of(block: Block, pane: Pane, names: set[str]) -> dict[Aggregate, State]:
    """What the reductions of a pane need; higher moments take a second pass."""
    passes = Passes(block, pane, names)
    fetch = pane.source.start is not None
    if passes.orders == [2] and pane.element.type == F32:
        few = isinstance(pane.cells, int) and pane.cells <= MOST_ABOUT
        if few and pane.certain(block):
            return _spread_in_a_pass(block, pane, passes, fetch=fetch)
    found = fold(block, pane, passes.first, fetch=fetch) if passes.first else {}
    if passes.orders:
        number, mean = passes.centre(block, found)
        for kept, lift in passes.second(mean).items():
            powers = fold(block, pane, {kept: lift})
            found |= passes.moments(number, mean, powers)
    return found


def states_of_rows(
    block: Block, panes: Mapping[Pane, set[str]]
) -> dict[Pane, dict[Aggregate, State]]:
    """The same of panes of the same rows, all in one pass or two."""
    passes = {pane: Passes(block, pane, names) for pane, names in panes.items()}
    wanted = {pane: one.first for pane, one in passes.items() if one.first}
    found = fold_rows(block, wanted, fetch=True) if wanted else {}
    centres = {
        pane: one.centre(block, found[pane])
        for pane, one in passes.items()
        if one.orders
    }
    if centres:
        second = {p: passes[p].second(mean) for p, (_, mean) in centres.items()}
        for pane, powers in fold_rows(block, second).items():
            found[pane] |= passes[pane].moments(*centres[pane], powers)
    return found

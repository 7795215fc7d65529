"""The states of a window at each of a vector of events: prefix scans over its lanes.

What a window holds at an event is what it held before the first lane, and the lanes up
to its own. States are combined in a logarithmic number of steps; where a window
restarts, from the last lane on that does. Where all rows are in it, that lane says how
many there are. First and last values fill lanes.
"""

from dataclasses import dataclass

from tiltpy.abi.signature import LANES
from tiltpy.aggregates.aggregate import (
    Aggregate,
    State,
    lift_where,
    name_state,
    variables_of,
)
from tiltpy.aggregates.built_in import COUNT, EXISTS, short_count
from tiltpy.aggregates.window_elements import Track
from tiltpy.emit.builder import Block
from tiltpy.emit.values import LoopValue
from tiltpy.loops.build import (
    FALSE,
    add,
    conj,
    convert,
    disj,
    greatest,
    i64,
    lt,
    negate,
    select,
    sub,
)
from tiltpy.loops.nodes import (
    Earlier,
    Extract,
    Fill,
    Lane,
    LExpr,
    Num,
    Select,
    Splat,
    Var,
)
from tiltpy.types import BOOL, I8, STRING

_BEFORE, _NONE, _ONE = (Num(number, I8) for number in (-1, 0, 1))


@dataclass(frozen=True, slots=True)
class Restarts:
    """The lanes that restart a window: `here`, and `since` one of them.

    `last` is the last of them up to each lane, -1 before the first; `taken`: whether
    its row is in the window.
    """

    here: LExpr
    since: LExpr
    last: LExpr
    taken: bool

    @property
    def rows(self) -> LExpr:
        """The rows in the window up to each lane, if those before the first are."""
        if self.taken:
            return sub(add(Lane(I8), _ONE), greatest(self.last, _NONE))
        return sub(Lane(I8), self.last)


def find_restarts(block: Block, here: LExpr, *, taken: bool) -> Restarts:
    """Find the last lane up to each that restarts a window."""
    last: LExpr = block.name("newest", Splat(select(here, Lane(I8), _BEFORE), I8))
    by = 1
    while by < LANES:
        earlier = Earlier(last, Splat(_BEFORE, I8), by, I8)
        last = block.name("newest", greatest(last, earlier))
        by *= 2
    since = block.name("restarted", lt(_BEFORE, last))
    return Restarts(here, since, last, taken)


def _spread(block: Block, restarts: LExpr, by: int) -> LExpr:
    earlier = Earlier(restarts, FALSE, by, BOOL)
    return block.name("restarted", disj(restarts, earlier))


def _where(restarts: LExpr, state: LExpr, combined: LExpr) -> LExpr:
    """Choose the state of a lane that restarts; masks of wide lanes are made once."""
    match combined:
        case Select(condition=test, then=earlier, otherwise=own) if own == state:
            return select(conj(negate(restarts), test), earlier, state)
        case Select(condition=test, then=own, otherwise=earlier) if own == state:
            return select(disj(restarts, test), state, earlier)
        case _:
            return select(restarts, state, combined)


def _fill_first(
    block: Block, lanes: LExpr, before: LExpr, exists: LExpr, restarts: LExpr
) -> LExpr:
    """Fill lanes with the first value since a restart, or that `before`, if any."""
    own = block.name("own", Splat(lanes, lanes.type))
    first = block.name("first", select(exists, before, Extract(own, 0, own.type)))
    return Fill(own, restarts, first, False, own.type)


@dataclass(frozen=True, slots=True)
class TrackScans:
    """The states of a track, of each lane: of those up to it and before all.

    `every`: all rows inside have a value.
    """

    track: Track
    every: bool
    restarts: Restarts | None

    def scan(
        self, block: Block, aggregate: Aggregate, value: LoopValue
    ) -> tuple[Var, ...]:
        """Make the state of each lane."""
        before = self.track.running[aggregate]
        if aggregate.name in ("first.value", "last.value"):
            return self._fill(block, aggregate, before, value)
        if aggregate == COUNT and self.every and self.restarts is not None:
            return self._count(block, self.restarts, before, value.valid)
        return self._combine(block, aggregate, before, value)

    def _combine(
        self,
        block: Block,
        aggregate: Aggregate,
        before: tuple[Var, ...],
        value: LoopValue,
    ) -> tuple[Var, ...]:
        """Combine the state of each lane with those of the lanes before.

        Those of the lanes alone are counted in the narrowest integers.
        """
        restarts = None if self.restarts is None else self.restarts.here

        def name(state: State) -> State:
            wide = (Splat(number, number.type) for number in state)
            return name_state(block, aggregate.name, tuple(wide))

        def combine(earlier: State, state: State) -> State:
            combined = aggregate.combine(block, earlier, state)
            if restarts is None:
                return name(combined)
            pairs = zip(state, combined, strict=True)
            return name(tuple(_where(restarts, *pair) for pair in pairs))

        short = short_count(LANES) if aggregate == COUNT else aggregate
        state = name(lift_where(block, short, value, value.valid, i64(0)))
        by = 1
        while by < LANES:
            earlier = tuple(
                Earlier(number, neutral, by, number.type)
                for number, neutral in zip(state, short.identity, strict=True)
            )
            state = combine(earlier, state)
            if restarts is not None:
                restarts = _spread(block, restarts, by)
            by *= 2
        kinds = zip(state, aggregate.types, strict=True)
        state = tuple(convert(number, kind) for number, kind in kinds)
        return variables_of(combine(before, state))

    def _count(
        self,
        block: Block,
        restarts: Restarts,
        before: tuple[Var, ...],
        inside: LExpr,
    ) -> tuple[Var, ...]:
        """Count the rows since the last restart, all of which are in the window."""
        (number,) = before
        rows = block.name("rows", Splat(select(inside, restarts.rows, _NONE), I8))
        count = convert(rows, number.type)
        total = _where(restarts.since, count, add(number, count))
        return variables_of(name_state(block, COUNT.name, (Splat(total, total.type),)))

    def _exist(self, block: Block, before: Var, value: LoopValue) -> Var:
        """Tell of each lane whether the window has a value."""
        if not self.every:
            return self._combine(block, EXISTS, (before,), value)[0]
        earlier: LExpr = before
        if self.restarts is not None:
            earlier = conj(before, negate(self.restarts.since))
        exists = Splat(disj(value.valid, earlier), BOOL)
        return variables_of(name_state(block, EXISTS.name, (exists,)))[0]

    def _fill_from_every(
        self,
        block: Block,
        aggregate: Aggregate,
        before: tuple[Var, ...],
        value: LoopValue,
    ) -> tuple[Var, ...]:
        """Fill lanes where each has a value, from where its window restarts on.

        So the window has one where its lane is in it. Of what was before all lanes none
        but the value goes through a lane: the next vector waits for little.
        """
        some, *numbers = before
        exists = block.name("exists", Splat(value.valid, BOOL))
        lanes = self._lift(block, aggregate, value)
        if aggregate.name == "first.value":
            restarts = FALSE if self.restarts is None else self.restarts.here
            pairs = zip(lanes, numbers, strict=True)
            lanes = tuple(_fill_first(block, *pair, some, restarts) for pair in pairs)
        lanes = tuple(Splat(number, number.type) for number in lanes)
        return variables_of((exists, *name_state(block, aggregate.name, lanes)))

    def _lift(self, block: Block, aggregate: Aggregate, value: LoopValue) -> State:
        """The numbers of a value, without whether there is one."""
        if value.type == STRING:  # no code but of a string
            return lift_where(block, aggregate, value, value.valid, i64(0))[1:]
        return aggregate.lift(block, i64(0), value)[1:]

    def _fill(
        self,
        block: Block,
        aggregate: Aggregate,
        before: tuple[Var, ...],
        value: LoopValue,
    ) -> tuple[Var, ...]:
        """Fill lanes with the nearest value before them, or the first since a restart.

        A lane takes its own where it restarts, even if that is none.
        """
        if self.every and (self.restarts is None or self.restarts.taken):
            return self._fill_from_every(block, aggregate, before, value)
        some, *numbers = before
        exists = self._exist(block, some, value)
        restarts = None if self.restarts is None else self.restarts.here
        takes = value.valid
        if aggregate.name == "first.value":
            earlier = Earlier(exists, Splat(some, BOOL), 1, BOOL)
            seen = earlier if restarts is None else conj(earlier, negate(restarts))
            takes = conj(takes, negate(block.name("seen", seen)))
        if restarts is not None:
            takes = disj(takes, restarts)
        takes = block.name("takes", Splat(takes, BOOL))
        own = self._lift(block, aggregate, value)
        filled = tuple(
            Fill(mine, takes, number, False, number.type)
            for mine, number in zip(own, numbers, strict=True)
        )
        return variables_of((exists, *name_state(block, aggregate.name, filled)))

"""User-defined reductions in a loop: their clauses as code, and how each slides.

A state is a number for each of its fields, and a bool beside each that may be φ. The
state of an aggregate begins with a bool that says whether it holds any snapshot:
`merge` never sees a state without one, so `init` need not be its identity.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import Enum
from functools import lru_cache

from tiltpy.aggregates.aggregate import Aggregate, Lift, State
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.values import LoopValue, lower_expr, zero
from tiltpy.ir.nodes import Expr, UserReduction
from tiltpy.ir.reductions import (
    END,
    NEWER,
    OLDER,
    START,
    STATE,
    names_in,
    state_scalars,
)
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import FALSE, TRUE, conj, disj, negate, select
from tiltpy.loops.nodes import Assign, Bin, LExpr, Num, Var
from tiltpy.types import BOOL, I64, Scalar, Struct, Type


class Slide(Enum):
    """A method of a reduction to follow its window, in the words of `explain`."""

    EVICT = "slides by `deacc`"
    MERGE = "slides by `merge`"
    CLIP = "slides by `merge`, and merges what the window's edges cut at each visit"
    RECOMPUTE = "folds its window anew at each visit"
    FOLD_ON = "folds on, one step for each row"


def slide_of(
    reduction: UserReduction, *, in_order: bool = True, disjoint: bool = True
) -> Slide:
    """Choose how a reduction slides.

    `in_order`: snapshots leave in the order they came in. Integers can be evicted
    exactly, floats leave rounding errors. An edge clips at most one of `disjoint`
    snapshots.
    """
    mergeable = reduction.merge is not None
    if reduction.bounds:
        return Slide.CLIP if disjoint and mergeable else Slide.RECOMPUTE
    if in_order and _evicts_exactly(reduction):
        return Slide.EVICT
    return Slide.MERGE if mergeable else Slide.RECOMPUTE


@lru_cache(maxsize=256)
def _evicts_exactly(reduction: UserReduction) -> bool:
    """Return whether `deacc` is exact: of integers alone, of which none may be φ."""
    code = code_of(reduction)
    whole = all(scalar.is_integer for scalar in state_scalars(reduction.state))
    if reduction.deacc is None or not whole or any(code.gaps):
        return False
    return not any(code.find_gaps("deacc", reduction.deacc))


Invariants = tuple[LExpr | None, ...]
"""The constants that entries of a state take, and keep; None for others."""


def substitute(state: State, known: Invariants) -> State:
    """A state with the constants that are known of it."""
    return tuple(
        old if new is None else new for old, new in zip(state, known, strict=True)
    )


@dataclass(frozen=True, slots=True)
class ReductionCode:
    """The clauses of a reduction as code; `gaps`: which fields of a state may be φ."""

    reduction: UserReduction
    gaps: tuple[bool, ...]

    def types(self) -> tuple[Scalar, ...]:
        """The types of a state's numbers and bools."""
        types: list[Scalar] = []
        for scalar, gap in self._fields():
            types += [scalar, BOOL] if gap else [scalar]
        return tuple(types)

    def initial(self, block: Block) -> State:
        """The state of no snapshot."""
        return self._pack(_lower_clause(block, self.reduction.init, {}))

    def accumulate(
        self,
        block: Block,
        state: State,
        value: LoopValue,
        bounds: tuple[LExpr, LExpr] | None = None,
    ) -> State:
        """The state with another snapshot, whose `bounds` are clipped to the window."""
        env = self._environment(state, value)
        if bounds is not None:
            start, end = bounds
            env |= {START: LoopValue(I64, start, TRUE), END: LoopValue(I64, end, TRUE)}
        return self._pack(_lower_clause(block, self.reduction.acc, env))

    def find_counts(self) -> frozenset[int]:
        """Find the integers of a state that `merge` adds up."""
        block, kinds = Block(KernelBuilder({})), self.types()
        older, newer = (
            tuple(Var(f"{name}.{i}", kind) for i, kind in enumerate(kinds))
            for name in (OLDER, NEWER)
        )
        merged = self.merge(block, older, newer)
        values: dict[LExpr, LExpr] = {
            each.var: each.value
            for each in block.statements
            if isinstance(each, Assign)
        }
        return frozenset(
            number
            for number, (a, b, sum_) in enumerate(
                zip(older, newer, merged, strict=True)
            )
            if a.type.is_integer and values.get(sum_) == Bin("+", a, b, a.type)
        )

    def evict(self, block: Block, state: State, value: LoopValue) -> State:
        """The state without its oldest snapshot."""
        assert self.reduction.deacc is not None
        env = self._environment(state, value)
        return self._pack(_lower_clause(block, self.reduction.deacc, env))

    def merge(self, block: Block, older: State, newer: State) -> State:
        """The state of two adjacent ranges, neither of them empty."""
        assert self.reduction.merge is not None
        env = {OLDER: self._unpack(older), NEWER: self._unpack(newer)}
        return self._pack(_lower_clause(block, self.reduction.merge, env))

    def finish(self, block: Block, state: State) -> LoopValue:
        """The result of the state of an aggregate."""
        return self.result(block, state[1:], state[0])

    def result(self, block: Block, state: State, occupied: LExpr) -> LoopValue:
        """The result of a state; φ unless it is `occupied` by a snapshot."""
        env = {STATE: self._unpack(state)}
        value = _lower_clause(block, self.reduction.result, env)
        return replace(value, valid=conj(value.valid, occupied))

    def find_invariants(self, value: LoopValue) -> Invariants:
        """Find the entries of a state that are constants after any snapshot.

        Such are the flags of fields that no value like this one makes φ.
        """
        block, unknown = Block(KernelBuilder({})), self._unknown_parts()
        first = self.accumulate(block, self.initial(block), value)
        second = self.accumulate(block, unknown, value)
        known: Invariants = tuple(
            old if _is_exact(old) and old in (TRUE, new) else None
            for old, new in zip(first, second, strict=True)
        )
        while True:
            before = substitute(unknown, known)
            after = self.accumulate(block, before, value)
            again: Invariants = tuple(
                old if old == new else None
                for old, new in zip(known, after, strict=True)
            )
            if again == known:
                return known
            known = again

    def is_never_phi(self, value: LoopValue) -> bool:
        """Decide whether there is a result once there is a snapshot like this one."""
        state = substitute(self._unknown_parts(), self.find_invariants(value))
        return self.result(Block(KernelBuilder({})), state, TRUE).valid == TRUE

    def find_gaps(self, name: str, clause: Expr) -> list[bool]:
        """Find the fields that a clause may make φ, of unknown operands."""
        r = self.reduction
        names = names_in(name, r.state, r.parameter, r.type, bounds=r.bounds)
        states = (OLDER, NEWER) if name == "merge" else (STATE,)
        env = {
            operand: self._unknown_state()
            if operand in states
            else _unknown_value(kind)
            for operand, kind in names.items()
        }
        state = _lower_clause(Block(KernelBuilder({})), clause, env)
        return [field.valid != TRUE for field in _fields_of(state)]

    def _unknown_state(self) -> LoopValue:
        return self._unpack(self._unknown_parts())

    def _unknown_parts(self) -> State:
        parts: list[LExpr] = []
        for number, (scalar, gap) in enumerate(self._fields()):
            unknown = Var(f"some.{number}", scalar), Var(f"there.{number}", BOOL)
            parts += unknown[: 1 + gap]
        return tuple(parts)

    def _fields(self) -> "zip[tuple[Scalar, bool]]":
        return zip(state_scalars(self.reduction.state), self.gaps, strict=True)

    def _unpack(self, state: State) -> LoopValue:
        """A state as a value that clauses refer to."""
        parts = iter(state)
        fields = tuple(
            LoopValue(scalar, next(parts), next(parts) if gap else TRUE)
            for scalar, gap in self._fields()
        )
        kind = self.reduction.state
        if isinstance(kind, Struct):
            return LoopValue(kind, None, TRUE, fields)
        return fields[0]

    def _pack(self, value: LoopValue) -> State:
        """The value of a clause as a state."""
        parts: list[LExpr] = []
        for field, gap in zip(_fields_of(value), self.gaps, strict=True):
            parts += [field.scalar, field.valid] if gap else [field.scalar]
        return tuple(parts)

    def _environment(self, state: State, value: LoopValue) -> dict[str, LoopValue]:
        snapshot = replace(value, valid=TRUE)
        return {STATE: self._unpack(state), self.reduction.parameter: snapshot}


def _is_exact(entry: LExpr) -> bool:
    """Decide whether an entry is a constant that equals nothing but itself."""
    return isinstance(entry, Num) and not entry.type.is_float


@lru_cache(maxsize=256)
def code_of(reduction: UserReduction) -> ReductionCode:
    """The code of a reduction, whose gaps are those of any snapshots."""
    clauses = {"init": reduction.init, "acc": reduction.acc, "merge": reduction.merge}
    code = ReductionCode(reduction, (False,) * len(state_scalars(reduction.state)))
    while True:
        gaps = [
            code.find_gaps(name, clause)
            for name, clause in clauses.items()
            if clause is not None
        ]
        wider = tuple(map(any, zip(code.gaps, *gaps, strict=True)))
        if wider == code.gaps:
            return code
        code = ReductionCode(reduction, wider)


def _unknown_value(payload: Type) -> LoopValue:
    """A snapshot's value: it exists, but the fields of a struct may be φ."""
    if isinstance(payload, Struct):
        there = Var("there", BOOL)
        fields = (
            replace(_unknown_value(kind), valid=there) for _, kind in payload.fields
        )
        return LoopValue(payload, None, TRUE, tuple(fields))
    return LoopValue(payload, Var("some", payload), TRUE)


def _fields_of(state: LoopValue) -> tuple[LoopValue, ...]:
    """The fields of a state, φ if the state is."""
    if not isinstance(state.type, Struct):
        return (state,)
    return tuple(
        replace(field, valid=conj(state.valid, field.valid)) for field in state.fields
    )


def _lower_clause(
    block: Block, clause: Expr, env: Mapping[str, LoopValue]
) -> LoopValue:
    def leaf(node: object) -> LoopValue:
        raise AssertionError(f"{node} in a reduction")

    return lower_expr(block, leaf, clause, env)


@lru_cache(maxsize=256)
def user_aggregate(reduction: UserReduction) -> Aggregate:
    """The aggregate of a reduction with `merge`."""
    code = code_of(reduction)

    def lift(block: Block, _row: LExpr, value: LoopValue) -> State:
        return (TRUE, *code.accumulate(block, code.initial(block), value))

    return _aggregate(code, lift)


def bounded_aggregate(
    reduction: UserReduction, bounds: Callable[[LExpr], tuple[LExpr, LExpr]]
) -> Aggregate:
    """The aggregate of a reduction with `merge` that reads the bounds of rows."""
    code = code_of(reduction)

    def lift(block: Block, row: LExpr, value: LoopValue) -> State:
        start, end = bounds(row)
        clipped = block.name("start", start), block.name("end", end)
        state = code.initial(block)
        return (TRUE, *code.accumulate(block, state, value, clipped))

    return _aggregate(code, lift)


def _aggregate(code: ReductionCode, lift: Lift) -> Aggregate:
    def combine_nonempty(block: Block, a: State, b: State) -> State:
        return (TRUE, *code.merge(block, a[1:], b[1:]))

    def combine(block: Block, a: State, b: State) -> State:
        occupied_a, occupied_b = a[0], b[0]
        merged = code.merge(block, a[1:], b[1:])
        fields = (
            select(negate(occupied_a), right, select(negate(occupied_b), left, both))
            for left, right, both in zip(a[1:], b[1:], merged, strict=True)
        )
        return (disj(occupied_a, occupied_b), *fields)

    types = code.types()
    return Aggregate(
        f"own.{code.reduction.name}",
        (BOOL, *types),
        (FALSE, *map(zero, types)),
        lift,
        combine,
        combine_nonempty,
        ordered=True,
        counted=frozenset(number + 1 for number in code.find_counts()),
    )

"""Rows of inputs without which an object has no snapshot, or is not true.

They are found through the objects between: `~first[t] ? t : φ` has snapshots where
`~first` is true, and `exists(~x[t]) && count(~x[t-9 : t]) == 1` is so in the cells of
rows of `~x` alone. Conditions are lowered on trial, over references that see nothing.
"""

from collections.abc import Iterator, Mapping, Sequence

from tiltpy.abi.signature import Read
from tiltpy.emit.references import references, uses_time
from tiltpy.emit.values import LoopValue, Reading, lower_expr, phi
from tiltpy.ir.nodes import (
    At,
    CutPoint,
    EventBound,
    Expr,
    Reduce,
    TemporalExpr,
    Window,
)
from tiltpy.ir.traversal import walk
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import FALSE, conj
from tiltpy.loops.nodes import Var
from tiltpy.plan.definedness import FEW, TRIED, trial_block, unknown_value
from tiltpy.plan.emptiness import count_empty
from tiltpy.plan.existence import Condition, exists_where, true_where
from tiltpy.types import BOOL

Group = tuple[Read, ...]
"""Reads of inputs around a grid point, of which one at least must have a row."""

NOT_TRUE = LoopValue(BOOL, FALSE, Var("there", BOOL))
"""A bool that is false or φ."""


@dataclass(frozen=True, slots=True)
class Confinement:
    """The condition without which an object is φ, and groups of reads.

    Without a row in one of a group it has no snapshot, or it is not `true`.
    """

    condition: Condition = None
    exists: tuple[Group, ...] = ()
    true: tuple[Group, ...] = ()


NOWHERE_CONFINED = Confinement()


def confine(definitions: Sequence[TemporalExpr]) -> dict[str, Confinement]:
    """Confine the objects of a query, if any of them uses the time as a number."""
    known: dict[str, Confinement] = {}
    if any(map(uses_time, definitions)):
        made = {each.name: each for each in definitions}
        for definition in definitions:
            known[definition.name] = _confine(definition, made, known)
    return known


def _confine(
    definition: TemporalExpr,
    made: Mapping[str, TemporalExpr],
    known: Mapping[str, Confinement],
) -> Confinement:
    if definition.tdom.rows is not None or definition.tdom.cells is not None:
        return NOWHERE_CONFINED
    size = sum(1 for _ in walk(definition.body))
    points, windows = references(definition)
    fixed = (window for window in windows if window.is_fixed and not window.by_row)
    every: tuple[CutPoint | Window, ...] = (*points, *fixed)
    absences = [
        absence
        for reference in every[: max(FEW, TRIED // size)]
        for absence in _absences(reference, made, known)
    ]
    condition = exists_where(definition.body)
    true = true_where(definition.body) if definition.type == BOOL else None
    return Confinement(condition, _groups(condition, absences), _groups(true, absences))


@dataclass(frozen=True, slots=True)
class _Absence:
    """The view of a reference without a row in any of the groups' reads."""

    reference: CutPoint | Window
    seen: LoopValue | None
    groups: tuple[Group, ...]


def _absences(
    reference: CutPoint | Window,
    made: Mapping[str, TemporalExpr],
    known: Mapping[str, Confinement],
) -> Iterator[_Absence]:
    """Yield what a reference sees where rows of inputs are missing."""
    name = reference.object
    low, high = (
        (reference.offset - 1, reference.offset)
        if isinstance(reference, CutPoint)
        else (reference.start, reference.end)
    )
    if name not in made:
        yield _Absence(reference, None, ((Read(name, low, high),),))
        return
    ahead = made[name].tdom.longest - 1

    def move(groups: tuple[Group, ...]) -> tuple[Group, ...]:
        return tuple(
            tuple(
                Read(each.object, low + 1 + each.low, high + ahead + each.high)
                for each in group
            )
            for group in groups
        )

    if isinstance(reference, CutPoint) and known[name].true:
        yield _Absence(reference, NOT_TRUE, move(known[name].true))
    if known[name].exists:
        yield _Absence(reference, None, move(known[name].exists))


def _groups(condition: Condition, absences: Sequence[_Absence]) -> tuple[Group, ...]:
    """Find the groups that a condition needs: of one reference, or of several."""
    if condition is None:
        return ()
    groups = [
        group
        for absence in absences
        if not _may_hold(condition, [absence])
        for group in absence.groups
    ]
    if not groups:
        first = {absence.reference: absence for absence in reversed(absences)}
        several = list(first.values())
        if several and not _may_hold(condition, several):
            for absence in tuple(several):
                others = [each for each in several if each is not absence]
                if not _may_hold(condition, others):
                    several = others
            groups.append(tuple(read for each in several for read in each.groups[0]))
    return tuple(dict.fromkeys(groups))


def _may_hold(condition: Expr, absences: Sequence[_Absence]) -> bool:
    """Decide whether a condition may hold where references see nothing."""
    seen = {absence.reference: absence.seen for absence in absences}

    def leaf(node: Reading) -> LoopValue:
        match node:
            case At(type=type) if node.point in seen:
                return seen[node.point] or phi(type)
            case EventBound() if node.point in seen and seen[node.point] is None:
                return phi(node.type)  # a bool that is not true has bounds
            case Reduce(window=window) if window in seen:
                return phi(node.type)
            case _:
                return unknown_value(node.type)

    known = count_empty(condition, seen.__contains__)
    value = lower_expr(trial_block(), leaf, known)
    return conj(value.valid, value.scalar) != FALSE

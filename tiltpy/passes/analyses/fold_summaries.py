"""Summaries of folds: what a number of rows makes of any state before them.

A fold that goes on is parallel over time where this function of the state is known
soon: then a chunk's first state follows from the rows just before it. The compiler
derives which it is:

- *affine*: fields become sums of fields, with factors. Powers of their matrix vanish
  at a known rate (averages that forget, recursive filters), or never (totals);
- *segmented*: under some condition the state follows from the row alone (restarts);
- *finite*: the fields take few values. Automata mostly meet in one state.
"""

from collections.abc import Iterator, Mapping
from math import ceil, inf, log

import numpy as np
from numpy.typing import NDArray

from tiltpy.ir.nodes import Expr, If, Let, Phi, Reduce, Since, UserReduction
from tiltpy.lean_dataclass import dataclass
from tiltpy.passes.analyses.fold_fields import FoldFields
from tiltpy.passes.analyses.fold_steps import TooManyPathsError

LARGEST_MATRIX = 4
"""Fields of a state that is affine."""
FORGOTTEN = 64.0
"""Powers of two by which a difference of states must have shrunk to be gone: those of a
double's fraction, and some for the last bit to agree as well."""

SEGMENTED = "segmented"
"""The word for folds whose chunks are cut where they restart."""

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FoldSummary:
    """A summary of a fold in words, and how soon the fold forgets.

    After `rows` rows its state no longer depends on what it was: None if it may always
    depend on it, and 0 if the data decide when it does not.
    """

    parts: tuple[str, ...]
    rows: int | None

    @property
    def text(self) -> str:
        """Its words in one line."""
        return ", ".join(self.parts)

    def describe(self, one_chunk: str | None) -> str:
        """Describe the fold of a run in chunks, or in one chunk for a reason."""
        if self.rows is None or one_chunk is None:
            return self.text
        parts = [part for part in self.parts if part != SEGMENTED]
        return ", ".join((*parts, f"one chunk: {one_chunk}"))


def summarize(
    node: Reduce, user_reductions: Mapping[str, UserReduction]
) -> FoldSummary:
    """Derive the summary of a reduction over a window that folds on."""
    if isinstance(node.window.limit, Since):
        return FoldSummary((SEGMENTED, f"restarts at ~{node.window.limit.object}"), 0)
    reduction = user_reductions.get(node.reduction)
    if node.reduction == "last":
        return FoldSummary(("of the last row",), 0)
    if reduction is None:
        return FoldSummary(("of all rows", "never forgets: sequential"), None)
    try:
        return _summarize(FoldFields(reduction, _without_condition(node.element)))
    except TooManyPathsError:
        return FoldSummary(("sequential: its acc has too many paths",), None)


def _without_condition(element: Expr) -> Expr:
    """Return the element of a row that contributes, without its condition."""
    match element:
        case If(then=then, otherwise=Phi()):
            return _without_condition(then)
        case Let():
            return _without_condition(element.body)
        case _:
            return element


def _summarize(fold: FoldFields) -> FoldSummary:
    """Say what kind it is."""
    states = f"{len(fold.values)} states" if len(fold.values) > 1 else ""
    restarts = _restarts(fold)
    if not fold.registers:
        if not states:
            return FoldSummary(("of the last rows",), len(fold.names))
        return FoldSummary(("finite", states), 0)
    reason = _refuse_affine(fold)
    if reason is not None:
        if restarts:
            return FoldSummary((SEGMENTED,), 0)
        return FoldSummary((f"sequential: {reason}",), None)
    size = len(fold.registers)
    words = f"affine {size}x{size}", states, SEGMENTED if restarts else ""
    parts = tuple(filter(None, words))
    rows = _forgets(fold)
    if rows is None and restarts:
        rows = 0
    if rows is None:
        return FoldSummary((*parts, "never forgets: sequential"), None)
    if rows:
        rows += len(fold.names) + len(fold.values)
        parts = *parts, f"forgets in {rows:,} rows"
    return FoldSummary(parts, rows)


def _refuse_affine(fold: FoldFields) -> str | None:
    for step in fold.steps:
        for choice in step.choices:
            if not choice.affine and choice.reads & {*fold.registers}:
                field = min(choice.reads & {*fold.registers})
                return f"a condition depends on state.{field}".rstrip(".")
        for name in fold.registers:
            if step.state[name].factors is None:
                return f"{_field(name)} is not affine in the state"
    if len(fold.registers) > LARGEST_MATRIX:
        count = len(fold.registers)
        return f"its state has {count} fields, more than {LARGEST_MATRIX}"
    return None


def _forgets(fold: FoldFields) -> int | None:
    """Bound the rows in which any difference of two states vanishes."""
    matrices = list(_matrices(fold))
    if any(matrix is None for matrix in matrices):
        return 0
    distinct = {matrix.tobytes(): matrix for matrix in matrices if matrix is not None}
    rate = _rate(list(distinct.values()))
    if rate >= 1 - 2.0**-40:
        return None
    return 1 if rate == 0 else ceil(FORGOTTEN * log(2) / -log(rate))


def _matrices(fold: FoldFields) -> Iterator[Matrix | None]:
    """Yield the matrix of each step; None where the row decides a factor."""
    for step in fold.steps:
        rows = []
        for name in fold.registers:
            factors = step.state[name].factors
            assert factors is not None
            rows.append([factors.get(other, 0.0) for other in fold.registers])
        numbers = [factor for row in rows for factor in row]
        if any(factor is None for factor in numbers):
            yield None
        else:
            yield np.array(rows, np.float64)


def _restarts(fold: FoldFields) -> bool:
    """Tell whether some condition makes the state follow from the row alone."""
    fields = {*fold.registers, *fold.controls}
    sides: dict[tuple[Expr, bool], bool] = {}
    for step in fold.steps:
        fresh = all(step.state[name].reads <= fold.lags.keys() for name in fields)
        for choice in step.choices:
            if choice.holds is not None and choice.reads <= fold.lags.keys():
                side = choice.condition, choice.holds
                sides[side] = sides.get(side, True) and fresh
    return any(sides.values())


def _rate(matrices: list[Matrix]) -> float:
    """Bound how much of a difference of states a row leaves."""
    if len(matrices) == 1:
        return float(max(abs(np.linalg.eigvals(matrices[0]))))
    norms = [(np.linalg.norm(m, 1), np.linalg.norm(m, inf)) for m in matrices]
    return float(min(max(column) for column in zip(*norms, strict=True)))


def _field(name: str) -> str:
    return f"state.{name}" if name else "acc"

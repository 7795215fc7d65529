"""Runs over bound data that are known: asked for once more, they need no planning.

They stand in the first of their inputs, and go with any of them. What was asked for is
compared by value where that is plain, as are ticks, texts and lengths.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from types import NoneType
from typing import TYPE_CHECKING
from weakref import ref

from tiltpy.errors import warn
from tiltpy.inputs import BoundFrame, BoundInput, BoundSamples
from tiltpy.lean_dataclass import record
from tiltpy.runtime.concurrency.offload import offload

if TYPE_CHECKING:
    from tiltpy.engines.local import PlannedRun
    from tiltpy.runtime.execution.hidden_rows import HiddenRows
    from tiltpy.runtime.results.key_columns import Order
    from tiltpy.runtime.results.result import Result

BOUND = BoundFrame, BoundSamples
PLAIN = frozenset((NoneType, bool, int, str, timedelta))
"""Types whose values mean the same if they are equal, unlike those of `datetime`."""
MOST_RUNS = 2
"""Of an input: two queries may be asked in turns. By key a plan takes up to 64 MB."""

Question = tuple[object, ...]
"""Tells runs apart: their options, parameters and names of inputs, with the types."""


@record(frozen=True, slots=True, eq=False)
class RepeatableRun:
    """A run that can be made again, in the caller's thread if it `is_quick`."""

    plan: PlannedRun
    order: Order
    is_quick: bool

    def make(self) -> Result:
        """Compute the outputs, and warn of rows that are hidden."""
        run, order = self.plan.run, self.order
        result = run(order) if self.is_quick else offload(partial(run, order))
        warn_of_hidden_rows(self.plan.hidden)
        return result


def warn_of_hidden_rows(hidden: HiddenRows | None) -> None:
    """Warn of rows that are hidden, if there are any."""
    message = None if hidden is None else hidden.message()
    if message is not None:
        warn(message)


@record(frozen=True, slots=True, eq=False)
class KnownRun:
    """A run of a query, what it was asked for, and of what.

    `others` are its inputs but the first, `layouts` are those of all of them in
    memory.
    """

    query: object
    question: Question
    others: tuple[ref[BoundInput], ...]
    layouts: list[object]
    run: RepeatableRun


def make_question(
    options: Sequence[object], params: object, inputs: Mapping[str, object]
) -> Question | None:
    """List what a run is asked for: options, parameters, and the names of its inputs.

    None where that cannot be compared, or no data are bound. A value is told from one
    of another type that equals it.
    """
    values, bound = [*options], 0
    if params is not None:
        if not isinstance(params, dict):
            return None
        values += [len(params), *params, *params.values()]
    for name, value in inputs.items():
        values.append(name)
        if value.__class__ in BOUND:
            bound += 1
        else:
            values.append(value)
    kinds = [value.__class__ for value in values]
    return (bound, *kinds, *values) if bound and PLAIN.issuperset(kinds) else None


def find_run(
    query: object, question: Question, inputs: Mapping[str, object]
) -> RepeatableRun | None:
    """Find a run of a query over some inputs that was asked for alike."""
    first, *others = bound = _bound(inputs)
    for known in first.known_runs:
        if known.query is query and known.question == question:
            same = all(
                place() is other
                for place, other in zip(known.others, others, strict=True)
            )
            if same and known.layouts == [each.memory_layout for each in bound]:
                return known.run  # type: ignore[no-any-return]
    return None


def remember_run(
    query: object, question: Question, inputs: Mapping[str, object], run: RepeatableRun
) -> None:
    """Remember a run until others follow over its first input, or its data go."""
    first, *others = bound = _bound(inputs)
    place = ref(first)

    def drop(_: ref[BoundInput]) -> None:
        holder = place()
        if holder is not None:
            holder.known_runs[:] = [
                known
                for known in holder.known_runs
                if all(other() is not None for other in known.others)
            ]

    places = tuple(ref(other, drop) for other in others)
    layouts = [each.memory_layout for each in bound]
    known = KnownRun(query, question, places, layouts, run)
    first.known_runs[:] = [known, *first.known_runs[: MOST_RUNS - 1]]


def _bound(inputs: Mapping[str, object]) -> list[BoundInput]:
    """List the bound inputs; to look for a base class of theirs would take longer."""
    return [each for each in inputs.values() if each.__class__ in BOUND]

"""Sources of strings: the columns, constants and calls that a value may come from.

A function of strings is computed before a kernel runs, once for each string that may
reach it. Where both operands of a `concat` are of one row, only those that meet in a
row are joined, else each with each.
"""

from collections.abc import Iterable, Iterator
from itertools import chain

from tiltpy.ir.nodes import StringCall
from tiltpy.lean_dataclass import dataclass
from tiltpy.types import STRING, Scalar, Struct, Type

Path = tuple[str, ...]
"""The names of a field within a payload, from outside; none for all of it."""


@dataclass(frozen=True, slots=True)
class ColumnSource:
    """A payload column of an input, by its number."""

    input: str
    column: int


@dataclass(frozen=True, slots=True)
class CallSource:
    """The results of a call: of the use with this number."""

    use: int


@dataclass(frozen=True, slots=True)
class StateSource:
    """Whatever the state of a fold, or a field of it, may be.

    A fold is a user-defined reduction of some elements, by its number.
    """

    reduction: str
    fold: int
    path: Path


Source = ColumnSource | CallSource | StateSource | str
"""A source; a string is a constant."""


RowValue = ColumnSource | CallSource
"""A value of a row: of a column, or of a call whose operands are of that row."""


@dataclass(frozen=True, slots=True)
class StringUse:
    """A call, and what may reach each operand.

    `row` has the operands where all of them are of one row of an input.
    """

    call: StringCall
    operands: tuple[tuple[Source, ...], ...]
    row: tuple[RowValue, ...] | None


@dataclass(frozen=True, slots=True)
class StringUses:
    """The calls of functions of strings in a query, inner ones first.

    `states` has the sources of the states of folds.
    """

    calls: tuple[StringUse, ...] = ()
    states: tuple[tuple[StateSource, tuple[Source, ...]], ...] = ()

    @property
    def joins_rows(self) -> bool:
        """Return whether strings are joined with those of their row alone."""
        return any(use.row is not None and len(use.row) == 2 for use in self.calls)

    def spread(self, sources: Iterable[Source]) -> dict[Source, None]:
        """Add those of the states among some sources."""
        states, every = dict(self.states), dict[Source, None]()
        waiting = list(sources)
        while waiting:
            source = waiting.pop()
            if source not in every and isinstance(source, StateSource):
                waiting += states[source]
            every[source] = None
        return every

    def reading(self, use: StringUse) -> dict[Source, None]:
        """Find all that may reach the operands of a call."""
        return self.spread(chain.from_iterable(use.operands))

    def find_growth(self) -> StringCall | None:
        """Find a `concat` of what it made itself: its strings have no end."""
        read = [self.reading(use) for use in self.calls]
        for number, use in enumerate(self.calls):
            reached: set[int] = set()
            waiting = [number] if use.call.function == "concat" else []
            while waiting:
                calls = (
                    s.use for s in read[waiting.pop()] if isinstance(s, CallSource)
                )
                new = set(calls) - reached
                reached |= new
                waiting += new
            if number in reached:
                return use.call
        return None


def string_columns(payload: Type) -> Iterator[tuple[Path, int]]:
    """Yield the path and the number of each column of strings, as in `columns`."""
    if isinstance(payload, Scalar):
        if payload == STRING:
            yield (), 0
        return
    number = 0
    for name, of in payload.fields:
        if of == STRING:
            yield (name,), number
        if isinstance(of, Struct):
            for inner, scalar in of.fields:
                number += 1
                if scalar == STRING:
                    yield (name, inner), number
        number += 1

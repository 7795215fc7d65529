"""Data bound to a query: a frame or samples, and what the query leaves open."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence, Sized
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from typing import Any, overload

import numpy as np

from tiltpy.argument_checks import check_argument
from tiltpy.errors import TiltError
from tiltpy.frontend.python import declarations
from tiltpy.frontend.python.expressions import Expression
from tiltpy.frontend.surface import syntax
from tiltpy.lifetimes import Lifetime, Sampled
from tiltpy.run_arguments import in_ticks
from tiltpy.runtime.arrow.timestamps import PLAIN_TICKS, StampType, timestamp
from tiltpy.runtime.ingest.binding import InputBinding, SampleTimes, names_of
from tiltpy.time_literals import (
    Length,
    Moment,
    has_offset,
    is_number,
    ticks_of,
    time_of,
)
from tiltpy.types import Unit


@dataclass(frozen=True, slots=True, weakref_slot=True)
class BoundInput(ABC):
    """Data that a user has bound, for any number of runs of any queries.

    It keeps a binding for each tick that queries have. That of Arrow's tables and
    arrays remembers what the first run found, all else is read anew in each run. The
    last runs of which it is the first input are its `known_runs`.
    """

    _bindings: dict[Unit | None, InputBinding] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )
    known_runs: list[Any] = field(
        default_factory=list, init=False, compare=False, repr=False
    )

    def binding(self, unit: Unit | None) -> InputBinding:
        """Make the binding in the ticks of a query."""
        binding = self._bindings.get(unit)
        if binding is None:
            binding = self._bindings[unit] = self._in_ticks(unit)
        return binding.for_run()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments of the user, without what was read of the frame."""
        arguments = (getattr(self, f.name) for f in fields(self) if f.init)
        return type(self), tuple(arguments)

    @property
    def memory_layout(self) -> object:
        """Describe the memory of data that kernels read where they lie; None of others.

        While it is the same, so are the rows, whatever values they have.
        """
        return None

    @abstractmethod
    def _in_ticks(self, unit: Unit | None) -> InputBinding:
        """Make a binding that remembers nothing yet."""


@dataclass(frozen=True, slots=True)
class BoundFrame(BoundInput):
    """A frame and what the query leaves open about it; made by `bind`."""

    frame: object
    time: str | None
    lifetime: syntax.Lifetime | Lifetime | None
    column: str | None
    order: tuple[str, ...]
    by: tuple[str, ...] = ()

    def _in_ticks(self, unit: Unit | None) -> InputBinding:
        lifetime = self.lifetime
        if isinstance(lifetime, syntax.Lifetime):
            lifetime = declarations.lifetime_in(lifetime, unit)
        return InputBinding(
            self.frame, self.time, lifetime, self.column, self.order, self.by
        )


def bind(
    frame: object,
    *,
    time: str | None = None,
    lifetime: syntax.Lifetime | Lifetime | None = None,
    column: str | None = None,
    order: str | Sequence[str] = (),
    by: str | Sequence[str] = (),
) -> BoundFrame:
    """Bind a frame for `run`, with what the declaration of the input leaves open.

    `time` is the column of timestamps; `lifetime` says how long a row is valid:
    `point()`, `duration("10s")`, `until_next(max="1d")`, `sampled("1s")` or
    `interval("start", "end")`; `column` has the values of a scalar input; `order` names
    columns that break ties; `by` names the key columns where the query calls them
    otherwise, in its order. What the query declares must not be contradicted.

    Bind a large Arrow table once and give the same object to every run: its times are
    then looked at (sorted, their layout found) in the first run alone.
    """
    for option, name in (("time", time), ("column", column)):
        if name is not None:
            check_argument(option, name, str, "a column's name (str)")
    return BoundFrame(frame, time, lifetime, column, names_of(order), names_of(by))


@dataclass(frozen=True, slots=True)
class BoundSamples(BoundInput):
    """Values without a time column; made by `sampled`."""

    values: object
    start: Moment
    period: Length

    @property
    def memory_layout(self) -> object:
        """Describe where an array lies: its type and shape may be changed in place."""
        values = self.values
        if not isinstance(values, np.ndarray):
            return None
        place, _ = values.__array_interface__["data"]
        return place, values.dtype, values.shape, values.strides

    def _in_ticks(self, unit: Unit | None) -> InputBinding:
        start = in_ticks("start", time_of, self.start, unit)
        period = in_ticks("period", ticks_of, self.period, unit)
        samples = SampleTimes(start, period, self._stamps(unit))
        return InputBinding(self.values, lifetime=Sampled(period), samples=samples)

    def _stamps(self, unit: Unit | None) -> StampType:
        """Choose the kind of column that would hold the start."""
        match self.start:
            case datetime(tzinfo=zone):
                return timestamp(unit, zoned=zone is not None)
            case date():
                return StampType("date", "d")
            case np.datetime64():
                return timestamp(unit, zoned=False)
            case str() if not is_number(self.start):
                return timestamp(unit, zoned=has_offset(self.start))
            case _:
                return PLAIN_TICKS


@overload
def sampled(period: Length, /) -> syntax.Lifetime: ...


@overload
def sampled(*, period: Length) -> syntax.Lifetime: ...


@overload
def sampled(values: object, start: Moment, period: Length) -> BoundSamples: ...


def sampled(
    values: object = None, start: Moment | None = None, period: Length | None = None
) -> syntax.Lifetime | BoundSamples:
    """Make a lifetime of samples, or bind samples that need no time column.

    `sampled("1s")` is the lifetime of a signal of period `p`: a row stamped `τ` holds
    over `(τ-p, τ]`.

    `sampled(values, start, period)` is for `run`: sample `i`, counted from 0, is valid
    over `(start + i*period, start + (i+1)*period]`. `values` is an array of numpy or
    Arrow, a column of Polars or pandas, or anything with the Arrow PyCapsule interface
    or the buffer protocol; nulls are gaps. A table has a column for each field of a
    struct, and those of the keys. Nothing is copied where the types are those of the
    query. `start` is ticks, a stamp of ISO 8601, a date or a `datetime`; `period`
    ticks, a duration like "1s" or a `timedelta`, the one that the query declares if it
    does.
    """
    if _is_data(values):
        needed = {"start": start, "period": period}
        if missing := " and ".join(n for n, value in needed.items() if value is None):
            raise TiltError(
                f"values without a time column need their {missing}: write "
                "sampled(values, start, period)"
            )
    if start is None and (values is None) != (period is None):
        return declarations.sampled(period if values is None else values)  # type: ignore[arg-type]
    if values is None or start is None or period is None:
        raise TiltError(
            "write sampled(period) for a lifetime, or sampled(values, start, period) "
            "for values without a time column"
        )
    return BoundSamples(values, start, period)


def _is_data(values: object) -> bool:
    """Tell whether something holds values, and is no period."""
    if isinstance(values, str | Expression):
        return False
    return isinstance(values, Sized) or hasattr(values, "__arrow_c_stream__")

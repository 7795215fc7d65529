"""Bindings: frames with what declarations leave open, laid over those."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import field, replace
from typing import Any, TypeVar

import pyarrow as pa

from tiltpy.argument_checks import check_argument
from tiltpy.costs import DEFAULT_COSTS
from tiltpy.errors import DataError
from tiltpy.ir.nodes import Input, Query
from tiltpy.lean_dataclass import dataclass
from tiltpy.lifetimes import Lifetime, LifetimeAnswers, list_calls, list_forms
from tiltpy.runtime.arrow.timestamps import StampType
from tiltpy.types import MAX_OFFSET

IMMUTABLE = (pa.Table, pa.RecordBatch, pa.ChunkedArray, pa.Array)
"""Frames whose rows cannot change."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SampleTimes:
    """The times of samples without a time column, in ticks.

    Sample `i` is valid over `(start + i*period, start + (i+1)*period]`. `stamps` is the
    kind of times of the start.
    """

    start: int
    period: int
    stamps: StampType


@dataclass(frozen=True, slots=True)
class InputBinding:
    """A frame and what the declaration of its input leaves open.

    `column` is the payload column of a scalar input, or a struct column. `by` are the
    frame's key columns, where their names differ from the query's. With `samples` the
    frame is values alone, and the lifetime their period. `known` holds the results of
    `memoize`, `views` those of `memoize_view`, which the bindings of all runs share.
    """

    frame: object
    time: str | None = None
    lifetime: Lifetime | None = None
    column: str | None = None
    order: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    samples: SampleTimes | None = None
    known: dict[object, Any] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )
    views: dict[object, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def is_immutable(self) -> bool:
        """Return whether the frame cannot change, so that several runs may share it."""
        return isinstance(self.frame, IMMUTABLE)

    def keeps(self, rows: object) -> bool:
        """Tell whether all runs share some rows that were read of the frame.

        So they do if it cannot change, or if kernels read the rows where they lie.
        """
        return self.is_immutable or any(
            view is rows for view in list(self.views.values())
        )

    def for_run(self) -> "InputBinding":
        """Return the binding for one run: of a frame that may change, a new one."""
        return self if self.is_immutable else replace(self)

    def has_read(self, declared: Input) -> bool:
        """Tell whether a run has read the frame as the rows of a declared input."""
        keys = (key for key in list(self.known) if isinstance(key, tuple))
        return any(declared in key for key in keys)

    def memoize(self, key: object, find: Callable[[], T]) -> T:
        """Memoize a result about the frame by a key.

        Results of a mutable frame are never dropped: it may be a one-shot frame.
        """
        return _memoize(self.known, key, find, bounded=self.is_immutable)

    def memoize_view(self, key: object, find: Callable[[], T]) -> T:
        """Memoize a result about memory that kernels read where it lies, for all runs.

        The result must not depend on the values in it, which may change.
        """
        return _memoize(self.views, key, find, bounded=True)


def _memoize(
    known: dict[object, Any], key: object, find: Callable[[], T], *, bounded: bool
) -> T:
    """Find a result once; `bounded`: as long as there are few."""
    value: T | None = known.get(key)
    if value is None:
        value = find()
        if bounded and len(known) >= DEFAULT_COSTS.reading.memoized_results:
            known.clear()
        known[key] = value
    return value


def bind(
    frame: object,
    *,
    time: str | None = None,
    lifetime: Lifetime | None = None,
    column: str | None = None,
    order: str | Sequence[str] = (),
    by: str | Sequence[str] = (),
) -> InputBinding:
    """Bind a frame with the names of its columns and its lifetime, in ticks."""
    return InputBinding(frame, time, lifetime, column, names_of(order), names_of(by))


def names_of(names: str | Sequence[str]) -> tuple[str, ...]:
    """Read one name, or several."""
    several = (names,) if isinstance(names, str) else names
    return tuple(
        check_argument("order and by", several, Sequence, "a column's name, or several")
    )


def check_bound(query: Query, names: Collection[str]) -> None:
    """Refuse names that are no inputs, and inputs that nothing is bound to."""
    inputs = [declared.name for declared in query.inputs]
    for name in names:
        if name not in inputs:
            listed = ", ".join(inputs)
            raise DataError(f"the query has no such input; it has {listed}", input=name)
    for name in inputs:
        if name not in names:
            hint = f"give it as run({name}=frame)"
            raise DataError(f"nothing is bound to it; {hint}", input=name)


def complete_input(declared: Input, binding: InputBinding) -> Input:
    """Complete a declared input by its binding; they must not disagree.

    The keys of the result are the frame's columns.
    """
    name = declared.name
    _check_kind(name, binding.lifetime)
    for column in (binding.time, binding.column, *binding.order, *binding.by):
        if column is not None and not isinstance(column, str):
            raise DataError(f"expected a column's name, found {column!r}", input=name)
    for clause, in_query, bound in (
        ("lifetime", declared.lifetime, binding.lifetime),
        ("time column", declared.time, binding.time),
        ("order", declared.order, binding.order),
    ):
        if in_query and bound and in_query != bound:
            raise DataError(
                f"the query declares the {clause} {_format_clause(in_query)}, but "
                f"{_format_clause(bound)} is bound; leave one of them out",
                input=name,
            )
    lifetime = declared.lifetime or binding.lifetime
    if lifetime is None:
        forms = list_forms()
        raise DataError(
            f"its lifetime is given nowhere: declare or bind one of {forms}",
            input=name,
        )
    _check_length(name, lifetime)
    time = declared.time or binding.time
    if time is not None and lifetime.columns:
        start, end = lifetime.columns
        raise DataError(
            f"an interval has its own two columns '{start}' and '{end}'; leave out the "
            f"time column '{time}'",
            input=name,
        )
    order = declared.order or binding.order
    keys = _key_columns(declared, binding, lifetime, time)
    return Input(
        name,
        declared.type,
        lifetime,
        time,
        order,
        declared.disjoint,
        keys,
        declared.cells,
        declared.span,
    )


def _key_columns(
    declared: Input, binding: InputBinding, lifetime: Lifetime, time: str | None
) -> tuple[str, ...]:
    """Choose the frame's columns for the query's keys.

    `lifetime` and `time` are those of the input: their columns are no keys.
    """
    name, keys = declared.name, declared.keys
    columns = binding.by or keys
    if binding.by and not keys:
        listed = ", ".join(binding.by)
        raise DataError(
            f"the key columns {_format_clause(columns)} are bound, but the query "
            f"declares no key; write input {name} by {listed} : ...",
            input=name,
        )
    if len(columns) != len(keys):
        raise DataError(
            f"the query declares the keys {_format_clause(keys)}, but "
            f"{_format_clause(columns)} are bound; give a column for each, in their "
            "order",
            input=name,
        )
    times = lifetime.columns or (time,)
    for index, column in enumerate(columns):
        if column in columns[:index]:
            fault = "stands for two keys; name a column for each"
        elif column in times:
            fault = "is a key and holds times; name another column for one of them"
        else:
            continue
        raise DataError(f"the column '{column}' {fault}", input=name)
    return columns


def _check_kind(input: str, lifetime: object) -> None:
    if lifetime is not None and not isinstance(lifetime, Lifetime):
        raise DataError(
            f"found the lifetime {lifetime!r}, expected one that is made by "
            f"{list_calls()}",
            input=input,
        )


def _format_clause(value: object) -> str:
    match value:
        case LifetimeAnswers():
            return value.format(lambda ticks: f"{ticks} (ticks)")
        case tuple():
            return ", ".join(f"'{name}'" for name in value)
        case _:
            return f"'{value}'"


def _check_length(input: str, lifetime: Lifetime) -> None:
    longest = lifetime.longest
    if longest is not None and not 1 <= longest <= MAX_OFFSET:
        raise DataError(
            f"a lifetime lasts 1 to 2**59 ticks, found {longest}", input=input
        )

"""What the user says when binding a frame, laid over what the query declares."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pyarrow as pa

from tiltpy.argument_checks import check_argument
from tiltpy.errors import DataError
from tiltpy.ir.nodes import Input, Query
from tiltpy.lifetimes import Lifetime, LifetimeAnswers, list_calls, list_forms
from tiltpy.runtime.arrow.timestamps import StampType
from tiltpy.types import MAX_OFFSET

IMMUTABLE = (pa.Table, pa.RecordBatch, pa.ChunkedArray, pa.Array)
"""Frames that have the same rows at another time, too."""
REMEMBERED = 8
"""Ways to read a frame, and orders of its rows, that its binding remembers at most."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SampleTimes:
    """The times of samples without a time column, in ticks.

    Sample `i` is valid over `(start + i*period, start + (i+1)*period]`. `stamps` is the
    kind of times that the start was given in.
    """

    start: int
    period: int
    stamps: StampType


@dataclass(frozen=True, slots=True)
class InputBinding:
    """A frame and what the declaration of its input leaves open.

    `column` is the payload column of a scalar input, or a struct column. `by` are the
    frame's key columns, where they are called otherwise than in the query. With
    `samples` the frame is values alone, and the lifetime their period. `known` is what
    has been read of the frame before (see `memoize`).
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

    @property
    def is_immutable(self) -> bool:
        """Whether it may serve several runs: its frame cannot change.

        Any other frame has a binding for each run.
        """
        return isinstance(self.frame, IMMUTABLE)

    def memoize(self, key: object, find: Callable[[], T]) -> T:
        """Find something out about the frame, unless it is known already.

        Within a run nothing is forgotten: a frame may be a stream, which can be read
        but once.
        """
        value: T | None = self.known.get(key)
        if value is None:
            value = find()
            if self.is_immutable and len(self.known) >= REMEMBERED:
                self.known.clear()
            self.known[key] = value
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
    """Refuse what is bound to no input, and inputs without anything."""
    known = [declared.name for declared in query.inputs]
    for name in names:
        if name not in known:
            listed = ", ".join(known)
            raise DataError(f"the query has no such input; it has {listed}", input=name)
    for name in known:
        if name not in names:
            raise DataError(
                "nothing is bound to it; give it as run(name=frame)", input=name
            )


def complete_input(declared: Input, binding: InputBinding) -> Input:
    """Complete the declared input with what the binding adds; they must not disagree.

    Its keys are the frame's columns.
    """
    name = declared.name
    _check_kind(name, binding.lifetime)
    for column in (binding.time, binding.column, *binding.order, *binding.by):
        if column is not None and not isinstance(column, str):
            raise DataError(f"expected a column's name, found {column!r}", input=name)
    for what, said, bound in (
        ("lifetime", declared.lifetime, binding.lifetime),
        ("time column", declared.time, binding.time),
        ("order", declared.order, binding.order),
    ):
        if said and bound and said != bound:
            raise DataError(
                f"the query declares the {what} {_format_clause(said)}, but "
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
        declared.span,
    )


def _key_columns(
    declared: Input, binding: InputBinding, lifetime: Lifetime, time: str | None
) -> tuple[str, ...]:
    """Choose the frame's columns for the query's keys, apart from those of time.

    `lifetime` and `time` are those that hold for the input: their columns are no keys.
    """
    name, keys = declared.name, declared.keys
    columns = binding.by or keys
    if binding.by and not keys:
        said = ", ".join(binding.by)
        raise DataError(
            f"the key columns {_format_clause(columns)} are bound, but the query "
            f"declares no key; write input {name} by {said} : ...",
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
    for place, column in enumerate(columns):
        if column in columns[:place]:
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

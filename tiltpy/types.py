"""Value types, time domains and reaches: the vocabulary that both IRs share.

Times are signed 64-bit counts of ticks, and so are the values of the types `time` and
`duration`. A payload is a scalar, or a struct of scalars and of structs of scalars.
"""

from __future__ import annotations

from collections.abc import ItemsView, Mapping
from dataclasses import field
from typing import Literal, NoReturn

from tiltpy.errors import ArgumentError
from tiltpy.lean_dataclass import dataclass
from tiltpy.source import UNKNOWN, Span
from tiltpy.visible import format_name

Kind = Literal[
    "bool", "int", "uint", "float", "string", "time", "duration", "literal", "phi"
]


@dataclass(frozen=True, slots=True, repr=False)
class Scalar:
    """A scalar type; `bits` is its width (1 for bool, 0 where there is none).

    A string is a code of 32 bits wherever it is computed with (see `abi`).
    """

    name: str
    kind: Kind
    bits: int

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__

    def __call__(self, *_: object) -> NoReturn:
        message = f"{self.name} is a type; write tilt.cast(x, tilt.{self.name})"
        raise ArgumentError(message)

    @property
    def entry_bytes(self) -> int:
        """The bytes of an entry of an array: a bool takes one."""
        return self.bits // 8 or 1

    @property
    def is_integer(self) -> bool:
        return self.kind in ("int", "uint")

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_number(self) -> bool:
        return self.kind in ("int", "uint", "float", "literal")

    @property
    def is_temporal(self) -> bool:
        """Return whether its values are ticks, since 1970 (`time`) or of a length."""
        return self.kind in ("time", "duration")


BOOL = Scalar("bool", "bool", 1)
I8, I16, I32, I64 = (Scalar(f"i{n}", "int", n) for n in (8, 16, 32, 64))
U8, U16, U32, U64 = (Scalar(f"u{n}", "uint", n) for n in (8, 16, 32, 64))
F32, F64 = (Scalar(f"f{n}", "float", n) for n in (32, 64))
SCALARS = {s.name: s for s in (BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F32, F64)}
"""Bools and numbers: what machine code computes with."""
TIME, DURATION = Scalar("time", "time", 64), Scalar("duration", "duration", 64)
"""Ticks since 1970, and lengths of time; in kernels both are `i64`."""
STRING = Scalar("string", "string", 32)
"""In kernels the code of a string (see `abi`)."""
NAMED = {**SCALARS, "time": TIME, "duration": DURATION, "string": STRING}
"""The types that a query can name."""

INT_LITERAL = Scalar("integer literal", "literal", 0)
FLOAT_LITERAL = Scalar("float literal", "literal", 0)
"""Types of expressions of literals alone, until they meet a typed operand. They never
occur in a finished query."""
PHI = Scalar("phi", "phi", 0)
"""The type of a bare φ, until it meets another branch. Never in a finished query."""


def int_range(scalar: Scalar) -> tuple[int, int]:
    """Find the least and the greatest value of an integer, of ticks, or of a code."""
    if scalar.kind == "string":
        return 0, (1 << 31) - 1
    if scalar.kind == "uint":
        return 0, (1 << scalar.bits) - 1
    return -(1 << (scalar.bits - 1)), (1 << (scalar.bits - 1)) - 1


@dataclass(frozen=True, slots=True, repr=False)
class Struct:
    """A payload with named fields, in order: scalars, or structs of scalars."""

    fields: tuple[tuple[str, Type], ...]

    def __post_init__(self) -> None:
        if not isinstance(self.fields, tuple):
            object.__setattr__(self, "fields", _read_fields(self.fields))

    def __str__(self) -> str:
        return "{ " + ", ".join(f"{n}: {t}" for n, t in self.fields) + " }"

    def __repr__(self) -> str:
        # Names are quoted where need be: caches tell types apart by this.
        fields = (f"{format_name(name)}: {of!r}" for name, of in self.fields)
        return "{ " + ", ".join(fields) + " }"

    def field(self, name: str) -> Type | None:
        """Find the type of a field, or None where there is no such field."""
        return dict(self.fields).get(name)


Type = Scalar | Struct


def _read_fields(fields: object) -> tuple[tuple[str, Type], ...]:
    """Read the fields of a struct that a caller wrote otherwise: as a dict, or a list.

    A dict in a dict is a struct in a struct.
    """
    pairs = fields.items() if isinstance(fields, Mapping) else fields
    if not isinstance(pairs, ItemsView | list) or not all(map(_is_pair, pairs)):
        wanted = "a type for each field, like {'a': tilt.f64}"
        raise ArgumentError(f"Struct: expected {wanted}, found {fields!r}")
    return tuple(
        (name, Struct(_read_fields(of)) if isinstance(of, Mapping) else of)
        for name, of in pairs
    )


def _is_pair(field: object) -> bool:
    return isinstance(field, tuple | list) and len(field) == 2


def columns(payload: Type) -> tuple[tuple[str, Scalar], ...]:
    """List a payload's columns: its fields, or one nameless column for a scalar.

    A field that is a struct has a column of its own name, a bool that is null where the
    struct is φ and never false, and then one for each of its fields, like `bid.price`.
    """
    if isinstance(payload, Scalar):
        return (("", payload),)
    taken = {name for name, _ in payload.fields}
    scalars: list[tuple[str, Scalar]] = []
    for name, of in payload.fields:
        if isinstance(of, Scalar):
            scalars.append((name, of))
            continue
        scalars.append((name, BOOL))
        for inner, scalar in of.fields:
            assert isinstance(scalar, Scalar), "structs nest one level"
            column = column_name(name, inner, taken)
            taken.add(column)
            scalars.append((column, scalar))
    return tuple(scalars)


def column_name(name: str, inner: str, taken: set[str]) -> str:
    """Name the column of a field within a field, with a prime if need be."""
    column = f"{name}.{inner}"
    while column in taken:
        column += "'"
    return column


def is_nested(payload: Type) -> bool:
    """Tell whether a payload is a struct with a field that is one."""
    return isinstance(payload, Struct) and any(
        isinstance(of, Struct) for _, of in payload.fields
    )


Unit = Literal["ns", "us", "ms", "s", "m", "h", "d"]
NANOSECONDS: dict[Unit, int] = {
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 86400 * 10**9,
}
"""The length of each time unit; also the order from fine to coarse."""


def format_duration(nanoseconds: int) -> str:
    """Format a length in the coarsest units that hold it: `1h30m`."""
    text, rest = "", abs(nanoseconds)
    for unit, length in reversed(NANOSECONDS.items()):
        count, rest = divmod(rest, length)
        text += f"{count}{unit}" if count else ""
    return ("-" if nanoseconds < 0 else "") + (text or "0s")


MAX_TIME = 2**62
"""Times and bounds lie within ±MAX_TIME ticks, so that kernels never wrap."""
MAX_OFFSET = 2**59
"""Offsets, window bounds, precisions and whole lookbacks lie within ±MAX_OFFSET."""
ALL_PAST, ALL_FUTURE = -(2**60), 2**60
"""Bounds of windows, and of what they read, that stand for -∞ and ∞."""
ENDLESS = MAX_TIME + 2**61
"""The end of an event that holds without end: later than every grid point, with offsets
that may be added without wrapping."""

Step = Literal["d", "w", "mo", "q", "y"]
"""Days, weeks from Monday, months, quarters and years of a calendar."""
STEPS: dict[Step, int] = {"d": 0, "w": 0, "mo": 1, "q": 3, "y": 12}
"""The months of each step."""


@dataclass(frozen=True, slots=True)
class Calendar:
    """The cells of `count` steps each of the calendar of a time zone, UTC if unnamed.

    A cell begins with the first instant of a local date. Cells of several steps are
    counted from 1 January 1970, weeks from the Monday after. `unit` is the tick.
    """

    count: int
    step: Step
    zone: str
    unit: Unit

    @property
    def months(self) -> int:
        """The months of a cell; 0 if it is made of days."""
        return self.count * STEPS[self.step]

    @property
    def days(self) -> int:
        """The days of a cell that is made of days."""
        return self.count * (7 if self.step == "w" else 1)

    @property
    def origin(self) -> int:
        """The first day of cell 0, by days since 1970: a Monday where weeks begin."""
        return 4 if self.step == "w" else 0

    @property
    def longest(self) -> int:
        """The ticks of the longest cell, or more: a date may come twice."""
        days = 31 * self.months or self.days
        return self._ticks(days + 2 * bool(self.zone), "d")

    @property
    def shortest(self) -> int:
        """The ticks of a short cell: `n + 3` cells in a row have `n` times as many."""
        return self._ticks(28 * self.months or self.days, "d")

    def _ticks(self, count: int, unit: Unit) -> int:
        return count * NANOSECONDS[unit] // NANOSECONDS[self.unit]


Bound = int | str | None
"""A bound of a time domain: ticks, the name of a run-time bound, or None: infinite."""


@dataclass(frozen=True, slots=True)
class TDom:
    """A time domain `(start, end]` with grid points `offset + k * precision`.

    Section 4.1 of the paper. `offset` is kept within `[0, precision)`. The cells of a
    `left` one are labelled by their first tick: a grid point is their last. So are
    those of a `calendar`, where every tick counts as a grid point: the object holds at
    each what it is at the last tick of its cell.

    With `cells`, the name of an input, its cells are the intervals of that: it is
    evaluated at the end of each, and has nothing between them.

    With `rows`, the name of an input or a row object, its points are the rows of that
    instead, each by itself; with `nulls` an object over them has null rows where it is
    φ; `at_ends`: its points are the last ticks of the rows, not their stamps.
    """

    start: Bound = None
    end: Bound = None
    precision: int = 1
    offset: int = 0
    left: bool = False
    calendar: Calendar | None = None
    cells: str | None = None
    rows: str | None = None
    nulls: bool = False
    at_ends: bool = False
    span: Span = field(default=UNKNOWN, compare=False, repr=False)

    @property
    def is_infinite(self) -> bool:
        return self.start is None and self.end is None

    @property
    def longest(self) -> int:
        """The ticks of the longest cell."""
        return self.precision if self.calendar is None else self.calendar.longest

    @property
    def shortest(self) -> int:
        """The ticks of the shortest cell; of a calendar see there."""
        return self.precision if self.calendar is None else self.calendar.shortest

    @property
    def irregular(self) -> int:
        """The cells that a time range may have beyond as many as are `shortest`."""
        return 0 if self.calendar is None else 3

    def floor(self, time: int) -> int:
        """Find the last grid point at or before a time."""
        return time - (time - self.offset) % self.precision

    def ceil(self, time: int) -> int:
        """Find the first grid point at or after a time."""
        return time + (self.offset - time) % self.precision


@dataclass(frozen=True, slots=True)
class Reach:
    """The extent of a lookback or a lookahead: ticks, and the rows beyond those.

    `ALL_FUTURE` ticks are without bound: all that was, or all that comes.
    """

    ticks: int = 0
    rows: int = 0

    @property
    def is_unbounded(self) -> bool:
        """Return whether it goes as far as there are events."""
        return self.ticks >= ALL_FUTURE


@dataclass(frozen=True, slots=True)
class Boundary:
    """An output over `(Ts, Te]` needs the input over `(Ts - back, Te + ahead]`.

    Section 5.1 of the paper (temporal lineage).
    """

    back: Reach = Reach()
    ahead: Reach = Reach()


def last_rows(name: str, *reaches: Mapping[str, Boundary]) -> int:
    """Count the last rows of an input that any of some needs asks for."""
    return max(reach[name].back.rows for reach in reaches if name in reach)

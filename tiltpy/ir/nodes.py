"""The nodes of the functional IR: a closed set of frozen, typed dataclasses.

A `Query` holds inputs and temporal expressions `~name[t] = body` over time domains
(section 4.1 of the paper). Every node carries the span it came from; spans take no part
in equality, so two queries are equal when they say the same.

Conventions
- Offsets and window bounds are ticks relative to `t`; types are final (no literal or φ
  types are left), and operands of an arithmetic or comparison node have one type, but
  for times and durations (`temporal_types.py`): all widening is an explicit `Cast`.
- A `Let` binds a name once per temporal expression; bodies are trees otherwise.
- An expression is φ or has a value. `Exists` and the three-valued `&&`, `||` are the
  only ones that may not be φ when an operand is.
- What cuts an object's snapshots is its `cuts`, fixed when the query is written and
  only ever substituted by passes (see `Cut`).
"""

import json
from dataclasses import field, replace
from typing import Literal

from tiltpy.lean_dataclass import dataclass
from tiltpy.lifetimes import Lifetime
from tiltpy.ops import (
    BinaryOp,
    Component,
    QuantileMethod,
    StringFunction,
    StringTest,
    UnaryOp,
)
from tiltpy.source import UNKNOWN, Span
from tiltpy.types import (
    ALL_FUTURE,
    ALL_PAST,
    Boundary,
    Calendar,
    Scalar,
    Struct,
    TDom,
    Type,
    Unit,
)


def _span() -> Span:
    return field(default=UNKNOWN, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Const:
    """A bool, an integer (ticks of a time or a duration), a float or a string."""

    value: bool | int | float | str
    type: Scalar
    span: Span = _span()

    @property
    def number(self) -> bool | int | float:
        """The value of anything but a string."""
        assert not isinstance(self.value, str), "a string where a number is expected"
        return self.value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str, Scalar]:
        # NaN equals itself here, 0.0 differs from -0.0, and 1 from True and 1.0.
        return repr(self.value), self.type


@dataclass(frozen=True, slots=True)
class Phi:
    """φ of a type."""

    type: Type
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Time:
    """`t + offset` as a number (i64 ticks), or of type `time`."""

    offset: int
    type: Scalar
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class At:
    """A point reference `~object[t + offset]`.

    With `row` it is the row of a row domain itself, whose time other references read.
    """

    object: str
    offset: int
    type: Type
    row: bool = False
    span: Span = _span()

    @property
    def point(self) -> "CutPoint":
        """The point that it reads."""
        return CutPoint(self.object, self.offset, self.row)


@dataclass(frozen=True, slots=True)
class EventBound:
    """`start(~object[t + offset])` or `end(...)`, where snapshots have bounds.

    Those are inputs, row objects and distinct objects. A number (i64 ticks), or of type
    `time`; φ where the snapshot has no such bound. `row` as for `At`.
    """

    which: Literal["start", "end"]
    object: str
    offset: int
    type: Scalar
    row: bool = False
    span: Span = _span()

    @property
    def point(self) -> "CutPoint":
        """The point that it reads."""
        return CutPoint(self.object, self.offset, self.row)


@dataclass(frozen=True, slots=True)
class Since:
    """`since ~object`: from the latest start of a true snapshot on.

    Of those that start before the window's end.
    """

    object: str


@dataclass(frozen=True, slots=True)
class LastRows:
    """`last n`: the last `count` snapshots that start before the window's end."""

    count: int


Limit = Since | LastRows
"""What limits a window on its left beside a distance."""
Edge = Literal["start", "end"]
"""The edge of a snapshot that lies in a window: its first tick, or its last."""
Look = Literal["last", "next", "nearest"]
"""The snapshot of a window that an as-of look sees: the last one, the first, or the one
whose stamp is closest to a time, the earlier of two."""


@dataclass(frozen=True, slots=True)
class CellSpan:
    """The cell of a calendar that holds a time, and those before it: `count` in all."""

    calendar: Calendar
    count: int


@dataclass(frozen=True, slots=True)
class IntervalSpan:
    """The interval of an input that ends at a time, and those before it.

    `count` in all; as many as there are.
    """

    input: str
    count: int


@dataclass(frozen=True, slots=True)
class Window:
    """`~object[t + start : t + end]`: the object restricted to that time range.

    A start of `ALL_PAST` is -∞, an end of `ALL_FUTURE` is ∞. With a `limit` it begins
    there if that is later. It holds what overlaps it, or with an `edge` only what has
    this edge in it: the first tick or the last one. An as-of `look` sees one snapshot
    of those, by its distance to `t + center` if it looks for the nearest. With `cells`
    it begins where they do, which is not before `t + start`, and ends at `t`; nobody
    knows the length of those of an input: `start` is `-MAX_OFFSET` there. One
    `by_row` ends with the row over which its definition stands, in tie order, and
    restarts with a row. With an `origin` it sees no row, nor a restart, from before the
    latest start of a true snapshot of that. Not an expression: it stands inside a
    `Reduce` (or a cut) only.
    """

    object: str
    start: int
    end: int
    limit: Limit | None = None
    edge: Edge | None = None
    look: Look | None = None
    center: int = 0
    cells: CellSpan | IntervalSpan | None = None
    by_row: bool = False
    origin: str | None = None
    span: Span = _span()

    @property
    def objects(self) -> tuple[str, ...]:
        """The objects that it refers to: its own, and that which restarts it."""
        return self.object, *self.restarts

    @property
    def restarts(self) -> tuple[str, ...]:
        """Name the objects whose true snapshots restart it."""
        limit = (self.limit.object,) if isinstance(self.limit, Since) else ()
        return limit if self.origin is None else (*limit, self.origin)

    @property
    def is_fixed(self) -> bool:
        """Return whether two distances from `t` decide alone what it holds."""
        endless = self.start == ALL_PAST or self.end == ALL_FUTURE
        return not (endless or self.edge or self.limit)

    @property
    def folds_on(self) -> bool:
        """Return whether no row leaves it but at a restart."""
        past = self.start == ALL_PAST and self.look is None
        return past and not isinstance(self.limit, LastRows)

    @property
    def leaves_by_end(self) -> bool:
        """Tell whether rows leave it where they end, in whichever order they came."""
        if self.edge == "start":
            return False
        restarts = isinstance(self.limit, Since) and not self.by_row
        return self.start > ALL_PAST or restarts

    @property
    def last_rows(self) -> int:
        """The number of last rows that it sees, however far back, or 0."""
        if self.start > ALL_PAST:
            return 0
        if isinstance(self.limit, LastRows):
            return self.limit.count
        return int(self.look == "last")

    def shift_by(self, ticks: int) -> "Window":
        """The window at `t + ticks`."""
        assert not ticks or self.cells is None, "cells are not shifted"
        start = self.start if self.start == ALL_PAST else self.start + ticks
        end = self.end if self.end == ALL_FUTURE else self.end + ticks
        center = self.center + ticks if self.look == "nearest" else 0
        return replace(self, start=start, end=end, center=center)


@dataclass(frozen=True, slots=True)
class Element:
    """The value of a window's snapshot, inside the `element` of a `Reduce`."""

    type: Type
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class ElementStart:
    """The start of a window's snapshot, of windows with an `edge` alone.

    A number (i64 ticks), or of type `time`.
    """

    type: Scalar
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Reduce:
    """`⊕(reduction, element for each snapshot of window)`, skipping φ elements.

    `element` is a closed expression over `Element`. Whatever else it refers to, points
    and times and reductions, it sees at the present `t`: constants of the fold, which
    cut like the references of the body. A condition (`... if c`) is written as
    `If(c, element, Phi)`. `ddof` is 0 but for `var` and `std`. `parameter` is the `q`
    of `quantile`, the `n` of `topk` and `modes`, whose results are structs, and None
    for all others; `method` is `linear` for all but `quantile`. `reduction` is built in
    or user-defined; `bounds` says whether it sees where snapshots start and end.
    """

    reduction: str
    window: Window
    element: "Expr"
    type: Type
    ddof: int = 0
    parameter: float | int | None = None
    bounds: bool = False
    method: QuantileMethod = "linear"
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Local:
    """A use of a name bound by an enclosing `Let`."""

    name: str
    type: Type
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Let:
    """`name = value` in `body`; names are unique within a temporal expression."""

    name: str
    value: "Expr"
    body: "Expr"
    span: Span = _span()

    @property
    def type(self) -> Type:
        return self.body.type


@dataclass(frozen=True, slots=True)
class Unary:
    """`-x` (numbers) and `!x` (bool)."""

    op: UnaryOp
    operand: "Expr"
    type: Scalar
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Binary:
    """Arithmetic and comparison (φ if an operand is) and three-valued `&&`, `||`.

    Both operands have one type. The type is theirs, or bool for comparisons; `/` has
    float operands. `temporal_types.py` types operations on times and durations.
    """

    op: BinaryOp
    left: "Expr"
    right: "Expr"
    type: Scalar
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class If:
    """`condition ? then : otherwise`; φ where the condition is."""

    condition: "Expr"
    then: "Expr"
    otherwise: "Expr"
    span: Span = _span()

    @property
    def type(self) -> Type:
        return self.then.type


@dataclass(frozen=True, slots=True)
class Exists:
    """`operand != φ`: a bool, never φ. `== φ` is its negation."""

    operand: "Expr"
    type: Scalar
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Cast:
    """`type(operand)`: saturating; NaN to an integer is 0; to bool is `!= 0`.

    A float becomes the nearest number of ticks, halves to even; one that is not finite
    becomes φ.
    """

    operand: "Expr"
    type: Scalar
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Call:
    """A math function of `ops.FUNCTIONS`; φ if an argument is."""

    function: str
    arguments: tuple["Expr", ...]
    type: Scalar
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class In:
    """`operand in (options)`: whether it equals one of them; φ if it is.

    The options have the operand's type.
    """

    operand: "Expr"
    options: tuple[Const, ...]
    type: Scalar
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class MatchString:
    """`test(operand, "pattern")`: a bool; φ if the operand is."""

    test: StringTest
    operand: "Expr"
    pattern: str
    type: Scalar
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class StringCall:
    """A string or a number made of strings; φ if an operand is.

    `constants` are what is constant: the start and the stop of `substr` (or None), the
    separator and the number of `split`. `concat` has one operand, or two, and the
    strings before, between and behind them. `number` reads an i64, u64 or f64, and is φ
    of what is none, as `split` is where there are fewer parts.
    """

    function: StringFunction
    operands: tuple["Expr", ...]
    constants: tuple[str | int | None, ...]
    type: Scalar
    span: Span = _span()

    @property
    def is_partial(self) -> bool:
        """Return whether it may be φ where no operand is."""
        return self.function in ("split", "number")

    @property
    def key(self) -> str:
        """The function and its constants as text, without the operands."""
        return json.dumps((self.function, self.constants, self.type.name))


@dataclass(frozen=True, slots=True)
class DateComponent:
    """`component(operand, "zone")`: an i64; φ if the operand, a time of `unit`, is.

    Without a zone it is that of UTC.
    """

    component: Component
    operand: "Expr"
    zone: str
    unit: Unit
    type: Scalar
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class MakeStruct:
    """`{ a = ..., b = ... }`: never φ itself, its fields may be."""

    fields: tuple["Expr", ...]
    type: Struct
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Field:
    """`operand.name`: φ if the operand or the field is."""

    operand: "Expr"
    name: str
    type: Type
    span: Span = _span()


Expr = (
    Const
    | Phi
    | Time
    | At
    | EventBound
    | Element
    | ElementStart
    | Reduce
    | Local
    | Let
    | Unary
    | Binary
    | If
    | Exists
    | Cast
    | Call
    | In
    | MatchString
    | StringCall
    | DateComponent
    | MakeStruct
    | Field
)


@dataclass(frozen=True, slots=True)
class CutPoint:
    """A point reference: cuts where it sees another snapshot, or another gap."""

    object: str
    offset: int
    row: bool = False


@dataclass(frozen=True, slots=True)
class CutWindow:
    """A window: cuts where the snapshots whose `element` is not φ are others.

    `window.span` takes no part. `element` is `Element` itself where every snapshot
    contributes; what it sees of the present has cuts of its own. With `bounds` it cuts
    as well where one of those snapshots starts or ends elsewhere, cut to the window.
    """

    window: Window
    element: Expr
    bounds: bool = False


@dataclass(frozen=True, slots=True)
class CutTime:
    """`t` used as a number: cuts at every grid point."""


@dataclass(frozen=True, slots=True)
class InlinedCut:
    """An object read through by fusion where the reader is not strict in it.

    It cuts where `cuts` do, unless the object's `value` is φ on both sides (one gap).
    `value` is the inlined body at the reader's time.
    """

    value: Expr
    cuts: tuple["Cut", ...]


Cut = CutPoint | CutWindow | CutTime | InlinedCut
"""A reference that cuts the snapshots of an object.

Neighbouring cells are one snapshot exactly when none of its cuts cuts between them (and
both have a value). In a source query `cuts` has one entry per distinct reference that
is reachable from the result, untaken branches included, in order of first occurrence.
"""


@dataclass(frozen=True, slots=True)
class Input:
    """A declared input. `lifetime`, `time` may be None: given when it is bound.

    `order` names the columns that break ties, `keys` those that split the rows: each
    key has an object of its own. `disjoint` is a fact about the data that a kernel is
    specialised for (no two events overlap); it is False in a source query. `cells`: its
    intervals are those of a time domain, so none may overlap another.
    """

    name: str
    type: Type
    lifetime: Lifetime | None = None
    time: str | None = None
    order: tuple[str, ...] = ()
    disjoint: bool = False
    keys: tuple[str, ...] = ()
    cells: bool = False
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class TemporalExpr:
    """`~name[t] = body` over a time domain.

    With `distinct` snapshots that touch and have identical values are one, whatever
    cuts them: all NaNs are one value, so are both zeros (which become `+0.0`), and a
    field that is φ is identical to another.
    Over the rows of an input it is a *row object*: one row, with its lifetime, for each
    of them where the body is not φ. Nothing joins these rows, so its cuts say only what
    it refers to.
    """

    name: str
    tdom: TDom
    body: Expr
    cuts: tuple[Cut, ...]
    distinct: bool = False
    span: Span = _span()

    @property
    def type(self) -> Type:
        return self.body.type

    @property
    def columns(self) -> tuple[str, ...]:
        """The payload columns that it has as an output."""
        if not isinstance(self.type, Struct):
            return (self.name,)
        return tuple(name for name, _ in self.type.fields)


@dataclass(frozen=True, slots=True)
class UserReduction:
    """A user-defined reduction (section 6.1.2 of the paper).

    Over the snapshots of a window, in order, the state goes from `init` to `acc` of
    itself and each; `result` is made of the last one. `deacc` takes the oldest snapshot
    out again, `merge` makes one state of two neighbouring ones. A state is a scalar or
    a struct; its fields may be φ.

    The clauses refer to their surroundings as free `Local`s: `state`, `parameter` (of
    the element's `type`) and with `bounds` also `start` and `end`; `merge` to `a` and
    `b`, the older first (see `ir.reductions`).
    """

    name: str
    parameter: str
    type: Type
    bounds: bool
    init: Expr
    acc: Expr
    deacc: Expr | None
    merge: Expr | None
    result: Expr
    span: Span = _span()

    @property
    def state(self) -> Type:
        """The type of its state."""
        return self.init.type


@dataclass(frozen=True, slots=True)
class Query:
    """Inputs, temporal expressions (each after those it refers to), and outputs.

    `unit` is the tick, or None for plain ticks. `boundaries` holds what
    `resolve_boundaries` found: per output, per input it depends on. `reductions` are
    user-defined.
    """

    unit: Unit | None
    inputs: tuple[Input, ...]
    definitions: tuple[TemporalExpr, ...]
    outputs: tuple[str, ...]
    boundaries: tuple[tuple[str, tuple[tuple[str, Boundary], ...]], ...] = ()
    reductions: tuple[UserReduction, ...] = ()

    @property
    def is_keyed(self) -> bool:
        """Return whether any input has keys."""
        return any(declared.keys for declared in self.inputs)

    def input(self, name: str) -> Input | None:
        """Return the input of that name, if there is one."""
        for declared in self.inputs:
            if declared.name == name:
                return declared
        return None

    def definition(self, name: str) -> TemporalExpr | None:
        """Return the definition of that name, if there is one."""
        for definition in self.definitions:
            if definition.name == name:
                return definition
        return None

    def type_of(self, name: str) -> Type:
        """Return the payload type of an input or a definition."""
        referenced = self.input(name) or self.definition(name)
        assert referenced is not None, f"no object ~{name}"
        return referenced.type

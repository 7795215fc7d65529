"""The nodes of the loop IR: a small imperative language over arrays and variables.

It shares scalar types and operator names with the functional IR and nothing else.
Every expression is total: division by zero, the least integer over -1, casts of NaN and
clamped indices have a defined result, so that code generated from it cannot trap. φ is
gone: lowering has turned it into a bool beside each value.

A value is *wide* if it has `LANES` entries, one for each of as many neighbouring grid
points: `Wide`, `Lane`, `Lanes`, `Splat`, `Earlier` and `Pick` are, and whatever is
computed from a wide operand or assigned such a value. Next to a wide operand another
counts for all lanes.
"""

from dataclasses import dataclass

from tiltpy.ops import BinaryOp
from tiltpy.types import Scalar


@dataclass(frozen=True, slots=True)
class Num:
    """A constant."""

    value: bool | int | float
    type: Scalar


@dataclass(frozen=True, slots=True)
class Var:
    """A variable, assigned before it is read."""

    name: str
    type: Scalar


@dataclass(frozen=True, slots=True)
class Bin:
    """An operator of `ops` on operands of one type; `&&` and `||` evaluate both."""

    op: BinaryOp
    left: "LExpr"
    right: "LExpr"
    type: Scalar


@dataclass(frozen=True, slots=True)
class Not:
    """The negation of a bool."""

    operand: "LExpr"
    type: Scalar


@dataclass(frozen=True, slots=True)
class Select:
    """`condition ? then : otherwise`, both evaluated.

    `even`: nobody can tell which it will be, so no branch may be made of it.
    """

    condition: "LExpr"
    then: "LExpr"
    otherwise: "LExpr"
    type: Scalar
    even: bool = False


@dataclass(frozen=True, slots=True)
class Convert:
    """A saturating cast; NaN to an integer is 0; to bool it is `!= 0`."""

    operand: "LExpr"
    type: Scalar


@dataclass(frozen=True, slots=True)
class CallFn:
    """A math function of `ops.FUNCTIONS`, or one of these of the loop IR alone:

    `max_key(x)`, `min_key(x)`: a float as a signed integer of its width that orders as
    `max` and `min` do (NaN last, -0 before +0); `from_key(k)`: the float back;
    `fma(a, b, c)`: `a * b + c`, rounded once.
    """

    function: str
    arguments: tuple["LExpr", ...]
    type: Scalar


@dataclass(frozen=True, slots=True)
class Array:
    """An array; `slot` holds its address. Bitmaps are arrays of bool with `bits`."""

    name: str
    type: Scalar
    slot: int
    written: bool = False
    bits: bool = False


@dataclass(frozen=True, slots=True)
class Load:
    """`array[index]` (in a bitmap: that bit)."""

    array: Array
    index: "LExpr"
    type: Scalar


@dataclass(frozen=True, slots=True)
class Wide:
    """The `LANES` entries of an array from `index` on (of a bitmap: bits).

    With a `mask` only lanes in which it holds are read, the others are 0; no bitmaps.
    """

    array: Array
    index: "LExpr"
    type: Scalar
    mask: "LExpr | None" = None


@dataclass(frozen=True, slots=True)
class Lane:
    """The number of each lane: 0 to `LANES - 1`."""

    type: Scalar


@dataclass(frozen=True, slots=True)
class Splat:
    """One value in all lanes."""

    operand: "LExpr"
    type: Scalar


@dataclass(frozen=True, slots=True)
class Earlier:
    """In the sequence of lanes of `before`, then `now`: those `by` (< `LANES`) back."""

    now: "LExpr"
    before: "LExpr"
    by: int
    type: Scalar


@dataclass(frozen=True, slots=True)
class Lanes:
    """A constant for each lane."""

    values: tuple[int, ...]
    type: Scalar


@dataclass(frozen=True, slots=True)
class Pick:
    """In the sequence of lanes of `first`, then `second`: those numbered by `order`."""

    first: "LExpr"
    second: "LExpr"
    order: tuple[int, ...]
    type: Scalar


@dataclass(frozen=True, slots=True)
class Extract:
    """The value of one lane."""

    operand: "LExpr"
    lane: int
    type: Scalar


@dataclass(frozen=True, slots=True)
class CountTrue:
    """In how many lanes a bool holds (i64)."""

    operand: "LExpr"
    type: Scalar


LExpr = (
    Num
    | Var
    | Bin
    | Not
    | Select
    | Convert
    | CallFn
    | Load
    | Wide
    | Lane
    | Splat
    | Earlier
    | Lanes
    | Pick
    | Extract
    | CountTrue
)


@dataclass(frozen=True, slots=True)
class Assign:
    """`var = value`."""

    var: Var
    value: LExpr


@dataclass(frozen=True, slots=True)
class Store:
    """`array[index] = value`; a wide value goes to `LANES` entries from there on.

    In a bitmap only wide values are stored, at a multiple of `LANES`. `past`: past the
    caches, for what will not be read soon; `LANES` entries whose address is a multiple
    of their size.
    """

    array: Array
    index: LExpr
    value: LExpr
    past: bool = False


@dataclass(frozen=True, slots=True)
class Prefetch:
    """Have an entry of an array brought near, if there is one."""

    array: Array
    index: LExpr


@dataclass(frozen=True, slots=True)
class Pack:
    """The lanes of a wide value in which `mask` holds, one after another.

    They go to `array[index]` and on; all `LANES` entries from there may be written.
    """

    array: Array
    index: LExpr
    value: LExpr
    mask: LExpr


@dataclass(frozen=True, slots=True)
class Choose:
    """`array` is one of two from here on, which have its type; it has no slot."""

    array: Array
    condition: LExpr
    then: Array
    otherwise: Array


@dataclass(frozen=True, slots=True)
class Pour:
    """The first `count` entries of `source` go to `array[index]` and on.

    Past the caches: `count` is a multiple of `LANES`, and both places are aligned to as
    many entries, or to a line of the cache.
    """

    array: Array
    index: LExpr
    source: Array
    count: LExpr


@dataclass(frozen=True, slots=True)
class While:
    """Repeat `body` while `condition` holds; `head` runs before each test of it."""

    condition: LExpr
    body: tuple["Stmt", ...]
    head: tuple["Stmt", ...] = ()


@dataclass(frozen=True, slots=True)
class For:
    """`var` from `start` up to `stop` (exclusive); the body does not assign it."""

    var: Var
    start: LExpr
    stop: LExpr
    body: tuple["Stmt", ...]
    step: int = 1


@dataclass(frozen=True, slots=True)
class Branch:
    """`if condition: then else: otherwise`."""

    condition: LExpr
    then: tuple["Stmt", ...]
    otherwise: tuple["Stmt", ...] = ()


@dataclass(frozen=True, slots=True)
class WriteSlot:
    """Put an i64 into a slot, for the runtime to read."""

    slot: int
    value: LExpr


Stmt = (
    Assign | Store | Prefetch | Pack | Choose | Pour | While | For | Branch | WriteSlot
)


@dataclass(frozen=True, slots=True)
class Kernel:
    """One compiled unit: what it reads of its slots, and what it does.

    `numbers` are variables that hold a slot's number on entry. Arrays do not overlap
    but where both are only read. `wide`: it has wide values already, and no loops in
    which to look for more.
    """

    numbers: tuple[tuple[Var, int], ...]
    arrays: tuple[Array, ...]
    body: tuple[Stmt, ...]
    wide: bool = False


def counts(body: tuple[Stmt, ...]) -> bool:
    """Whether there is a counted loop among some statements."""
    for statement in body:
        match statement:
            case For():
                return True
            case While() if counts(statement.body):
                return True
            case Branch() if counts(statement.then) or counts(statement.otherwise):
                return True
            case _:
                pass
    return False


def loops(body: tuple[Stmt, ...]) -> bool:
    """Whether there is any loop among some statements."""
    for statement in body:
        match statement:
            case For() | While():
                return True
            case Branch() if loops(statement.then) or loops(statement.otherwise):
                return True
            case _:
                pass
    return False

"""The nodes of the loop IR: a small imperative language over arrays and variables.

It shares scalar types and operator names with the functional IR and nothing else.
Every expression is total: division by zero, the least integer over -1, casts of NaN and
clamped indices have a defined result, so that code generated from it cannot trap. φ is
gone: lowering has turned it into a bool beside each value.

A value is *wide* if it is a vector of `LANES` values, one for each of as many
neighbouring grid points: `Wide`, `Lane`, `Lanes`, `Splat`, `Earlier`, `Pick`, `Fill`
and `FromLanes` are, and so is what is computed from a wide operand or assigned such a
value (`widths`). A scalar operand beside a wide one holds in all lanes, and so does a
constant where lanes are expected.

`verify.verify_kernel` checks these rules, and those that a node states:

- A value is a bool, a number or the code of a string; times are `i64`. The operands of
  an operator have one type, and only `Convert` converts.
- A variable has one type, and is assigned before it is read on every path: in both arms
  of a branch, or ahead of a loop whose body reads it.
- An array is declared by the kernel, or chosen in the same block or around it, before
  it is used; its entries have its type, and only a `written` one is stored to.
- An index is an `i64`, a condition is a bool. Neither is wide, nor is a bound of a loop
  or a number for a slot; only the index of a `Load` and the condition of a `Select` may
  be.
"""

from tiltpy.lean_dataclass import dataclass
from tiltpy.ops import BinaryOp
from tiltpy.types import Scalar


@dataclass(frozen=True, slots=True)
class Num:
    """A constant that its type can hold; a bool exactly if the type is."""

    value: bool | int | float
    type: Scalar


@dataclass(frozen=True, slots=True)
class Var:
    """A variable, assigned before it is read and of one type wherever it occurs."""

    name: str
    type: Scalar

    def __hash__(self) -> int:
        """Hash the name alone, which tells the variables of a kernel apart."""
        return hash(self.name)


@dataclass(frozen=True, slots=True)
class Bin:
    """An operator of `ops` on operands of one type; `&&` and `||` evaluate both.

    Both take bools; arithmetic takes numbers, `/` floats, comparisons any type.
    """

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
    """`condition ? then : otherwise`, of one type, both evaluated.

    `even`: unpredictable, so it must not become a branch.
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
    """A math function of arguments of one type: floats, or any number for some.

    One of `ops.FUNCTIONS`, where `min` and `max` take codes too, or one of the loop IR:

    `max_key(x)`, `min_key(x)`: a float as a signed integer of its width that orders as
    `max` and `min` do (NaN last, -0 before +0); `from_key(k)`: the float back.
    """

    function: str
    arguments: tuple["LExpr", ...]
    type: Scalar


@dataclass(frozen=True, slots=True)
class Array:
    """An array; `slot` holds its address. Bitmaps are arrays of bool with `bits`.

    A kernel declares or chooses a name once.
    """

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

    With a `mask` only lanes in which it holds are read, the others are 0; no bitmaps. A
    mask is wide, or a constant.
    """

    array: Array
    index: "LExpr"
    type: Scalar
    mask: "LExpr | None" = None


@dataclass(frozen=True, slots=True)
class Lane:
    """The number of each lane, as an integer: 0 to `LANES - 1`."""

    type: Scalar


@dataclass(frozen=True, slots=True)
class Splat:
    """A scalar in all lanes."""

    operand: "LExpr"
    type: Scalar


@dataclass(frozen=True, slots=True)
class Earlier:
    """The lanes of `before`, then `now`, shifted: in each lane the value `by` earlier.

    `by` is 1 to `LANES - 1`; at least one operand is wide.
    """

    now: "LExpr"
    before: "LExpr"
    by: int
    type: Scalar


@dataclass(frozen=True, slots=True)
class Lanes:
    """An integer constant for each lane."""

    values: tuple[int, ...]
    type: Scalar


@dataclass(frozen=True, slots=True)
class Pick:
    """A shuffle: of the lanes of `first`, then `second`, those numbered by `order`.

    At least one operand is wide.
    """

    first: "LExpr"
    second: "LExpr"
    order: tuple[int, ...]
    type: Scalar


@dataclass(frozen=True, slots=True)
class Fill:
    """In each lane the value of the last one up to it in which `valid` holds.

    Or of the first one from it on, if `backwards`. `beyond`, a scalar, where there is
    none. `valid` is wide, or a constant.
    """

    operand: "LExpr"
    valid: "LExpr"
    beyond: "LExpr"
    backwards: bool
    type: Scalar


@dataclass(frozen=True, slots=True)
class Extract:
    """The value of one lane. A scalar has the same value in each."""

    operand: "LExpr"
    lane: int
    type: Scalar


@dataclass(frozen=True, slots=True)
class FromLanes:
    """The vector of a scalar for each lane."""

    values: tuple["LExpr", ...]
    type: Scalar


@dataclass(frozen=True, slots=True)
class CountTrue:
    """The number of lanes (i64) in which a bool, wide or a constant, holds."""

    operand: "LExpr"
    type: Scalar


@dataclass(frozen=True, slots=True)
class LastTrue:
    """The last lane (i64) in which a bool, wide or a constant, holds; if none, -1."""

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
    | Fill
    | Extract
    | FromLanes
    | CountTrue
    | LastTrue
)


@dataclass(frozen=True, slots=True)
class Assign:
    """`var = value`."""

    var: Var
    value: LExpr


@dataclass(frozen=True, slots=True)
class Store:
    """`array[index] = value`; a wide value goes to `LANES` entries from there on.

    In a bitmap only wide values and constants are stored, to `LANES` bits from a
    multiple of `LANES` on. `past`: a non-temporal store of `LANES` entries, not in a
    bitmap, whose address is a multiple of their size.
    """

    array: Array
    index: LExpr
    value: LExpr
    past: bool = False


@dataclass(frozen=True, slots=True)
class Prefetch:
    """Prefetch an entry of an array, which need not exist; no bitmap."""

    array: Array
    index: LExpr


@dataclass(frozen=True, slots=True)
class Pack:
    """Store the lanes of a value in which `mask` holds, packed, from `array[index]` on.

    All `LANES` entries from there may be overwritten. The array is no bitmap. The mask
    is wide, or a constant.
    """

    array: Array
    index: LExpr
    value: LExpr
    mask: LExpr


@dataclass(frozen=True, slots=True)
class Choose:
    """Let `array`, which has no slot, be one of two arrays of its type.

    It is declared to the end of the block. Both are `written` if it is.
    """

    array: Array
    condition: LExpr
    then: Array
    otherwise: Array


@dataclass(frozen=True, slots=True)
class Pour:
    """Copy the first `count` entries of `source` to `array[index]` and on.

    By non-temporal stores: `count` is a multiple of `LANES`, and both addresses are
    aligned to as many entries, or to a cache line. Neither array is a bitmap.
    """

    array: Array
    index: LExpr
    source: Array
    count: LExpr


@dataclass(frozen=True, slots=True)
class While:
    """Repeat `body` while `condition` holds; `head` runs before each test of it.

    One of them changes what the condition reads.
    """

    condition: LExpr
    body: tuple["Stmt", ...]
    head: tuple["Stmt", ...] = ()


@dataclass(frozen=True, slots=True)
class For:
    """Count `var` from `start` up to `stop` (exclusive), by one or by whole vectors.

    It is an i64, the body does not assign it, and `stop`, which is computed once, does
    not read it. After the loop it is the first value that is not below `stop`.
    """

    var: Var
    start: LExpr
    stop: LExpr
    body: tuple["Stmt", ...]
    step: int = 1


@dataclass(frozen=True, slots=True)
class Branch:
    """`if condition: then else: otherwise`; at least one has statements.

    One that is `rarely` taken stays a branch, where short ones may become selections.
    """

    condition: LExpr
    then: tuple["Stmt", ...]
    otherwise: tuple["Stmt", ...] = ()
    rarely: bool = False


@dataclass(frozen=True, slots=True)
class WriteSlot:
    """Store an i64 in a slot for the runtime; no slot of an array."""

    slot: int
    value: LExpr


Stmt = (
    Assign | Store | Prefetch | Pack | Choose | Pour | While | For | Branch | WriteSlot
)


@dataclass(frozen=True, slots=True)
class LoopKernel:
    """One compiled unit: the slots that it reads, and its statements.

    `numbers` are variables (i64) that hold a slot's number on entry. Arrays do not
    overlap unless both are only read, so only those share a slot.
    """

    numbers: tuple[tuple[Var, int], ...]
    arrays: tuple[Array, ...]
    body: tuple[Stmt, ...]


def has_loop(body: tuple[Stmt, ...], *, counted: bool = False) -> bool:
    """Return whether statements have a loop at any depth; with `counted`, a `For`."""
    for statement in body:
        match statement:
            case For():
                return True
            case While(body=inner) if not counted or has_loop(inner, counted=counted):
                return True
            case Branch(then=then, otherwise=otherwise):
                if has_loop((*then, *otherwise), counted=counted):
                    return True
            case _:
                pass
    return False

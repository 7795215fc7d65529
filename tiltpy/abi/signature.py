"""A kernel as the runtime knows it: slots, loops, scratch arrays and ranges."""

from enum import StrEnum

from tiltpy.abi.slots import Slot
from tiltpy.lean_dataclass import dataclass
from tiltpy.types import (
    ALL_FUTURE,
    ALL_PAST,
    STRING,
    Calendar,
    Scalar,
    TDom,
    Type,
    int_range,
)

LANES = 16
"""Neighbouring grid points that a vector kernel computes at once, whatever the CPU.

LLVM splits them where registers are narrower: so the order in which floats are added,
and every bit of a result, is the same on all of them.
"""


CONTROL, LEFT, TAKEN_OVER = "control", 1, 2
"""The name and the values of the controls among a kernel's states: a call leaves the
states that follow, or takes over those of the call before and leaves its own. With 0 it
does neither."""
NO_STRING = int_range(STRING)[1]
"""The code that a call leaves, or takes over, where a state has no string."""


RowCount = tuple[tuple[str, int], ...]
"""A number of rows: for each named object, a factor of its rows."""


@dataclass(frozen=True, slots=True)
class Read:
    """A read of a loop over its grid points `first` to `last`.

    It is the time range `(first + low, last + high]` of an object. Its last `spare`
    ticks make no difference: only the unused lanes of the last vector read them. With
    `cells` the range begins with the first of so many rows of the loop's domain that
    end at `first` or later, or with the first there is: at or after `first + low`.
    Without bound it needs no more than the last `rows` before it of an input, if any
    number is given. In its first `early` and its last `late` ticks a sampled
    input need not have rows.
    """

    object: str
    low: int
    high: int
    spare: int = 0
    cells: int = 0
    rows: int = 0
    early: int = 0
    late: int = 0

    @property
    def is_unbounded(self) -> bool:
        """Return whether it is all that was, or all that comes."""
        return self.low <= ALL_PAST or self.high >= ALL_FUTURE


@dataclass(frozen=True, slots=True)
class Scratch:
    """A temporary array of `sum(rows) + constant` entries."""

    type: Scalar
    rows: RowCount
    constant: int = 0


MOST_RANKED = 2**31 - 1
"""Rows of an object in a chunk, at most, where a loop keeps `structures` of them."""


class Shape(StrEnum):
    """The shape of a loop.

    `ROWS`: one visit a row of its first input. `SWEEP`: the general merge of cursors,
    `ROW_PANES` one whose windows are each folded over their rows, without a sweep. The
    others are those of vector kernels, which visit every grid point. `MAP` needs
    one value of each object, `STENCIL` its neighbours too, `PANES` folds many finer
    cells for each of its own. `GROUPED` visits rows in order of time, whatever their
    keys, and `KEYS` what it has made for each (see `PaneAggregation`).
    """

    ROWS = "map over rows"
    SWEEP = "sweep"
    ROW_PANES = "panes of rows"
    MAP = "map"
    STENCIL = "stencil"
    PANES = "panes"
    GROUPED = "fold by key"
    KEYS = "cells of each key"


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop that computes one temporal object, as the runtime must know it.

    `FIRST`, `LAST` are grid points, both visited; for `ROWS` they are the rows
    `[FIRST, LAST)` of its input. A sweep over outputs is started one grid point early
    (the seam cell), so that it knows whether its first snapshot continues.
    `changes` bounds the number of its visits by its sources' rows; with `every_cell`
    only its number of cells does. `implicit_times`: it writes values alone, one for
    each visit; those of a `SWEEP` are the events of its first `Read`. `structures` say
    in words what it keeps of windows as a whole.

    Without a snapshot of each of the objects in `strict`, in that range around a grid
    point, the object is φ there. Where all reads of one of `skips` have none, a loop
    over every cell visits changes alone. Where `every_cell` is set because the edges of
    windows clip rows, these are in `cut`: elsewhere, too, it visits changes alone. At
    each visit it reads all rows of the windows in `recomputed`. A `distinct` one joins
    its snapshots: over rows, too, it starts at the seam cell; there it writes a value
    for each one, and with which rows they begin (`OUT_BEGINS`). If it `resumes`, its
    state arrays, if it `keeps_states`, and the last rows of inputs are all that
    unbounded windows need.

    A loop over the rows of its first `Read` is `stamped` if it computes a row object:
    its grid points are the stamps of the rows that it visits, and each row is computed
    where its stamp is (that of one over the cells of an input, `tdom.at_ends`, is its
    last tick); others visit the rows that overlap their time range.
    """

    name: str
    tdom: TDom
    type: Type
    shape: Shape
    reads: tuple[Read, ...]
    changes: RowCount
    every_cell: bool
    implicit_times: bool
    structures: tuple[str, ...] = ()
    strict: tuple[Read, ...] = ()
    skips: tuple[tuple[Read, ...], ...] = ()
    cut: tuple[Read, ...] = ()
    recomputed: tuple[Read, ...] = ()
    resumes: bool = False
    keeps_states: bool = False
    distinct: bool = False
    stamped: bool = False
    linear: bool = False
    """Takes a bounded time for each visit and each row that it reads."""

    @property
    def is_unbounded(self) -> bool:
        """Return whether it folds on from the first rows, or looks up to the last."""
        return any(read.is_unbounded for read in self.reads)

    @property
    def shares_times(self) -> bool:
        """Tell whether its snapshots have the times of rows of its first `Read`."""
        return self.implicit_times and self.shape in (Shape.ROWS, Shape.SWEEP)

    @property
    def beyond_rows(self) -> bool:
        """Return whether it may have far more to do than its inputs have rows."""
        return self.every_cell or bool(self.recomputed)


@dataclass(frozen=True, slots=True)
class AlignedRange:
    """The time range `(LOW, HIGH]` of one call of a vector kernel, and what it touches.

    Both are `phase` modulo `multiple`, and `LOW` modulo the `step` as well, a multiple
    of that: where it is larger, vectors begin at multiples of their length. Every
    output owns exactly the cells whose grid points lie between. The kernel reads
    `(LOW + low, HIGH + high]` of each input; a sampled or contiguous one has a row
    everywhere in there, but for the `early` and `late` ticks of the read.

    It writes up to `LANES` entries more than there are cells: into the values of an
    output, the bytes of a field's validity, and the bits of the two bitmaps. Where
    `implicit_times` is set every cell is a snapshot, and there are no bitmaps; then no
    entry is written behind a number of cells that is a multiple of `LANES`: what lies
    there may be another call's. Otherwise `OUT_COUNT` values were written, one for each
    bit of `OUT_BEGINS`. A snapshot lasts until the next begins or `OUT_COVERED` ends.
    The first cell may be covered without a beginning: then it continues the snapshot
    before it. Without a slot for `OUT_COVERED` each snapshot is one cell.

    It visits the cells of `around` ticks beside the range as well. Cells are `finest`
    ticks long at least.
    """

    multiple: int
    phase: int
    step: int
    reads: tuple[Read, ...]
    around: int = 0
    finest: int = 1

    def visits(self, ticks: int) -> int:
        """Bound the visits of its longest loop over a time range of that many ticks."""
        return (ticks + self.around) // self.finest


@dataclass(frozen=True, slots=True)
class PaneAggregation:
    """Pre-aggregation of the windows over an input by key, pane by pane.

    Time is split into *panes* of `pane` ticks, from `phase` on, or the cells of a
    `calendar`, such that each row lies in one of them. The first kernel visits the rows
    of the panes `[FIRST, LAST)`, and has for each pane and key an entry in each of some
    matrices `[pane][key]`: *counts*, then the states of reductions. It is given the row
    at which each pane begins. Keys are `LEAST` to `LEAST + KEY_COUNT - 1`, in a column
    of the integers `key`, of which unsigned ones have 32 bits at most; rows of other
    keys are `LOST`, and counted.

    The low `half` bits of an entry of the first matrix count the rows that are events,
    the others those that meet a condition; without `half` all of it counts events.

    The second kernel makes of them what the output is in its cells `[FIRST, LAST)`,
    counted from any one, for a range of keys: matrices `[cell][key]` of values, of
    bytes `OUT_COVERED` (whether there is a value), and of bytes `OUT_BEGINS` (whether a
    window sees anything else than in the cell before). Cell `c` looks at the panes from
    `SHIFT + c*stride + low` up to `SHIFT + c*stride + high`, exclusive.
    """

    input: str
    pane: int
    phase: int
    calendar: Calendar | None
    stride: int
    low: int
    high: int
    merged: int
    """How many panes a window has, at most: they are merged for each cell."""
    key: Scalar
    half: int
    nulls: bool
    """Whether rows may be null in their only column: those are no events."""
    states: tuple[Scalar, ...]
    """The types of the matrices."""
    needs_rows: bool
    """True if the second kernel reads rows: states may be their numbers."""


@dataclass(frozen=True, slots=True)
class Signature:
    """All that the runtime needs to call a kernel. Loops are in order of dependency.

    With an `aligned_range` it is that of a vector kernel: `loops` are its outputs
    alone, their `reads` and `changes` are empty, and the rows of `""` in a scratch
    array's size are the `multiple`s in the range. With `pane_aggregation` it is that of
    one of the two kernels of a pre-aggregation; then they are the keys in the range.
    """

    slots: tuple[Slot, ...]
    loops: tuple[Loop, ...]
    scratch: tuple[Scratch, ...]
    outputs: tuple[str, ...]
    aligned_range: AlignedRange | None = None
    pane_aggregation: PaneAggregation | None = None
    states: tuple[tuple[str, Scalar], ...] = ()
    """The names and types of its state arrays, controls before those they control."""

    @property
    def resumes(self) -> bool:
        """Tell whether a call can go on from states that the one before has left."""
        return self.refuse_states() is None

    def refuse_states(self, *, in_chains: bool = False) -> str | None:
        """Say why no call can go on from the states that the one before has left.

        Nothing may read an object that keeps states: it would be read at times before.
        With `in_chains` one object may, which goes on with it (`_goes_on_with`).
        """
        far = [loop for loop in self.loops if loop.is_unbounded]
        for loop in far:
            if not loop.resumes:
                reads = {f"~{read.object}" for read in loop.reads if read.is_unbounded}
                seen = ", ".join(sorted(reads))
                return f"all of {seen} may matter to ~{loop.name} at any time"
        lasting = {loop.name: loop for loop in far if loop.keeps_states}
        for loop in self.loops:
            for name in dict.fromkeys(read.object for read in loop.reads):
                if name not in lasting:
                    continue
                if not (in_chains and self._goes_on_with(lasting[name], loop)):
                    return f"~{loop.name} reads ~{name}, which keeps states"
        return None if lasting else "no window keeps a state"

    def _goes_on_with(self, loop: Loop, reader: Loop) -> bool:
        """Decide whether one loop reads another at its own times alone.

        It passes over what it has seen of that one, whose states then are those of the
        same time as its own.
        """
        readers = [
            other.name
            for other in self.loops
            if any(read.object == loop.name for read in other.reads)
        ]
        return (
            readers == [reader.name]
            and loop.name not in self.outputs
            and reader.tdom == loop.tdom
            and not (loop.stamped or reader.stamped)
            and all(
                read.high == 0 and (read.low == -1 or read.low <= ALL_PAST)
                for read in reader.reads
                if read.object == loop.name
            )
        )

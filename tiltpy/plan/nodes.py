"""The nodes of the physical plan: a closed set of strategies, as data.

A `LoopPlan` says how the loop of one object visits time, a `CursorPlan` how it follows
a point reference, and a `WindowPlan` how it follows a window. Lowering is a `match`
over them.
"""

from enum import Enum

from tiltpy.ir.nodes import CutPoint, Expr, Reduce, Window
from tiltpy.lean_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a strategy does not serve, as the end of a sentence about the object."""

    reason: str


DISABLED = Refusal("it is disabled")


def refuse_whole_window(node: Reduce) -> Refusal:
    """Refuse a reduction that is no fold of the cells or rows of its window."""
    what = f"{node.reduction} of ~{node.window.object}"
    return Refusal(f"{what} looks at a window as a whole")


class Misfit(Exception):  # noqa: N818 - no error: another strategy serves
    """Raised where a strategy finds that it does not serve, with the reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.refusal = Refusal(reason)


class CursorPlan(Enum):
    """A method to find the row that a point reference sees."""

    STEP = "steps to the next row when it is due"
    SCAN = "scans for the row that holds the time"
    STACK = "keeps a stack of the events that have started"


class WindowPlan(Enum):
    """A method to follow the rows of a window."""

    TUMBLING_FOLD = "folds its rows anew, in vectors"
    FIFO = "inserts and evicts in order"
    UNORDERED = "evicts in order of ends, from exact states or a tree"
    RUNNING = "folds on, and anew at restarts"
    REFOLDED = "folds its rows anew at each visit"
    LOOK = "follows the one row that an as-of look sees"


class PresentPlan(Enum):
    """A method to fold a window whose elements see the present, or bounds."""

    FOLDED = "folds its rows anew: elements see the present"
    CLIPPED = "folds its rows anew: reductions see where its edges cut them"
    KEPT = "folds on, and anew the rows that its end cuts"
    HASH_COUNTS = "counts its rows by key, in a hash table"
    RANK_COUNTS = "counts its rows by rank, in a tree"


@dataclass(frozen=True, slots=True)
class PresentChoice:
    """The plan of a window and an element that sees the present, or of its bounds.

    With `refusal` why its matches are not counted.
    """

    window: Window
    element: Expr
    plan: PresentPlan
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True)
class WindowChoice:
    """The plan of one window, and why each more special algorithm was refused.

    `sums`: some reduction is the difference of prefix sums; `stacks`: some merges
    states, which two stacks hold.
    """

    window: Window
    plan: WindowPlan
    refusals: tuple[tuple[str, Refusal], ...]
    sums: bool = False
    stacks: bool = False

    def __str__(self) -> str:
        """Say how the rows of the window are followed."""
        ways = (self.sums, "by prefix sums"), (self.stacks, "on two stacks")
        states = " and ".join(words for serves, words in ways if serves)
        return f"{self.plan.value}, {states}" if states else self.plan.value


class Advance(Enum):
    """A method to advance a window from one event to the next in an event scan."""

    INSERT = "ends with the event, which it takes in"
    PACE = "takes in the snapshot that its object has at the event"
    RESTART = "takes in the event, and restarts between events"
    NEWEST = "shows its last row alone"
    NEXT = "shows its first row alone"
    FOLLOW = "follows with both edges"
    SEARCH = "searches for its edges"


@dataclass(frozen=True, slots=True)
class Operands:
    """The references that a scan follows, and the changes that it visits.

    `skipped` are the points at whose gaps there is no visit, `one_tick` the one among
    them, if any, whose events last a tick. Nor is there a visit where `skipped_window`,
    which tumbles, has no rows. With `stepped` the loop visits every change,
    and whatever follows it moves by one row at most. With `always_cuts` each visit
    starts a new snapshot, so that none need be compared, or the object is distinct, and
    snapshots are joined afterwards. `clipped` are windows with a user-defined reduction
    that sees where their edges cut events. Those in `present` have an element that sees
    the present. In `cursor_windows` cursors over values find quantiles. A scan is
    `linear` if it folds no row again and again: a row enters a window and leaves it in
    constant time, amortised.
    """

    points: tuple[tuple[CutPoint, CursorPlan], ...]
    windows: tuple[tuple[Window, WindowPlan], ...]
    skipped: tuple[CutPoint, ...]
    one_tick: CutPoint | None
    stepped: bool
    always_cuts: bool
    clipped: tuple[Window, ...]
    present: tuple[PresentChoice, ...] = ()
    cursor_windows: tuple[Window, ...] = ()
    linear: bool = False
    skipped_window: Window | None = None


@dataclass(frozen=True, slots=True)
class RowMap:
    """One visit a row of `input`, without any search."""

    input: str


@dataclass(frozen=True, slots=True)
class SweepScan:
    """A merge of cursors that jumps from change point to change point: any data.

    With `by_cell` it goes from cell to cell of a calendar instead.
    """

    operands: Operands
    by_cell: bool = False


@dataclass(frozen=True, slots=True)
class MergeSource:
    """A point reference of a merge scan.

    A `computed` object has far fewer rows than inputs: it stays where it is while these
    move. With `visits_gaps` the gaps between its rows are visits, too.
    """

    point: CutPoint
    computed: bool
    visits_gaps: bool


@dataclass(frozen=True, slots=True)
class MergeScan:
    """A merge join of point references: one visit an interval bound, branch-free.

    `vectorized` is the only input, if there is one: its rows move `LANES` at a time.
    """

    operands: Operands
    sources: tuple[MergeSource, ...]
    vectorized: CutPoint | None


@dataclass(frozen=True, slots=True)
class EventScan:
    """One visit an event of a point stream, windows beside it.

    With `vectorized` the windows hold few events, and `LANES` are visited at once. An
    object that is `dense` has a snapshot at each event: its times are theirs, and only
    values are written. With `recomputes` these are not either: readers compute them
    from the event and the one before. With `scans` prefix scans of all the past give
    all that it sees of windows.
    """

    operands: Operands
    point: CutPoint
    advances: tuple[tuple[Window, Advance], ...]
    vectorized: bool
    dense: bool
    recomputes: bool
    scans: bool


@dataclass(frozen=True, slots=True)
class EdgeScan:
    """Windows that move from row bound to row bound, without bounds checks."""

    operands: Operands


@dataclass(frozen=True, slots=True)
class RowScan:
    """One visit a row of `input`, with whatever is seen at its stamp beside it.

    With `in_halves` the rows of both halves go by together, each with cursors of its
    own: these wait for memory, but not for each other.
    """

    operands: Operands
    input: str
    in_halves: bool


LoopPlan = RowMap | RowScan | MergeScan | EventScan | EdgeScan | SweepScan
Scan = MergeScan | EventScan | EdgeScan | SweepScan


@dataclass(frozen=True, slots=True)
class LoopChoice:
    """The plan of one object's loop, and why each more special one was refused.

    `windows` has the choice for each window of a scan. The snapshots of a `distinct`
    object are joined after the visits.
    """

    name: str
    plan: LoopPlan
    refusals: tuple[tuple[str, Refusal], ...]
    windows: tuple[WindowChoice, ...] = ()
    distinct: bool = False

    @property
    def is_special(self) -> bool:
        """Return whether it is more than what serves any rows at all."""
        match self.plan:
            case SweepScan(operands):
                cursors = bool(operands.cursor_windows)
                return cursors or folds_rows(operands) or counts_matches(operands)
            case RowScan(operands):
                counts = counts_matches(operands)
                return self.plan.in_halves or counts or bool(operands.cursor_windows)
            case _:
                return True


def folds_rows(operands: Operands) -> bool:
    """Decide whether a scan keeps nothing of its windows from visit to visit."""
    plans = [plan for _, plan in operands.windows]
    return bool(plans) and all(plan is WindowPlan.TUMBLING_FOLD for plan in plans)


def counts_matches(operands: Operands) -> bool:
    """Decide whether a scan counts rows that compare with the present by their keys."""
    counts = PresentPlan.HASH_COUNTS, PresentPlan.RANK_COUNTS
    return any(each.plan in counts for each in operands.present)

"""The slots of a kernel's argument array."""

from enum import StrEnum

from tiltpy.lean_dataclass import dataclass


class SlotKind(StrEnum):
    """The content of a slot.

    `object` is an input's name, an output's for `OUT_*`, a string or a pattern.
    """

    ROWS = "rows"
    START = "start"
    PERIOD = "period"
    BEFORE = "before"
    """The ticks between the start of a row of an input and its stamp."""
    STARTS = "starts"
    ENDS = "ends"
    VALUES = "values"
    VALIDITY = "validity"
    VALIDITY_OFFSET = "validity_offset"
    FIRST = "first"
    """The first grid point or row of an object's loop (see `Loop`)."""
    LAST = "last"
    """The last one."""
    REACHED = "reached"
    """The last grid point that a call owns of an object, where its states are left; no
    time at all if it owns none."""
    CLIP_LOW = "clip_low"
    """A temporal object with a finite domain: the bounds that clip its snapshots."""
    CLIP_HIGH = "clip_high"
    OUT_STARTS = "out_starts"
    OUT_ENDS = "out_ends"
    OUT_VALUES = "out_values"
    OUT_VALIDITY = "out_validity"
    """One byte per snapshot; only for the fields of a struct."""
    OUT_COUNT = "out_count"
    """Written by the kernel: the number of its snapshots."""
    OUT_BEGINS = "out_begins"
    """Vector kernels: a bit for each cell, 1 where a snapshot begins. Its value is the
    next of `OUT_VALUES`. Distinct maps over rows: a byte for each row."""
    OUT_COVERED = "out_covered"
    """Vector kernels: a bit for each cell, 1 where there is a snapshot at all. Distinct
    maps over rows: a byte for each row."""
    LOW = "low"
    """Vector kernels (without an object): the time range is `(LOW, HIGH]`."""
    HIGH = "high"
    SCRATCH = "scratch"
    """The address of scratch array number `column`."""
    STATE = "state"
    """The address of state array number `column`, of one entry: what a call leaves for
    the one whose time range begins where its own ends, as its `CONTROL` says."""
    KEYS = "keys"
    """Pre-aggregation: the input's key column, or a code for each row."""
    LEAST = "least"
    """The least key."""
    KEY_COUNT = "key_count"
    PANE_ROWS = "pane_rows"
    """The row at which each pane begins, and that at which the last one ends."""
    PANE_COUNT = "pane_count"
    STATES = "states"
    """Array number `column` of the states that the fold writes."""
    LOST = "lost"
    """Written by the kernel: the number of rows whose key was out of range."""
    SHIFT = "shift"
    """The pane that cell 0 of an output would begin with, counted from the first."""
    KEY_LOW = "key_low"
    """The keys whose cells are wanted: from this one up to `KEY_HIGH`, exclusive."""
    KEY_HIGH = "key_high"
    CODE = "code"
    """The code of the string that `object` is."""
    STRINGS = "strings"
    """The number of codes, at least 1."""
    STARTS_WITH = "starts_with"
    """A bool for each code (bytes): whether its string starts with `object`."""
    ENDS_WITH = "ends_with"
    CONTAINS = "contains"
    MATCHES = "matches"
    AMONG = "among"
    """A bool for each code (bytes): whether `object` lists its string, in JSON."""

    MADE = "made"
    """Array number `column` of the table of a function of strings, whose key is
    `object`: its results, whether each is there (bytes), and with two operands the
    summands of an index into these (i64), by the code of each operand."""

    ZONE = "zone"
    """Array number `column` of the UTC offsets of the time zone `object` (`zones`)."""


OF_STRINGS = (
    SlotKind.CODE, SlotKind.STRINGS, SlotKind.STARTS_WITH, SlotKind.ENDS_WITH,
    SlotKind.CONTAINS, SlotKind.MATCHES, SlotKind.AMONG, SlotKind.MADE,
)  # fmt: skip
"""The slots that depend on the run's dictionary of strings."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One 64-bit slot of a kernel's argument array."""

    kind: SlotKind
    object: str
    column: int = 0

"""All routines, with their arguments in order."""

from tiltpy.abi.signature import LANES
from tiltpy.routines.routine import Routine

SPARE = LANES
"""Entries that a routine may write behind the last one of an array that it packs."""
RECORD_BYTES = 64
"""Bytes of a record of a key: a cache line."""
RECORD_NUMBERS = 8
"""Numbers of 64 bits for which such a record has room."""
WORD = 8
"""Bytes of a text that are copied at once."""
BYTES_BEHIND = 3
"""Bytes that are read behind the bits of cells."""

EXPAND_ALL = Routine("times of all cells")
"""Times of snapshots that are one cell, where each cell is one.

The number of time ranges; the period; for each range its low end, its cells and its
first row; the starts and the ends, with `SPARE` entries behind the last row.
"""
EXPAND_CELLS = Routine("times of cells")
"""Times of snapshots that are one cell.

As for all cells; a bit for each cell that is one; for each range its first byte.
"""
EXPAND_RUNS = Routine("times of runs of cells")
"""Times of snapshots that may be longer than a cell.

As for cells, but the ends have an entry more in front; a bit for each cell that has a
snapshot; for each range the end of the snapshot carried into it, written if there is
one.
"""
SELECT_ENTRIES = Routine("selected entries")
"""Copies of the numbers of 64 bits whose flag is set, one behind the other.

How many numbers there are; they; a bool for each; where they go, with `SPARE` entries
behind.
"""
FIND_RUNS = Routine("snapshots in ranges of keys")
"""The snapshots in the time ranges of keys, of which one may be in several.

How many snapshots and keys there are; starts and ends in order; for each key its range
`(low, high]`, in order. Then what is written: for each key its first snapshot; their
counts, and of the snapshots that go on behind a range.
"""
CUT_RUNS = Routine("snapshots cut by key")
"""Times of the snapshots of keys, cut to their ranges and shifted.

How many keys there are; for each the first of its snapshots, how many it has, its range
and its shift, which is subtracted; starts and ends. Then where these go, one behind the
other: the same arrays, if no snapshot is in several ranges.
"""
COPY_RUNS = {bits: Routine(f"runs of {bits} bits") for bits in (32, 64)}
"""Runs of values of some bits, copied one behind the other.

How many runs and values there are; for each run its first value, and how many it has;
the values; where they go, with `SPARE` entries behind.
"""
CLOSE_KEYS = Routine("snapshots closed by key")
"""Snapshots of keys that are final, and those that may go on.

How many keys there are; how many snapshots were made, and how many can be final; what
is written there: how many are, how many of these were open, and how many others wait.
The code of each key; the counts of the snapshots that were made, by key, their starts
and ends. The starts and ends of open snapshots in records by code, which are changed;
the end is `EARLIEST` where there is none. For each key the seam before which the first
that was made began where it is the open one, the time up to which all was computed, and
the end of its domain. Then what is written in columns. For the final ones: starts,
ends, and their numbers, those of open ones behind those that were made. With room for
an entry for each key: the counts of the final ones; the codes of the open ones among
these; the codes of those that wait, and their numbers. A bool for each key: whether its
last snapshot goes on behind the domain, and whether that is open.
"""
SEARCH_LEFT = Routine("times searched in slices, left")
"""Search the row at which a time belongs in each of many slices, before equal ones.

How many slices there are; the times; for each slice its first row, the row behind it,
and the time; where the row is written.
"""
SEARCH_RIGHT = Routine("times searched in slices, right")
"""Search the row behind equal ones; the arguments are those of `SEARCH_LEFT`."""
JOIN_CELLS = Routine("snapshots of cells by key")
"""Snapshots of keys from their cells, in matrices with a row of keys for each cell.

How many keys there are, and how many a row has. For each key its place in a row, its
first cell and the one behind its last, and its time range `(low, high]`. The times
between cells, one more than those; for each entry of the matrices whether a cell has a
value, and whether a snapshot begins there anyway. Then what is written, at most a
snapshot for each cell: starts, ends, the entry of each snapshot's first cell; and the
counts of the keys.
"""
LAY_OUT_KEYS = Routine("time ranges of concatenated keys")
"""Shifts of keys to time ranges behind one another, at multiples of a precision.

How many keys there are; the ticks between them; the precision; the ticks of all time
ranges, at most; for each key its times `(low, high]`. Then what is written: the shift
of each, and the ticks of all, which are more than the most if there are too many.
"""
SHIFT_BY_KEY = Routine("times shifted by key")
"""Times of rows, key after key, each with the shift of its key added.

How many keys and rows there are; the rows of each key, and its shift; the times; where
they go.
"""
SHIFT_POINTS = Routine("points shifted by key")
"""Ends of points, key after key, each with the shift of its key added, and starts.

As for times; then where the starts go.
"""
REPEAT_NUMBERS = Routine("repeated numbers")
"""Numbers of 64 bits, each repeated as often as a count says.

How many numbers there are; their counts; they; where they go, with `SPARE` entries
behind.
"""
REPEAT_TEXTS = Routine("repeated texts")
"""The bytes of texts, each repeated as often as a count says, one behind the other.

How many are taken; their numbers, counts and sizes. Where each text begins; the bytes
of all, and `WORD` more. Then what is written: behind a first entry, where each ends;
the bytes, with room for `WORD` more.
"""
COUNT_CODES = Routine("rows of each code")
"""Counts of the rows that have each code.

The first row and the last, exclusive; a code for each row (32 bits); the counts, to
which the rows are added.
"""
PLACE_ROWS = Routine("places of rows by code")
"""The place of each row in the order of rows by code, stable.

As for the counts; the place of the next row of each code, which moves on; the place of
each row (32 bits).
"""
SCATTER = {bits: Routine(f"{bits} bits moved to places") for bits in (32, 64)}
"""Values of some bits, moved to the places of their rows.

The first row and the last, exclusive; the place of each row (32 bits); their values;
where they go.
"""
GATHER = {bits: Routine(f"{bits} bits taken in order") for bits in (32, 64)}
"""Values of some bits, in another order of their rows.

The first and the last, exclusive, of that order; it (32 bits); the values of all rows;
where they go.
"""
JOIN_ROWS = Routine("rows joined by key")
"""Rows that keys have, and behind them those that came, key after key.

How many keys there are, how many rows came, and the number of the first of these. The
code of each key; the code of each row that came; the key of each code. The starts and
ends of all rows, by their numbers. For each code a pair: the first row that it has, and
how many, of which none is left. Then what is written in two arrays of columns. For each
key: its first row among those of all keys, and how many it has; the first start and the
greatest end of those that came; the greatest end of all, the greatest one that is no
hold, and the greatest start. For each row, in the order of the keys: its number, start
and end, and a column for scratch. Then how many rows the latter have room for: if that
is no more than came, keys have none; and where it is written whether a row starts, and
whether one ends, before the one before it ends, and how many rows all keys have.
"""
KEEP_ROWS = Routine("rows needed by key")
"""Rows of keys that end behind a horizon, and the last ones that start before it.

How many keys there are; where it is written how many rows are needed; whether all are
points; how many of the last rows are needed anyway. The counts of the rows by key,
their starts and ends; the horizon of each key. Then what is written: the counts of the
rows that are needed, and their numbers, with an entry more than there are rows.
"""
TOUCH_KEYS = Routine("distinct codes")
"""Codes of keys, each listed once.

How many codes come; how many are listed, written back. They; the list; the place of
each code in it, or anything of one that is not listed.
"""
TAKE_DUE = Routine("keys that are due")
"""Keys that are due by now, of those that are listed with their times.

How many are listed, written back; the time that it is; what is written there, how many
are due, and how many others are over; whether it is known which are. Their codes and
times, from which those whose time has come are taken out; in records by code the times,
`NEVER` of those that were taken, and a bool for a key that is over. Then what is
written, as long as the list: the codes of the keys that are due and not over, and of
the others.
"""
LIST_DUE = Routine("keys due up to a limit")
"""Keys of a table that are due up to a limit, listed with their times.

How many keys there are; the limit; how many are listed, and written back, how many
would be; how many there is room for. The times in records by code; then what is
written: the codes and times that are listed.
"""
LIST_NAMED_DUE = Routine("some keys due up to a limit")
"""As `LIST_DUE`, of some keys: takes arrays of their times and of their codes."""
RETIRE_KEYS = Routine("keys retired")
"""Keys of which nothing is to be computed before they have other rows.

How many keys there are, and how many are computed anyway; the time that it is; whether
nothing of them goes on; what is written there, how many are listed. Their codes, each
once; the codes of those that are computed, and the entry of each code there, as by
`TOUCH_KEYS`. In records by code: up to when keys are done, and whether they are live,
both of which are changed. Then what is written: the codes of those that are not
computed.
"""
DROP_ROWS = Routine("rows of keys dropped")
"""Rows that keys have, of which none is left.

How many keys there are; what is written there, how many rows they had; their codes,
each once; the first row of each code, and how many it has, in pairs.
"""
APPEND_TO_RUNS = Routine("rows appended to runs")
"""Rows in the next slots, appended to sorted runs (see `kernels/sorted_runs.py`).

The first slot and the last, exclusive; the runs so far, and the one of the row before,
which are written back. By slot, with `SPARE` entries behind: starts, and the row that
follows (32 bits). By run, with an entry for each run and each new row, and `SPARE` at
least: the start of its first row, that of its last (`NEVER` where there is no run), the
slots of both.
"""
RELEASE_HEADS = Routine("heads of runs")
"""The rows of sorted runs that start before a time, in order of start, then slot.

The time; the runs, which are written back; what is written there as well, the rows.
The arrays of rows and runs as above. The starts of the rows in order, their slots (32
bits), and two arrays like these, for copies, of starts twice as many: there is an entry
in front of both starts, and `SPARE` behind all four. For scratch, twice an entry for
each run and one more, and `DIGIT_PLACES`.
"""
CODE_NUMBERS = Routine("codes of numbers")
"""The code of each number of 64 bits: how many others came before it.

How many numbers there are; the slots of the table; how many numbers are known, written
back. The numbers; the table (32 bits, zero where a slot is free), with twice as many
slots as numbers that may be known; the known ones by code, behind an entry that is not
used; where the codes go.
"""
CODE_TEXTS = Routine("codes of texts")
"""The code of each text, likewise.

Numbers as for numbers. Where each text begins and the last one ends, and their bytes;
the table; such offsets and bytes of the known ones; where the codes go.
"""
DIGIT_BITS = 11
"""Of the longest digits of a radix sort: the second cache has a line for each value."""
SHORT_DIGIT_BITS = 9
"""Of shorter ones, where as many serve: the first cache has room for their places."""
SHARES = 2
"""Of the numbers, which a radix sort visits side by side."""
DIGIT_PLACES = SHARES << DIGIT_BITS
"""Entries for the places of a digit's values in a radix sort."""
MOST_DIGITS = 5
"""That a radix sort looks at: 55 bits."""
SORT_BY_DIGITS = {
    bits: Routine(f"numbers sorted by digits of {bits} bits")
    for bits in (SHORT_DIGIT_BITS, DIGIT_BITS)
}
"""Unsigned numbers of 64 bits, sorted stably by their highest digits.

How many numbers there are, and how many digits, `MOST_DIGITS` at most; what is written
there, where they begin in the end. The numbers, with room for as many behind them; for
scratch, `DIGIT_PLACES` entries.
"""
COUNT_INVERSIONS = Routine("inversions")
"""Pairs of numbers in the wrong order; the numbers are sorted.

How many numbers there are; what is written there, the pairs; the numbers, and as many
for copies, both with `SPARE` entries behind.
"""
FIND_STEPS = Routine("steps")
"""The least and the greatest step from a number to the next one.

How many numbers there are; what is not read; the numbers. In place of the first two the
least step and the greatest are written, `ENDLESS` and `-ENDLESS` where there is none. A
step back counts as -1, and one that is too long for 64 bits is negative, too.
"""
PLACE_STAMPS = Routine("times of stamps")
"""The times of events by their stamps, at least one, and the steps between these.

How many stamps there are; the ticks from a start to its stamp, and from that to the
end; how many go through the caches, as in `COPY_ENTRIES`; the stamps; where the starts
go, and the ends. In place of the first four are written the least step and the
greatest, as by `FIND_STEPS`, and the first stamp and the last.
"""
COPY_ENTRIES = {bits: Routine(f"{bits} bits copied") for bits in (32, 64)}
"""Entries of so many bits, copied past the caches.

How many there are; how many of the first go through the caches; the entries; where they
go. The address behind those first ones is that of a cache line, if there are others.
"""
END_ROWS = Routine("ends of held rows")
"""The ends of rows that hold until the next greater start, at least one, in order.

How many rows there are; the end of the last ones; the ticks that a row holds at most,
`ENDLESS` where that is not limited; the starts; where the ends go. In place of the
first is written the number of the first row that has the last start.
"""

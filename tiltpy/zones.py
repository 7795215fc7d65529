"""Time zones: the nearest name of an unknown one, UTC offsets as tables for kernels.

The zones are those that `zoneinfo` knows, of the system or of the package `tzdata`.
"""

import re
import zoneinfo
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from struct import unpack_from
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tiltpy.lean_dataclass import dataclass
from tiltpy.messages import closest

CYCLE = 146097 * 86400
"""The seconds of 400 years, after which the Gregorian calendar, and with it every rule
of a zone, repeats."""
FIRST = -(1 << 32)
"""The seconds since 1970 before which no zone has a change of its offset: 1833."""
LAST = (
    datetime(2500, 1, 1, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
).days * 86400
"""The seconds since 1970 from which the last `CYCLE` of a table repeats."""
BUCKET = 1 << 21
"""The seconds of a bucket of a table: 24 days."""
BUCKETS = (LAST - FIRST) // BUCKET + 1
CHANGES_PER_BUCKET = 2
Seconds = npt.NDArray[np.int64]
_NEVER = 1 << 62
_ABBREVIATION = 5
"""The most letters of `CEST` and its like, which are no zones: some mean several."""
_PROBE = 20 * 86400
"""The seconds between two looks at a zone that changes by a rule."""
_OFFSET = re.compile(r"[+-](?:[01]\d|2[0-3]):[0-5]\d")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ZoneTable:
    """The UTC offsets of a zone, in seconds.

    `offsets[k]` holds from `changes[k]` on, and `before[b]` is the `k` at the start of
    bucket `b`. At most `CHANGES_PER_BUCKET` changes follow inside the bucket.
    """

    before: Seconds
    changes: Seconds
    offsets: Seconds

    @property
    def arrays(self) -> tuple[Seconds, Seconds, Seconds]:
        """All of it, as kernels number it."""
        return self.before, self.changes, self.offsets

    def offset_at(self, seconds: int) -> int:
        """Look an offset up as kernels do, by seconds since 1970."""
        if seconds >= LAST:
            seconds = LAST - CYCLE + (seconds - LAST) % CYCLE
        k = int(self.before[min(max((seconds - FIRST) // BUCKET, 0), BUCKETS - 1)])
        for _ in range(CHANGES_PER_BUCKET):
            k += bool(seconds >= self.changes[k + 1])
        return int(self.offsets[k])


def find_zone_fault(name: str) -> str | None:
    """Hint at the nearest zone where there is none of a name; None where there is."""
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        if name.isupper() and len(name) <= _ABBREVIATION:
            return 'zones have the name of a place, like "Europe/Berlin"'
        close = closest(name, zoneinfo.available_timezones())
        return f'did you mean "{close}"?' if close else 'like "Europe/Berlin" or "UTC"'
    return None


@cache
def find_stamp_zone_fault(zone: str) -> str | None:
    """Hint at what the zone of Arrow's stamps may mean, where it is none.

    Besides the names of zones they have offsets from UTC, like `+02:00`.
    """
    return None if _OFFSET.fullmatch(zone) else find_zone_fault(zone)


@cache
def zone_table(name: str) -> ZoneTable:
    """Make the table of a zone that exists."""
    zone = zoneinfo.ZoneInfo(name)
    changes, offsets = [FIRST - BUCKET], [_offset(zone, FIRST)]
    for seconds in _changes(zone, name):
        offset = _offset(zone, seconds)
        if offset != offsets[-1]:
            changes.append(seconds)
            offsets.append(offset)
    starts = np.arange(FIRST, LAST + BUCKET, BUCKET, dtype=np.int64)
    before = np.searchsorted(changes, starts, "right") - 1
    most = int(np.diff(before).max())
    assert most <= CHANGES_PER_BUCKET, f"{name} changes {most} times in a bucket"
    changes += [_NEVER] * CHANGES_PER_BUCKET
    return ZoneTable(before.astype(np.int64), np.array(changes), np.array(offsets))


def _changes(zone: zoneinfo.ZoneInfo, name: str) -> Iterator[int]:
    """Find when a zone's offset may change, in order: as listed, then by its rule."""
    seconds = FIRST
    for seconds in _listed_changes(name):
        yield seconds
    for early, late in pairwise(range(seconds, LAST + _PROBE, _PROBE)):
        if _offset(zone, early) != _offset(zone, late):
            yield _find_change(zone, early, late)


def _find_change(zone: zoneinfo.ZoneInfo, early: int, late: int) -> int:
    """Find the second at which the only change between two times takes place."""
    before = _offset(zone, early)
    while late - early > 1:
        middle = (early + late) // 2
        if _offset(zone, middle) == before:
            early = middle
        else:
            late = middle
    return late


def _offset(zone: zoneinfo.ZoneInfo, seconds: int) -> int:
    """Find the offset of a zone at a time, in seconds."""
    offset = (_EPOCH + timedelta(seconds=seconds)).astimezone(zone).utcoffset()
    assert offset is not None
    return round(offset.total_seconds())


def _listed_changes(name: str) -> tuple[int, ...]:
    """Read the times in the file of a zone (RFC 9636), which `zoneinfo` keeps private.

    Each of two headers counts the entries of the arrays behind it. The first arrays
    have times of 32 bits; a file of version 1 has no others.
    """
    content = _read(name)
    header, width, times = 0, "l", _counts(content, 0).times
    if content[4:5] != b"\0":
        header, width = _HEADER + _counts(content, 0).size, "q"
        times = _counts(content, header).times
    return unpack_from(f">{times}{width}", content, header + _HEADER)


_HEADER = 44
"""The bytes of a header."""


class _Counts(NamedTuple):
    """The counts of a header: flags, leap seconds, times, types, letters."""

    utc_flags: int
    standard_flags: int
    leaps: int
    times: int
    types: int
    letters: int

    @property
    def size(self) -> int:
        """The bytes of the arrays, with times of 32 bits."""
        flags = self.utc_flags + self.standard_flags
        return 5 * self.times + 6 * self.types + self.letters + 8 * self.leaps + flags


def _counts(content: bytes, header: int) -> _Counts:
    return _Counts._make(unpack_from(">6l", content, header + 20))


def _read(name: str) -> bytes:
    """Read the file of a zone, from the first place that has it."""
    for folder in zoneinfo.TZPATH:
        path = Path(folder, name)
        if path.is_file():
            return path.read_bytes()
    return files("tzdata").joinpath("zoneinfo", name).read_bytes()

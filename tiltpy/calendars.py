"""Cells of calendars for many times at once: their bounds, in ticks."""

import numpy as np
import numpy.typing as npt

from tiltpy.types import NANOSECONDS, Calendar, TDom
from tiltpy.zones import CYCLE, LAST, ZoneTable, zone_table

Times = npt.NDArray[np.int64]
_DAY = 86400


def cell_numbers(calendar: Calendar, times: Times) -> Times:
    """Number the cells that hold some times."""
    seconds = _scale(times, NANOSECONDS[calendar.unit], NANOSECONDS["s"])
    local = seconds
    if calendar.zone:
        table = zone_table(calendar.zone)
        local = seconds + table.offsets[_changes_by(table, seconds)[0]]
    days = local // _DAY
    if calendar.months:
        months = days.astype("M8[D]").astype("M8[M]").astype(np.int64)
        numbers = months // calendar.months
    else:
        numbers = (days - calendar.origin) // calendar.days
    # A date may come twice; its cell goes on until the next date begins.
    later: Times = numbers + (cell_starts(calendar, numbers + 1) < times)
    return later


def cell_starts(calendar: Calendar, numbers: Times) -> Times:
    """Find the ticks after which cells start."""
    if calendar.months:
        months = (numbers * calendar.months).astype("M8[M]")
        days = months.astype("M8[D]").astype(np.int64)
    else:
        days = numbers * calendar.days + calendar.origin
    seconds = days * _DAY
    if calendar.zone:
        seconds = _first_instants(zone_table(calendar.zone), seconds)
    return _scale(seconds, NANOSECONDS["s"], NANOSECONDS[calendar.unit]) - 1


def round_up(tdom: TDom, times: Times) -> Times:
    """Find the ends of the cells that hold some times."""
    if tdom.calendar is None and tdom.precision == 1:
        return times
    if tdom.calendar is None:
        ends: Times = times + (tdom.offset - times) % tdom.precision
        return ends
    return cell_starts(tdom.calendar, cell_numbers(tdom.calendar, times) + 1)


def end_of_cell(tdom: TDom, time: int) -> int:
    """Find the end of the cell that holds a time."""
    if tdom.calendar is None:
        return tdom.ceil(time)
    return int(round_up(tdom, np.array([time], np.int64))[0])


def _scale(times: Times, unit: int, target: int) -> Times:
    """Convert times from a unit to another, of which one divides the other."""
    scaled: Times = (
        times * (unit // target) if unit > target else times // (target // unit)
    )
    return scaled


def _changes_by(table: ZoneTable, seconds: Times) -> tuple[Times, Times]:
    """Find the offsets that hold at some times, and since when."""
    beyond = np.maximum(seconds - LAST, -1) // CYCLE + 1
    known = seconds - beyond * CYCLE
    # What the first one changes to holds before it, too.
    changes = np.maximum(np.searchsorted(table.changes, known, "right") - 1, 0)
    return changes, table.changes[changes] + beyond * CYCLE


def _first_instants(table: ZoneTable, midnights: Times) -> Times:
    """Find the first instants of dates, by the seconds of their local midnights.

    Where the offset changes within a day of one, the date begins as the clocks go
    before the change, or at it, or as they go after it.
    """
    early, _ = _changes_by(table, midnights - _DAY)
    late, since = _changes_by(table, midnights + _DAY)
    before = midnights - table.offsets[early]
    after = midnights - table.offsets[late]
    instants: Times = np.where(before < since, before, np.maximum(since, after))
    return instants

"""Cells of calendars: the one that holds a tick, and where it and others start."""

from tiltpy.emit.builder import Block
from tiltpy.emit.dates import (
    DAY,
    date_of,
    divide,
    first_day_of,
    offset_since,
    seconds_of,
    utc_offset,
)
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import add, convert, greatest, i64, lt, mul, select, sub
from tiltpy.loops.nodes import LExpr
from tiltpy.types import I64, NANOSECONDS, Calendar


@dataclass(frozen=True, slots=True)
class CellBounds:
    """The cells of a calendar around a tick, by their numbers from the first on."""

    block: Block
    calendar: Calendar
    number: LExpr

    @staticmethod
    def at(block: Block, calendar: Calendar, tick: LExpr) -> "CellBounds":
        """Append the search of the cell that holds a tick."""
        seconds = seconds_of(block, tick, calendar.unit)
        if calendar.zone:
            seconds = add(seconds, utc_offset(block, seconds, calendar.zone))
        date = date_of(block, seconds)
        if calendar.months:
            years = sub(date.year(), i64(1970))
            month = add(mul(years, i64(12)), sub(date.month(), i64(1)))
            number = divide(month, calendar.months)
        else:
            number = divide(sub(date.days, i64(calendar.origin)), calendar.days)
        number = block.name("cell", number)
        if not calendar.zone:
            return CellBounds(block, calendar, number)
        # A date may come twice; its cell goes on until the next date begins.
        later = lt(CellBounds(block, calendar, number).start(1), tick)
        number = block.name("cell", add(number, convert(later, I64)))
        return CellBounds(block, calendar, number)

    def start(self, ahead: int) -> LExpr:
        """The tick after which a cell starts, so many cells ahead of this one."""
        block, calendar = self.block, self.calendar
        number = add(self.number, i64(ahead))
        if calendar.months:
            day = first_day_of(block, mul(number, i64(calendar.months)))
        else:
            day = mul(number, i64(calendar.days))
            day = add(day, i64(calendar.origin))
        seconds = block.name("midnight", mul(day, i64(DAY)))
        if calendar.zone:
            seconds = self._first_instant(seconds)
        size, second = NANOSECONDS[calendar.unit], NANOSECONDS["s"]
        if size > second:
            ticks = divide(seconds, size // second)
        else:
            ticks = mul(seconds, i64(second // size))
        return block.name("start", sub(ticks, i64(1)))

    def _first_instant(self, midnight: LExpr) -> LExpr:
        """The first instant of a date (see `calendars._first_instants`)."""
        block, zone = self.block, self.calendar.zone
        early, _ = offset_since(block, sub(midnight, i64(DAY)), zone)
        late, since = offset_since(block, add(midnight, i64(DAY)), zone)
        before = block.name("before", sub(midnight, early))
        since = block.name("since", since)
        after = greatest(since, sub(midnight, late))
        return select(lt(before, since), before, after)

"""Dates: components of a time, cells of a calendar, and the look-up of UTC offsets.

Dates by H. Hinnant's `civil_from_days`: years begin in March and are counted within
cycles of 400, so that the day of the year gives the month by one division.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from tiltpy.abi.slots import SlotKind
from tiltpy.emit.builder import Block
from tiltpy.ir.nodes import DateComponent
from tiltpy.loops.build import (
    add,
    binary,
    conj,
    convert,
    disj,
    eq,
    greatest,
    i64,
    le,
    least,
    load,
    lt,
    mul,
    ne,
    select,
    sub,
)
from tiltpy.loops.nodes import LExpr
from tiltpy.ops import Component
from tiltpy.types import I64, NANOSECONDS, Calendar, Unit
from tiltpy.zones import BUCKET, BUCKETS, CHANGES_PER_BUCKET, CYCLE, FIRST, LAST

_DAY = 86400
_MARCH_1 = 719468
"""The days from 1 March of year 0 to 1970."""
_DAYS_PER_CYCLE = 146097
_THURSDAY = 3
"""The weekday of 1 January 1970."""
_MARCH_TO_NEW_YEAR = 306
_JANUARY_AND_FEBRUARY = 59


def lower_date_component(block: Block, component: DateComponent, time: LExpr) -> LExpr:
    """Append the computation of a component of the local date of a time."""
    seconds = _seconds(block, time, component.unit)
    if component.zone:
        seconds = add(seconds, _utc_offset(block, seconds, component.zone))
        seconds = block.name("local", seconds)
    return _COMPONENTS[component.component](block, seconds)


def _seconds(block: Block, time: LExpr, unit: Unit) -> LExpr:
    """The whole seconds since 1970."""
    size, second = NANOSECONDS[unit], NANOSECONDS["s"]
    if size > second:
        return block.name("seconds", mul(time, i64(size // second)))
    return block.name("seconds", _divide(time, second // size))


def _utc_offset(block: Block, seconds: LExpr, zone: str) -> LExpr:
    """The offset of a zone."""
    return _offset_since(block, seconds, zone)[0]


def _offset_since(block: Block, seconds: LExpr, zone: str) -> tuple[LExpr, LExpr]:
    """The offset of a zone and since when it holds, from a `zones.ZoneTable`."""
    builder = block.builder
    before, changes, offsets = (
        builder.array(SlotKind.ZONE, zone, I64, column) for column in range(3)
    )
    again = binary("%", sub(seconds, i64(LAST)), i64(CYCLE))
    again = add(again, i64(LAST - CYCLE))
    known = block.name("known", select(lt(seconds, i64(LAST)), seconds, again))
    bucket = _divide(sub(known, i64(FIRST)), BUCKET)
    bucket = greatest(i64(0), least(bucket, i64(BUCKETS - 1)))
    k = block.name("change", load(before, block.name("bucket", bucket)))
    for _ in range(CHANGES_PER_BUCKET):
        follows = le(load(changes, add(k, i64(1))), known)
        k = block.name("change", add(k, convert(follows, I64)))
    since = add(load(changes, k), sub(seconds, known))
    return load(offsets, k), since


def _divide(number: LExpr, by: int) -> LExpr:
    """The quotient, rounded down."""
    return number if by == 1 else binary("//", number, i64(by))


def _remainder(number: LExpr, by: int) -> LExpr:
    return binary("%", number, i64(by))


@dataclass(frozen=True)
class _Date:
    """A date, by days since 1970, in a year that begins in March."""

    block: Block
    days: LExpr

    @cached_property
    def cycle(self) -> LExpr:
        """The number of the cycle of 400 years."""
        days = add(self.days, i64(_MARCH_1))
        return self.block.name("cycle", _divide(days, _DAYS_PER_CYCLE))

    @cached_property
    def day_of_cycle(self) -> LExpr:
        """The days since it began."""
        begun = sub(mul(self.cycle, i64(_DAYS_PER_CYCLE)), i64(_MARCH_1))
        return self.block.name("day", sub(self.days, begun))

    @cached_property
    def year_of_cycle(self) -> LExpr:
        """The year within the cycle, from 0: days without leap days, by 365."""
        day = self.day_of_cycle
        plain = sub(day, _divide(day, 1460))
        plain = sub(add(plain, _divide(day, 36524)), _divide(day, 146096))
        return self.block.name("year", _divide(plain, 365))

    @cached_property
    def day_of_year(self) -> LExpr:
        """The days since 1 March."""
        year = self.year_of_cycle
        begun = add(mul(year, i64(365)), _divide(year, 4))
        begun = sub(begun, _divide(year, 100))
        return self.block.name("day", sub(self.day_of_cycle, begun))

    @cached_property
    def month_of_year(self) -> LExpr:
        """The months since March."""
        fifths = add(mul(self.day_of_year, i64(5)), i64(2))
        return self.block.name("month", _divide(fifths, 153))

    @cached_property
    def after_new_year(self) -> LExpr:
        """Whether it is in January or February."""
        return le(i64(_MARCH_TO_NEW_YEAR), self.day_of_year)

    def year(self) -> LExpr:
        years = add(self.year_of_cycle, mul(self.cycle, i64(400)))
        return add(years, convert(self.after_new_year, I64))

    def month(self) -> LExpr:
        shift = select(self.after_new_year, i64(-9), i64(3))
        return self.block.name("month", add(self.month_of_year, shift))

    def day(self) -> LExpr:
        begun = add(mul(self.month_of_year, i64(153)), i64(2))
        return add(sub(self.day_of_year, _divide(begun, 5)), i64(1))

    def yearday(self) -> LExpr:
        year = self.year_of_cycle
        century = _remainder(year, 100)
        leap = conj(
            eq(_remainder(year, 4), i64(0)),
            disj(ne(century, i64(0)), eq(year, i64(0))),
        )
        before_march = add(convert(leap, I64), i64(_JANUARY_AND_FEBRUARY))
        shift = select(self.after_new_year, i64(-_MARCH_TO_NEW_YEAR), before_march)
        return add(add(self.day_of_year, shift), i64(1))


@dataclass(frozen=True, slots=True)
class CellBounds:
    """The cells of a calendar around a tick, by their numbers from the first on."""

    block: Block
    calendar: Calendar
    number: LExpr

    @staticmethod
    def at(block: Block, calendar: Calendar, tick: LExpr) -> "CellBounds":
        """Append the search of the cell that holds a tick."""
        seconds = _seconds(block, tick, calendar.unit)
        if calendar.zone:
            seconds = add(seconds, _utc_offset(block, seconds, calendar.zone))
        date = _date(block, seconds)
        if calendar.months:
            years = sub(date.year(), i64(1970))
            month = add(mul(years, i64(12)), sub(date.month(), i64(1)))
            number = _divide(month, calendar.months)
        else:
            first = _first_monday(calendar)
            number = _divide(sub(date.days, i64(first)), calendar.days)
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
            day = _first_day(block, mul(number, i64(calendar.months)))
        else:
            day = mul(number, i64(calendar.days))
            day = add(day, i64(_first_monday(calendar)))
        seconds = block.name("midnight", mul(day, i64(_DAY)))
        if calendar.zone:
            seconds = self._first_instant(seconds)
        size, second = NANOSECONDS[calendar.unit], NANOSECONDS["s"]
        if size > second:
            ticks = _divide(seconds, size // second)
        else:
            ticks = mul(seconds, i64(second // size))
        return block.name("start", sub(ticks, i64(1)))

    def _first_instant(self, midnight: LExpr) -> LExpr:
        """The first instant of a date (see `calendars._first_instants`)."""
        block, zone = self.block, self.calendar.zone
        early, _ = _offset_since(block, sub(midnight, i64(_DAY)), zone)
        late, since = _offset_since(block, add(midnight, i64(_DAY)), zone)
        before = block.name("before", sub(midnight, early))
        since = block.name("since", since)
        after = greatest(since, sub(midnight, late))
        return select(lt(before, since), before, after)


def _first_monday(calendar: Calendar) -> int:
    return 4 if calendar.step == "w" else 0


def _first_day(block: Block, months: LExpr) -> LExpr:
    """The first day of a month, counted from January 1970."""
    march = block.name("march", add(months, i64(12 * 1970 - 2)))
    year = block.name("year", _divide(march, 12))
    since = block.name("since", _remainder(march, 12))
    days = _divide(add(mul(since, i64(153)), i64(2)), 5)
    days = add(days, mul(year, i64(365)))
    days = add(sub(add(days, _divide(year, 4)), _divide(year, 100)), _divide(year, 400))
    return sub(days, i64(_MARCH_1))


def _date(block: Block, seconds: LExpr) -> _Date:
    return _Date(block, block.name("days", _divide(seconds, _DAY)))


def _weekday(days: LExpr) -> LExpr:
    return _remainder(add(days, i64(_THURSDAY)), 7)


def _quarter(block: Block, seconds: LExpr) -> LExpr:
    return _divide(add(_date(block, seconds).month(), i64(2)), 3)


def _week(block: Block, seconds: LExpr) -> LExpr:
    """The week of ISO 8601: by the day of the year of its Thursday."""
    days = _date(block, seconds).days
    thursday = add(sub(days, _weekday(days)), i64(_THURSDAY))
    yearday = _Date(block, block.name("thursday", thursday)).yearday()
    return _divide(add(yearday, i64(6)), 7)


_COMPONENTS: dict[Component, Callable[[Block, LExpr], LExpr]] = {
    "year": lambda block, seconds: _date(block, seconds).year(),
    "quarter": _quarter,
    "month": lambda block, seconds: _date(block, seconds).month(),
    "week": _week,
    "day": lambda block, seconds: _date(block, seconds).day(),
    "yearday": lambda block, seconds: _date(block, seconds).yearday(),
    "weekday": lambda block, seconds: _weekday(_date(block, seconds).days),
    "hour": lambda _, seconds: _divide(_remainder(seconds, _DAY), 3600),
    "minute": lambda _, seconds: _divide(_remainder(seconds, 3600), 60),
    "second": lambda _, seconds: _remainder(seconds, 60),
}

"""Dates: the components of a time, and the look-up of its UTC offset.

Dates by H. Hinnant's `civil_from_days`: years begin in March and are counted within
cycles of 400, so that the day of the year gives the month by one division.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tiltpy.abi.slots import SlotKind
from tiltpy.emit.builder import Block
from tiltpy.forks import cached_property
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
from tiltpy.types import I64, NANOSECONDS, Unit
from tiltpy.zones import BUCKET, BUCKETS, CHANGES_PER_BUCKET, CYCLE, FIRST, LAST

DAY = 86400
_MARCH_1 = 719468
"""The days from 1 March of year 0 to 1970."""
_DAYS_PER_CYCLE = 146097
_THURSDAY = 3
"""The weekday of 1 January 1970."""
_MARCH_TO_NEW_YEAR = 306
_JANUARY_AND_FEBRUARY = 59


def lower_date_component(block: Block, component: DateComponent, time: LExpr) -> LExpr:
    """Append the computation of a component of the local date of a time."""
    seconds = seconds_of(block, time, component.unit)
    if component.zone:
        seconds = add(seconds, utc_offset(block, seconds, component.zone))
        seconds = block.name("local", seconds)
    return _COMPONENTS[component.component](block, seconds)


def seconds_of(block: Block, time: LExpr, unit: Unit) -> LExpr:
    """The whole seconds since 1970."""
    size, second = NANOSECONDS[unit], NANOSECONDS["s"]
    if size > second:
        return block.name("seconds", mul(time, i64(size // second)))
    return block.name("seconds", divide(time, second // size))


def utc_offset(block: Block, seconds: LExpr, zone: str) -> LExpr:
    """The offset of a zone."""
    return offset_since(block, seconds, zone)[0]


def offset_since(block: Block, seconds: LExpr, zone: str) -> tuple[LExpr, LExpr]:
    """The offset of a zone and since when it holds, from a `zones.ZoneTable`."""
    builder = block.builder
    before, changes, offsets = (
        builder.array(SlotKind.ZONE, zone, I64, column) for column in range(3)
    )
    again = binary("%", sub(seconds, i64(LAST)), i64(CYCLE))
    again = add(again, i64(LAST - CYCLE))
    known = block.name("known", select(lt(seconds, i64(LAST)), seconds, again))
    bucket = divide(sub(known, i64(FIRST)), BUCKET)
    bucket = greatest(i64(0), least(bucket, i64(BUCKETS - 1)))
    k = block.name("change", load(before, block.name("bucket", bucket)))
    for _ in range(CHANGES_PER_BUCKET):
        follows = le(load(changes, add(k, i64(1))), known)
        k = block.name("change", add(k, convert(follows, I64)))
    since = add(load(changes, k), sub(seconds, known))
    return load(offsets, k), since


def divide(number: LExpr, by: int) -> LExpr:
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
        return self.block.name("cycle", divide(days, _DAYS_PER_CYCLE))

    @cached_property
    def day_of_cycle(self) -> LExpr:
        """The days since it began."""
        begun = sub(mul(self.cycle, i64(_DAYS_PER_CYCLE)), i64(_MARCH_1))
        return self.block.name("day", sub(self.days, begun))

    @cached_property
    def year_of_cycle(self) -> LExpr:
        """The year within the cycle, from 0: days without leap days, by 365."""
        day = self.day_of_cycle
        plain = sub(day, divide(day, 1460))
        plain = sub(add(plain, divide(day, 36524)), divide(day, 146096))
        return self.block.name("year", divide(plain, 365))

    @cached_property
    def day_of_year(self) -> LExpr:
        """The days since 1 March."""
        year = self.year_of_cycle
        begun = add(mul(year, i64(365)), divide(year, 4))
        begun = sub(begun, divide(year, 100))
        return self.block.name("day", sub(self.day_of_cycle, begun))

    @cached_property
    def month_of_year(self) -> LExpr:
        """The months since March."""
        fifths = add(mul(self.day_of_year, i64(5)), i64(2))
        return self.block.name("month", divide(fifths, 153))

    @cached_property
    def after_new_year(self) -> LExpr:
        """Return whether it is in January or February."""
        return le(i64(_MARCH_TO_NEW_YEAR), self.day_of_year)

    def year(self) -> LExpr:
        years = add(self.year_of_cycle, mul(self.cycle, i64(400)))
        return add(years, convert(self.after_new_year, I64))

    def month(self) -> LExpr:
        shift = select(self.after_new_year, i64(-9), i64(3))
        return self.block.name("month", add(self.month_of_year, shift))

    def day(self) -> LExpr:
        begun = add(mul(self.month_of_year, i64(153)), i64(2))
        return add(sub(self.day_of_year, divide(begun, 5)), i64(1))

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


def first_day_of(block: Block, months: LExpr) -> LExpr:
    """The first day of a month, counted from January 1970."""
    march = block.name("march", add(months, i64(12 * 1970 - 2)))
    year = block.name("year", divide(march, 12))
    since = block.name("since", _remainder(march, 12))
    days = divide(add(mul(since, i64(153)), i64(2)), 5)
    days = add(days, mul(year, i64(365)))
    days = add(sub(add(days, divide(year, 4)), divide(year, 100)), divide(year, 400))
    return sub(days, i64(_MARCH_1))


def date_of(block: Block, seconds: LExpr) -> _Date:
    """The date that holds local seconds since 1970."""
    return _Date(block, block.name("days", divide(seconds, DAY)))


def _weekday(days: LExpr) -> LExpr:
    return _remainder(add(days, i64(_THURSDAY)), 7)


def _quarter(block: Block, seconds: LExpr) -> LExpr:
    return divide(add(date_of(block, seconds).month(), i64(2)), 3)


def _week(block: Block, seconds: LExpr) -> LExpr:
    """The week of ISO 8601: by the day of the year of its Thursday."""
    days = date_of(block, seconds).days
    thursday = add(sub(days, _weekday(days)), i64(_THURSDAY))
    yearday = _Date(block, block.name("thursday", thursday)).yearday()
    return divide(add(yearday, i64(6)), 7)


_COMPONENTS: dict[Component, Callable[[Block, LExpr], LExpr]] = {
    "year": lambda block, seconds: date_of(block, seconds).year(),
    "quarter": _quarter,
    "month": lambda block, seconds: date_of(block, seconds).month(),
    "week": _week,
    "day": lambda block, seconds: date_of(block, seconds).day(),
    "yearday": lambda block, seconds: date_of(block, seconds).yearday(),
    "weekday": lambda block, seconds: _weekday(date_of(block, seconds).days),
    "hour": lambda _, seconds: divide(_remainder(seconds, DAY), 3600),
    "minute": lambda _, seconds: divide(_remainder(seconds, 3600), 60),
    "second": lambda _, seconds: _remainder(seconds, 60),
}

"""Components of dates: machine code against Python's calendar, and against pandas'."""

import zoneinfo
from datetime import UTC, datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo, available_timezones

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tiltpy as tilt
from tiltpy.interpreter.dates import date_component
from tiltpy.ops import DATE_COMPONENTS
from tiltpy.types import MAX_TIME, NANOSECONDS, Unit
from tiltpy.zones import BUCKET, FIRST, LAST, zone_table

ZONES = sorted(available_timezones())
ODD_ZONES = (
    "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe",
    "Africa/Casablanca", "Africa/Monrovia", "Pacific/Apia", "America/Caracas",
    "Europe/Dublin", "Antarctica/Troll", "UTC", "",
)  # fmt: skip
"""Offsets of minutes and of seconds, steps of half an hour and of two, a missing day,
rules that end, summer time as the standard."""
TIMES = 400
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def components(zone: str) -> str:
    """A struct of all components."""
    quoted = f', "{zone}"' if zone else ""
    return ", ".join(
        f"{component} = {component}(~x[t]{quoted})" for component in DATE_COMPONENTS
    )


def dates(times: list[int], unit: Unit, zone: str, step: int = 1) -> pa.Table:
    """The components of times that are payloads, of regular rows if `step` is one."""
    text = f"unit {unit}\ninput x : time sampled {step}{unit}\n"
    text += f"~o[t] = ~x[t] != φ ? {{ {components(zone)} }} : φ\n"
    frame = {
        "time": pa.array(np.arange(1, len(times) + 1) * step, pa.int64()),
        "x": pa.array(times, pa.int64()),
    }
    return tilt.parse(text).run(x=pa.table(frame))["o"].to_arrow()


def near_changes(random: Random, zone: str) -> list[int]:
    """Times in seconds: anywhere, and around changes of the offset."""
    changes = [int(each) for each in zone_table(zone or "UTC").changes[1:-2]]
    near = [random.choice(changes or [0]) + random.randint(-2, 2) for _ in range(TIMES)]
    near += [random.randint(FIRST - 10 * BUCKET, 2**32) for _ in range(TIMES)]
    near += [random.randint(LAST - 10**9, LAST + 10**12) for _ in range(TIMES // 4)]
    return near + [random.randint(-(10**12), FIRST) for _ in range(TIMES // 4)]


@pytest.mark.parametrize("unit", NANOSECONDS)
def test_components_of_dates_are_those_of_pythons_calendar(
    unit: Unit, *, deep: bool
) -> None:
    random = Random(unit)  # noqa: S311
    for zone in ODD_ZONES if deep else random.sample(ODD_ZONES, 3):
        check_components(random, unit, zone)


def check_components(random: Random, unit: Unit, zone: str) -> None:
    second = NANOSECONDS["s"]
    times = [each * second // NANOSECONDS[unit] for each in near_changes(random, zone)]
    times = [each + random.randint(-1, 1) for each in times if abs(each) < MAX_TIME]
    found = dates(times, unit, zone, random.choice((1, 2)))
    for component in DATE_COMPONENTS:
        said = [date_component(component, time, zone, unit) for time in times]
        assert found[component].to_pylist() == said, component


def test_components_of_dates_are_those_of_pandas() -> None:
    random = Random(5)  # noqa: S311
    for zone in ODD_ZONES[:-1]:
        times = [random.randint(-(2**31), 2**32) for _ in range(TIMES)]
        local = pd.to_datetime(np.array(times), unit="s", utc=True).tz_convert(zone)
        found = dates(times, "s", zone)
        named = {"yearday": "day_of_year", "weekday": "day_of_week"}
        for component in DATE_COMPONENTS:
            owner = local.isocalendar() if component == "week" else local
            said = getattr(owner, named.get(component, component)).to_list()
            assert found[component].to_pylist() == said, component


def test_tables_have_the_offsets_of_every_zone(*, deep: bool) -> None:
    random = Random(7)  # noqa: S311
    for name in ZONES if deep else random.sample(ZONES, 10):
        table, zone = zone_table(name), ZoneInfo(name)
        for seconds in near_changes(random, name)[: 5 * TIMES // 2]:
            if not FIRST - 10**9 < seconds < LAST + 10**11:
                continue
            local = (EPOCH + timedelta(seconds=seconds)).astimezone(zone)
            offset = local.utcoffset()
            assert offset is not None
            assert table.offset_at(seconds) == offset.total_seconds(), (name, seconds)


def test_the_package_serves_where_the_system_has_no_zones() -> None:
    zoneinfo.reset_tzpath(to=())
    ZoneInfo.clear_cache()
    zone_table.cache_clear()
    try:
        packaged = zone_table("America/New_York")
    finally:
        zoneinfo.reset_tzpath()
        ZoneInfo.clear_cache()
        zone_table.cache_clear()
    assert packaged.offset_at(0) == -5 * 3600
    assert packaged.offset_at(1721000000) == -4 * 3600


def test_the_time_itself_is_a_date() -> None:
    text = """
    unit s
    input x : f64 point
    ~open[t] = weekday(t, "America/New_York") < 5 && hour(t, "America/New_York") >= 9
               ? ~x[t] : φ
    """
    times = pd.date_range("2024-03-08", "2024-03-13", freq="30min", tz="UTC", unit="s")
    frame = pa.table({"time": pa.array(times), "x": np.arange(len(times)) * 1.0})
    found = tilt.parse(text).run(x=frame)["open"].to_arrow()["open"].to_pylist()
    local = times.tz_convert("America/New_York")
    assert found == np.flatnonzero((local.day_of_week < 5) & (local.hour >= 9)).tolist()


def test_python_writes_the_same_query() -> None:
    x = tilt.source("x", tilt.time, tilt.point())
    t = tilt.TDom(precision="1s")
    local = tilt.hour(x[t], "Europe/Berlin") + tilt.minute(t)
    made = tilt.compile(tilt.define("o", t, local))
    text = """
    unit s
    input x : time point
    ~o[t] = hour(~x[t], "Europe/Berlin") + minute(t)
    """
    assert made.query == tilt.parse(text).query

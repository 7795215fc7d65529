"""Cells of calendars: the interpreter, machine code in all engines, pandas, Polars."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from zoneinfo import available_timezones

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compare import first_difference
from tests.compiled import Setting, random_setting, run_compiled
from tests.engines.test_out_of_core import run_streamed
from tests.engines.test_partitions import Pieces
from tests.random.calendars import random_calendar_cases
from tests.random.queries import Case
from tiltpy.calendars import cell_numbers, cell_starts
from tiltpy.errors import TiltError
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.calendars import cell_of
from tiltpy.interpreter.evaluate import Snapshot, interpret
from tiltpy.ir.print.query import format_query
from tiltpy.ir.verify.invariants import verify_source
from tiltpy.types import STEPS, Calendar
from tiltpy.zones import zone_table

CASES, BATCH, DEEPER = 6, 6, 1_250
STREAMED = PARTITIONED = 5
ZONES = sorted(available_timezones())
DAY = 86400


# Random queries


def check(case: Case, found: dict[str, list[Snapshot]], label: str) -> None:
    meant = interpret(case.query, case.events, start=case.start, end=case.end)
    for name in case.query.outputs:
        difference = first_difference(
            found[name], meant[name], case.query, name, exact=True
        )
        text = format_query(case.query)
        assert difference is None, f"{label}, ~{name}: {difference}\n{text}"


def calendar_setting(seed: int) -> Setting:
    """A random setting with chunks of hours and days."""
    random = Random(seed)  # noqa: S311
    setting = random_setting(random, span=80)
    if setting.chunk is None:
        return setting
    return replace(setting, chunk=setting.chunk * random.choice((3600, DAY, 7777)))


@pytest.mark.parametrize("first", range(0, CASES, BATCH))
def test_machine_code_equals_the_interpreter(first: int, *, deep: bool) -> None:
    for seed, case in random_calendar_cases(first, BATCH * (DEEPER if deep else 1)):
        verify_source(case.query)
        assert parse(format_query(case.query)) == case.query, seed
        setting = calendar_setting(seed)
        check(case, run_compiled(case, setting), f"seed {seed}, {setting}")


def test_streams_equal_the_interpreter(*, deep: bool) -> None:
    for seed, case in random_calendar_cases(1000, STREAMED * (DEEPER if deep else 1)):
        setting = calendar_setting(seed)
        found = run_streamed(case, setting, Random(seed))  # noqa: S311
        check(case, found, f"seed {seed}, {setting}")


def test_partitions_equal_the_interpreter(*, deep: bool) -> None:
    count = PARTITIONED * (DEEPER if deep else 1)
    for seed, case in random_calendar_cases(2000, count):
        days = Random(seed).choice((3, 10, 50, 400))  # noqa: S311
        found = Pieces(case, days * DAY + seed, None, None).run()
        check(case, found, f"seed {seed}, {days} days")


# Cells


def test_cells_of_every_zone_are_those_of_the_interpreter(*, deep: bool) -> None:
    random = Random(3)  # noqa: S311
    for zone in ZONES if deep else random.sample(ZONES, 10):
        changes = [int(time) for time in zone_table(zone).changes[1:-2]] or [0]
        for _ in range(30):
            step = random.choice((*STEPS, "d", "d"))
            calendar = Calendar(random.choice((1, 1, 2)), step, zone, "s")
            time = random.choice(changes) + random.randint(-2 * DAY, 2 * DAY)
            number = cell_numbers(calendar, np.array([time]))
            starts = cell_starts(calendar, np.concatenate([number, number + 1]))
            assert tuple(starts.tolist()) == cell_of(calendar, time), calendar
            assert 0 < starts[1] - starts[0] <= calendar.longest


def test_a_date_that_a_zone_skips_has_no_cell() -> None:
    calendar = Calendar(1, "d", "Pacific/Apia", "s")  # no 30 December 2011
    friday = int(pd.Timestamp("2011-12-30T09:59:59Z").timestamp())
    assert cell_of(calendar, friday) == (friday - DAY, friday)
    assert cell_of(calendar, friday + 1) == (friday, friday + DAY)
    times = pd.date_range("2011-12-28", "2012-01-02", freq="h", tz="Pacific/Apia")
    query = tilt.parse("""
        unit s
        input x : f64 point
        d = TDom(-∞, ∞, calendar(1d, "Pacific/Apia"))
        ~n[d] = count(~x[d - 1 cell : d])
    """)
    table = pa.table({"time": pa.array(times), "x": np.ones(len(times))})
    found = query.run(x=table)["n"].windows().to_pandas()
    days = [day.day for day in found["time"]]
    assert list(zip(days, found["n"], strict=True)) == [
        (28, 24), (29, 24), (31, 24), (1, 24), (2, 1)
    ]  # fmt: skip


# Others


def frame(random: Random, zone: str, days: int, rows: int) -> pl.DataFrame:
    """Rows at random seconds of a zone around a change of its clocks."""
    changes = zone_table(zone).changes
    near = changes[(changes > 0) & (changes < 1 << 31)].tolist() or [1 << 30]
    middle = int(random.choice(near))
    times = sorted(middle + random.randint(-days, days) * DAY // 2 for _ in range(rows))
    times = sorted(time + random.choice((0, random.randrange(DAY))) for time in times)
    stamps = (pl.Series(times) * 1000).cast(pl.Datetime("ms", "UTC"))
    values = [random.randint(-50, 50) / 8 for _ in times]
    keys = [random.choice("abc") for _ in times]
    local = stamps.dt.convert_time_zone(zone)
    return pl.DataFrame({"time": local, "key": keys, "x": values})


STEPS_THERE = {"1d": "1D", "1w": "W-MON", "1mo": "MS", "1q": "QS", "1y": "YS"}
LAW = ("Europe/Berlin", "America/New_York", "Australia/Sydney", "Asia/Kolkata")


@pytest.mark.covering(1)
@pytest.mark.parametrize("step", STEPS_THERE)
@pytest.mark.parametrize("zone", LAW)
def test_cells_are_those_of_pandas_and_polars(zone: str, step: str) -> None:
    random = Random(f"{zone} {step}")  # noqa: S311
    for days in (3, 40, 800):
        rows = frame(random, zone, days, random.choice((3, 50, 400)))
        query = tilt.parse(f"""
            unit s
            input x : f64 point
            c = TDom(-∞, ∞, calendar({step}, "{zone}"))
            ~o[c] = {{ n = count(~x[c - 1 cell : c]), s = sum(~x[c - 1 cell : c]) }}
        """)
        found = query.run(x=rows.select("time", "x"))["o"].windows().to_pandas()
        series = rows.to_pandas().set_index("time")["x"]
        binned = series.resample(STEPS_THERE[step], closed="left", label="left")
        assert found["time"].to_list() == binned.count().index.to_list()
        assert found["n"].to_list() == binned.count().to_list()
        assert found["s"].fillna(0).to_list() == binned.sum().to_list()
        grouped = rows.group_by_dynamic("time", every=step).agg(pl.col("x").sum())
        listed = pl.from_pandas(found[found["n"] > 0])
        assert listed["s"].to_list() == grouped["x"].to_list()
        assert listed["time"].to_list() == grouped["time"].to_list()


def test_each_key_has_its_own_cells() -> None:
    random = Random(8)  # noqa: S311
    zone = "Europe/Berlin"
    rows = frame(random, zone, 60, 300)
    text = """
        unit s
        input x {by}: {{ key: string, x: f64 }} point
        d = TDom(-∞, ∞, calendar(1d, "Europe/Berlin"))
        m = TDom(-∞, ∞, calendar(1mo, "Europe/Berlin"))
        ~day[d] = {{ n = count(~x[d - 1 cell : d]), high = max(~x[d - 2 cells : d].x) }}
        ~month[m] = median(~x[m - 1 cell : m].x)
        ~late[t] = ~x[t].x - last(~day[t-1d : t].high)
        output ~day, ~month, ~late
    """
    keyed = tilt.parse(text.format(by="by key ")).run(x=rows)
    for key in "abc":
        alone = tilt.parse(text.format(by="")).run(x=rows.filter(pl.col("key") == key))
        for name in keyed:
            mine = keyed[name].to_polars().filter(pl.col("key") == key).drop("key")
            assert mine.equals(alone[name].to_polars()), (key, name)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])
@pytest.mark.parametrize("year", [1, 1000, 1700, 1832, 1834, 9990])
def test_zones_hold_before_their_first_change(year: int, zone: str) -> None:
    """The offset that a zone began with was that of all times before."""
    calendar = Calendar(1, "mo", zone, "s")
    times = np.array([f"{year:04}-03-10T12", f"{year:04}-07-10T12"], "datetime64[s]")
    ticks = times.astype(np.int64)
    numbers = cell_numbers(calendar, ticks)
    assert np.diff(numbers).tolist() == [4]
    starts = cell_starts(calendar, np.arange(numbers[0], numbers[1] + 2))
    assert (np.diff(starts) > 27 * DAY).all()
    assert (np.diff(starts) < 32 * DAY).all()
    assert ((starts[[0, -2]] < ticks) & (ticks <= starts[[1, -1]])).all()


def test_days_have_23_and_25_hours() -> None:
    hours = pd.date_range("2024-03-30", "2024-11-01", freq="h", tz="Europe/Berlin")
    table = pa.table({"time": pa.array(hours), "x": np.ones(len(hours))})
    query = tilt.parse("""
        unit s
        input x : f64 point
        d = TDom(-∞, ∞, calendar(1d, "Europe/Berlin"))
        ~n[d] = count(~x[d - 1 cell : d])
    """)
    found = query.run(x=table)["n"].windows().to_pandas().set_index("time")["n"]
    assert found.index[0] == pd.Timestamp("2024-03-30", tz="Europe/Berlin")
    unusual = {str(day.date()): n for day, n in found[:-1].items() if n != 24}
    assert unusual == {"2024-03-31": 23, "2024-10-27": 25}


def test_elements_that_see_the_present_are_evaluated_over_ticks() -> None:
    head = """
        unit s
        input x : f64 until_next
        d = TDom(-∞, ∞, calendar(1d, "Europe/Berlin"))
    """
    query = tilt.parse(f"""{head}
        ~n[t] = count(v for v in ~x[t-1d : t] if v > ~x[t])
        ~o[d] = ~n[d]
        output ~o
    """)
    values = [i * 7 % 5 for i in range(12)]
    times = pa.array(np.arange(12) * 40_000, pa.timestamp("s"))
    rows = pa.table({"time": times, "x": [float(value) for value in values]})
    found = query.run(x=rows)["o"].windows()["o"].to_pylist()
    for day, n in enumerate(found):
        last = 23 * 3600 - 1 + day * DAY
        first = max(0, (last - DAY + 1) // 40_000)
        held = values[first : last // 40_000 + 1]
        assert n == sum(value > held[-1] for value in held), day
    assert len(found) == 6
    direct = tilt.parse(head + "~o[d] = count(v for v in ~x[d-1d : d] if v > ~x[d])")
    with pytest.raises(TiltError, match="do not go over a calendar"):
        direct.run(x=rows)


def test_python_writes_the_same_query() -> None:
    x = tilt.source("x", tilt.f64, tilt.point())
    d = tilt.TDom(precision=tilt.calendar("1d", "Europe/Berlin"))
    m = tilt.TDom(precision=tilt.calendar("1mo"))
    w = tilt.TDom(precision=tilt.calendar("1w"))
    made = tilt.compile(
        tilt.define("a", d, tilt.sum(x[d - tilt.cells(1) : d])),
        tilt.define("b", m, tilt.mean(x[m - tilt.cells(3) : m])),
        tilt.define("c", w, tilt.last(x[w - tilt.cells(1) : w])),
        unit="s",
    )
    text = """
    unit s
    input x : f64 point
    d = TDom(-∞, ∞, calendar(1d, "Europe/Berlin"))
    m = TDom(-∞, ∞, calendar(1mo))
    w = TDom(-∞, ∞, calendar(1w))
    ~a[d] = sum(~x[d - 1 cell : d])
    ~b[m] = mean(~x[m - 3 cells : m])
    ~c[w] = last(~x[w - 1 cell : w])
    """
    assert made.query == tilt.parse(text).query


def test_python_says_what_is_wrong() -> None:
    x = tilt.source("x", tilt.f64, tilt.point())
    t = tilt.TDom(precision="1s")
    wrong: list[tuple[str, Callable[[], object]]] = [
        ("no step of a calendar", lambda: tilt.calendar("24h")),
        ("no step of a calendar", lambda: tilt.calendar("0mo")),
        ("expected a step", lambda: tilt.calendar(1)),  # type: ignore[arg-type]
        ("begin with its dates", lambda: on(tilt.calendar("1mo"), left=True)),
        ("begin with its dates", lambda: on(tilt.calendar("1mo"), offset="1h")),
        ("unknown time zone", lambda: sums(on(tilt.calendar("1d", "Berlin")))),
        ("unknown time zone", lambda: query(tilt.hour(t, "Berlin"))),
        ("takes a time, not f64", lambda: query(tilt.hour(x[t]))),
        ("earlier bound of a window", lambda: query(x[t - tilt.cells(1)])),
        ("True or False", lambda: on("1h", left="yes")),
    ]

    def on(precision: object, **named: object) -> tilt.TDom:
        return tilt.TDom(precision=precision, **named)  # type: ignore[arg-type]

    def query(value: object) -> object:
        return tilt.compile(tilt.define("o", t, value), unit="s")  # type: ignore[arg-type]

    def sums(d: tilt.TDom) -> object:
        window = x[d - tilt.cells(1) : d]
        return tilt.compile(tilt.define("o", d, tilt.sum(window)), unit="s")

    for message, make in wrong:
        with pytest.raises(TiltError, match=message):
            make()

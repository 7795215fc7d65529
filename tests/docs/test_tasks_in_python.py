"""The tasks that the how-to pages have as text can be said in Python as well."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tiltpy as tilt
from tests.docs.tasks import task
from tiltpy import library

ROWS = 300
Query = Callable[[], tilt.CompiledQuery]
TRADE = {"price": tilt.f64, "size": tilt.i64}


def vwap() -> tilt.CompiledQuery:
    trade = tilt.source("trade", TRADE, tilt.point(), time="time", by="symbol")
    bar = tilt.TDom(precision="5m", left=True)
    w = trade[bar - "5m" : bar]
    price = tilt.sum(w.price * w.size) / tilt.sum(w.size)
    return tilt.compile(tilt.define("vwap", bar, price), unit="s")


def quoted() -> tilt.CompiledQuery:
    trade = tilt.source("trade", TRADE, tilt.point(), time="time", by="symbol")
    sides = {"bid": tilt.f64, "ask": tilt.f64}
    quote = tilt.source("quote", sides, tilt.point(), time="time", by="symbol")
    e = tilt.Rows(trade)
    held = quote["last":e:"10s"]
    row = tilt.struct(price=trade[e].price, bid=held.bid, ask=held.ask)
    return tilt.compile(tilt.define("quoted", e, row))


def days() -> tilt.CompiledQuery:
    trade = tilt.source("trade", TRADE, tilt.point(), time="time")
    zone = tilt.param("zone", tilt.string, "America/New_York")
    e = tilt.Rows(trade)
    day = tilt.TDom(precision=tilt.calendar("1d", zone))
    minutes = 60 * tilt.hour(e, zone) + tilt.minute(e, zone)
    open_now = (minutes >= 570) & (minutes < 960)
    regular = tilt.define("regular", e, tilt.when(open_now, trade[e]))
    w = regular[day - tilt.cells(1) : day]
    bar = tilt.struct(
        open=tilt.first(w.price),
        high=tilt.max(w.price),
        low=tilt.min(w.price),
        close=tilt.last(w.price),
        volume=tilt.sum(w.size),
    )
    return tilt.compile(
        tilt.define("bar", day, tilt.when(tilt.count(w) > 0, bar)), unit="s"
    )


def filled() -> tilt.CompiledQuery:
    watts = tilt.source("watts", tilt.i16, tilt.point(), time="minute")
    t = tilt.TDom(precision="1m")
    before, after = watts["last":t], watts[t:"next"]
    begin = tilt.start(before) + 1
    apart = tilt.start(after) + 1 - begin
    share = tilt.when(apart == 0, 0.0, (t - begin) / apart)
    line = before + (after - before) * share
    return tilt.compile(
        tilt.define("held", t, tilt.when(apart <= 60, before)),
        tilt.define("line", t, tilt.when(apart <= 60, line)),
    )


def alert() -> tilt.CompiledQuery:
    watts = tilt.source("watts", tilt.i16, tilt.sampled("1m"), time="minute")
    limit = tilt.param("limit", tilt.i16, 4000)
    least = tilt.param("least", tilt.duration, "10m")
    t = tilt.TDom()
    above = tilt.when(watts[t] > limit, True)
    high = tilt.define("high", t, above, distinct=True)
    last = tilt.define("last", t, high[t] & (high[t + "1m"] == tilt.phi))
    length = tilt.cast(tilt.end(high[t]) - tilt.start(high[t]), tilt.duration)
    row = tilt.struct(
        **{"from": tilt.cast(tilt.start(high[t]), tilt.time)},
        peak=tilt.max(watts[tilt.since(high) : t]),
    )
    found = tilt.when(last[t] & (length >= least), row)
    return tilt.compile(tilt.define("alert", t, found), unit="m")


def debounced() -> tilt.CompiledQuery:
    closed = tilt.source("closed", tilt.bool, tilt.until_next(), time="time")
    stable = tilt.param("stable", tilt.duration, "3s")
    t = tilt.TDom()
    raw = tilt.define("raw", t, closed[t], distinct=True)
    age = tilt.cast(t - tilt.start(raw[t]), tilt.duration)
    sure = tilt.define("sure", t, tilt.when(age >= stable, raw[t]))
    return tilt.compile(
        tilt.define("position", t, tilt.last(sure[:t]), distinct=True), unit="s"
    )


def level() -> tilt.CompiledQuery:
    held = tilt.until_next(max="1h")
    x = tilt.source("level", tilt.f64, held, time="time")
    hour = tilt.TDom(precision="1h", left=True)
    return tilt.compile(
        tilt.define("weighted", hour, library.time_mean(x, "1h")),
        tilt.define("plain", hour, tilt.mean(x[hour - "1h" : hour])),
        unit="m",
    )


def states() -> tilt.CompiledQuery:
    mode = tilt.source("mode", tilt.string, tilt.until_next(), time="time")
    t, hour = tilt.TDom(), tilt.TDom(precision="1h", left=True)
    minutes = tilt.reduction(
        "minutes",
        tilt.bool,
        init=0,
        acc=lambda state, on, start, end: state + tilt.when(on, end - start, 0),
        result=lambda state: state,
        bounds=True,
    )
    state = tilt.define("state", t, mode[t], distinct=True)
    moved = tilt.struct(**{"from": state[t - "1m"], "to": state[t]})
    changed = tilt.when(state[t] != state[t - "1m"], moved)
    w = state[hour - "1h" : hour]
    kinds = ("idle", "run", "fault")
    spent = tilt.struct(**{kind: minutes(w == kind) for kind in kinds})
    return tilt.compile(
        tilt.define("change", t, changed), tilt.define("spent", hour, spent), unit="m"
    )


def sessions() -> tilt.CompiledQuery:
    page = tilt.source("page", tilt.string, tilt.point(), time="time", by="user")
    pause = tilt.param("pause", tilt.duration, "30m")
    t = tilt.TDom()
    stamp = tilt.cast(t, tilt.time)
    time = tilt.define("time", t, tilt.when(page[t] != tilt.phi, stamp))
    first = tilt.define("first", t, library.session_start(page, pause))
    alone = tilt.count(page[t : t + pause]) == 0
    last = tilt.define("last", t, (page[t] != tilt.phi) & alone)
    since = tilt.since(first)
    row = tilt.struct(
        **{"from": tilt.first(time[since:t]), "to": stamp},
        clicks=tilt.count(page[since:t]),
        landing=tilt.first(page[since:t]),
    )
    return tilt.compile(tilt.define("session", t, tilt.when(last[t], row)), unit="s")


def customers() -> tilt.CompiledQuery:
    customer = tilt.source("customer", tilt.i32, tilt.point(), time="sold")
    hour = tilt.TDom(precision="1h")
    distinct = tilt.nunique(customer[hour - "1d" : hour])
    return tilt.compile(tilt.define("customers", hour, distinct), unit="m")


def rate() -> tilt.CompiledQuery:
    total = tilt.source("total", tilt.i64, tilt.point(), time="time")
    step = tilt.TDom(precision="30s")
    return tilt.compile(
        tilt.define("measured", step, library.increase(total, "1m") / 60),
        tilt.define("prometheus", step, library.rate(total, "1m")),
        unit="s",
    )


def suspect() -> tilt.CompiledQuery:
    deploy, error = (
        tilt.source(name, tilt.string, tilt.point(), time="time")
        for name in ("deploy", "error")
    )
    t = tilt.TDom()
    many = tilt.when(tilt.count(error[t - "5m" : t]) >= 3, True)
    spike = tilt.define("spike", t, many, distinct=True)
    begins = tilt.define("begins", t, spike[t] & (spike[t - "1s"] == tilt.phi))
    last = deploy["last":t:"15m"]
    before = tilt.cast(t - tilt.start(last) - 1, tilt.duration)
    row = tilt.struct(deploy=last, before=before)
    return tilt.compile(tilt.define("suspect", t, tilt.when(begins[t], row)), unit="s")


def fleet() -> tilt.CompiledQuery:
    down = tilt.source("down", tilt.bool, tilt.interval("start", "end"))
    t = tilt.TDom()
    percent = tilt.define("percent", t, 100 * tilt.mean_active(down[t]))
    return tilt.compile(tilt.define("level", t, percent[t], distinct=True), unit="s")


def peaks() -> tilt.CompiledQuery:
    ankle = tilt.source("ankle", tilt.i16)
    t = tilt.TDom()
    before, after = tilt.max(ankle[t - 26 : t - 1]), tilt.max(ankle[t : t + 25])
    top = (ankle[t] > 1500) & (ankle[t] > before) & (ankle[t] >= after)
    return tilt.compile(tilt.define("step", t, tilt.when(top, ankle[t])))


def rhythm() -> tilt.CompiledQuery:
    beat = tilt.source("beat", tilt.bool, tilt.point(), time="time")
    e, w = tilt.Rows(beat), tilt.TDom(precision="10s")
    apart = tilt.start(beat[e]) - tilt.start(beat["last" : tilt.strict(e)])
    interval = tilt.define("interval", e, apart / 1000)
    step = tilt.define("step", e, interval[e] - interval["last" : tilt.strict(e)])
    minute = interval[w - "1m" : w]
    found = tilt.struct(
        rate=60000 / tilt.mean(minute),
        sdnn=tilt.std(minute, ddof=1),
        rmssd=tilt.rms(step[w - "1m" : w]),
    )
    return tilt.compile(tilt.define("rhythm", w, found), unit="us")


STEPS = {
    "alert": 1,
    "days": 9_000,
    "rhythm": 1_400_000,
    "sessions": 900,
    "suspect": 200,
}
"""The greatest distance of two rows in ticks, where that is not 40."""
DECLARED = re.compile(r"input (\w+)(?: by (\w+))? : ({.*}|\w+)(?: time (\w+))?(.*)")


def columns(name: str, seed: int) -> dict[str, Any]:
    """A column of each type, and stamps, some of which two rows share."""
    rng = np.random.default_rng(seed)
    wave = 4000 + 900 * np.sin(np.arange(ROWS) / 9) + rng.integers(-50, 50, ROWS)
    return {
        "times": 7 + np.cumsum(rng.integers(0, STEPS.get(name, 40) + 1, ROWS)),
        "f64": rng.integers(0, 800, ROWS) / 8,
        "i64": rng.integers(1, 99, ROWS),
        "i32": rng.integers(1, 30, ROWS).astype(np.int32),
        "i16": wave.astype(np.int16),
        "bool": rng.random(ROWS) < 0.5,
        "string": rng.choice(["idle", "run", "fault"], ROWS),
    }


def frame(name: str, declared: re.Match[str], seed: int) -> object:
    """Random rows of an input as it is declared in the language."""
    values = columns(name, seed)
    field, key, kind, time, lifetime = declared.groups()
    fields = re.findall(r"(\w+): (\w+)", kind) or [(field, kind)]
    table = pd.DataFrame({each: values[type_] for each, type_ in fields})
    if key:
        table[key] = values["string"]
    if "interval" in lifetime:
        return table.assign(start=values["times"], end=values["times"] + values["i64"])
    if time is None:
        return tilt.sampled(values["i16"], 0, 1)
    table[time] = values["times"]
    return table if lifetime.endswith("point") else table.drop_duplicates(time)


@pytest.mark.parametrize(
    ("page", "said"),
    [
        *(("markets.md", each) for each in (vwap, quoted, days)),
        *(("sensors.md", each) for each in (filled, alert, debounced, level, states)),
        *(("web.md", each) for each in (sessions, customers)),
        *(("operations.md", each) for each in (rate, suspect, fleet)),
        ("signals.md", peaks),
        ("health.md", rhythm),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_it_is_the_same_in_python(page: str, said: Query) -> None:
    name = said.__name__
    text = task(page, f"{name}.tilt")
    query = said()
    inputs: dict[str, Any] = {
        found[1]: frame(name, found, seed)
        for seed, found in enumerate(DECLARED.finditer(str(query)))
    }
    expected, found = text.run(**inputs), query.run(**inputs)
    assert list(found) == list(expected)
    for output in expected:
        assert len(expected[output]) > 0
        pd.testing.assert_frame_equal(
            found[output].to_pandas(), expected[output].to_pandas(), check_exact=True
        )

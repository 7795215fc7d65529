"""Irregular events off the path: ties, rows before, trades, states, overlaps."""

from dataclasses import replace

import numpy as np

from bench.workloads.offpath.draws import (
    BETWEEN,
    left_out,
    numbers,
    one_tie,
    points,
    stamps,
    trade_rows,
    trades,
    walk,
)
from bench.workloads.offpath.rows import Inputs, Make, OffPath, Rows, Times
from bench.workloads.offpath.sampled import MILLION

ROWS = 100 * BETWEEN
"""Ticks of a window of 100 events, on average."""
BEFORE = 1000
"""Ticks that the row before an event may lie back."""
SECOND = 1_000_000
"""Microseconds."""
TICK = SECOND // 50
"""What is a tick for the interpreter, where trades come in microseconds."""
PAUSE = 15
"""Ticks without an event that end a session."""

_POINT = "input x : f64 time ts point"
_TRADE = "input trade : { price: f64, size: f64 } time ts point"


def workload(
    name: str,
    body: str,
    make: Make = points,
    *,
    inputs: str = _POINT,
    events: int = MILLION,
    few: int = 160,
    coarse: int = 1,
) -> OffPath:
    """A workload over events `x` of one tick, by default."""
    query = f"{inputs}\n{body}\n"
    return OffPath(name, "irregular", query, make, events, few, coarse)


def _at_events(expression: str) -> str:
    return f"~out[t] = ~x[t] != φ ? {expression} : φ"


_DIFF = f"~out[t] = ~x[t] - last(~x[t-{BEFORE} : t-1])"

TIES = (
    workload("select, one tie", "~out[t] = ~x[t] + 1", one_tie),
    workload("row before, one tie", _DIFF, one_tie),
    workload(
        "mean of 100 rows, one tie", _at_events(f"mean(~x[t-{ROWS} : t])"), one_tie
    ),
    workload("std of 100 rows, one tie", _at_events(f"std(~x[t-{ROWS} : t])"), one_tie),
)

ROW_BY_ROW = (
    workload("rows left out, mean 20", _at_events("mean(~x[t-20 : t])"), left_out),
    workload("session start", f"~out[t] = session_start(~x, {PAUSE})"),
    workload("row before", _DIFF),
    *(
        workload(
            f"mean of {rows} rows", _at_events(f"mean(~x[t-{rows * BETWEEN} : t])")
        )
        for rows in (1, 3)
    ),
    workload(
        "mean of a minute each second",
        "g = TDom(-∞, ∞, 10)\n~out[g] = mean(~x[g-600 : g])",
        few=200,
    ),
)


def _requests(events: int, random: np.random.Generator) -> Inputs:
    """Requests of a thousand pages, as strings that are no dictionary."""
    pages = random.integers(0, 1000, events)
    columns = {
        "verb": np.array(["get", "Put", "post"])[random.integers(0, 3, events)],
        "path": np.array([f"/Shop/{page}/items" for page in range(1000)])[pages],
    }
    return {"request": Rows("point", columns, stamps(events, random))}


TEXTS = (
    workload(
        "parts of strings",
        """~out[t] = ~request[t] != φ ? {
    page = i64(split(~request[t].path, "/", 2)),
    length = len(concat(~request[t].verb, " ", ~request[t].path)),
    get = upper(~request[t].verb) == "GET"
} : φ""",
        _requests,
        inputs="input request : { verb: string, path: string } time ts point",
    ),
)


def _two_sides(events: int, random: np.random.Generator) -> Inputs:
    """Trades, and as many quotes, which hold until the next one."""
    count = events // 2
    quoted = walk(count, random)
    quotes = {"bid": quoted - 0.125, "ask": quoted + 0.25}
    return {
        "trade": trade_rows(count, random),
        "quote": Rows("until_next", quotes, trade_rows(count, random).ends),
    }


def _year_of_trades(events: int, random: np.random.Generator) -> Inputs:
    """Trades at a second each, some ten minutes apart: days have some 170."""
    rows = trade_rows(events, random)
    return {"trade": replace(rows, ends=stamps(events, random, 500))}


def _day_bars(name: str, days: str) -> OffPath:
    """Bars of the days that a time domain has."""
    fields = {
        "open": "first price", "high": "max price", "low": "min price",
        "close": "last price", "volume": "sum size",
    }  # fmt: skip
    bar = ",\n".join(
        "    {} = {}(~trade[d - 1 cell : d].{})".format(field, *how.split())
        for field, how in fields.items()
    )
    body = f"d = TDom(-∞, ∞, {days})\n~out[d] = {{\n{bar}\n}}"
    inputs = f"unit s\n{_TRADE}"
    return workload(name, body, _year_of_trades, inputs=inputs, few=600)


CALENDARS = (
    _day_bars("OHLCV bars of UTC days", "1d, left"),
    _day_bars("OHLCV bars of Berlin days", 'calendar(1d, "Europe/Berlin")'),
)


def _tied_sides(events: int, random: np.random.Generator) -> Inputs:
    """Trades, each third with the stamp of the one before, and as many quotes.

    No trade comes before the first quote.
    """
    sides = _two_sides(events, random)
    trade, quote = sides["trade"], sides["quote"]
    assert trade.ends is not None
    assert quote.ends is not None
    tied = random.random(len(trade)) < 1 / 3
    ends = np.maximum.accumulate(np.where(tied, 0, trade.ends))
    return {"trade": replace(trade, ends=ends + quote.ends[0]), "quote": quote}


_QUOTE = "input quote : { bid: f64, ask: f64 } time ts until_next"

TRADES = (
    workload(
        "vwap 1s at trades",
        f"""\
~vwap[t] = vwap(~trade.price, ~trade.size, {SECOND})
~out[t] = ~trade[t].price != φ ? ~vwap[t] : φ
output ~out""",
        trades,
        inputs=_TRADE,
        coarse=TICK,
    ),
    workload(
        "OHLCV bars of 1s",
        f"""\
w = TDom(-∞, ∞, {SECOND})
~out[w] = {{
    open = first(~trade[w-{SECOND} : w].price),
    high = max(~trade[w-{SECOND} : w].price),
    low = min(~trade[w-{SECOND} : w].price),
    close = last(~trade[w-{SECOND} : w].price),
    volume = sum(~trade[w-{SECOND} : w].size)
}}""",
        trades,
        inputs=_TRADE,
        coarse=TICK,
    ),
    workload(
        "as-of: trades and mid quotes",
        "~out[t] = ~trade[t].price - (~quote[t].bid + ~quote[t].ask) / 2",
        _two_sides,
        inputs=f"{_TRADE}\n{_QUOTE}",
        coarse=TICK,
    ),
    workload(
        "as-of over rows: tied trades",
        """\
e = Rows(~trade)
~out[e] = { out = ~trade[e].price - (~quote[e].bid + ~quote[e].ask) / 2 }""",
        _tied_sides,
        inputs=f"{_TRADE}\n{_QUOTE}",
        events=2 * MILLION,
    ),
    workload(
        "median 10s at trades",
        f"""\
~out[t] =
    ~trade[t].price != φ ? median(~trade[t-{10 * SECOND} : t].price) : φ""",
        trades,
        inputs=_TRADE,
        coarse=TICK,
        events=MILLION // 2,
    ),
    workload(
        "12 windows of trades",
        "~out[t] = ~trade[t].price != φ ? {\n"
        + ",\n".join(
            f"    {name}{size} = {name}(~trade[t-{size * SECOND} : t].price)"
            for size in (1, 2, 5)
            for name in ("mean", "std", "min", "max")
        )
        + "\n} : φ",
        trades,
        inputs=_TRADE,
        coarse=TICK,
        events=MILLION // 2,
    ),
)


def _held(count: int, random: np.random.Generator) -> tuple[Times, Times]:
    """Intervals that follow each other, some after a gap."""
    lengths = random.integers(1, 2 * BETWEEN, count)
    pauses = random.integers(1, BETWEEN, count) * (random.random(count) < 0.2)
    ends = (lengths + pauses).cumsum()
    return ends - lengths, ends


def _intervals(events: int, random: np.random.Generator) -> Inputs:
    """Intervals `a` and `b`."""
    found = {}
    for name in "ab":
        starts, ends = _held(events // 2, random)
        values = numbers(events // 2, random)
        found[name] = Rows("interval", {name: values}, ends, starts)
    return found


def _states(events: int, random: np.random.Generator) -> Inputs:
    """States `x`, each until the next."""
    values = {"x": numbers(events, random)}
    return {"x": Rows("until_next", values, stamps(events, random))}


def _episodes(events: int, random: np.random.Generator) -> Inputs:
    """States `x`, each until the next, that last for 20 events on average."""
    lengths = random.integers(1, 40, 1 + events // 10)
    values = np.repeat(numbers(len(lengths), random), lengths)[:events]
    return {"x": Rows("until_next", {"x": values}, stamps(events, random))}


def _overlapping(events: int, random: np.random.Generator) -> Inputs:
    """Intervals `x` in order of their starts, of which 20 are alive at a time."""
    starts = stamps(events, random)
    ends = starts + random.integers(1, 40 * BETWEEN, events)
    return {"x": Rows("interval", {"x": numbers(events, random)}, ends, starts)}


_OVERLAP = "input x : f64 interval (start, end)"

STATES = (
    workload(
        "interval join",
        "~out[t] = ~a[t] * ~b[t]",
        _intervals,
        inputs="\n".join(f"input {n} : f64 interval (start, end)" for n in "ab"),
    ),
    workload(
        "state timeline",
        "distinct ~out[t] = ~x[t] > 0",
        _episodes,
        inputs="input x : f64 time ts until_next",
    ),
    workload(
        "time-weighted mean of 60",
        "g = TDom(-∞, ∞, 10)\n~out[g] = time_mean(~x, 60)",
        _states,
        inputs="input x : f64 time ts until_next",
    ),
    workload(
        "overlapping, count alive",
        "~out[t] = count_active(~x[t])",
        _overlapping,
        inputs=_OVERLAP,
        events=MILLION // 2,
        few=120,
    ),
    workload(
        "overlapping, max of 600",
        "~out[t] = max(~x[t-600 : t])",
        _overlapping,
        inputs=_OVERLAP,
        events=MILLION // 2,
        few=120,
    ),
)

IRREGULAR = (*TIES, *ROW_BY_ROW, *TEXTS, *TRADES, *CALENDARS, *STATES)

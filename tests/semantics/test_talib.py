"""Indicators as texts of the language, equal to TA-Lib's.

Prices are rows at irregular times, and windows are of rows, but for one indicator. NaN
is TA-Lib's φ.
"""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import talib
from numpy.typing import NDArray

import tiltpy as tilt

Series = NDArray[np.float64]
Times = NDArray[np.int64]

TEXT = (Path(__file__).parent / "indicators.tilt").read_text()
FUNCTIONS = {
    part.split("(")[0].split()[1]: part
    for part in re.split(r"^(?=def |reduction )", TEXT, flags=re.MULTILINE)[1:]
}
HEAD = """
input bar : { open: f64, high: f64, low: f64, close: f64, volume: f64 } point
~o[t] = ~bar[t].open
~h[t] = ~bar[t].high
~l[t] = ~bar[t].low
~c[t] = ~bar[t].close
~v[t] = ~bar[t].volume
"""
DIRECTIONS = """
~plus[t] = ~h[t] - lag(~h, 1)
~minus[t] = lag(~l, 1) - ~l[t]
~range[t] = true_range(~bar, ~c)
~up[t] = direction(~plus, ~minus, ~range, 14)
~down[t] = direction(~minus, ~plus, ~range, 14)
~dx[t] = 100 * abs(~up[t] - ~down[t]) / (~up[t] + ~down[t])
"""
TYPICAL = "~typical[t] = (~h[t] + ~l[t] + ~c[t]) / 3\n"


def prices(seed: int, rows: int = 300) -> dict[str, Series]:
    """A random walk in eighths, some of whose neighbours are equal."""
    rng = np.random.default_rng(seed)
    close = 100 + np.cumsum(rng.integers(-8, 9, rows)) / 8
    start = close + rng.integers(-8, 9, rows) / 8
    high = np.maximum(start, close) + rng.integers(1, 9, rows) / 8
    low = np.minimum(start, close) - rng.integers(1, 9, rows) / 8
    volume = rng.integers(1, 1000, rows).astype(np.float64)
    return {"open": start, "high": high, "low": low, "close": close, "volume": volume}


PRICES = prices(1)
O, H, L, C, V = PRICES.values()  # noqa: E741 - as in TA-Lib's own texts
TIMES = np.cumsum(np.random.default_rng(2).integers(1, 10, len(C)))
EVERY_TICK = {"CCI"}
"""Its elements see the present, which they may over windows of a fixed length only."""

INDICATORS: dict[str, tuple[str, Series | tuple[Series, ...]]] = {
    # averages
    "SMA": ("~out[t] = average(~c, 10)", talib.SMA(C, 10)),
    "EMA": ("~out[t] = exponential(~c, 10)", talib.EMA(C, 10)),
    "WMA": (
        "~out[t] = full(~c, 10) ? line(~c[last 10 : t]).weighted : φ",
        talib.WMA(C, 10),
    ),
    "DEMA": (
        """
        ~e[t] = exponential(~c, 10)
        ~out[t] = 2 * ~e[t] - exponential(~e, 10)""",
        talib.DEMA(C, 10),
    ),
    "TEMA": (
        """
        ~e[t] = exponential(~c, 10)
        ~out[t] = 3 * ~e[t] - 3 * exponential(~e, 10) + triple(~c, 10)""",
        talib.TEMA(C, 10),
    ),
    "TRIMA": (
        "~a[t] = average(~c, 5)\n~out[t] = average(~a, 6)",
        talib.TRIMA(C, 10),
    ),
    "T3": (
        """
        ~three[t] = triple(~c, 5)
        ~four[t] = exponential(~three, 5)
        ~five[t] = exponential(~four, 5)
        ~out[t] = -0.343 * exponential(~five, 5) + 2.499 * ~five[t]
            - 6.069 * ~four[t] + 4.913 * ~three[t]""",
        talib.T3(C, 5, 0.7),
    ),
    "KAMA": (
        """
        ~step[t] = abs(~c[t] - lag(~c, 1))
        ~row[t] = {
            way = ~c[t] - lag(~c, 10)
            walked = total(~step, 10)
            share = walked <= way ? 1.0 : abs(way / walked)
            root = share * (2.0 / 3 - 2.0 / 31) + 2.0 / 31
            return way == φ ? φ
                : { price = ~c[t], before = lag(~c, 1), share = root * root }
        }
        ~out[t] = adaptive(~row[-∞ : t])""",
        talib.KAMA(C, 10),
    ),
    "MACD": (
        """
        ~late[t] = count(~c[-∞ : t]) > 26 - 12 ? ~c[t] : φ  # both begin at row 26
        ~line[t] = exponential(~late, 12) - exponential(~c, 26)
        ~out[t] = {
            signal = exponential(~line, 9)
            line = ~line[t]
            return signal == φ ? φ
                : { line = line, signal = signal, histogram = line - signal }
        }""",
        talib.MACD(C),
    ),
    "BBANDS": (
        """
        ~out[t] = {
            middle = average(~c, 5)
            spread = 2 * deviation(~c, 5)
            return middle == φ ? φ : {
                upper = middle + spread,
                middle = middle,
                lower = middle - spread
            }
        }""",
        talib.BBANDS(C, 5),
    ),
    "APO": ("~out[t] = exponential(~c, 12) - exponential(~c, 26)", talib.APO(C)),
    "PPO": (
        "~out[t] = 100 * (exponential(~c, 12) / exponential(~c, 26) - 1)",
        talib.PPO(C),
    ),
    "TRIX": (
        """
        ~e[t] = triple(~c, 8)
        ~out[t] = 100 * (~e[t] / lag(~e, 1) - 1)""",
        talib.TRIX(C, 8),
    ),
    # momentum
    "RSI": ("~out[t] = gain(~c, 14)", talib.RSI(C, 14)),
    "CMO": ("~out[t] = 2 * gain(~c, 14) - 100", talib.CMO(C, 14)),
    "MOM": ("~out[t] = ~c[t] - lag(~c, 10)", talib.MOM(C, 10)),
    "ROC": ("~out[t] = 100 * (~c[t] / lag(~c, 10) - 1)", talib.ROC(C, 10)),
    "ROCP": ("~out[t] = ~c[t] / lag(~c, 10) - 1", talib.ROCP(C, 10)),
    "ROCR": ("~out[t] = ~c[t] / lag(~c, 10)", talib.ROCR(C, 10)),
    "ROCR100": ("~out[t] = 100 * ~c[t] / lag(~c, 10)", talib.ROCR100(C, 10)),
    "SAR": ("~out[t] = parabolic(~bar[-∞ : t])", talib.SAR(H, L)),
    "BOP": ("~out[t] = (~c[t] - ~o[t]) / (~h[t] - ~l[t])", talib.BOP(O, H, L, C)),
    "WILLR": ("~out[t] = place(~h, ~l, ~c, 14) - 100", talib.WILLR(H, L, C)),
    "CCI": (
        TYPICAL
        + """
        ~mean[t] = average(~typical, 14)
        ~out[t] = {
            deviation = mean(abs(v - ~mean[t]) for v in ~typical[t-14 : t])
            return (~typical[t] - ~mean[t]) / (0.015 * deviation)
        }""",
        talib.CCI(H, L, C),
    ),
    "STOCHF": (
        """
        ~k[t] = place(~h, ~l, ~c, 5)
        ~out[t] = {
            d = average(~k, 3)
            return d == φ ? φ : { k = ~k[t], d = d }
        }""",
        talib.STOCHF(H, L, C),
    ),
    "STOCH": (
        """
        ~fast[t] = place(~h, ~l, ~c, 5)
        ~k[t] = average(~fast, 3)
        ~out[t] = {
            d = average(~k, 3)
            return d == φ ? φ : { k = ~k[t], d = d }
        }""",
        talib.STOCH(H, L, C),
    ),
    "STOCHRSI": (
        """
        ~r[t] = gain(~c, 14)
        ~k[t] = place(~r, ~r, ~r, 5)
        ~out[t] = {
            d = average(~k, 3)
            return d == φ ? φ : { k = ~k[t], d = d }
        }""",
        talib.STOCHRSI(C),
    ),
    "AROON": (
        """
        ~out[t] = !full(~h, 15) ? φ : {
            down = 100 * (14 - rows_since_max(-~l[last 15 : t])) / 14,
            up = 100 * (14 - rows_since_max(~h[last 15 : t])) / 14
        }""",
        talib.AROON(H, L),
    ),
    "AROONOSC": (
        """
        ~out[t] = {
            down = rows_since_max(-~l[last 15 : t])
            up = rows_since_max(~h[last 15 : t])
            return full(~h, 15) ? 100 * (down - up) / 14 : φ
        }""",
        talib.AROONOSC(H, L),
    ),
    "ULTOSC": (
        """
        ~range[t] = true_range(~bar, ~c)
        ~buying[t] = ~c[t] - min(~l[t], lag(~c, 1))
        ~out[t] = 100 * (4 * total(~buying, 7) / total(~range, 7)
            + 2 * total(~buying, 14) / total(~range, 14)
            + total(~buying, 28) / total(~range, 28)) / 7""",
        talib.ULTOSC(H, L, C),
    ),
    "PLUS_DI": (DIRECTIONS + "~out[t] = ~up[t]", talib.PLUS_DI(H, L, C)),
    "MINUS_DI": (DIRECTIONS + "~out[t] = ~down[t]", talib.MINUS_DI(H, L, C)),
    "DX": (DIRECTIONS + "~out[t] = ~dx[t]", talib.DX(H, L, C)),
    "ADX": (DIRECTIONS + "~out[t] = wilder(~dx, 14)", talib.ADX(H, L, C)),
    "ADXR": (
        DIRECTIONS + "~adx[t] = wilder(~dx, 14)\n"
        "~out[t] = (~adx[t] + lag(~adx, 13)) / 2",
        talib.ADXR(H, L, C),
    ),
    # volatility and volume
    "TRANGE": ("~out[t] = true_range(~bar, ~c)", talib.TRANGE(H, L, C)),
    "ATR": (
        "~range[t] = true_range(~bar, ~c)\n~out[t] = wilder(~range, 14)",
        talib.ATR(H, L, C),
    ),
    "NATR": (
        "~range[t] = true_range(~bar, ~c)\n~out[t] = 100 * wilder(~range, 14) / ~c[t]",
        talib.NATR(H, L, C),
    ),
    "OBV": (
        "~out[t] = on_balance(~bar[-∞ : t])",
        talib.OBV(C, V),
    ),
    "AD": (
        """
        ~flow[t] = (2 * ~c[t] - ~l[t] - ~h[t]) / (~h[t] - ~l[t]) * ~v[t]
        ~out[t] = sum(~flow[-∞ : t])""",
        talib.AD(H, L, C, V),
    ),
    "ADOSC": (
        """
        ~flow[t] = (2 * ~c[t] - ~l[t] - ~h[t]) / (~h[t] - ~l[t]) * ~v[t]
        ~ad[t] = sum(~flow[-∞ : t])
        ~out[t] = full(~c, 10)
            ? recursive_ema(~ad, 2.0 / 4) - recursive_ema(~ad, 2.0 / 11) : φ""",
        talib.ADOSC(H, L, C, V),
    ),
    "MFI": (
        TYPICAL
        + """
        ~flow[t] = sign(~typical[t] - lag(~typical, 1)) * ~typical[t] * ~v[t]
        ~gained[t] = max(~flow[t], 0.0)
        ~moved[t] = abs(~flow[t])
        ~out[t] = 100 * total(~gained, 14) / total(~moved, 14)""",
        talib.MFI(H, L, C, V),
    ),
    # statistics
    "LINEARREG": (
        """
        ~line[t] = line(~c[last 14 : t])
        ~out[t] = full(~c, 14) ? ~line[t].intercept + 13 * ~line[t].slope : φ""",
        talib.LINEARREG(C),
    ),
    "LINEARREG_SLOPE": (
        "~out[t] = full(~c, 14) ? line(~c[last 14 : t]).slope : φ",
        talib.LINEARREG_SLOPE(C),
    ),
    "LINEARREG_INTERCEPT": (
        "~out[t] = full(~c, 14) ? line(~c[last 14 : t]).intercept : φ",
        talib.LINEARREG_INTERCEPT(C),
    ),
    "LINEARREG_ANGLE": (
        """
        ~out[t] = full(~c, 14)
            ? atan(line(~c[last 14 : t]).slope) * 180 / 3.141592653589793 : φ""",
        talib.LINEARREG_ANGLE(C),
    ),
    "TSF": (
        """
        ~line[t] = line(~c[last 14 : t])
        ~out[t] = full(~c, 14) ? ~line[t].intercept + 14 * ~line[t].slope : φ""",
        talib.TSF(C),
    ),
    "CORREL": (
        "~out[t] = full(~h, 30) ? corr(b.high, b.low for b in ~bar[last 30 : t]) : φ",
        talib.CORREL(H, L),
    ),
    "BETA": (
        """
        ~pair[t] = {
            x = ~h[t] / lag(~h, 1) - 1
            y = ~l[t] / lag(~l, 1) - 1
            return x == φ ? φ : { x = x, y = y }
        }
        ~out[t] = full(~pair, 5) ? slope(p.y, p.x for p in ~pair[last 5 : t]) : φ""",
        talib.BETA(H, L),
    ),
    "VAR": ("~out[t] = full(~c, 5) ? var(~c[last 5 : t]) : φ", talib.VAR(C)),
    "STDDEV": ("~out[t] = deviation(~c, 5)", talib.STDDEV(C)),
    "SUM": ("~out[t] = total(~c, 30)", talib.SUM(C)),
    "MAX": ("~out[t] = highest(~c, 30)", talib.MAX(C)),
    "MIN": ("~out[t] = lowest(~c, 30)", talib.MIN(C)),
    "MINMAX": (
        """
        ~out[t] = full(~c, 30)
            ? { low = min(~c[last 30 : t]), high = max(~c[last 30 : t]) } : φ""",
        talib.MINMAX(C),
    ),
    "MIDPOINT": ("~out[t] = (highest(~c, 14) + lowest(~c, 14)) / 2", talib.MIDPOINT(C)),
    "MIDPRICE": (
        "~out[t] = (highest(~h, 14) + lowest(~l, 14)) / 2",
        talib.MIDPRICE(H, L),
    ),
    # prices
    "AVGPRICE": (
        "~out[t] = (~o[t] + ~h[t] + ~l[t] + ~c[t]) / 4",
        talib.AVGPRICE(O, H, L, C),
    ),
    "MEDPRICE": ("~out[t] = (~h[t] + ~l[t]) / 2", talib.MEDPRICE(H, L)),
    "TYPPRICE": (TYPICAL + "~out[t] = ~typical[t]", talib.TYPPRICE(H, L, C)),
    "WCLPRICE": ("~out[t] = (~h[t] + ~l[t] + 2 * ~c[t]) / 4", talib.WCLPRICE(H, L, C)),
}


def functions_for(text: str) -> str:
    """List the functions that a text calls, and those that these call."""
    called = "".join(
        part for name, part in FUNCTIONS.items() if re.search(rf"\b{name}\(", text)
    )
    return called if called == text else functions_for(called)


@pytest.mark.parametrize("name", INDICATORS)
def test_an_indicator_is_talibs(name: str) -> None:
    text, expected = INDICATORS[name]
    query = tilt.parse(f"{functions_for(text)}{HEAD}{text}\noutput ~out\n")
    times = np.arange(len(C)) if name in EVERY_TICK else TIMES
    table = query.run(bar=pa.table({"time": times, **PRICES}))["out"].to_arrow()
    columns = expected if isinstance(expected, tuple) else (expected,)
    fields = [field for field in table.column_names if field not in ("start", "end")]
    assert len(fields) == len(columns)
    for field, values in zip(fields, columns, strict=True):
        np.testing.assert_allclose(
            at_rows(table, field, times), values, rtol=1e-9, atol=1e-9, err_msg=field
        )


def at_rows(table: pa.Table, field: str, times: Times) -> Series:
    """List the value of an output at each row, NaN where it is φ."""
    starts, ends = (table[name].to_numpy() for name in ("start", "end"))
    values = table[field].to_numpy().astype(np.float64)
    place = np.searchsorted(ends, times)
    inside = (place < len(ends)) & (starts[np.minimum(place, len(ends) - 1)] < times)
    return np.where(inside, values[np.minimum(place, len(ends) - 1)], np.nan)

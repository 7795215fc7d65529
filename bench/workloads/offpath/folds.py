"""Folds that go on from row to row: totals, the last rows, recursions, sessions."""

from bench.workloads.offpath.draws import points
from bench.workloads.offpath.keyed import MINUTE, hourly_rows
from bench.workloads.offpath.rows import Make, OffPath
from bench.workloads.offpath.sampled import MILLION

LAST = 20
"""Rows of a mean."""
ALPHA = 0.05
"""The share of a row in an exponential average."""
GAIN, MIDDLE, PEAK = 0.25, 0.5, 0.5
"""Coefficients of a band-pass filter."""
PAUSE = 5 * MINUTE
"""Ticks without a row that end a session."""

_BIQUAD = f"""\
reduction band_pass(v: f64) {{
    init = {{ y = 0.0, a = 0.0, b = 0.0 }}
    acc = {{
        y = {GAIN} * v + state.a
        return {{ y = y, a = {MIDDLE} * y + state.b, b = -{GAIN} * v - {PEAK} * y }}
    }}
    result = state.y
}}
"""
_SESSIONS = f"""\
~time[t] = ~x[t] != φ ? t : φ
~first[t] = session_start(~x, {PAUSE})
~out[t] = {{
    last = ~x[t] != φ && count(~x[t : t+{PAUSE}]) == 0
    first = first(~time[since ~first : t])
    return last ? {{ first = first, rows = count(~time[since ~first : t]) }} : φ
}}"""


def _at_events(expression: str) -> str:
    return f"~out[t] = ~x[t] != φ ? {expression} : φ"


def workload(
    name: str,
    body: str,
    make: Make = points,
    *,
    inputs: str = "input x : f64 time ts point",
    coarse: int = 1,
) -> OffPath:
    """A workload over events `x` of one tick, by default."""
    query = f"{inputs}\n{body}\noutput ~out\n"
    return OffPath(name, "folds", query, make, MILLION, coarse=coarse)


FOLDS = (
    workload("running total", _at_events("sum(~x[-∞ : t])")),
    workload("cumulative maximum", _at_events("max(~x[-∞ : t])")),
    workload("mean of the last 20 rows", _at_events(f"mean(~x[last {LAST} : t])")),
    workload("ema of rows", _at_events(f"recursive_ema(~x, {ALPHA})")),
    workload("biquad of rows", _BIQUAD + _at_events("band_pass(~x[-∞ : t])")),
    workload(
        "sessions of 10,000 users",
        _SESSIONS,
        hourly_rows(10_000),
        inputs="input x by k : f64 time ts point",
        coarse=MINUTE,
    ),
)

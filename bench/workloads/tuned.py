"""The workloads without keys: what is asked, and over which layouts.

Every query's output is called `out`. A *sampled* workload has an event for every period
and no column of times. Its twins run the same query over events that last 1 to 10 ticks
(*contiguous*), over such events with gaps (*intervals*), and over events that are there
for one tick, 1 to 10 ticks apart (*points*) or thousands (*sparse*): there, rolling
results are those at the events.
"""

from bench.workloads.layouts import (
    LAYOUTS,
    SPARSE,
    every_fourth,
    kinds,
    maker,
    missing,
    numbers,
)
from bench.workloads.streams import Workload

WINDOW = 1000
"""Ticks in a window of the sliding and tumbling reductions."""
SHORT, LONG = 20, 50
"""Ticks in the windows of the trading query."""
GAINS = 14
"""Differences in the windows of the RSI."""
BLOCK = 10_000
"""Ticks of the z-score and of imputation."""
PANE = 100
"""Ticks in a pane of the vibration and Yahoo queries."""
BEFORE = 10
"""Ticks before an event that the fraud query looks at."""

BODIES = {
    "select": "~out[t] = ~x[t] + 1",
    "where": "~out[t] = ~x[t] > 0 ? ~x[t] : φ",
    "tumbling sum": f"""\
w = TDom(-∞, ∞, {WINDOW})
~out[w] = sum(~x[w-{WINDOW} : w])""",
    "sliding sum": f"~out[t] = sum(~x[t-{WINDOW} : t])",
    "sliding max": f"~out[t] = max(~x[t-{WINDOW} : t])",
    "aligned join": "~out[t] = ~a[t] + ~b[t]",
    "unaligned join": "~out[t] = ~a[t] + ~b[t]",
    "trading": f"~out[t] = mean(~x[t-{SHORT} : t]) > mean(~x[t-{LONG} : t])",
    "RSI": f"""\
~change[t] = ~x[t] - ~x[t-1]
~up[t] = mean(max(d, 0) for d in ~change[t-{GAINS} : t])
~down[t] = mean(max(-d, 0) for d in ~change[t-{GAINS} : t])
~out[t] = 100 - 100 / (1 + ~up[t] / ~down[t])""",
    "z-score": f"""\
w = TDom(-∞, ∞, {BLOCK})
~mean[w] = mean(~x[w-{BLOCK} : w])
~std[w] = std(~x[w-{BLOCK} : w])
~out[t] = (~x[t] - ~mean[t]) / ~std[t]""",
    "impute": f"""\
w = TDom(-∞, ∞, {BLOCK})
~mean[w] = mean(~x[w-{BLOCK} : w])
~out[t] = ~x[t] != φ ? ~x[t] : ~mean[t]""",
    "resample": """\
g = TDom(-∞, ∞, 5)
~out[g] = ~x[g] + (~x[g-4] - ~x[g]) * f32(end(~x[g]) - g) / 4""",
    "Pan-Tompkins": """\
~sum[t] = sum(~x[t-6 : t])
~low[t] = sum(~sum[t-6 : t])
~high[t] = ~low[t-16] - mean(~low[t-32 : t])
~slope[t] = (2 * ~high[t] + ~high[t-1] - ~high[t-3] - 2 * ~high[t-4]) / 8
~square[t] = ~slope[t] * ~slope[t]
~out[t] = mean(~square[t-30 : t])""",
    "vibration": f"""\
w = TDom(-∞, ∞, {PANE})
~out[w] = {{
    rms = rms(~x[w-{PANE} : w])
    peak = max(abs(v) for v in ~x[w-{PANE} : w])
    return {{ kurtosis = kurtosis(~x[w-{PANE} : w]), rms = rms, crest = peak / rms }}
}}""",
    "fraud": f"""\
~out[t] = {{
    usual = mean(~x[t-{BEFORE + 1} : t-1])
    return ~x[t] > usual + 3 * std(~x[t-{BEFORE + 1} : t-1])
}}""",
    "Yahoo": f"""\
w = TDom(-∞, ∞, {PANE})
~out[w] = count(v for v in ~x[w-{PANE} : w] if v == 1)""",
}
"""What is asked, by the names of the workloads."""

EVERY = (SPARSE[0] + SPARSE[1]) // 2
"""Ticks between the points of a sparse stream, on average."""

AT_EVENTS = {
    "sliding sum": f"~out[t] = ~x[t] != φ ? sum(~x[t-{WINDOW} : t]) : φ",
    "sliding max": f"~out[t] = ~x[t] != φ ? max(~x[t-{WINDOW} : t]) : φ",
    "unaligned join": f"~out[t] = ~a[t] + last(~b[t-{PANE} : t])",
    "trading": f"""\
~out[t] = ~x[t] != φ ? mean(~x[t-{SHORT} : t]) > mean(~x[t-{LONG} : t]) : φ""",
}
"""What is asked of points, where that is something else."""

SPARSELY = {
    "sliding sum": f"~out[t] = ~x[t] != φ ? sum(~x[t-{WINDOW * EVERY} : t]) : φ",
    "sliding max": f"~out[t] = ~x[t] != φ ? max(~x[t-{WINDOW * EVERY} : t]) : φ",
    "trading": f"""\
~out[t] = ~x[t] != φ ?
    mean(~x[t-{SHORT * EVERY} : t]) > mean(~x[t-{LONG * EVERY} : t]) : φ""",
}
"""The same over as many events, which are further apart."""

_CHEAP = ("select", "where")
_SLIDING = ("sliding sum", "sliding max", "trading")
_BLOCKS = ("tumbling sum", "z-score", "vibration", "Yahoo")
TWINS = {
    "contiguous": (*_CHEAP, *_SLIDING, *_BLOCKS, "RSI", "fraud"),
    "intervals": (*_CHEAP, *_SLIDING, *_BLOCKS, "unaligned join", "impute", "fraud"),
    "points": (*_CHEAP, *_SLIDING, *_BLOCKS, "unaligned join", "fraud"),
    "sparse": (*_CHEAP, *_SLIDING),
}
"""Which workloads have twins."""


def _workload(base: str, kind: str, own: str | None = None) -> Workload:
    """A workload over events that lie in time like those of a kind of stream."""
    family, lifetime, layout = LAYOUTS[kind]
    names = "ab" if base.endswith("join") else "x"
    scalar, draw = ("i32", kinds) if base == "Yahoo" else ("f32", numbers)
    body = BODIES[base]
    if family == "points":
        body = (SPARSELY if kind == "sparse" else AT_EVENTS).get(base, body)
    if kind == "sampled" and base == "resample":
        lifetime, layout = "sampled 4", every_fourth
    if kind == "sampled" and base == "impute":
        layout = missing
    inputs = "".join(f"input {name} : {scalar} {lifetime}\n" for name in names)
    query = f"{inputs}{body}\noutput ~out\n"
    name = own or f"{base}, {kind}"
    return Workload(name, query, maker(layout, names, draw), family, base)


def _all() -> tuple[Workload, ...]:
    found = []
    for base in BODIES:
        first = "contiguous" if base == "unaligned join" else "sampled"
        found.append(_workload(base, first, own=base))
    for kind, bases in TWINS.items():
        found.extend(_workload(base, kind) for base in bases)
    return tuple(found)


WORKLOADS = _all()

"""`python -m bench fusion`: with `fuse_operators` and without (figure 10).

Workloads that are one expression have nothing to fuse; trading is written here as the
paper does it, an operator after the other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import tiltpy as tilt
from bench.measure import BenchOptions
from bench.outcome import difference, table_of
from bench.peers.peer import EXACT
from bench.subject import Subject
from bench.timing import Spread, rate, speedup, take_turns
from bench.workloads.streams import Workload
from bench.workloads.tuned import LONG, SHORT, WORKLOADS

OPERATORS = {
    "trading": f"""\
input x : f32 sampled 1
~short[t] = mean(~x[t-{SHORT} : t])
~long[t] = mean(~x[t-{LONG} : t])
~out[t] = ~short[t] > ~long[t]
output ~out
""",
}
"""Queries of several operators, where the workload's own is of one."""
NAMES = ("trading", "RSI", "z-score", "impute", "Pan-Tompkins")
"""The workloads with intermediate objects."""
UNFUSED = tilt.CompileOptions(disabled_passes=frozenset({"fuse_operators"}))


def lines(chosen: Sequence[Workload] | None, options: BenchOptions) -> Iterator[str]:
    """A line for each workload: the rates of one worker, and what fusion gains."""
    workloads = chosen or [one for one in WORKLOADS if one.name in NAMES]
    yield f"{'million events/s':<26}{'fused':>14}{'not fused':>14}{'gain':>14}"
    for workload in workloads:
        fused, unfused, gain = compare(workload, options)
        yield (
            f"{workload.name:<26}{fused.show():>14}{unfused.show():>14}"
            f"{gain.median:>14.2f}"
        )


def compare(workload: Workload, options: BenchOptions) -> tuple[Spread, Spread, Spread]:
    """The rates of both, which have one result, and their ratio."""
    workload = replace(workload, query=OPERATORS.get(workload.name, workload.query))
    streams = workload.make(options.events, options.seed)
    subjects = {
        "fused": Subject(workload, streams),
        "unfused": Subject(workload, streams, UNFUSED),
    }
    one, other = (table_of(subject.run(1)) for subject in subjects.values())
    unlike = difference(one, other, exact=workload.base in EXACT)
    assert unlike is None, unlike
    del one, other
    runners = {name: subject.runner(1) for name, subject in subjects.items()}
    turns = take_turns(runners, options.repeat)
    events = sum(len(stream.values) for stream in streams.values())
    return (
        rate(events, turns["fused"]),
        rate(events, turns["unfused"]),
        speedup(turns["fused"], turns["unfused"], one_thread=True),
    )

"""`python -m bench`: every workload by tiltpy and by Numba, in turns, as one table."""

import argparse
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from bench.peers import PEERS, Peer, call_of, compiled
from bench.subject import Subject, results
from bench.timing import Runner, rate, speedup, take_turns
from bench.workloads import WORKLOADS, Streams, Workload

EVENTS = 20_000_000
SEED = 2


@dataclass(frozen=True, slots=True)
class Turns:
    """What is measured of a workload, and how often."""

    workers: tuple[int, ...]
    repeat: int
    reuse_memory: bool


def main() -> None:
    """Parse the arguments, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    names = [workload.name for workload in WORKLOADS]
    parser.add_argument("names", nargs="*", metavar="WORKLOAD", help=", ".join(names))
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument(
        "--reuse-memory",
        action="store_true",
        help="give Numba memory for its results that has been written to before",
    )
    args = parser.parse_args()
    unknown = [name for name in args.names if name not in names]
    if unknown:
        parser.error(f"no workload {unknown[0]!r}; there are {', '.join(names)}")
    workers = tuple(args.workers)
    print(_conditions(args.events, args.repeat))
    print(_row(*_header(workers)))
    for workload in WORKLOADS:
        if not args.names or workload.name in args.names:
            streams = workload.streams(args.events, args.seed)
            turns = Turns(workers, args.repeat, args.reuse_memory)
            print(_row(*_measured(workload, streams, turns)), flush=True)


def _conditions(events: int, repeat: int) -> str:
    return (
        f"Million events per second: median (least-most) of {repeat} turns over "
        f"{events:,} float32 events.\n"
        "Warm; reading of the input is excluded, but in 'frames', which starts from "
        "Arrow tables.\n'ratio': the first column to the fastest Numba loop, by "
        "processor time.\n"
        f"{platform.machine()}, {os.cpu_count()} CPUs, "
        f"load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}\n"
    )


def _header(workers: tuple[int, ...]) -> list[str]:
    columns = [f"{n} worker{'s' * (n > 1)}" for n in workers]
    return ["workload", *columns, "frames", "Numba", "ratio", "Numba's loop"]


def _measured(workload: Workload, streams: Streams, turns: Turns) -> Iterator[str]:
    workers = turns.workers
    peer = PEERS[workload.name]
    events = sum(len(stream.values) for stream in streams.values())
    subject = Subject(workload, streams)
    runners: dict[str, Runner] = {
        f"workers {n}": subject.over_buffers(n) for n in workers
    }
    runners["frames"] = partial(subject.over_frames, workers[0])
    loops = _loops(peer, streams, subject, reuse=turns.reuse_memory)
    found = take_turns({**runners, **loops}, turns.repeat)
    rates = {name: rate(events, seconds) for name, seconds in found.items()}
    fastest = max(loops, key=lambda name: rates[name].median)
    yield workload.name
    yield from (rates[name].show() for name in [*runners, fastest])
    yield speedup(found[f"workers {workers[0]}"], found[fastest]).show(2)
    others = (f"{n} {rates[n].median:,.0f}" for n in loops if n != fastest)
    yield "; ".join([fastest, *others])


def _loops(
    peer: Peer, streams: Streams, subject: Subject, *, reuse: bool
) -> dict[str, Runner]:
    """The peer's compiled loops, each checked against tiltpy's result."""
    call = call_of(peer, streams)
    memory = call.memory() if reuse else None
    loops: dict[str, Runner] = {}
    expected = results(subject.over_buffers(1)())
    for function in peer.functions:
        loop = compiled(function)
        found = call.with_times(call.run(loop))
        for mine, theirs in zip(expected, found, strict=True):
            np.testing.assert_array_equal(mine, theirs, function.__name__)
        loops[function.__name__] = partial(call.run, loop, memory)
    return loops


def _row(name: str, *cells: str) -> str:
    *numbers, loop = cells
    return f"{name:<13}" + "".join(f"{cell:>20}" for cell in numbers) + f"  {loop}"


if __name__ == "__main__":
    main()

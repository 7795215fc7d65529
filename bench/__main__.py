"""`python -m bench`: every workload by tiltpy and by its peers, in turns, as one table.

`python -m bench fusion`, `threads` or `buffers` (and names of workloads, if you like)
draw the paper's figures 10, 8 and 9 as tables; `memory` is a run over more than fits,
`median` a look at windows of growing length, `growth` at more rows, keys, ticks and
outputs; `ablation` has each mechanism on and off, `files` goes from Parquet to Parquet,
`pieces` is of streams, `latency` a live figure 9, `reorder` of rows out of order,
`small` of few rows again and again, `spark` is one at Spark, `scaling` says how much of
each workload threads can share.
Workloads that no kernel is tuned for are the family `offpath`, which has a table of its
own: `folds` are those of them that go on from row to row, `drawn` those of a generator.
"""

import argparse
import os
import platform
import sys
from collections.abc import Iterator, Sequence

from bench.compare_offpath import compare
from bench.measure import BenchOptions, measure
from bench.peers.c.bandwidth import bandwidth
from bench.peers.offpath import NAMES as OFFPATH_PEERS
from bench.peers.registry import NAMES, missing
from bench.reports import (
    ablation,
    buffers,
    files,
    fusion,
    growth,
    latency,
    live,
    median,
    memory,
    pieces,
    reorder,
    scaling,
    small,
    soak,
    threads,
)
from bench.reports.offpath import OffPathTable
from bench.reports.table import Table
from bench.workloads.catalogue import ALL
from bench.workloads.offpath.catalogue import OFFPATH
from bench.workloads.offpath.rows import OffPath
from bench.workloads.streams import Workload
from tiltpy.messages import closest

EVENTS = 20_000_000
SEED = 2
OFF_THE_PATH = "offpath"
GROUPS = ("folds", "drawn")
SCALING = "scaling"
FAMILIES = (*dict.fromkeys(workload.family for workload in ALL), OFF_THE_PATH, *GROUPS)


def _on_spark(
    chosen: Sequence[Workload] | None, options: BenchOptions
) -> Iterator[str]:
    """An extra, which nothing else needs."""
    from bench.reports import spark  # noqa: PLC0415

    return spark.lines(chosen, options)


FIGURES = {
    "fusion": fusion.lines,
    "threads": threads.lines,
    "buffers": buffers.lines,
    "memory": memory.lines,
    "median": median.lines,
    "growth": growth.lines,
    "ablation": ablation.lines,
    "files": files.lines,
    "latency": latency.lines,
    "live": live.lines,
    "pieces": pieces.lines,
    "reorder": reorder.lines,
    "small": small.lines,
    "soak": soak.lines,
    "spark": _on_spark,
}


def main() -> int:
    """Parse the arguments, measure, print; 1 if a peer found something else."""
    parser = _parser()
    args = parser.parse_args()
    first = args.names[0] if args.names else ""
    figure = FIGURES.get(first)
    names = args.names[1:] if figure or first == SCALING else args.names
    peers = _peers(parser, args.peers)
    events = args.events or EVENTS
    options = BenchOptions(events, args.seed, args.repeat, tuple(args.workers), peers)
    chosen = _workloads(parser, names, args.family)
    untuned = _off_the_path(names, args.family)
    if first == SCALING:
        print(_conditions(None, options.repeat))
        every = not names and args.family is None
        some = [*chosen, *(OFFPATH if every else untuned)]
        for line in scaling.lines(some, options):
            print(line, flush=True)
        return 0
    if figure is not None and untuned:
        parser.error(f"no figure is drawn of workloads of the family {OFF_THE_PATH}")
    if figure is not None:
        print(_conditions(events, options.repeat))
        for line in figure(chosen if names or args.family else None, options):
            print(line, flush=True)
        return 0
    status = 0
    if chosen or not untuned:
        print(_conditions(events, options.repeat))
        status = _print_table(chosen, options)
    if untuned:
        print(_conditions(args.events, options.repeat))
        status |= _print_off_the_path(untuned, options, args.events)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="figure, workloads")
    parser.add_argument("--family", choices=FAMILIES, help="of this kind only")
    parser.add_argument("--events", type=int)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeat", type=int, default=7, help="runs of each")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--peers", help="some of " + ",".join(NAMES) + "; or none")
    return parser


def _peers(parser: argparse.ArgumentParser, given: str | None) -> tuple[str, ...]:
    """The peers that are asked for and can be asked; by default all that are there."""
    if given == "none":
        return ()
    if given is None:
        absent = {name: why for name in NAMES if (why := missing(name))}
        for why in absent.values():
            print(why, file=sys.stderr)
        return tuple(name for name in NAMES if name not in absent)
    known = {name.lower(): name for name in NAMES}
    for name in given.split(","):
        if name.lower() not in known:
            parser.error(f"no peer {name!r}; there are {', '.join(NAMES)}")
        if why := missing(known[name.lower()]):
            parser.error(why)
    return tuple(name for name in NAMES if name.lower() in given.lower().split(","))


def _workloads(
    parser: argparse.ArgumentParser, names: list[str], family: str | None
) -> list[Workload]:
    known = [one.name for one in ALL] + [one.name for one in OFFPATH]
    for name in names:
        if name not in known:
            longer = (one for one in known if one.startswith(name))
            nearest = next(longer, None) or closest(name, known)
            if nearest is not None:
                parser.error(f"no workload {name!r}; did you mean {nearest!r}?")
            listed = "; ".join([*FIGURES, SCALING, *known])
            parser.error(f"no workload {name!r}; there are {listed}")
    return [
        workload
        for workload in ALL
        if (not names or workload.name in names)
        and (family is None or workload.family == family)
    ]


def _off_the_path(names: list[str], family: str | None) -> list[OffPath]:
    """Those of the family, if it is asked for, or one of its workloads."""
    if not names and family is None:
        return []
    return [
        workload
        for workload in OFFPATH
        if (not names or workload.name in names)
        and (family in (None, OFF_THE_PATH) or family == workload.group in GROUPS)
    ]


def _conditions(events: int | None, repeat: int) -> str:
    count = "each with events of its own" if events is None else f"{events:,} events"
    return (
        f"{count}, {repeat} turns; {platform.machine()}, "
        f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, "
        f"Python {platform.python_version()}\n"
    )


def _print_off_the_path(
    chosen: list[OffPath], options: BenchOptions, events: int | None
) -> int:
    """Each over its own number of events, unless some are asked for."""
    table = OffPathTable(tuple(name for name in OFFPATH_PEERS if name in options.peers))
    print(table.header())
    for workload in chosen:
        count = events or workload.events
        one = compare(workload, count, options.seed, options.repeat, table.peers)
        print(table.add(one), flush=True)
    for line in (*table.means(), *table.notes()):
        print(line)
    return 0 if table.agrees else 1


def _print_table(chosen: list[Workload], options: BenchOptions) -> int:
    speed = bandwidth(1) if "C" in options.peers else None
    if speed is not None:
        read, copied = speed.read / 1e9, speed.copied / 1e9
        print(f"one core reads {read:.1f} GB/s, and copies {copied:.1f} GB/s\n")
    most = None if speed is None else max(speed.read, speed.copied)
    table = Table(options.workers, options.peers, most)
    print(table.header())
    for workload in chosen:
        for line in table.add(measure(workload, options)):
            print(line, flush=True)
    for line in (*table.means(), *table.notes()):
        print(line)
    return 0 if table.agrees else 1


if __name__ == "__main__":
    sys.exit(main())

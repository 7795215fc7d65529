"""A run of `tilt live`: its arguments read, and what is said at its end."""

from argparse import Namespace
from typing import Any

import tiltpy as tilt
from tiltpy.cli import arguments, times
from tiltpy.cli.arguments import ArgumentsError
from tiltpy.cli.binding import convert_binding, read_binding
from tiltpy.cli.console import note, read_query
from tiltpy.cli.live_places import (
    SIDE,
    open_archives,
    open_late_sinks,
    open_sinks,
    open_sources,
)
from tiltpy.errors import ArgumentError
from tiltpy.live.live_run import LiveOutcome
from tiltpy.live.run_live import run_live
from tiltpy.live.sinks.pipe_sink import PipeSink
from tiltpy.live.sinks.sink import Sink
from tiltpy.messages import quantity

LATE = ("drop", "adjust", "throw")
"""Ways with late rows, besides a file for them."""


def run_live_query(args: Namespace) -> int:
    """Run a query over rows as they come; 0 once its sources have ended."""
    query = read_query(args.query, args.param)
    if args.early and args.form == "append":
        raise ArgumentsError(
            "--early: early rows change, and --form append takes no row back; add "
            "--form upsert or --form changes"
        )
    unit = query.query.unit
    names = [declared.name for declared in query.query.inputs]
    late = _read_late(names, args)
    sinks = open_sinks(query, args)
    try:
        outcome = run_live(
            query,
            sources=open_sources(query, args),
            into=sinks,
            late=open_late_sinks(late),
            accepted=open_archives(names, args),
            state=args.state,
            form=args.form,
            early=args.early,
            checkpoint=_read_wait("--checkpoint", args.checkpoint),
            idle=_read_waits("--idle", args.idle, names),
            heartbeat=_read_waits("--heartbeat", args.heartbeat, names),
            start=None
            if args.start is None
            else times.time("--start", args.start, unit),
            workers=args.workers,
            **_read_ingress(query, late, args),
        )
    except ArgumentError as error:
        raise ArgumentsError(str(error)) from error
    if not args.quiet:
        _report(outcome, "snapshot" if args.form == "append" else "row", sinks, late)
    return 0


def _read_late(names: list[str], args: Namespace) -> dict[str, str]:
    """Read what becomes of the late rows of each input."""
    ways = arguments.assign("--late", args.late, names, bare_is_for_all=True)
    for name, way in ways.items():
        if way not in LATE and not (way.startswith(SIDE) and way != SIDE):
            raise ArgumentsError(
                f"--late {name}={way}: expected {', '.join(LATE)} or side:FILE"
            )
    return ways


def _read_ingress(
    query: tilt.CompiledQuery, late: dict[str, str], args: Namespace
) -> dict[str, Any]:
    """Read how the rows of each input come in."""
    unit = query.query.unit
    names = [declared.name for declared in query.query.inputs]
    words = read_binding(names, args)
    lengths = {
        option: {
            name: times.length(f"--{option}", text, unit)
            for name, text in arguments.assign(
                f"--{option}", getattr(args, option), names, bare_is_for_all=True
            ).items()
        }
        for option in ("reorder", "jump")
    }
    ingress: dict[str, Any] = {}
    for name in names:
        way: Any = late.get(name, "drop").partition(":")[0]
        ingress[name] = tilt.ingress(
            reorder=lengths["reorder"].get(name),
            jump=lengths["jump"].get(name),
            late=way,
            **convert_binding(words[name], unit),
        )
    return ingress


def _read_waits(option: str, texts: list[str], names: list[str]) -> dict[str, str]:
    """Read durations by the clock."""
    waits = arguments.assign(option, texts, names, bare_is_for_all=True)
    return {name: _read_wait(option, text) for name, text in waits.items()}


def _read_wait(option: str, text: str) -> str:
    if text.isdecimal():
        raise ArgumentsError(f"{option} {text}: expected a duration, like 5s")
    times.length(option, text, "ns")
    return text


def _report(
    outcome: LiveOutcome, unit: str, sinks: dict[str, Sink], late: dict[str, str]
) -> None:
    """Say on stderr what was written, and how many rows came late."""
    for name, count in outcome.rows.items():
        if not isinstance(sinks[name], PipeSink):
            of_name = f" of ~{name}" if len(sinks) > 1 else ""
            note(f"wrote {quantity(count, unit)}{of_name} to {sinks[name]!r}")
    for name, count in outcome.late.items():
        if count:
            way = late.get(name, "drop")
            done = {"drop": "left out", "adjust": "moved"}.get(
                way, f"written to {way.removeprefix(SIDE)}"
            )
            note(f"{quantity(count, 'late row')} of {name} {done}")
    if outcome.finished and not outcome.rows:
        note(
            "this run had finished before: nothing was left to do, and rows that came "
            "since are not read. Begin anew with another --state; without --until EOF "
            "a run goes on"
        )

"""`run_live`: a query between sources and sinks, with checkpoints to resume from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path

from tiltpy.api import CompiledQuery
from tiltpy.argument_checks import (
    check_argument,
    check_flag,
    check_path,
    whole_number,
)
from tiltpy.errors import ArgumentError, StateError, TiltError
from tiltpy.live.live_plan import LivePlan, Sources
from tiltpy.live.live_run import (
    Destinations,
    LiveOutcome,
    LiveRun,
    OnUpdate,
    StateOwner,
)
from tiltpy.live.output_forms import APPEND, FormName, OutputForm, open_writers
from tiltpy.live.sinks.sink import LastingSink, Sink
from tiltpy.live.sources.source import TypedSource
from tiltpy.live.state_folder import Checkpoint, StateFolder
from tiltpy.live.timers import NEVER, Intervals
from tiltpy.live_session import LiveSession
from tiltpy.short_tracebacks import short_traceback
from tiltpy.time_literals import Length, ticks_of
from tiltpy.types import NANOSECONDS

Sinks = Mapping[str, Sink]
Waits = Mapping[str, Length]


@short_traceback
def run_live(
    query: CompiledQuery | LiveSession,
    *,
    sources: Sources,
    into: Sinks,
    late: Sinks | None = None,
    accepted: Sinks | None = None,
    state: str | Path | None = None,
    checkpoint: Length | None = "1s",
    idle: Waits | None = None,
    heartbeat: Waits | None = None,
    form: FormName = "append",
    early: bool = False,
    until_end: bool = True,
    on_update: OnUpdate | None = None,
    **live: object,
) -> LiveOutcome:
    """Run a query over sources as their rows come, and write what is final to sinks.

    `sources` has a source for each input, `into` a sink for each output that is wanted,
    `late` one for the late rows of each input with `ingress(late="side")`, `accepted`
    one for the accepted rows of each input that is archived: `query.run` over these
    has the result of the live run. All else is as in `query.live`:
    `trades=tilt.ingress(reorder="5s")`, `start`, `params`. In the place of the query
    may be a session that is open; it has no `state`.

    `state` is a folder for checkpoints. After a crash the same call goes on from the
    last one, and the files of the sinks become what they would be without the crash. A
    run that has finished does nothing any more. `checkpoint` is the time between two of
    them, on the wall clock; None: there is one at the end alone.

    `idle` is how long an input may have no rows, on the wall clock, until it no longer
    holds back the outputs. `heartbeat` promises of an input that it is complete up to
    the wall clock, less so much. `on_update` is called with each update, after its rows
    were written.

    `form` says in which form outputs go to their sinks. `"append"`: the final
    snapshots, each when it is final. The other two also have the open ones, or with
    `early` all that is not final, as they are at each checkpoint. `"changes"`: rows
    with a column `weight`; -1 takes back a row that was written with +1, and the rows
    that are left are those of now. `"upsert"`: rows with a column `op`; `"put"`
    replaces the row of that key and start, `"delete"` removes it.

    It ends when all sources have ended, and then takes that as the promise that no row
    will come; with `until_end=False` it takes nothing as final that is not. Ctrl-C
    makes a checkpoint and leaves.

    Raises `StateError` if the folder is in use, damaged, or of another query.
    """
    for option, waits in (("idle", idle), ("heartbeat", heartbeat)):
        check_argument(option, waits or {}, Mapping, "a dict of durations by input")
    intervals = Intervals(
        NEVER if checkpoint is None else _seconds("checkpoint", checkpoint),
        {name: _seconds("idle", wait) for name, wait in (idle or {}).items()},
        {name: _seconds("heartbeat", wait) for name, wait in (heartbeat or {}).items()},
    )
    check_argument("sources", sources, Mapping, "a dict of sources by input")
    for option, sinks in (("into", into), ("late", late), ("accepted", accepted)):
        if sinks is not None or option == "into":
            check_argument(option, sinks, Mapping, "a dict of sinks by name")
    destinations = Destinations(into, late or {}, accepted or {})
    output_form = OutputForm(form, early)
    check_flag("until_end", until_end)
    if isinstance(query, LiveSession):
        options = {**({} if state is None else {"state": state}), **live}
        if output_form != APPEND:
            options["form"] = form
        if options:
            found = next(iter(options))
            raise ArgumentError(
                f"run_live() of a session takes no {found}=; give the query instead"
            )
        plan = LivePlan.of_session(query)
    else:
        check_argument("query", query, CompiledQuery, "a query or a session")
        plan = LivePlan.of_query(
            query, live, frozenset(destinations.accepted), output_form
        )
    plan.check(sources, destinations, intervals)
    with ExitStack() as stack:
        run = _start(plan, sources, destinations, intervals, state, on_update, stack)
        if not run.outcome.finished:
            run.run(until_end=until_end)
    return run.outcome


def _start(
    plan: LivePlan,
    sources: Sources,
    destinations: Destinations,
    intervals: Intervals,
    state: str | Path | None,
    on_update: OnUpdate | None,
    stack: ExitStack,
) -> LiveRun:
    """Open a run, as its last checkpoint says; `stack` closes what is open.

    Nothing is changed where something does not fit.
    """
    saving, saved = None, None
    if state is not None:
        folder = StateFolder(check_path("state", state))
        stack.callback(folder.close)
        folder.open()
        saving = StateOwner(folder, plan.identity())
        saved = folder.read(saving.identity)
    sinks = destinations.by_name()
    if saved is not None:
        _check_places(saving, "sources", saved.sources, sources)
        _check_places(saving, "sinks", saved.sinks, sinks)
    elif saving is not None:
        _check_empty(saving, sinks)
    session = plan.open_session(None if saved is None else saved.session)
    stack.callback(session.close)
    for name, source in sources.items():
        if isinstance(source, TypedSource) and name in plan.expected:
            source.expect(plan.expected[name])
        source.seek(None if saved is None else saved.sources[name])
    for name, sink in sinks.items():
        stack.callback(sink.close)
        sink.restore(None if saved is None else saved.sinks[name])
    if saving is not None and saved is None:
        flushed = {name: sink.flush() for name, sink in sinks.items()}
        begun = Checkpoint(saving.identity, dict.fromkeys(sources), flushed)
        saving.folder.write(begun)
    standing = {}
    if saved is not None and saved.session is not None:
        standing = plan.list_provisional(session, destinations.outputs)
    query = None if plan.query is None else plan.query.query
    run = LiveRun(
        session,
        sources,
        destinations,
        open_writers(plan.form, destinations.outputs, query, standing),
        intervals,
        unit=plan.unit,
        saving=saving,
        positions=dict.fromkeys(sources) if saved is None else saved.sources,
        on_update=on_update,
    )
    run.outcome.finished = saved is not None and saved.finished
    return run


def _check_places(
    saving: StateOwner | None, what: str, saved: Iterable[str], present: Iterable[str]
) -> None:
    """Refuse to resume with other sources or sinks."""
    assert saving is not None
    if set(saved) != set(present):
        names = [", ".join(sorted(names)) or "none" for names in (saved, present)]
        raise StateError(
            f"{saving.folder.folder}: was written by a run with the {what} {names[0]}, "
            f"and this one has {names[1]}; give the same ones, or name another folder"
        )


def _check_empty(saving: StateOwner, sinks: Sinks) -> None:
    """Refuse to overwrite rows that another state folder may belong to."""
    for sink in sinks.values():
        if isinstance(sink, LastingSink) and not sink.is_empty():
            raise StateError(
                f"{sink!r} has rows, but {saving.folder.folder} has no checkpoint of "
                "them; name the state folder that they were written with, or remove "
                "them"
            )


def _seconds(option: str, length: Length) -> float:
    """Read a length of time on the wall clock."""
    if whole_number(length) is not None:
        raise ArgumentError(f"{option}={length!r}: expected a duration, like '5s'")
    try:
        nanoseconds = ticks_of(length, "ns")
    except TiltError as error:
        raise ArgumentError(f"{option}={length!r}: {error}") from error
    if nanoseconds < 0:
        raise ArgumentError(f"{option}={length!r}: expected no negative length")
    return nanoseconds / NANOSECONDS["s"]

"""The plan of a live run: a query with its arguments, or a session that is open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pyarrow as pa

from tiltpy.api import CompiledQuery
from tiltpy.argument_checks import check_argument
from tiltpy.errors import ArgumentError, TiltError
from tiltpy.ingress import read_ways
from tiltpy.lean_dataclass import dataclass
from tiltpy.live.live_run import Destinations
from tiltpy.live.output_forms import APPEND, OutputForm
from tiltpy.live.sinks.sink import Sink
from tiltpy.live.sources.source import ExpectedInput, RowSource
from tiltpy.live.state_folder import Identity
from tiltpy.live.timers import Intervals
from tiltpy.live_session import LiveSession
from tiltpy.messages import closest
from tiltpy.types import Unit

Sources = Mapping[str, RowSource]
A_SOURCE = "a source: tilt.sources.frames([...]), .file(path), .tail(path) or another"
A_SINK = "a sink: tilt.sinks.file(path), .folder(path), .call(function) or another"


@dataclass(frozen=True, slots=True)
class LivePlan:
    """A query to run, with the arguments of `query.live`, or a session."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    late: frozenset[str]
    """The inputs that give their late rows back."""
    accepted: frozenset[str]
    """Those that give back their accepted rows."""
    expected: Mapping[str, ExpectedInput]
    session: LiveSession | None = None
    query: CompiledQuery | None = None
    arguments: Mapping[str, object] | None = None
    form: OutputForm = APPEND

    @classmethod
    def of_session(cls, session: LiveSession) -> LivePlan:
        """Plan to go on with a session that is open."""
        inputs = tuple(session.counts)
        accepted = frozenset(session.result().accepted_rows)
        return cls(inputs, (), frozenset(inputs), accepted, {}, session=session)

    @classmethod
    def of_query(
        cls,
        query: CompiledQuery,
        arguments: Mapping[str, object],
        accepted: frozenset[str],
        form: OutputForm,
    ) -> LivePlan:
        """Plan to open a session of a query, with the inputs to archive."""
        params: Any = arguments.get("params")
        if params is not None:
            query = query.with_params(params)
        arguments = {name: v for name, v in arguments.items() if name != "params"}
        unit = query.query.unit
        needed = [name for name, each in query.inputs.items() if each.needed]
        ways = read_ways(needed, arguments)
        expected = {
            declared.name: ExpectedInput(
                declared, ways[declared.name].options(unit).binding, unit
            )
            for declared in query.query.inputs
            if declared.name in ways
        }
        late = frozenset(name for name, way in ways.items() if way.late == "side")
        outputs = tuple(query.query.outputs)
        return cls(
            tuple(ways),
            outputs,
            late,
            accepted,
            expected,
            query=query,
            arguments=arguments,
            form=form,
        )

    def check(
        self, sources: Sources, destinations: Destinations, intervals: Intervals
    ) -> None:
        """Refuse names that there are not, and inputs without a source."""
        for option, names in (
            ("sources", sources),
            ("late", destinations.late),
            ("accepted", destinations.accepted),
            ("idle", intervals.idle),
            ("heartbeat", intervals.heartbeat),
        ):
            _check_names(option, names, self.inputs)
        if self.query is not None:
            _check_names("into", destinations.outputs, self.outputs)
            self.form.check(self.query.query, destinations.outputs)
        if missing := [name for name in self.inputs if name not in sources]:
            raise ArgumentError(
                f"run_live(): input '{missing[0]}' has no source; give one: "
                f"sources={{'{missing[0]}': tilt.sources...}}"
            )
        _check_kinds("sources", sources, RowSource, A_SOURCE)
        _check_kinds("into", destinations.outputs, Sink, A_SINK)
        _check_kinds("late", destinations.late, Sink, A_SINK)
        _check_kinds("accepted", destinations.accepted, Sink, A_SINK)
        for name in destinations.late:
            if name not in self.late:
                raise ArgumentError(
                    f"late: input '{name}' does not give its late rows back; open it "
                    f"by {name}=tilt.ingress(late='side')"
                )
        for name in destinations.accepted:
            if name not in self.accepted:
                raise ArgumentError(
                    f"accepted: input '{name}' does not give its accepted rows back; "
                    f"open it by {name}=tilt.ingress(accepted=True)"
                )
        if intervals.heartbeat and self.unit is None:
            raise TiltError(
                "heartbeat: the ticks of the query have no unit, so the clock says "
                "nothing of them; write `unit s` into the query"
            )

    @property
    def unit(self) -> Unit | None:
        """The tick of the query; None for a session."""
        return None if self.query is None else self.query.query.unit

    def open_session(self, saved: bytes | None) -> LiveSession:
        """Open the session, as it was saved."""
        if self.session is not None:
            return self.session
        assert self.query is not None
        arguments = dict(self.arguments or {})
        for name, way in read_ways(self.accepted, arguments).items():
            arguments[name] = replace(way, accepted=True)
        if saved is not None:
            arguments["resume"] = saved
        return self.query.live(**arguments)  # type: ignore[arg-type]

    def list_provisional(
        self, session: LiveSession, names: Iterable[str]
    ) -> dict[str, pa.Table]:
        """List what the sinks of a saved session hold besides its final rows."""
        if self.form == APPEND:
            return {}
        update = session.result()
        return {name: self.form.provisional(update[name]) for name in names}

    def identity(self) -> Identity:
        """Identify the query by all that its results depend on."""
        from importlib.metadata import version  # noqa: PLC0415 - late

        assert self.query is not None
        ways = {name: each.binding for name, each in self.expected.items()}
        others = {name: repr(value) for name, value in (self.arguments or {}).items()}
        text = repr((str(self.query), ways, sorted(others.items()), self.form))
        return Identity(version("tiltpy"), sha256(text.encode()).hexdigest())


def _check_kinds(
    option: str, places: Mapping[str, object], kind: type, expected: str
) -> None:
    for name, place in places.items():
        check_argument(f"{option}['{name}']", place, kind, expected)


def _check_names(option: str, names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name not in known:
            nearest = closest(name, list(known))
            hint = f"; did you mean '{nearest}'?" if nearest else ""
            raise ArgumentError(
                f"{option}: the query has no '{name}'; it has {', '.join(known)}{hint}"
            )

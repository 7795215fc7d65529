"""A live session as users hold it: rows in, updates out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from types import TracebackType
from typing import Any, NoReturn, ParamSpec, Self, TypeVar

from tiltpy.argument_checks import check_argument
from tiltpy.engines.live.saved_session import look_ahead, save_session
from tiltpy.engines.live.session import LiveEngine, SessionStep
from tiltpy.errors import ArgumentError, DataError, TiltError, UnknownArgumentError
from tiltpy.forks import ForkSafe, cached_property
from tiltpy.inputs import BoundFrame
from tiltpy.messages import closest
from tiltpy.run_arguments import in_ticks, inputs_by_name
from tiltpy.runtime.arrivals.live_source import Counts
from tiltpy.runtime.results.output_table import OutputTable
from tiltpy.runtime.results.unknown_names import unknown_output
from tiltpy.short_tracebacks import short_traceback
from tiltpy.time_literals import Moment, time_of
from tiltpy.types import MAX_TIME

P = ParamSpec("P")
T = TypeVar("T")


class EarlyResult:
    """The outcome of a session if no row were to come, computed for all outputs."""

    def __init__(self, engine: LiveEngine) -> None:
        self._engine = engine

    @cached_property
    def outcome(self) -> tuple[LiveEngine, SessionStep]:
        """A copy of the session, and the step that finished it."""
        return look_ahead(self._engine)


class OutputUpdate:
    """The snapshots of an output that a call made final, and those still open.

    `final`: value, start and end are certain; each comes once. `open`: value and start
    are certain, the end is `through` or later; they replace the open ones of before.
    `early`: all that is not final, as if no row were to come.
    """

    def __init__(
        self,
        engine: LiveEngine,
        name: str,
        step: SessionStep,
        early: EarlyResult,
    ) -> None:
        self._engine = engine
        self._name = name
        self._step = step
        self._early = early

    @cached_property
    def final(self) -> OutputTable:
        """The snapshots that this call made final, in order of key, then time."""
        return self._engine.final_table(self._name, self._step)

    @cached_property
    def open(self) -> OutputTable:
        """The snapshots that go on, in order of key: one each, or the rows alive.

        Raises `TiltError` where the session has gone on since.
        """
        self._check_current("open")
        return self._engine.open_table(self._name)

    @cached_property
    def early(self) -> OutputTable:
        """The snapshots beyond the final ones, as if no row were to come.

        With the final ones so far they are those of a run over all accepted rows, those
        that wait too. Rows to come may change them. A copy of the session computes
        them, which costs as much as saving it. Raises `TiltError` where the session has
        gone on since.
        """
        self._check_current("early")
        engine, step = self._early.outcome
        return engine.final_table(self._name, step)

    @property
    def is_typed(self) -> bool:
        """Return whether the columns have the types of all that follow.

        They have once each input has had rows, or was given their `schema`.
        """
        return bool(self._engine.inputs)

    def _check_current(self, name: str) -> None:
        if self._engine.steps != self._step.number:
            raise TiltError(
                f"the session has gone on, and other snapshots are {name} now; read "
                f"`{name}` before the next call, or from the update of that"
            )

    @cached_property
    def through(self) -> object:
        """The time through which the output is final; None before there is one."""
        return self._engine.show_time(self._step.through[self._name])

    def __repr__(self) -> str:
        return (
            f"<{self._name}: {len(self.final):,} final snapshots, "
            f"through {self.through}>"
        )


class Update(Mapping[str, OutputUpdate]):
    """The outcome of a call of a live session: outputs by name, and late rows."""

    def __init__(self, engine: LiveEngine, step: SessionStep) -> None:
        self._engine = engine
        self._step = step
        self._outputs: dict[str, OutputUpdate] = {}
        """Those that anyone has asked for."""
        self._early = EarlyResult(engine)

    def __getitem__(self, name: str) -> OutputUpdate:
        known = self._outputs.get(name)
        if known is None:
            if name not in self._step.through:
                raise unknown_output(name, self._step.through)
            known = OutputUpdate(self._engine, name, self._step, self._early)
            known = self._outputs.setdefault(name, known)
        return known

    def __iter__(self) -> Iterator[str]:
        return iter(self._step.through)

    def __len__(self) -> int:
        return len(self._step.through)

    @property
    def through(self) -> object:
        """The time through which all outputs are final; None before there is one."""
        times = list(self._step.through.values())
        known = [time for time in times if time is not None]
        return self._engine.show_time(min(known) if len(known) == len(times) else None)

    @cached_property
    def late(self) -> dict[str, Any]:
        """The late rows of inputs with `late="side"`, a pyarrow table for each.

        It is empty where none were late, and absent before the input had a frame.
        Besides the columns of the first frame they have `row`, the number of the row
        among all that the input was given, and `late_by`, in ticks.
        """
        late = {**self._engine.no_late_rows(), **self._step.late}
        return {name: rows.table() for name, rows in late.items()}

    @cached_property
    def accepted_rows(self) -> dict[str, Any]:
        """The rows that outputs have had since, of inputs with `accepted=True`.

        A pyarrow table for each, of the columns that the query reads, in order of start
        and arrival; moved rows have their new times. A run over those of all updates
        has the result of the session. A row is there once: when no earlier one can
        come any more, and an output needs it.
        """
        accepted = self._step.accepted
        return {name: rows.table() for name, rows in accepted.items()}

    def __repr__(self) -> str:
        return f"<update {', '.join(map(repr, self.values()))}>"


def _explain_failure(error: BaseException) -> str:
    """Explain that a session is over, since a call has failed after it took rows."""
    failure = str(error) or type(error).__name__
    ended = f"has failed ({failure})" if isinstance(error, Exception) else "was stopped"
    return (
        f"{ended} in the middle of a call; open another one, or resume what save() gave"
    )


class LiveSession(ForkSafe):
    """A query that is given rows as they come; made by `CompiledQuery.live`.

    At every moment the final snapshots so far and the open ones together are those of
    a run over the accepted rows with `end=through`. Nothing happens but in its calls,
    each on the caller's thread, and no clock is read.
    """

    def __init__(self, engine: LiveEngine) -> None:
        super().__init__()
        self._engine = engine
        self._unit = engine.query.unit
        self._closed: str | None = None

    @inputs_by_name(1, attrgetter("counts"))
    def push(self, /, **frames: object) -> Update:
        """Take frames of some inputs by name, all or nothing.

        A frame is what `run` takes. Its rows may be out of order, as far as the input's
        `reorder` allows. They are not copied: memory that you change later, as that of
        a NumPy array or of pandas, must be copied before. Raises `DataError` where a
        frame does not fit; the session is then as it was.
        """
        sources = self._engine.sources
        for name, frame in frames.items():
            if name not in sources:
                self._check_input("push", name)
            # To ask whether it is an instance of an abstract class takes far longer.
            if frame.__class__ is BoundFrame:
                raise DataError(
                    "found bind(...); push the frame itself, and give what bind says "
                    f"to live(): live({name}=tilt.ingress(...))",
                    input=name,
                )
        step = self._alone("push", self._engine.push, frames)
        return Update(self._engine, step)

    @short_traceback
    def advance(self, to: Moment | None = None, /, **inputs: Moment) -> Update:
        """Promise that inputs are complete through a time: all, or each by its name.

        No row to come starts before it. A promise that says less than is known says
        nothing.
        """
        promises: dict[str, int] = {}
        if to is not None:
            time = self._promised_time("advance", to)
            promises = dict.fromkeys(self._engine.sources, time)
        for name, moment in inputs.items():
            self._check_input("advance", name)
            promises[name] = self._promised_time(name, moment)
        if not promises:
            raise ArgumentError('advance() takes a time: advance("2026-11-22T10:00")')
        return self._call("advance", self._engine.advance, promises)

    def _promised_time(self, name: str, moment: Moment) -> int:
        time = in_ticks(name, time_of, moment, self._unit)
        if abs(time) > MAX_TIME:
            raise ArgumentError(
                f"{name}={moment}: lies beyond ±2**62 ticks; finish() promises that no "
                "row will come"
            )
        return time

    @short_traceback
    def idle(self, *inputs: str) -> Update:
        """Have inputs hold no output back until their next rows."""
        for name in inputs:
            check_argument("idle", name, str, "the name of an input")
            self._check_input("idle", name)
        return self._call("idle", self._engine.idle, inputs)

    @short_traceback
    def finish(self) -> Update:
        """Promise that no row will come: all that is left becomes final."""
        update = self._call("finish", self._engine.finish)
        self._closed = "is finished; open another one"
        return update

    @short_traceback
    def result(self) -> Update:
        """Make an update of what is known now, without any row or promise.

        It has the `open` and `early` snapshots of this moment, and `through`. Its
        `final` is empty: a session keeps no final snapshots. With those of all updates,
        the `early` ones are the result of a run over all accepted rows.
        """
        return self._call("result", self._engine.look)

    @short_traceback
    def save(self) -> bytes:
        """Save the state, for `CompiledQuery.live(resume=...)`, here or elsewhere.

        A session that is resumed goes on as this one would, to the same bits. The bytes
        hold the rows that are still needed.
        """
        return self._alone("save", save_session, self._engine)

    def close(self) -> None:
        """Close the session; what is not final is given up. `finish` says more."""
        if self._closed is None:
            self._closed = "is closed; open another one"

    @property
    def complete(self) -> dict[str, object]:
        """The time through which each input is complete; None before there is one."""
        return {
            name: self._engine.show_time(source.known_watermark)
            for name, source in self._engine.sources.items()
        }

    @property
    def counts(self) -> dict[str, Counts]:
        """Numbers of rows by input: read, accepted, late, adjusted and waiting."""
        return {name: s.count() for name, s in self._engine.sources.items()}

    def _call(
        self, method: str, call: Callable[P, SessionStep], *of: P.args, **no: P.kwargs
    ) -> Update:
        return Update(self._engine, self._alone(method, call, *of, **no))

    def _alone(
        self, method: str, call: Callable[P, T], *of: P.args, **no: P.kwargs
    ) -> T:
        """Make a call, unless the session is closed, or busy with another one."""
        if not self._lock.acquire(blocking=False):
            raise TiltError(
                f"{method}() during another call of this session; a session takes one "
                "call at a time: use a lock, or one thread"
            )
        try:
            if self._closed is not None:
                self._refuse(method)
            return call(*of, **no)
        except BaseException as error:
            if self._engine.is_broken:
                self._closed = _explain_failure(error)
            raise
        finally:
            self._lock.release()

    def _refuse(self, method: str) -> NoReturn:
        raise TiltError(f"{method}(): the session {self._closed}")

    def _check_input(self, method: str, name: str) -> None:
        known = self._engine.sources
        if name in known:
            return
        nearest = closest(name, list(known))
        hint = f"; did you mean {nearest}?" if nearest else ""
        raise UnknownArgumentError(
            f"{method}(): the query has no such input; it has {', '.join(known)}{hint}",
            input=name,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<live session of {', '.join(self._engine.outputs)}>"

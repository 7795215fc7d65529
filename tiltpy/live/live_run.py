"""The loop of a live run: what has come is pushed, what is final is written.

Everything happens between two takes: rows are pushed, their results written, and when a
checkpoint is due, the sinks are flushed at known positions before the checkpoint that
has these positions is made durable. So a checkpoint never says more than sinks hold.
Rows that are not final go out at checkpoints, and those of the session that is saved.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from tiltpy.errors import DataError
from tiltpy.live.end_signals import EndSignal, defer_signals
from tiltpy.live.intake import Delivery, Intake
from tiltpy.live.output_forms import OutputWriter
from tiltpy.live.sinks.sink import CommittingSink, Position, Sink
from tiltpy.live.sources.source import RowSource
from tiltpy.live.state_folder import Checkpoint, Identity, StateFolder
from tiltpy.live.timers import Intervals, Timers
from tiltpy.live_session import LiveSession, Update
from tiltpy.runtime.arrow.parquet_scan import RowBatch
from tiltpy.runtime.incremental.row_batches import locate_error
from tiltpy.types import NANOSECONDS, Unit

OnUpdate = Callable[[Update], object]


@dataclass(slots=True)
class LiveOutcome:
    """The work of a live run since it was started.

    `finished`: whether its sources have ended and all is final. `rows`: the rows that
    were written, by output. `late`: the rows that came late, by input, whatever became
    of them; also those before it was started.
    """

    finished: bool = False
    rows: dict[str, int] = field(default_factory=dict)
    late: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Destinations:
    """The sinks of a run: of outputs, and of late and accepted rows of inputs."""

    outputs: Mapping[str, Sink]
    late: Mapping[str, Sink]
    accepted: Mapping[str, Sink]

    def by_name(self) -> dict[str, Sink]:
        """Name all sinks as a checkpoint does."""
        late = {f"late:{name}": sink for name, sink in self.late.items()}
        accepted = {f"accepted:{name}": each for name, each in self.accepted.items()}
        return {**self.outputs, **late, **accepted}


@dataclass(frozen=True, slots=True)
class StateOwner:
    """The folder of checkpoints, and the run that they belong to."""

    folder: StateFolder
    identity: Identity


class LiveRun:
    """One session between its sources and sinks."""

    def __init__(
        self,
        session: LiveSession,
        sources: Mapping[str, RowSource],
        destinations: Destinations,
        writers: Mapping[str, OutputWriter],
        intervals: Intervals,
        *,
        unit: Unit | None = None,
        saving: StateOwner | None = None,
        positions: Mapping[str, Position] | None = None,
        on_update: OnUpdate | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._session = session
        self._sources = sources
        self._destinations = destinations
        self._writers = writers
        self._intervals = intervals
        self._unit = unit
        self._saving = saving
        self._positions = dict(positions or {})
        self._on_update = on_update
        self._timers = Timers(intervals, clock)
        self._open_inputs = set(sources)
        self._has_changed = False
        """Whether anything came since the last checkpoint."""
        self._unsettled: Update | None = None
        """The last update since that, unless it left nothing open."""
        self.outcome = LiveOutcome()

    def run(self, *, until_end: bool) -> None:
        """Run until the sources end, or a signal does."""
        intake = Intake(self._sources)
        try:
            with defer_signals(intake.wake) as ending:
                intake.start()
                self._loop(intake, ending)
                if until_end and not self._open_inputs:
                    self._finish()
                self.checkpoint()
                self._count_late()
        finally:
            intake.stop()

    def _loop(self, intake: Intake, ending: EndSignal) -> None:
        while self._open_inputs and not ending.is_near:
            deliveries = intake.take(self._timers.wait(changed=self._has_changed))
            self._feed(deliveries)
            if self._open_inputs and not ending.is_near:
                self._keep_time(quiet=intake.is_empty)

    # Rows in

    def _feed(self, deliveries: Iterable[Delivery]) -> None:
        """Push what has come, as much at once as promises allow."""
        pending: dict[str, list[RowBatch]] = {}
        for delivery in deliveries:
            name = delivery.input
            if delivery.error is not None:
                raise delivery.error
            self._timers.note_rows(name)
            self._has_changed = True
            if delivery.ended:
                self._push(pending)
                self._end(name)
                continue
            self._positions[name] = delivery.position
            if delivery.rows is not None and delivery.rows.table.num_rows:
                pending.setdefault(name, []).append(delivery.rows)
            if delivery.promise is not None:
                self._push(pending)
                self._write(self._session.advance(**{name: delivery.promise}))
        self._push(pending)

    def _push(self, pending: dict[str, list[RowBatch]]) -> None:
        """Push the batches of each input, joined where they have one schema."""
        while pending:
            taken = {name: _take_alike(batches) for name, batches in pending.items()}
            for name in [name for name, batches in pending.items() if not batches]:
                del pending[name]
            frames = {name: _join(batches) for name, batches in taken.items()}
            try:
                update = self._session.push(**frames)
            except DataError as error:
                if error.input not in taken or error.key is not None:
                    raise
                raise locate_error(taken[error.input], error) from None
            self._write(update)

    def _end(self, name: str) -> None:
        """Have an input that has ended hold nothing back."""
        self._open_inputs.discard(name)
        self._timers.drop(name)
        if self._open_inputs:
            self._write(self._session.idle(name))

    def _finish(self) -> None:
        self._write(self._session.finish(), last=True)
        self.outcome.finished = self._has_changed = True

    def _count_late(self) -> None:
        for name, counts in self._session.counts.items():
            self.outcome.late[name] = counts.late + counts.adjusted

    # Time

    def _keep_time(self, *, quiet: bool) -> None:
        """Do what is due by the clock.

        An input does not idle while rows wait, which may be its own: they came while
        others were pushed. So only a `quiet` moment tells.
        """
        if quiet and (idle := self._timers.take_idle()):
            self._write(self._session.idle(*idle))
            self._has_changed = True
        if beats := self._timers.take_beats():
            promises = {name: self._promise(name) for name in beats}
            self._write(self._session.advance(**promises))
            self._has_changed = True
        if self._has_changed and self._timers.is_checkpoint_due():
            self.checkpoint()

    def _promise(self, name: str) -> int:
        """Find the tick up to which an input is complete by the wall clock."""
        assert self._unit is not None
        behind = int(self._intervals.heartbeat[name] * NANOSECONDS["s"])
        return (read_clock() - behind) // NANOSECONDS[self._unit]

    # Results out

    def _write(self, update: Update, *, last: bool = False) -> None:
        """Write what is final, as far as forms let it, and late and accepted rows."""
        for name, writer in self._writers.items():
            self._count(name, writer.write(update[name], last=last))
        self._unsettled = None if last else update
        for name, table in update.late.items():
            if name in self._destinations.late and table.num_rows:
                self._destinations.late[name].write(table)
        for name, sink in self._destinations.accepted.items():
            accepted = update.accepted_rows[name]
            if accepted.num_rows or last:
                sink.write(accepted)
        if self._on_update is not None:
            self._on_update(update)

    def _count(self, name: str, rows: int) -> None:
        self.outcome.rows[name] = self.outcome.rows.get(name, 0) + rows

    def checkpoint(self) -> None:
        """Make a checkpoint of what was pushed and written."""
        if self._unsettled is not None:
            for name, writer in self._writers.items():
                self._count(name, writer.settle(self._unsettled[name]))
            self._unsettled = None
        sinks = self._destinations.by_name()
        flushed = {name: sink.flush() for name, sink in sinks.items()}
        if self._saving is not None:
            finished = self.outcome.finished
            session = None if finished else bytes(self._session.save())
            self._saving.folder.write(
                Checkpoint(
                    self._saving.identity,
                    dict(self._positions),
                    flushed,
                    session,
                    finished,
                )
            )
        for sink in sinks.values():
            if isinstance(sink, CommittingSink):
                sink.commit()
        self._has_changed = False
        self._timers.note_checkpoint()


def read_clock() -> int:
    """Read the wall clock: nanoseconds since 1970 in UTC."""
    return time.time_ns()


def _take_alike(batches: list[RowBatch]) -> list[RowBatch]:
    """Take the first batches that have one schema."""
    count, schema = 1, batches[0].table.schema
    while count < len(batches) and batches[count].table.schema.equals(schema):
        count += 1
    taken, batches[:count] = batches[:count], []
    return taken


def _join(batches: list[RowBatch]) -> pa.Table:
    tables = [batch.table for batch in batches]
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables)

"""A live session: rows and promises in, final and open snapshots out.

Each call takes what it is given as a whole or not at all, hands settled rows to the
outputs, and computes each output as far as it is final.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tiltpy.calendars import end_of_cell
from tiltpy.engines.engine import Evaluation
from tiltpy.engines.keyed_engine import KeyedEvaluation
from tiltpy.engines.live.finality import (
    OutputClock,
    check_lookahead,
    find_asked_ends,
)
from tiltpy.engines.live.live_inputs import LiveBuffer, LiveKeyedBuffer, open_input
from tiltpy.engines.live.live_part import LivePart, make_live_part
from tiltpy.ir.nodes import Query
from tiltpy.ir.reductions import adds_floats
from tiltpy.ir.rows import row_roots
from tiltpy.lean_dataclass import record
from tiltpy.passes.resolve_boundaries import resolve_boundaries
from tiltpy.runtime.arrivals.accepted_rows import AcceptedRows
from tiltpy.runtime.arrivals.ingress_options import IngressOptions
from tiltpy.runtime.arrivals.lateness import BEGINNING, LateRows
from tiltpy.runtime.arrivals.live_source import LiveSource
from tiltpy.runtime.arrow.read_frame import read_frame
from tiltpy.runtime.arrow.timestamps import OutputStamp, from_ticks, output_stamp
from tiltpy.runtime.execution.kernel import Kernels
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.time_domain import Domain, OutputRange, Request
from tiltpy.runtime.execution.visit_warnings import Announcement
from tiltpy.runtime.incremental.state import (
    OutputProgress,
    find_horizon,
    list_readers,
    start_outputs,
)
from tiltpy.runtime.results.output_table import OutputTable
from tiltpy.runtime.results.table import TableFormat, format_of
from tiltpy.types import ENDLESS

Evaluations = Mapping[str, Evaluation | KeyedEvaluation]
NO_EVALUATIONS: Evaluations = {}
NO_LATE: Mapping[str, LateRows] = {}
NO_ROWS: Mapping[str, AcceptedRows] = {}
MOST_UNREAD = 64
"""Calls whose settled rows may wait until an output needs them: together they cost as
much as those of one call."""


@record(frozen=True, slots=True, eq=False)
class SessionStep:
    """The outcome of a call of a session.

    `evaluations`: the final snapshots of outputs that were computed. `late`: the late
    rows of inputs that give them back. `accepted`: the rows that outputs had, of inputs
    that are archived. `through`: the time through which each output is final, if there
    is one. `number`: how many calls there were.
    """

    evaluations: Evaluations
    late: Mapping[str, LateRows]
    accepted: Mapping[str, AcceptedRows]
    through: Mapping[str, int | None]
    number: int


class LiveEngine:
    """Evaluates the outputs of a query over rows as they are pushed.

    `query` has its inputs' lifetimes; `groups` are its outputs that have the same keys.
    """

    def __init__(
        self,
        query: Query,
        groups: Sequence[OutputGroup[Kernels]],
        ingress: Mapping[str, IngressOptions],
        request: Request,
        options: RunOptions,
    ) -> None:
        self._arguments = query, groups, ingress, request, options
        query = resolve_boundaries(query, "counted")
        self.query = query
        self.roots = row_roots(query)
        """The inputs whose rows are those of a row object."""
        self.request = request
        check_lookahead(query)
        self.sources = {
            each.name: LiveSource(each, ingress[each.name], query.unit)
            for each in query.inputs
        }
        self.outputs = start_outputs(query)
        # A vector kernel would add floats up in another order where pushes are large.
        vector = False if adds_floats(query) else options.vector
        options = replace(options, progress=None, vector=vector)
        self.parts: list[LivePart] = [
            make_live_part(
                group,
                request,
                options,
                Announcement(group.query, options.costs.run),
            )
            for group in groups
        ]
        self.part_of = {
            name: part for part in self.parts for name in part.group.query.outputs
        }
        self.inputs: dict[str, LiveBuffer | LiveKeyedBuffer] = {}
        self.stamp: OutputStamp = output_stamp({}, query.unit)
        self._formats = self._find_formats()
        """The format of the tables of each output."""
        self.steps = 0
        """The number of calls so far."""
        self.is_broken = False
        """True once a call has failed that had taken rows already."""
        self._holds = False
        """True if rows hold until the next ones, and an output has or asks for ends."""
        self._clocks: dict[str, OutputClock] = {}
        """The clock of each output, which tells what of it is final, from `open` on."""
        self._unread = 0
        """Calls since settled rows were handed to the outputs."""
        self._has_begun = False
        """True once the domain of each output has a start, or none is left."""
        self.has_finished = False
        """True if an output needs no more rows."""
        self._domains: dict[str, Domain] = {}
        """The domain of each output that has begun."""
        self._archived = [s for s in self.sources.values() if s.options.accepted]
        self.open()

    def renew(self) -> "LiveEngine":
        """Make the engine of another session of the same query and options."""
        return LiveEngine(*self._arguments)

    # Calls

    def push(self, frames: Mapping[str, object]) -> SessionStep:
        """Take frames of some inputs: all of them, or none and a `DataError`."""
        fresh: list[LiveSource] = []
        arrivals = []
        try:
            for name, frame in frames.items():
                source = self.sources[name]
                if not source.is_settled:
                    frame = table = read_frame(name, frame)  # noqa: PLW2901
                    fresh.append(source)
                    source.settle(table.schema)
                arrivals.append((source, source.arrive(frame)))
            if fresh:
                self.open()
        except BaseException:
            for source in fresh:
                source.forget_schema()
            raise
        self.is_broken = True  # until `_step` has computed what this brings
        late = NO_LATE
        for source, arrival in arrivals:
            source.take(arrival)
            if arrival.late is not None and source.options.late == "side":
                late = {**late, source.declared.name: arrival.late}
        return self._step(self._go_on, late)

    def no_late_rows(self) -> dict[str, LateRows]:
        """Make the late rows of inputs that give theirs back, where there are none."""
        return {
            name: LateRows.none(source.reader.pushed)
            for name, source in self.sources.items()
            if source.options.late == "side" and source.is_settled
        }

    def advance(self, promises: Mapping[str, int]) -> SessionStep:
        """Take promises that inputs are complete through times, in ticks."""
        for name, time in promises.items():
            self.sources[name].promise(time)
        return self._step(self._go_on)

    def idle(self, names: Sequence[str]) -> SessionStep:
        """Have inputs hold nothing back until their next rows."""
        for name in names:
            self.sources[name].idle = True
        return self._step(self._go_on)

    def finish(self) -> SessionStep:
        """Take the promise that no row will come, and compute all that is left."""
        for source in self.sources.values():
            if not source.is_settled:
                source.settle(source.untyped_schema())
        self.open()
        for source in self.sources.values():
            source.end()
        return self._step(self._complete)

    def _step(
        self, compute: Callable[[], Evaluations], late: Mapping[str, LateRows] = NO_LATE
    ) -> SessionStep:
        """Compute what a call brought; if that fails, the session is broken."""
        self.is_broken = True
        evaluations = compute()
        self.is_broken = False
        self.steps += 1
        return self.look(evaluations, late)

    def look(
        self,
        evaluations: Evaluations = NO_EVALUATIONS,
        late: Mapping[str, LateRows] = NO_LATE,
    ) -> SessionStep:
        """Make the outcome of a call that brought these, by default nothing."""
        through: dict[str, int | None] = {}
        for name, output in self.outputs.items():
            through[name] = None if output.start is None else output.done
        accepted = NO_ROWS
        if self._archived:
            accepted = {s.declared.name: s.take_accepted() for s in self._archived}
        return SessionStep(evaluations, late, accepted, through, self.steps)

    # Time

    def _complete(self) -> Evaluations:
        """Compute all that is left, once no row will come."""
        self._receive()
        ranges = {}
        for name, output in self.outputs.items():
            if not output.finished:
                ranges.update(self._last_range(name, output))
        return self._evaluate(ranges)

    def _go_on(self) -> Evaluations:
        """Compute as far as outputs have become final."""
        for source in self.sources.values():
            if source.idle:
                self._release_idle()
                break
        if not self.inputs:
            return {}
        is_due = self._unread == MOST_UNREAD or self._holds
        is_due = is_due or not (self._has_begun or self._awaits_no_row())
        if is_due:
            self._receive()
        ranges = self._find_ranges()
        if not is_due:
            if not ranges:
                self._unread += 1
                return {}
            self._receive()
        return self._evaluate(ranges)

    def _awaits_no_row(self) -> bool:
        """Return whether watermarks alone decide which cells are final.

        A domain may start with the first row, so they do not before there is one.
        """
        self._has_begun = True
        for output in self.outputs.values():
            if output.start is not None or output.finished:
                continue
            self._has_begun = False
            if not all(self.inputs[name].read for name in output.reach):
                return False
        return True

    def _release_idle(self) -> None:
        """Carry idle inputs on to where the others are: the order does not matter."""
        sources = self.sources.values()
        idle = [source for source in sources if source.idle]
        awake = [source.watermark for source in sources if not source.idle]
        if awake:
            complete = min(awake)
        else:
            complete = max((s.watermark for s in sources), default=BEGINNING)
        for source in idle:
            source.promise(complete)

    def _find_ranges(self) -> dict[str, OutputRange]:
        """Find the cells of each output that have become final."""
        ranges = {}
        for name, output in self.outputs.items():
            if output.finished:
                continue
            clock = self._clocks[name]
            high, end, last = clock.find_final(), clock.end, clock.last
            final = last is not None and high >= last
            if final:
                assert last is not None
                high = last
            if output.start is None:
                self._settle_start(output, high)
            done = output.done
            if output.start is None or (high <= done and not final):
                continue
            domain = self._domains.get(name)
            if domain is None:
                domain = Domain(output.start, ENDLESS if end is None else end)
                self._domains[name] = domain
            high = max(high, done)
            ranges[name] = self.part_of[name].find_range(
                name, domain, done, high, final=final
            )
        return ranges

    def _settle_start(self, output: OutputProgress, high: int) -> None:
        """Settle where a domain starts: no earlier event can come once it is passed."""
        bounds = [self.inputs[name].domain for name in output.reach]
        first = min((low for low, _ in filter(None, bounds)), default=None)
        fixed = output.fixed_start(self.request)
        start = first if fixed is None else fixed
        if start is not None and start < high:
            output.start = output.done = start

    def _last_range(self, name: str, output: OutputProgress) -> dict[str, OutputRange]:
        """Find what is left of an output once no row will come."""
        tdom = output.definition.tdom
        if output.start is None:
            self._settle_start(output, ENDLESS)
        if output.start is None:
            output.finished = True
            return {}
        end = self.request.limits(tdom)[1]
        if end is None:
            bounds = [self.inputs[source].domain for source in output.reach]
            last = max((high for _, high in filter(None, bounds)), default=output.start)
            end = max(end_of_cell(tdom, last), output.done)
            if end == output.start:
                output.finished = True  # all rows end before its domain starts
                return {}
        high = max(tdom.ceil(end), output.done)
        return {name: OutputRange(Domain(output.start, end), output.done, high)}

    # Rows

    def open(self) -> None:
        """Open the inputs and outputs, once the schemas of all are known."""
        if self.inputs or not all(s.is_settled for s in self.sources.values()):
            return
        stamps = {name: s.reader.stamps for name, s in self.sources.items()}
        self.stamp = output_stamp(stamps, self.query.unit)
        self._formats = self._find_formats()
        inputs = {name: open_input(source) for name, source in self.sources.items()}
        for part in self.parts:
            part.open(inputs)
        layouts = {name: held.layout() for name, held in inputs.items()}
        for part in self.parts:
            part.begin(layouts, self.outputs)
        self.inputs = inputs
        roots = {
            name: self.sources[root]
            for name, root in self.roots.items()
            if self.sources[root].holds
        }
        asked = find_asked_ends(self.query)
        held = {name for name, source in self.sources.items() if source.holds}
        self._holds = bool(roots) or any(held & asked[name] for name in self.outputs)
        self._clocks = {
            name: OutputClock(
                output, self.sources, roots.get(name), asked[name], self.request
            )
            for name, output in self.outputs.items()
        }

    def _receive(self) -> None:
        """Hand the rows that are settled to the outputs."""
        self._unread = 0
        for held in self.inputs.values():
            held.receive_settled()

    def _evaluate(self, ranges: Mapping[str, OutputRange]) -> Evaluations:
        evaluations: dict[str, Evaluation | KeyedEvaluation] = {}
        for part in self.parts:
            names = part.group.query.outputs
            several = ranges
            if len(self.parts) > 1:
                several = {name: ranges[name] for name in names if name in ranges}
            if several:
                evaluation = part.evaluate(several)
                for name in names:
                    evaluations[name] = evaluation
            else:
                part.absorb()
        for name, range_ in ranges.items():
            output, through = self.outputs[name], range_.through
            output.done = range_.high if through is None else through
            if range_.final:
                output.finished = self.has_finished = True
        self.evict()
        return evaluations

    def evict(self, *, thoroughly: bool = False) -> None:
        """Forget the rows that no output needs, also where they are few."""
        for name, held in self.inputs.items():
            is_due = thoroughly or held.may_drop()
            if not is_due and not self.has_finished:
                continue
            outputs = list_readers(name, self.outputs.values())
            if all(output.start is not None for output in outputs):
                time, last_rows = find_horizon(name, outputs, self._find_done)
                if is_due or time is None:
                    held.drop_before(time, last_rows)

    def _find_done(self, output: OutputProgress) -> int:
        return self.part_of[output.definition.name].find_done(output)

    # Results

    def _find_formats(self) -> dict[str, TableFormat]:
        return {
            name: format_of(name, part.group.types[name], self.stamp)
            for name, part in self.part_of.items()
        }

    def show_time(self, time: int | None) -> object:
        """Show a time in ticks as the tables do: a number, or a `datetime`.

        A `numpy.datetime64` where Python has no such year.
        """
        if time is None:
            return None
        times = from_ticks(np.array([time]), self.stamp, "through")
        try:
            return times[0].as_py()
        except (OverflowError, ValueError):
            return times.to_numpy(zero_copy_only=False)[0]

    def final_table(self, name: str, step: SessionStep) -> OutputTable:
        """Make the table of the snapshots of an output that a step made final."""
        evaluation = step.evaluations.get(name)
        if evaluation is None:
            evaluation = self.part_of[name].nothing()
        return evaluation.table(self._formats[name])

    def open_table(self, name: str) -> OutputTable:
        """Make the table of the open snapshots of an output."""
        through = self.outputs[name].done
        open_ = self.part_of[name].open_snapshots(name, through)
        return open_.table(self._formats[name])

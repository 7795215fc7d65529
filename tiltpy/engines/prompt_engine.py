"""The engine of ranges that follow one another, mostly over few rows."""

from collections.abc import Hashable, Mapping

from tiltpy.engines.engine import (
    NO_STATE,
    Engine,
    Evaluation,
    KernelRows,
    RunState,
)
from tiltpy.engines.known_call import KnownCall
from tiltpy.ir.reductions import adds_floats
from tiltpy.runtime.arrays.dictionary import NO_STRINGS
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.kernel import Kernel, Kernels
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.range_formulas import find_form
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.single_run import (
    RangeCall,
    RepeatedCall,
    SingleRun,
    find_linear_rows,
)
from tiltpy.runtime.execution.time_domain import LONGEST_CHUNK, OutputRange, Request
from tiltpy.runtime.execution.time_run import TimeRun
from tiltpy.runtime.execution.vector_range import find_sampling_grid
from tiltpy.runtime.execution.visit_warnings import Announcement
from tiltpy.runtime.ingest.visible_rows import may_hide_rows

MOST_FORMS = 16
"""Forms of rows and ranges whose calls are kept."""
Ranges = Mapping[str, OutputRange]
Rows = Mapping[str, SnapshotBuffer]


class PromptEngine(Engine):
    """An engine that one thread at a time asks for ranges, one behind the other.

    What the form of rows and ranges decides, it decides once: whether one call serves,
    of which kernel, and by which formulas.
    """

    def __init__(
        self,
        group: OutputGroup[Kernels],
        request: Request,
        options: RunOptions,
        announcement: Announcement | None = None,
    ) -> None:
        super().__init__(group, request, options, announcement)
        adds = adds_floats(group.query)
        self._decides_sums = adds and options.vector is None
        """True if a vector kernel, where it serves, decides how floats are added."""
        alone = options.workers == 1
        self._most_rows = find_linear_rows(options.costs.run, alone=alone)
        """The rows beyond which no call serves."""
        self._call: RepeatedCall | None = None
        """The call that computed the last range of few rows."""
        self._known_calls: dict[Hashable, KnownCall] = {}
        """That call, by the form of rows and ranges."""
        self.last_known: KnownCall | None = None
        """That of the last form whose formulas are known."""

    def evaluate(
        self,
        ranges: Ranges | None,
        rows: Rows,
        state: RunState = NO_STATE,
        plan: TimeRun | None = None,
    ) -> Evaluation:
        """Compute the outputs, by the call that computed the last range if it fits."""
        known = self.last_known
        if (
            known is not None
            and ranges is not None
            and known.fits(ranges, rows, state)
            and not self._awaits_vectors(rows)
        ):
            evaluation = known.evaluate(ranges, rows, state)
            if evaluation is not None:
                return evaluation
        return super().evaluate(ranges, rows, state, plan)

    def choose_run(
        self, ranges: Ranges | None, rows: Rows, state: RunState
    ) -> TimeRun | SingleRun:
        """Choose one call where rows, and what it has to do, are few."""
        if ranges is None or state.in_vectors or not self.are_short(ranges):
            return self.plan_chunks(ranges, self.read(rows, state), state)
        if self._awaits_vectors(rows):
            return self.plan_chunks(ranges, self.read(rows, state), state)
        total = 0
        for buffer in rows.values():
            total += buffer.n
        if total > self._most_rows:
            return self.plan_chunks(ranges, self.read(rows, state), state)
        form = None if state.states is not None else find_form(rows, ranges)
        known = self._known_calls.get(form)
        if known is not None and total <= known.call.most_rows:
            if known.call.formulas is not None:
                self.last_known = known
            return SingleRun(known.call, rows, NO_STRINGS, ranges, None)
        read = self.read_all(rows, state)  # hidden rows of few cost less than a look
        call = self.choose_call(ranges, read)
        if call is None:
            if state.states is None:  # states are encoded once, and no row is dropped
                read = self.read(rows, state)
            return self.plan_chunks(ranges, read, state)
        if form is not None and self._is_decided(read):
            query, types = read.kernels.query, self.group.types
            self._keep(form, KnownCall(call, query, types, rows, ranges))
        return SingleRun(call, read.rows, read.strings, ranges, state.states)

    def are_short(self, ranges: Ranges) -> bool:
        """Tell whether ranges are short enough for one call."""
        for each in ranges.values():
            if each.high - each.low > LONGEST_CHUNK:
                return False
        return not self.options.vector and self.options.chunk is None

    def _awaits_vectors(self, rows: Rows) -> bool:
        """Tell whether a vector kernel may serve for rows, and would decide sums."""
        if not self._decides_sums:
            return False
        for buffer in rows.values():
            if find_sampling_grid(buffer, self.options.costs) is None:
                return False
        return True

    def find_kernel(self, kernels: Kernels) -> Kernel:
        """Find the kernel that computes ranges."""
        return kernels.sweep()

    def choose_call(self, ranges: Ranges, read: KernelRows) -> RangeCall | None:
        """Choose the call of the kernel for rows.

        None where rows do not bound it, or are too many together.
        """
        kernel = self.find_kernel(read.kernels)
        total = sum([buffer.n for buffer in read.rows.values()])
        call = self._call
        if call is None or call.kernel.code is not kernel.code:
            call = self._call = RepeatedCall(kernel, self.request, self.options)
            self._known_calls.clear()
            self.last_known = None
        most = call.most_rows
        if any(map(may_hide_rows, read.rows.values())):  # of many, hidden ones are left
            most = min(most, self.options.costs.run.linear_call_rows)
        if not call.is_bounded or total > most:
            return None
        tdoms = {name: self.group.outputs[name].tdom for name in ranges}
        return RangeCall(call, tdoms, most)

    def _is_decided(self, read: KernelRows) -> bool:
        """Tell whether rows of this form are always read as they are, unchecked."""
        cells = any(each.tdom.cells for each in self.group.query.definitions)
        return read.strings is NO_STRINGS and not cells

    def _keep(self, form: Hashable, call: KnownCall) -> None:
        """Keep the call for a form."""
        if len(self._known_calls) == MOST_FORMS:
            self._known_calls.clear()
        self._known_calls[form] = call

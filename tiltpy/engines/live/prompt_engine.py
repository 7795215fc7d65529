"""The engine of outputs without keys in a session: mostly it computes a few rows."""

from collections.abc import Mapping

from tiltpy.engines.engine import Engine, RunState
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.single_run import RepeatedCall, SingleRun
from tiltpy.runtime.execution.time_domain import LONGEST_CHUNK, OutputRange
from tiltpy.runtime.execution.time_run import TimeRun


class PromptEngine(Engine):
    """An engine that one thread at a time asks for ranges, one behind the other."""

    _call: RepeatedCall | None = None
    """The call that computed the last range of few rows."""

    def choose_run(
        self,
        ranges: Mapping[str, OutputRange] | None,
        rows: Mapping[str, SnapshotBuffer],
        state: RunState,
    ) -> TimeRun | SingleRun:
        """Choose one call where rows, and what it has to do, are few."""
        read = self.read(rows, state)
        if ranges is None or state.in_vectors:
            return self.plan_chunks(ranges, read, state)
        few = self.options.costs.run.single_call_rows
        total = sum(buffer.n for buffer in read.rows.values())
        longest = max(each.high - each.low for each in ranges.values())
        if total > few or longest > LONGEST_CHUNK or self.options.vector:
            return self.plan_chunks(ranges, read, state)
        kernel = read.kernels.sweep()
        call = self._call
        if call is None or call.kernel.code is not kernel.code:
            call = self._call = RepeatedCall(kernel)
        if not call.is_bounded:
            return self.plan_chunks(ranges, read, state)
        return SingleRun(
            call,
            read.rows,
            read.strings,
            self.request,
            ranges,
            {name: self.group.outputs[name].tdom for name in ranges},
            state.states,
        )

"""The engine of outputs by key in a session: mostly it computes a few keys."""

from collections.abc import Mapping

from tiltpy.abi.layouts import Layout
from tiltpy.engines.keyed_engine import KeyedEngine
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.call_states import CallStates
from tiltpy.runtime.execution.key_domains import KeyedRanges, RowsByKey
from tiltpy.runtime.ingest.cell_overlaps import check_cells
from tiltpy.runtime.ingest.keys import Groups
from tiltpy.runtime.keyed.few_keys import FewKeys, are_short
from tiltpy.runtime.keyed.snapshots import KeyedSnapshots


class PromptKeyedEngine(KeyedEngine):
    """An engine that one thread at a time asks for ranges, one behind the other."""

    _layouts: Mapping[str, Layout] | None = None
    _calls: FewKeys | None = None
    """The calls of the last evaluation of few rows, and the layouts of those."""

    def run_few(
        self,
        rows: Mapping[str, RowsByKey],
        strings: Strings,
        ranges: Mapping[str, KeyedRanges],
        states: CallStates | None,
    ) -> Mapping[str, KeyedSnapshots] | None:
        """Compute few keys and rows with calls in this thread; None if they are not."""
        options, total = self.options, _count(rows)
        most = options.costs.run.linear_call_rows
        if options.vector or options.chunk is not None or total > most:
            return None
        if not are_short(ranges):
            return None
        total = max(total, *[len(each.low) for each in ranges.values()])
        check_cells(self.group.query, rows)
        buffers = {
            name: each.buffer if isinstance(each, Groups) else each
            for name, each in rows.items()
        }
        calls = self._choose_calls(buffers)
        if calls is None or total > calls.most_rows:
            return None
        return calls.compute(rows, strings, ranges, states)

    def _choose_calls(self, rows: Mapping[str, SnapshotBuffer]) -> FewKeys | None:
        """Choose the kernel for rows; None if rows do not bound its visits."""
        layouts = {name: buffer.abi_layout() for name, buffer in rows.items()}
        if layouts != self._layouts:
            kernel = self.group.compile_for(layouts).sweep()
            beyond = any(loop.beyond_rows for loop in kernel.signature.loops)
            if beyond:
                self._calls = None
            elif self._calls is None or self._calls.kernel.code is not kernel.code:
                costs = self.options.costs.run
                self._calls = FewKeys(kernel, self.request, costs)
            self._layouts = layouts
        return self._calls


def _count(rows: Mapping[str, RowsByKey]) -> int:
    """Count the rows that calls read, those without keys for each of all keys."""
    total = 0
    for each in rows.values():
        total += each.buffer.n if isinstance(each, Groups) else each.n
    return total

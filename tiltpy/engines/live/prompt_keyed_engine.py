"""The engine of outputs by key in a session: mostly it computes a few keys."""

from collections.abc import Mapping

from tiltpy.abi.layouts import Layout
from tiltpy.engines.keyed_engine import KeyedEngine
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.pool import ScratchArrays
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.call_states import CallStates
from tiltpy.runtime.execution.kernel import Kernel
from tiltpy.runtime.execution.key_domains import KeyedRanges, RowsByKey
from tiltpy.runtime.execution.time_domain import LONGEST_CHUNK
from tiltpy.runtime.ingest.cell_overlaps import check_cells
from tiltpy.runtime.ingest.keys import Groups
from tiltpy.runtime.keyed.few_keys import sweep_keys
from tiltpy.runtime.keyed.snapshots import KeyedSnapshots


class PromptKeyedEngine(KeyedEngine):
    """An engine that one thread at a time asks for ranges, one behind the other."""

    _scratch: ScratchArrays | None = None
    """The memory that calls share, from one evaluation to the next."""
    _layouts: Mapping[str, Layout] | None = None
    _kernel: Kernel | None = None
    """The kernel of the last evaluation of few rows, and their layouts."""

    def run_few(
        self,
        rows: Mapping[str, RowsByKey],
        strings: Strings,
        ranges: Mapping[str, KeyedRanges],
        states: CallStates | None,
    ) -> Mapping[str, KeyedSnapshots] | None:
        """Compute few keys and rows with calls in this thread; None if they are not."""
        few, options = self.options.costs.run.single_call_rows, self.options
        if options.vector or options.chunk is not None or _count(rows) > few:
            return None
        for each in ranges.values():
            longest = int(each.high.max()) - int(each.low.min())
            if len(each.low) > few or longest > LONGEST_CHUNK:
                return None
        check_cells(self.group.query, rows)
        buffers = {
            name: each.buffer if isinstance(each, Groups) else each
            for name, each in rows.items()
        }
        kernel = self._choose_kernel(buffers)
        if kernel is None:
            return None
        if self._scratch is None:
            self._scratch = ScratchArrays()
        return sweep_keys(
            kernel, rows, strings, ranges, self.request, states, self._scratch
        )

    def _choose_kernel(self, rows: Mapping[str, SnapshotBuffer]) -> Kernel | None:
        """Choose the kernel for rows; None if rows do not bound its visits."""
        layouts = {name: buffer.abi_layout() for name, buffer in rows.items()}
        if layouts != self._layouts:
            kernel = self.group.compile_for(layouts).sweep()
            beyond = any(loop.beyond_rows for loop in kernel.signature.loops)
            self._layouts, self._kernel = layouts, None if beyond else kernel
        return self._kernel


def _count(rows: Mapping[str, RowsByKey]) -> int:
    """Count the rows that calls read, those without keys for each of all keys."""
    total = 0
    for each in rows.values():
        total += each.buffer.n if isinstance(each, Groups) else each.n
    return total

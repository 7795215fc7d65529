"""The engine of outputs by key in a session: mostly it computes a few keys."""

from collections.abc import Mapping

from tiltpy.engines.keyed_engine import KeyedEngine
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.pool import ScratchArrays
from tiltpy.runtime.execution.call_states import CallStates
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
        layouts = {name: buffer.abi_layout() for name, buffer in buffers.items()}
        kernel = self.group.compile_for(layouts).sweep()
        if any(loop.beyond_rows for loop in kernel.signature.loops):
            return None
        if self._scratch is None:
            self._scratch = ScratchArrays()
        return sweep_keys(
            kernel, rows, strings, ranges, self.request, states, self._scratch
        )


def _count(rows: Mapping[str, RowsByKey]) -> int:
    """Count the rows that calls read, those without keys for each of all keys."""
    total = 0
    for each in rows.values():
        total += each.buffer.n if isinstance(each, Groups) else each.n
    return total

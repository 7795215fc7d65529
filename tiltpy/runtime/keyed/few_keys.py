"""Few keys with few rows: one batch of calls of the sweep kernel, in this thread.

A `KeyedRun` divides keys into tasks, which workers share; that takes longer than to
compute a few rows. Here all keys are computed at once, and nothing is planned.
"""

from collections.abc import Hashable, Mapping
from functools import reduce

import numpy as np

from tiltpy.abi.signature import Loop
from tiltpy.costs import RunCosts
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.pool import ScratchArrays
from tiltpy.runtime.execution.call_states import CallStates
from tiltpy.runtime.execution.call_table import CallTable
from tiltpy.runtime.execution.kernel import Kernel
from tiltpy.runtime.execution.key_domains import KeyedRanges, RowsByKey
from tiltpy.runtime.execution.single_run import find_most_rows
from tiltpy.runtime.execution.time_domain import LONGEST_CHUNK, Request
from tiltpy.runtime.keyed.call_formulas import CallFormulas, find_form, has_formulas
from tiltpy.runtime.keyed.join import attach_strings, spread
from tiltpy.runtime.keyed.snapshots import KeyedSnapshots
from tiltpy.runtime.keyed.sweep_calls import AllCells, SweepBatch, read_snapshots

MOST_FORMS = 16
"""Forms of rows and outputs whose formulas are kept."""
Rows = Mapping[str, RowsByKey]


class FewKeys:
    """Batches of calls of one kernel, each over a few keys.

    The formulas of what calls cover are compiled once rows of a form come again.
    """

    def __init__(self, kernel: Kernel, request: Request, costs: RunCosts) -> None:
        self.kernel = kernel
        self.most_rows = find_most_rows(kernel, costs)
        """The rows of all inputs, and the keys, at most, for which it serves."""
        self._request = request
        self._scratch = ScratchArrays()
        self._formulas: dict[Hashable, CallFormulas | None] = {}
        """Those of each form; None of one that has come once."""

    def compute(
        self,
        rows: Rows,
        strings: Strings,
        ranges: Mapping[str, KeyedRanges],
        states: CallStates | None,
    ) -> dict[str, KeyedSnapshots]:
        """Compute the outputs of all keys over their ranges.

        `rows` are those of the keys, of which something is wanted somewhere.
        """
        wanted = reduce(np.logical_or, [each.nonempty for each in ranges.values()])
        count, keys = len(wanted), wanted.nonzero()[0]
        every = len(keys) == count
        if not every:
            ranges = {name: each.of(keys) for name, each in ranges.items()}
            states = None if states is None else states.of(keys)
        loops = [each for each in self.kernel.signature.loops if each.name in ranges]
        cells = {loop.name: ranges[loop.name].cells(loop.tdom) for loop in loops}
        made = self._call(rows, strings, cells, keys, states, every=every)
        outputs = {}
        for loop in loops:
            cut = _cut(loop, made[loop.name], ranges[loop.name])
            outputs[loop.name] = attach_strings(cut, loop.type, strings)
            if not every:
                outputs[loop.name] = spread(outputs[loop.name], keys, count)
        return outputs

    def _call(
        self,
        rows: Rows,
        strings: Strings,
        cells: AllCells,
        keys: I64Array,
        states: CallStates | None,
        *,
        every: bool,
    ) -> dict[str, KeyedSnapshots]:
        """Make the calls, one for each of some keys, or of `every` one."""
        form = find_form(rows, cells)
        formulas = self._formulas.get(form)
        if formulas is not None:
            table, covered = formulas.prepare(
                rows, cells, keys, self._scratch, every=every
            )
            table.run_in_order(self._scratch)
            return read_snapshots(table, covered, cells, copy=True)
        batch = SweepBatch.of_keys(
            self.kernel.signature,
            rows,
            cells,
            keys,
            self._request,
            strings,
            states=states,
        )
        table = batch.fill(self.kernel)
        if has_formulas(table):
            self._keep(form, table, rows, cells, keys)
        table.run_in_order(self._scratch)
        return read_snapshots(table, batch.coverage, cells)

    def _keep(
        self,
        form: Hashable,
        table: CallTable,
        rows: Rows,
        cells: AllCells,
        keys: I64Array,
    ) -> None:
        """Compile the formulas of a form that comes again, or note that it has come."""
        if len(self._formulas) == MOST_FORMS:
            self._formulas.clear()
        formulas = None
        if form in self._formulas:
            formulas = CallFormulas(table, rows, cells, keys, self._request)
        self._formulas[form] = formulas


def are_short(ranges: Mapping[str, KeyedRanges]) -> bool:
    """Tell whether ranges of keys, of which there is one at least, fit into a call."""
    for each in ranges.values():
        if int(each.high.max()) - int(each.low.min()) > LONGEST_CHUNK:
            return False
    return True


def _cut(loop: Loop, made: KeyedSnapshots, ranges: KeyedRanges) -> KeyedSnapshots:
    """Cut snapshots to the domains of their keys; rows of a row object stay whole."""
    return made if loop.stamped else made.cut(ranges.domains)

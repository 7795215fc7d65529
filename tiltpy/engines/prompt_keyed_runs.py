"""Runs by key over few rows: one batch of calls, whose memory and formulas stay.

To divide keys into tasks that workers share takes longer than to compute a few rows.
"""

from tiltpy.runtime.execution.kernel import Kernels
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.time_domain import LONGEST_CHUNK
from tiltpy.runtime.keyed.few_keys import FewKeys
from tiltpy.runtime.keyed.keyed_run import KeyedRun, Pieces
from tiltpy.runtime.results.key_columns import KeySnapshots


def compute(group: OutputGroup[Kernels], run: KeyedRun) -> Pieces | None:
    """Compute the outputs of a run over few rows; None where one batch does not serve.

    Nothing may be wanted, or more ticks than a call can have, or more visits than rows
    bound.
    """
    ranges, wanted = run.ranges, False
    for each in ranges.values():
        if not each.nonempty.any():
            continue
        wanted = True
        if int(each.high.max()) - int(each.low.min()) > LONGEST_CHUNK:
            return None
    if not wanted or run.beyond_rows:
        return None
    kernel, costs = run.kernels.sweep(), run.options.costs.run
    terms = kernel.code, run.request, costs
    calls = group.idle.take(terms) or FewKeys(kernel, run.request, costs)
    if sum([each.n for each in run.rows.values()]) > calls.most_rows:
        return None
    made = calls.compute(run.inputs, run.strings, ranges, None)
    group.idle.put_back(terms, calls)
    return {
        name: [
            KeySnapshots(
                (
                    snapshots.buffer(
                        row_object=group.outputs[name].tdom.rows is not None
                    ),
                ),
                run.keys.numbers,
                snapshots.counts,
            )
        ]
        for name, snapshots in made.items()
    }

"""Runs by key over few rows: one batch of calls, whose memory and formulas stay.

To divide keys into tasks that workers share takes longer than to compute a few rows.
"""

from tiltpy.runtime.execution.kernel import Kernels
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.keyed.few_keys import FewKeys, are_short
from tiltpy.runtime.keyed.keyed_run import KeyedRun, Pieces
from tiltpy.runtime.results.key_columns import KeySnapshots


def compute(group: OutputGroup[Kernels], run: KeyedRun) -> Pieces | None:
    """Compute the outputs of a run over few rows; None where one batch does not serve.

    Nothing may be wanted, or more ticks than a call can have, or more visits than rows
    bound.
    """
    ranges = run.ranges
    is_wanted = any(each.nonempty.any() for each in ranges.values())
    if not is_wanted or run.beyond_rows or not are_short(ranges):
        return None
    kernel, costs = run.kernels.sweep(), run.options.costs.run
    terms = kernel.code, run.request, costs
    calls = group.idle.take(terms) or FewKeys(kernel, run.request, costs)
    if sum([each.n for each in run.rows.values()]) > calls.most_rows:
        return None
    made = calls.compute(run.inputs, run.strings, ranges, None)
    group.idle.put_back(terms, calls)
    outputs: Pieces = {}
    for name, snapshots in made.items():
        buffer = snapshots.buffer(row_object=group.outputs[name].tdom.rows is not None)
        numbers = run.keys.numbers
        outputs[name] = [KeySnapshots((buffer,), numbers, snapshots.counts)]
    return outputs

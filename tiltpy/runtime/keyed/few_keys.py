"""Few keys with few rows: one batch of calls of the sweep kernel, in this thread.

A `KeyedRun` divides keys into tasks, which workers share; that takes longer than to
compute a few rows. Here all keys are computed at once, and nothing is planned.
"""

from collections.abc import Mapping

import numpy as np

from tiltpy.abi.signature import Loop
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.pool import ScratchArrays
from tiltpy.runtime.execution.call_states import CallStates
from tiltpy.runtime.execution.kernel import Kernel
from tiltpy.runtime.execution.key_domains import KeyedRanges, RowsByKey
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.keyed.join import attach_strings, spread
from tiltpy.runtime.keyed.snapshots import KeyedSnapshots
from tiltpy.runtime.keyed.sweep_calls import SweepBatch


def sweep_keys(
    kernel: Kernel,
    rows: Mapping[str, RowsByKey],
    strings: Strings,
    ranges: Mapping[str, KeyedRanges],
    request: Request,
    states: CallStates | None,
    scratch: ScratchArrays,
) -> dict[str, KeyedSnapshots]:
    """Compute the outputs of all keys over their ranges.

    `rows` are those of the keys, of which something is wanted somewhere.
    """
    count = len(next(iter(ranges.values())).low)
    wanted = np.zeros(count, np.bool_)
    for each in ranges.values():
        wanted |= each.nonempty
    keys = wanted.nonzero()[0]
    every = len(keys) == count
    if not every:
        ranges = {name: each.of(keys) for name, each in ranges.items()}
        states = None if states is None else states.of(keys)
    loops = [loop for loop in kernel.signature.loops if loop.name in ranges]
    cells = {loop.name: ranges[loop.name].cells(loop.tdom) for loop in loops}
    batch = SweepBatch(
        kernel.signature, rows, cells, keys, request, strings, states=states
    )
    made = batch.run(kernel, scratch)
    outputs = {}
    for loop in loops:
        cut = _cut(loop, made[loop.name], ranges[loop.name])
        outputs[loop.name] = attach_strings(cut, loop.type, strings)
        if not every:
            outputs[loop.name] = spread(outputs[loop.name], keys, count)
    return outputs


def _cut(loop: Loop, made: KeyedSnapshots, ranges: KeyedRanges) -> KeyedSnapshots:
    """Cut snapshots to the domains of their keys; rows of a row object stay whole."""
    return made if loop.stamped else made.cut(ranges.domains)

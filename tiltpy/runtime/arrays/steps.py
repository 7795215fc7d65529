"""The steps between neighbouring times: whether they are in order, and how they lie."""

from threading import local

from tiltpy.abi.layouts import TimeLayout
from tiltpy.array_address import address
from tiltpy.routines.catalogue import FIND_STEPS
from tiltpy.routines.prepared_call import PreparedCall
from tiltpy.runtime.arrays.block_passes import CACHE_BLOCK
from tiltpy.runtime.arrays.dtypes import Steps, Times
from tiltpy.runtime.concurrency.workers import map_portions


class StepFinder(local):
    """Finds the steps between times that are in order; None where they are not.

    Each thread has a call of its own.
    """

    def __init__(self) -> None:
        self._call = PreparedCall(FIND_STEPS, 0, 0, 0)

    def find(self, times: Times) -> Steps | None:
        """Find the least and the greatest step, of at least one time."""
        least, greatest, _ = self._call(len(times), 0, address(times))
        return (least, greatest) if least >= 0 else None


def find_steps(times: Times) -> Steps | None:
    """Find the least and the greatest step between two times or more in order.

    None where there are fewer, or where they are out of order. Threads share the times.
    """
    pairs = len(times) - 1
    if pairs < 1:
        return None
    if pairs <= CACHE_BLOCK:  # in less time than it takes to load the routine
        if (times[1:] < times[:-1]).any():
            return None
        steps = times[1:] - times[:-1]
        least, greatest = int(steps.min()), int(steps.max())
        return (least, greatest) if least >= 0 else None
    parts = map_portions(
        lambda rows: StepFinder().find(times[rows.start : rows.stop + 1]), pairs
    )
    steps_of = [part for part in parts if part is not None]
    if len(steps_of) < len(parts):
        return None
    return min(least for least, _ in steps_of), max(most for _, most in steps_of)


def layout_of_steps(length: int, steps: Steps) -> TimeLayout:
    """Find the layout of events of one length by the steps between their starts."""
    least, greatest = steps
    if least < length:
        return TimeLayout.OVERLAPPING
    return TimeLayout.SAMPLED if greatest <= length else TimeLayout.INTERVALS

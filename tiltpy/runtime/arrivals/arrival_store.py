"""The memory in which the rows of an input stay, as its source writes to it."""

from collections.abc import Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from tiltpy.runtime.arrays.dtypes import Steps, Times


class ArrivalStore(Protocol):
    """Memory where rows in order are written when they come, and wait unseen.

    Rows that wait there come behind all others.
    """

    def write(
        self, count: int, columns: Sequence[int]
    ) -> tuple[int, int, Steps] | None:
        """Write rows of a push, which are not taken yet; None if it cannot have them.

        `columns` are the addresses of their stamps and of each payload column. Returns
        the first start, the last and the steps between all. What was written before and
        not taken is forgotten.
        """

    def take_written(self) -> None:
        """Take the rows that were written last: they wait."""

    def take_waiting(self) -> tuple[Times, list[NDArray[Any]]] | None:
        """Take the rows away that wait: starts and payload; None if there are none."""

    @property
    def tail(self) -> int:
        """Return the number of settled rows that nothing ends."""

    @property
    def tail_start(self) -> int | None:
        """Return their start, if there are any."""

    def take_tail(self) -> tuple[Times, list[NDArray[Any]]] | None:
        """Take those away, once none wait; None if there are none."""

    def count_waiting(self, time: int) -> int:
        """Count the waiting rows that do not start before a time."""

"""Memory that peers write results to: the same in each run."""

import numpy as np

from bench.outcome import Array

ALIGNMENT = 64
"""Bytes in a vector; those written past the caches must begin at a multiple."""


def memory(entries: int, kind: type) -> Array:
    """Memory for results, written to before so that a run costs no page faults."""
    wide: Array = np.ones(entries + ALIGNMENT, kind)
    first = -wide.ctypes.data % ALIGNMENT // wide.itemsize
    return wide[first : first + entries]

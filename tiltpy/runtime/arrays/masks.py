"""Questions to columns of truths, answered for few as fast as for many.

Methods of numpy arrays that reduce are Python functions, which take a microsecond. To
count what is not zero takes a fifth.
"""

import numpy as np

from tiltpy.runtime.arrays.dtypes import BoolArray


def is_any(mask: BoolArray) -> bool:
    """Tell whether a truth holds anywhere."""
    return int(np.count_nonzero(mask)) > 0


def are_all(mask: BoolArray) -> bool:
    """Tell whether a truth holds everywhere."""
    return int(np.count_nonzero(mask)) == mask.size

"""`python -m tests.runtime.execution.keyed_fences KIND FIRST LAST`: keyed, fenced.

As `fences`, for what is made of keys. Each call of a batch sees its own key's rows, and
room for just what that key may write, so that a step into the rows or the snapshots of
the key beside it is a fault, too. What is folded without grouping has fences around its
rows, its keys and its states.
"""

import sys
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tests.keyed import check_keyed
from tests.runtime.execution.fences import Fences, put_up
from tests.semantics.test_keyed_properties import CASES
from tiltpy.runtime.arrays.pool import dtype_of
from tiltpy.runtime.preaggregation import pane_states
from tiltpy.runtime.preaggregation.pane_states import Matrices
from tiltpy.types import Scalar


def put_up_by_key(fences: Fences) -> None:
    """Have batches and folded rows take all memory between fences."""
    put_up(fences)
    make = Matrices.__init__

    def fenced_matrices(made: Matrices, *given: object, **named: object) -> None:
        make(made, *given, **named)  # type: ignore[arg-type]
        made.rows = fences.piece(made.rows)
        made.keys = replace(made.keys, values=fences.copy(made.keys.values))
        made.panes = replace(made.panes, rows=fences.copy(made.panes.rows))

    def allocate(scalar: Scalar, size: int) -> NDArray[np.generic]:
        return fences.array(dtype_of(scalar), size)

    Matrices.__init__ = fenced_matrices  # type: ignore[assignment, method-assign]
    pane_states.allocate = allocate  # type: ignore[attr-defined]


def main() -> None:
    kind, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    kinds = list(CASES) if kind == "all" else [kind]
    fences = Fences(low="low" in sys.argv)
    put_up_by_key(fences)
    for number in range(first, last):
        seed, place = divmod(number, len(kinds))
        kind = kinds[place]
        case, setting = CASES[kind](seed)
        plain = replace(setting.plain, workers=1)
        print(f"{kind} {seed}, {setting}", file=sys.stderr, flush=True)
        difference = check_keyed(
            case, replace(setting, plain=plain), exact=kind != "rounded"
        )
        assert difference is None, difference
        fences.open()


if __name__ == "__main__":
    main()

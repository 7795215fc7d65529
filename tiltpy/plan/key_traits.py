"""Properties of an output by key that hold whatever its rows are."""

from tiltpy.lean_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class KeyTraits:
    """Properties of an output by key that hold whatever the rows are.

    `sparse`: it is φ for a key without rows. `dense`: it may have a snapshot in each
    cell. `steady`: without new rows of its key it comes to an end, or to a last
    snapshot. `apart`: no two of its cells see a row that lasts for a tick.
    `open_ended`: the cells so far do not tell whether its last snapshot goes on.
    """

    sparse: bool
    dense: bool
    steady: bool
    apart: bool = False
    open_ended: bool = False

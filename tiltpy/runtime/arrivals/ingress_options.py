"""Options for how the rows of an input come into a live session."""

from typing import Literal, get_args

import pyarrow as pa

from tiltpy.argument_checks import check_argument
from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.ingest.binding import InputBinding

LatePolicy = Literal["drop", "adjust", "throw", "side"]
LATE_POLICIES: tuple[LatePolicy, ...] = get_args(LatePolicy)


@dataclass(frozen=True, slots=True)
class IngressOptions:
    """Options for how the rows of an input come in; lengths of time are in ticks.

    `binding` has what the declaration leaves open, and no frame. `reorder`: how far a
    row may be behind the greatest start so far. `late`: what becomes of a row that is
    later. `jump`: how far beyond it a row may be (None: without limit). `schema` is
    known before the first row, if it is given. `accepted`: the rows are given back as
    they are settled.
    """

    binding: InputBinding
    reorder: int = 0
    late: LatePolicy = "drop"
    jump: int | None = None
    schema: pa.Schema | None = None
    accepted: bool = False


def check_schema(schema: object) -> pa.Schema | None:
    """Return a schema of pyarrow, or None; refuse all else."""
    return check_argument("schema", schema, (pa.Schema, type(None)), "a pyarrow.Schema")

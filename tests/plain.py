"""Running texts through the public API in few words."""

from collections.abc import Mapping, Sequence
from math import copysign, isnan

import pyarrow as pa

import tiltpy as tilt
from tests.compare import assert_same
from tests.compiled import ARROW, Setting, run_compiled
from tests.random.queries import Case
from tiltpy.frontend.parse import parse
from tiltpy.inputs import BoundFrame
from tiltpy.interpreter.evaluate import Event, Snapshot, Value, interpret
from tiltpy.interpreter.scalars import Number
from tiltpy.runtime.results.output_table import OutputTable
from tiltpy.runtime.results.result import Result

Rows = Sequence[tuple[int, int, Number | None]]

PLAIN_SETTINGS = (
    Setting(),
    Setting(special_shapes=False, optimize=False),
    Setting(chunk=3, workers=2),
)


def held(rows: Rows, scalar: str = "f64") -> BoundFrame:
    """Rows `(start, end, value)` as the frame of a scalar input."""
    table = pa.table(
        {
            "start": pa.array([row[0] for row in rows], pa.int64()),
            "end": pa.array([row[1] for row in rows], pa.int64()),
            "value": pa.array([row[2] for row in rows], ARROW[scalar]),
        }
    )
    return tilt.bind(table, lifetime=tilt.interval("start", "end"), column="value")


def steps(values: Sequence[Number | None], scalar: str = "f64") -> BoundFrame:
    """Values that hold for a tick each, from 0 on."""
    return held([(i, i + 1, value) for i, value in enumerate(values)], scalar)


def listed(result: Result | OutputTable) -> list[tuple[object, ...]]:
    """A single output's rows."""
    return [tuple(row.values()) for row in result.to_arrow().to_pylist()]


def check_engines(
    text: str,
    rows: Mapping[str, Sequence[tuple[int, int, Value]]],
    *,
    settings: Sequence[Setting] = PLAIN_SETTINGS,
    start: int | None = None,
    end: int | None = None,
    bounds: Mapping[str, int] | None = None,
) -> dict[str, list[Snapshot]]:
    """Check that machine code agrees to the bit with a text's meaning over events."""
    query = parse(text)
    events = {name: [Event(*row) for row in some] for name, some in rows.items()}
    case = Case(query, events, start, end, dict(bounds or {}))
    meant = interpret(query, events, start=start, end=end, bounds=case.bounds)
    for setting in settings:
        assert_same(run_compiled(case, setting), meant, query, exact=True)
    return meant


def same_bits(one: object, other: object) -> bool:
    """Equal, NaN to NaN, and zeros only of one sign."""
    if isinstance(one, float) and isinstance(other, float):
        if isnan(one) or isnan(other):
            return isnan(one) and isnan(other)
        return one == other and copysign(1.0, one) == copysign(1.0, other)
    return type(one) is type(other) and one == other

"""Windows per key that are folded as the rows come, against what they mean."""

from collections.abc import Sequence
from itertools import islice

import numpy as np
import pyarrow as pa
import pytest

from tests.compare import first_difference
from tests.compiled import arrow_of, snapshots
from tests.random_folds import FoldCase, FoldWriter, Row
from tiltpy.abi import Layout, TimeLayout
from tiltpy.compiler import CompileOptions, Compiler
from tiltpy.interpreter import Event, Snapshot
from tiltpy.interpreter_keys import interpret_by_key
from tiltpy.ir.nodes import Query
from tiltpy.ir.printer import format_query
from tiltpy.runtime.buffers import SnapshotBuffer
from tiltpy.runtime.columns import payload_column
from tiltpy.runtime.domain import Request
from tiltpy.runtime.encode import coded, encode
from tiltpy.runtime.folded import Folded, Snapshots
from tiltpy.runtime.folding import CodedKeys, Matrices, cut_panes
from tiltpy.runtime.layout import lay_out
from tiltpy.runtime.result import OutputTable
from tiltpy.runtime.stamps import PLAIN_TICKS, output_stamp
from tiltpy.runtime.strings import Strings
from tiltpy.types import I32, STRING, Struct, Type, columns

BATCH = 20
CASES = 120
DEEPER = 50


def buffer_of(rows: Sequence[Row], payload: Type) -> SnapshotBuffer:
    """All rows in one buffer, whatever their keys; null rows among them."""
    starts, ends = (
        np.array([row.event[side] for row in rows], np.int64) for side in (0, 1)
    )
    found = []
    for name, scalar in columns(payload):
        cells = [
            row.event[2][name] if isinstance(payload, Struct) else row.event[2]  # type: ignore[index]
            for row in rows
        ]
        array = pa.array(cells, arrow_of(scalar))
        if scalar == STRING:
            array = coded([array])
        found.append(payload_column(array, scalar, input="x", name=name))
    return lay_out(starts, ends, tuple(found))


def run_direct(
    query: Query,
    rows: Sequence[Row],
    request: Request = Request(),  # noqa: B008 - it is frozen
    *,
    workers: int = 1,
    optimize: bool = True,
    narrow: bool = True,
) -> dict[str, dict[int, list[Snapshot]]]:
    """The snapshots of each output by key; the rows are not grouped."""
    (declared,) = query.inputs
    buffer = buffer_of(rows, declared.type)
    encoded, strings = encode(query, {declared.name: buffer})
    buffer = encoded[declared.name]
    nullable = tuple(column.validity is not None for column in buffer.columns)
    layout = Layout(TimeLayout.OVERLAPPING, nullable)
    options = CompileOptions(optimize=optimize, cache=False)
    compiled = Compiler(query, options).specialised({declared.name: layout})
    values = np.array([row.key for row in rows], np.int32)
    least, most = int(values.min()), int(values.max())
    keys = CodedKeys(values, I32, least, most - least + 1, lambda keys: (keys,))
    found: dict[str, dict[int, list[Snapshot]]] = {}
    for name in query.outputs:
        assert compiled.why_not_grouped(name) is None
        fold, cells = compiled.grouped(name, I32, narrow=narrow)
        grouped = fold.signature.grouped
        assert grouped is not None
        panes = cut_panes(grouped.pane, grouped.phase, buffer)
        assert panes is not None
        matrices = Matrices(fold.signature, buffer, keys, panes, strings)
        assert matrices.fill(fold, workers)
        definition = query.definition(name)
        assert definition is not None
        folded = Folded(matrices, cells, definition.tdom, definition.type, request)
        found[name] = {}
        for some in folded.snapshots():
            output = output_of(name, definition.type, some, strings)
            rows_of = iter(snapshots(output))
            for key, count in zip(some.keys, some.counts, strict=True):
                found[name][int(key) + least] = list(islice(rows_of, int(count)))
    return found


def output_of(
    name: str, payload: Type, some: Snapshots, strings: Strings
) -> OutputTable:
    """Some keys' snapshots as a table."""
    count = len(some.starts)
    layout = TimeLayout.INTERVALS
    buffer = SnapshotBuffer(layout, count, 0, 1, some.starts, some.ends, some.columns)
    stamp = output_stamp({"x": PLAIN_TICKS}, None)
    return OutputTable(name, payload, [buffer], stamp, strings)


def meaning(
    query: Query, rows: Sequence[Row], start: int | None = None, end: int | None = None
) -> dict[str, dict[int, list[Snapshot]]]:
    """What the query means for each key that has an event."""
    events: dict[tuple[object, ...], list[Event]] = {}
    for row in rows:
        if isinstance(row.event, Event):
            events.setdefault((row.key,), []).append(row.event)
    found = interpret_by_key(query, {"x": events}, start=start, end=end)
    return {
        name: {int(key[0]): own for key, own in by_key.items()}  # type: ignore[call-overload]
        for name, by_key in found.items()
    }


def difference(
    case: FoldCase, found: dict[str, dict[int, list[Snapshot]]]
) -> str | None:
    """Where a result is not what the query means, if anywhere."""
    expected = meaning(case.query, case.rows, case.start, case.end)
    for name in case.query.outputs:
        ours = {key: own for key, own in found[name].items() if own}
        theirs = {key: own for key, own in expected[name].items() if own}
        if list(ours) != list(theirs):
            return f"~{name}: keys {list(ours)}, expected {list(theirs)}"
        for key, own in ours.items():
            unlike = first_difference(own, theirs[key], case.query, name, exact=True)
            if unlike is not None:
                return f"~{name}, key {key}: {unlike}"
    return None


@pytest.mark.parametrize("batch", range(CASES // BATCH))
def test_random_windows_mean_what_the_interpreter_says(
    batch: int, *, deep: bool
) -> None:
    for first in range(batch * BATCH, CASES * (DEEPER if deep else 1), CASES):
        for seed in range(first, first + BATCH):
            case = FoldWriter(seed).case()
            found = run_direct(
                case.query,
                case.rows,
                Request(case.start, case.end),
                workers=1 + seed % 2,
                optimize=seed % 6 == 0,
                narrow=seed % 5 > 0,
            )
            unlike = difference(case, found)
            assert unlike is None, f"seed {seed}: {unlike}\n{format_query(case.query)}"

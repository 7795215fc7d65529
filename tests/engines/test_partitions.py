"""Pieces of a run by themselves, each over no more rows than it needs, and stitched."""

from random import Random

import pytest

from tests.compare import first_difference
from tests.compiled import Setting, compiler_of, run_compiled, snapshots, table_of
from tests.random.queries import Case, random_case
from tiltpy.compiler.options import CompileOptions
from tiltpy.engines.partition import (
    PartitionOutput,
    PartitionRange,
    halo_lengths,
    run_partition,
)
from tiltpy.interpreter.evaluate import Event, Snapshot
from tiltpy.ir.print.query import format_query
from tiltpy.lifetimes import Interval
from tiltpy.passes.resolve_boundaries import resolve_boundaries
from tiltpy.runtime.arrow.timestamps import output_stamp
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.ingest.binding import InputBinding
from tiltpy.runtime.ingest.read_input import ingest

CASES = 6
BATCH = 6
DEEPER = 270


class Pieces:
    """A case cut at multiples of an interval."""

    def __init__(
        self, case: Case, interval: int, chunk: int | None, grid: bool | None
    ) -> None:
        self.case = case
        self.interval = interval
        self.query = resolve_boundaries(case.query)
        options = CompileOptions(optimize=False, cache=False)
        self.compiler = compiler_of(case.query, options)
        self.request = Request(case.start, case.end, case.bounds)
        self.options = RunOptions(workers=1, chunk=chunk, vector=grid)
        self.halo = halo_lengths(self.query)
        self.bounds = {name: _bounds(rows) for name, rows in case.events.items()}

    def run(self) -> dict[str, list[Snapshot]]:
        """All outputs, stitched."""
        times = [time for span in self.bounds.values() if span for time in span]
        given = (self.case.start, self.case.end, *self.case.bounds.values())
        times += [time for time in given if time is not None]
        times += [
            time
            for one in self.query.definitions
            for time in (one.tdom.start, one.tdom.end)
            if isinstance(time, int)
        ]
        found: dict[str, list[Snapshot]] = {name: [] for name in self.query.outputs}
        opened: dict[str, bool] = dict.fromkeys(found, False)
        step = sum(one.tdom.longest for one in self.query.definitions)
        first, last = min(times, default=0), max(times, default=0) + step
        for number in range(first // self.interval, -(-last // self.interval)):
            for name, piece in self.piece(number).items():
                opened[name] = stitch(found[name], piece, goes_on=opened[name])
        assert not any(opened.values()), "a snapshot goes on behind all pieces"
        return found

    def piece(self, number: int) -> dict[str, PartitionOutput]:
        low, high = number * self.interval, (number + 1) * self.interval
        inputs = {}
        for declared in self.query.inputs:
            back, ahead = self.halo.get(declared.name, (0, 0))
            rows = [
                event
                for event in self.case.events[declared.name]
                if event.start < high + ahead and event.end > low - back
            ]
            bound = InputBinding(
                table_of(declared, rows), lifetime=Interval("start", "end")
            )
            inputs[declared.name] = ingest(declared, bound, unit=self.query.unit)
        return run_partition(
            OutputGroup(self.query, self.compiler.compile_for),
            inputs,
            self.request,
            self.options,
            PartitionRange(low, high, self.bounds),
            output_stamp({n: i.stamps for n, i in inputs.items()}, self.query.unit),
        )


def stitch(done: list[Snapshot], piece: PartitionOutput, *, goes_on: bool) -> bool:
    """Append a piece's snapshots; whether the last of all is still open."""
    if piece.carried is not None and goes_on:
        last = done[-1]
        done[-1] = Snapshot(last.start, piece.carried, last.value)
        goes_on = piece.carried_on
    rows = snapshots(piece.table)
    assert not (goes_on and rows), "a snapshot begins where another goes on"
    done.extend(rows)
    return piece.open if rows else goes_on


def _bounds(rows: list[Event]) -> tuple[int, int] | None:
    if not rows:
        return None
    return min(row.start for row in rows), max(row.end for row in rows)


@pytest.mark.parametrize("first", range(0, CASES, BATCH))
def test_stitched_pieces_are_the_whole_run(first: int, *, deep: bool) -> None:
    for seed in range(first, first + BATCH * (DEEPER if deep else 1)):
        case = random_case(seed, exact=True, specials=seed % 3 == 0)
        random = Random(seed)  # noqa: S311
        interval = random.choice((1, 2, 3, 5, 8, 13, 100))
        chunk = random.choice((None, interval))
        expected = run_compiled(case, Setting(optimize=False))
        grid = random.choice((None, True))
        found = Pieces(case, interval, chunk, grid).run()
        for name in case.query.outputs:
            text = f"seed {seed}, {interval}\n{format_query(case.query)}"
            difference = first_difference(
                found[name], expected[name], case.query, name, exact=True
            )
            assert difference is None, f"~{name}: {difference}\n{text}"

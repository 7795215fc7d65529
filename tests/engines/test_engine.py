"""Ranges evaluated one after the other give what one evaluation of all of it gives."""

from collections.abc import Iterator
from itertools import pairwise
from random import Random

import pytest

from tests.compare import first_difference
from tests.compiled import compiler_of, snapshots, table_of
from tests.random.queries import Case, random_case
from tiltpy.compiler.options import CompileOptions
from tiltpy.engines.engine import Engine, RunState
from tiltpy.engines.partition import halo_lengths
from tiltpy.interpreter.evaluate import Snapshot, interpret
from tiltpy.ir.nodes import Query
from tiltpy.ir.print.query import format_query
from tiltpy.lifetimes import Interval
from tiltpy.passes.resolve_boundaries import resolve_boundaries
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrow.timestamps import output_stamp
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.time_domain import (
    OutputRange,
    Request,
    find_whole_ranges,
)
from tiltpy.runtime.ingest.binding import InputBinding
from tiltpy.runtime.ingest.read_input import ingest
from tiltpy.runtime.results.output_table import OutputTable
from tiltpy.runtime.results.table import format_of

CASES = 6
BATCH = 6
DEEPER = 270


class Resumed:
    """A case that is evaluated up to random times, each time from the state before."""

    def __init__(self, case: Case, random: Random) -> None:
        self.case = case
        self.random = random
        self.query: Query = resolve_boundaries(case.query)
        self.request = Request(case.start, case.end, case.bounds)
        compiler = compiler_of(case.query, CompileOptions(optimize=False, cache=False))
        options = RunOptions(workers=1, vector=random.choice((None, True)))
        group = OutputGroup(self.query, compiler.compile_for)
        self.engine = Engine(group, self.request, options)
        self.halo = halo_lengths(self.query)

    def run(self) -> dict[str, list[Snapshot]]:
        """All outputs, each a list of what the ranges gave."""
        stamp = output_stamp({}, self.query.unit)
        outputs: dict[str, list[Snapshot]] = {name: [] for name in self.query.outputs}
        state = RunState()
        for low, high, ranges in self._ranges():
            found = self.engine.evaluate(ranges, self._rows(low, high), state)
            state = found.state
            for name, pieces in found.pieces.items():
                of = self.query.type_of(name)
                table = OutputTable(format_of(name, of, stamp), pieces, found.strings)
                outputs[name] += snapshots(table)
        assert not state.open, "a snapshot is open behind the last range"
        return outputs

    def _ranges(self) -> Iterator[tuple[int, int, dict[str, OutputRange]]]:
        """Ranges of all outputs that lie in `(low, high]`, in order of time."""
        whole = find_whole_ranges(self.query, self._rows(None, None), self.request)
        if not whole:
            return
        start = min(one.low for one in whole.values())
        end = max(one.high for one in whole.values())
        inner = {
            self.random.randint(start, end)
            for _ in range(self.random.choice((1, 2, 9)))
        }
        cuts = sorted({start, *inner, end})
        for low, high in pairwise(cuts):
            ranges = {}
            for name, one in whole.items():
                first, last = max(low, one.low), min(high, one.high)
                if first < last:
                    final = last == one.high
                    ranges[name] = OutputRange(one.domain, first, last, final)
            yield low, high, ranges

    def _rows(self, low: int | None, high: int | None) -> dict[str, SnapshotBuffer]:
        """The events that cells in `(low, high]` look at, or all."""
        rows = {}
        for declared in self.query.inputs:
            back, ahead = self.halo.get(declared.name, (0, 0))
            events = [
                event
                for event in self.case.events[declared.name]
                if low is None
                or high is None
                or (event.start < high + ahead and event.end > low - back)
            ]
            bound = InputBinding(
                table_of(declared, events), lifetime=Interval("start", "end")
            )
            read = ingest(declared, bound, unit=self.query.unit)
            rows[declared.name] = read.buffer
        return rows


@pytest.mark.parametrize("first", range(0, CASES, BATCH))
def test_an_evaluation_goes_on_from_the_state_before(first: int, *, deep: bool) -> None:
    for seed in range(first, first + BATCH * (DEEPER if deep else 1)):
        case = random_case(seed, exact=True, specials=seed % 3 == 0)
        expected = interpret(
            case.query, case.events, start=case.start, end=case.end, bounds=case.bounds
        )
        found = Resumed(case, Random(seed)).run()  # noqa: S311
        for name in case.query.outputs:
            difference = first_difference(
                found[name], expected[name], case.query, name, exact=True
            )
            text = f"seed {seed}\n{format_query(case.query)}"
            assert difference is None, f"~{name}: {difference}\n{text}"

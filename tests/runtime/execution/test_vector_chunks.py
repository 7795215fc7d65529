"""Chunks for vector kernels: where they serve, what they get, what comes of their bits.

The kernels are fakes (`fake_grid`) that ask the interpreter, so that nothing but the
runtime is tested: random queries in random chunks, mixed with the sweep kernels of
the same query, over random domains.
"""

from collections.abc import Mapping
from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest

from tests.compare import first_difference
from tests.compiled import snapshots, table_of
from tests.random.queries import Case, random_case
from tests.runtime.execution.fake_vector_kernel import FakeKernels
from tiltpy.abi.layouts import Layout
from tiltpy.engines.local import run
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event, interpret
from tiltpy.ir.print.query import format_query
from tiltpy.lifetimes import Interval
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.ingest.binding import InputBinding
from tiltpy.runtime.ingest.read_input import InputRows, ingest
from tiltpy.runtime.results.result import Result


class Runs:
    """Runs of a case with fake vector kernels, and how many of those were called."""

    def __init__(self, case: Case, **shape: bool) -> None:
        self.case = case
        self.shape = shape
        self.calls = 0

    def run(self, options: RunOptions, start: int | None, end: int | None) -> Result:
        query = self.case.query
        made: dict[frozenset[tuple[str, Layout]], FakeKernels] = {}

        def kernels(layouts: Mapping[str, Layout]) -> FakeKernels:
            key = frozenset(layouts.items())
            if key not in made:
                made[key] = FakeKernels(query, layouts, **self.shape)
            return made[key]

        request = Request(start, end, self.case.bounds)
        result = run(OutputGroup(query, kernels), self.inputs(), request, options)
        self.calls += sum(each.fake.runs for each in made.values())
        return result

    def inputs(self) -> dict[str, InputRows]:
        found = {}
        for declared in self.case.query.inputs:
            settled = replace(declared, lifetime=Interval("start", "end"))
            table = table_of(declared, self.case.events[declared.name])
            found[declared.name] = ingest(settled, InputBinding(table), unit=None)
        return found

    def check(self, options: RunOptions, start: int | None, end: int | None) -> None:
        case = self.case
        meant = interpret(
            case.query, case.events, start=start, end=end, bounds=case.bounds
        )
        result = self.run(options, start, end)
        for name in case.query.outputs:
            found = snapshots(result[name])
            assert result[name].num_rows == len(found)
            difference = first_difference(
                found, meant[name], case.query, name, exact=True
            )
            assert difference is None, f"{options}, {start}, {end}: {difference}"


@pytest.mark.parametrize("batch", range(2))
def test_random_queries_in_chunks_of_both_kinds(batch: int, *, deep: bool) -> None:
    count, calls = 1500 if deep else 14, 0
    first = batch * max(count, 25)
    for seed in range(first, first + count):
        draws = Random(seed)  # noqa: S311
        case = random_case(seed, exact=True)
        if has_strings(case):
            continue
        runs = Runs(case)
        for chunk in (None, draws.randint(1, 12), draws.randint(12, 60)):
            options = RunOptions(draws.choice((1, 2)), chunk, vector=True)
            runs.check(options, case.start, case.end)
        calls += runs.calls
    assert calls > count // 2, "hardly any chunk took the vector kernel"


def has_strings(case: Case) -> bool:
    """Tell whether the fakes, which read codes, would give these to the interpreter."""
    text = format_query(case.query)
    return "string" in text or '"' in text


def rows(*events: tuple[int, int, float]) -> dict[str, list[Event]]:
    return {"x": [Event(*event) for event in events]}


IRREGULAR = rows(
    (0, 3, 1.0), (3, 4, -1.0), (4, 9, 0.5), (11, 12, 2.0), (12, 30, 3.0), (30, 31, 1.0)
)
SAMPLES = rows(*((i, i + 1, i % 5 - 1.0) for i in range(-3, 40)))
SLOW = rows(*((4 * i, 4 * i + 4, i % 3 - 1.0) for i in range(-3, 9)))


@pytest.mark.covering(1)
@pytest.mark.parametrize("events", [IRREGULAR, SAMPLES, SLOW])
@pytest.mark.parametrize(
    "body",
    [
        "~x[t]",
        "~x[t] > 0.0 ? ~x[t] : φ",
        "count(~x[t-5:t])",
        "exists(~x[t]) ? 1.0 : φ",
        "sum(~x[t-3:t+2])",
        "{ a = ~x[t], b = ~x[t-2] }",
    ],
)
def test_every_chunk_and_domain(events: dict[str, list[Event]], body: str) -> None:
    runs = Runs(Case(parse(f"input x : f64\n~o[t] = {body}"), events, None, None))
    for chunk in (None, 1, 2, 5, 8, 16):
        for start, end in ((None, None), (1, 28), (5, 6), (-50, 60), (14, 14)):
            runs.check(RunOptions(2, chunk, vector=True), start, end)
    assert runs.calls > 20
    calls = runs.calls
    runs.check(RunOptions(1, 5, vector=False), None, None)
    runs.check(RunOptions(1), None, None)  # as small as this nobody compiles two
    assert runs.calls == calls


@pytest.mark.parametrize("body", ["~x[t] > 0.0 ? ~x[t] : φ", "sum(~x[t-3:t]) % 2.0"])
def test_snapshots_of_one_cell(body: str) -> None:
    case = Case(parse(f"input x : f64\n~o[t] = {body}"), SAMPLES, None, None)
    runs = Runs(case, covered=False)
    for chunk in (None, 1, 7, 16):
        for start, end in ((None, None), (1, 28), (5, 6)):
            runs.check(RunOptions(2, chunk, vector=True), start, end)
    assert runs.calls > 12


def test_implicit_times_stay_implicit() -> None:
    text = "input x : f64\nt = TDom(-∞, ∞, 2)\n~o[t] = ~x[t] + ~x[t-1]"
    case = Case(parse(text), SAMPLES, None, None)
    runs = Runs(case, covered=False, implicit=True)
    for chunk in (None, 2, 3, 16):
        for start, end in ((None, None), (1, 27), (5, 6)):
            runs.check(RunOptions(2, chunk, vector=True), start, end)
    assert runs.calls > 8


def test_rows_that_are_no_vector_kernels() -> None:
    """Overlapping rows, rows far apart, and no rows."""
    query = parse("input x : f64\n~o[t] = count(~x[t-3:t])")
    for events in (
        rows((0, 5, 1.0), (3, 7, 2.0)),
        rows((0, 1, 1.0), (40, 41, 1.0)),
        rows(),
    ):
        runs = Runs(Case(query, events, None, None))
        for chunk in (None, 4):
            runs.check(RunOptions(1, chunk, vector=True), 0, 60)
        assert runs.calls == 0


def test_a_domain_far_larger_than_the_rows() -> None:
    """Only where a row can be seen is every cell visited."""
    query = parse("input x : f64\n~o[t] = count(~x[t-3:t])")
    runs = Runs(Case(query, IRREGULAR, None, None))
    found = snapshots(runs.run(RunOptions(vector=True), -(2**60), 2**60)["o"])
    assert runs.calls > 0
    assert (found[0].start, found[-1].end) == (-(2**60), 2**60)
    inner = interpret(query, IRREGULAR, start=-100, end=100)["o"]
    assert found[1:-1] == inner[1:-1]


def test_larger_inputs_take_vector_kernels_in_chunks_for_all_workers() -> None:
    count = 5000
    query = parse("input x : i64 sampled 1\n~o[t] = ~x[t] + ~x[t-1]")
    table = pa.table({"time": range(1, count + 1), "x": range(count)})
    bound = {"x": ingest(query.inputs[0], InputBinding(table), unit=None)}
    made: list[FakeKernels] = []

    def kernels(layouts: Mapping[str, Layout]) -> FakeKernels:
        made.append(FakeKernels(query, layouts, covered=False, implicit=True))
        return made[0]

    result = run(OutputGroup(query, kernels), bound, Request(), RunOptions(workers=2))
    assert made[0].fake.runs == 1
    values = result.to_arrow()["o"].to_pylist()
    assert values == [2 * i - 1 for i in range(1, count)]

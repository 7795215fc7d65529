"""Objects over the grid on which they change are the objects that they were."""

from dataclasses import replace
from random import Random

from tests.compare import assert_same
from tests.compiled import Setting, run_compiled
from tests.random.queries import Case, random_case
from tiltpy.abi.layouts import Layout, SamplingGrid, TimeLayout
from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.query_kernels import QueryKernels
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event, interpret
from tiltpy.ir.nodes import Query
from tiltpy.ir.print.query import format_query
from tiltpy.ir.verify.invariants import verify
from tiltpy.passes.coarsen_domains import coarsen_domains
from tiltpy.types import TDom

STEPS = """input x : f64
t = TDom(-∞, ∞, 1)
~step[t] = ~x[t] - ~x[t-100]
~sign[t] = ~step[t-40] > 0
~number[t] = t != φ ? ~x[t] : φ
~many[t] = sum(~x[t-300 : t])
~held[t] = sum(~x[t-301 : t])
u = TDom(-∞, ∞, 100, 30)
~o[u] = mean(~step[u-2000 : u]) + f64(~sign[u]) + ~number[u] + ~many[u] + ~held[u]
output ~o
"""


def domains(query: Query) -> dict[str, tuple[int, int]]:
    return {d.name: (d.tdom.precision, d.tdom.offset) for d in query.definitions}


def test_an_object_is_over_the_grid_on_which_it_changes() -> None:
    """Its own time, the edges of its windows and other phases keep objects finer."""
    query = coarsen_domains(parse(STEPS), {"x": TDom(precision=100, offset=30)})
    assert domains(query) == {
        "step": (100, 30),
        "sign": (100, 70),
        "number": (1, 0),
        "many": (1, 0),
        "held": (100, 30),
        "o": (100, 30),
    }
    other = coarsen_domains(parse(STEPS), {"x": TDom(precision=75, offset=5)})
    assert domains(other)["step"] == (25, 5)
    assert domains(coarsen_domains(parse(STEPS), {})) == domains(parse(STEPS))


def on_lattice(
    random: Random, events: list[Event], period: int, phase: int
) -> list[Event]:
    """The payloads of some events as samples, of which some are missing."""
    places = [k for k in range(-3, 60 // period) if random.random() < 0.9]
    rows = zip(places, events * 60, strict=False)
    return [
        Event(phase + k * period, phase + (k + 1) * period, row.value)
        for k, row in rows
        if events
    ]


def test_random_queries_mean_the_same_over_coarser_domains(deep: bool) -> None:
    count, coarser = 5000 if deep else 50, 0
    for seed in range(count):
        case, random = random_case(seed, exact=True), Random(seed)  # noqa: S311
        bounds, events = {}, {}
        for declared in case.query.inputs:
            period = random.choice((2, 4, 6, 6))
            bounds[declared.name] = TDom(precision=period, offset=random.choice((0, 1)))
            events[declared.name] = on_lattice(
                random, case.events[declared.name], period, bounds[declared.name].offset
            )
        query = replace(case.query, outputs=case.query.outputs[-1:])
        coarse = coarsen_domains(query, bounds)
        if coarse == query:
            continue
        coarser += 1
        verify(coarse)
        given = {"start": 0, "end": 60, "bounds": case.bounds}
        meant = interpret(query, events, **given)  # type: ignore[arg-type]
        found = interpret(coarse, events, **given)  # type: ignore[arg-type]
        assert repr(found) == repr(meant), format_query(query)
        if deep or coarser % 4 == 0:
            setting = Setting(layout=TimeLayout.SAMPLED, vector=True, small=True)
            ran = run_compiled(Case(query, events, 0, 60, case.bounds), setting)
            assert_same(ran, meant, query, exact=True)
    assert coarser > count // 10


def test_samples_of_many_ticks_have_a_vector_kernel() -> None:
    """Whatever functions make of them: what these do is over ticks."""
    for call in (
        "steady(~x[u] > 0, 2000)",
        "sma(~x[u] - ~x[u-100], 2000)",
        "increase(~x, 2000)",
        "zero_crossings(~x[u] - 3, 2000)",
    ):
        text = f"input x : f64\nu = TDom(-∞, ∞, 100)\n~o[u] = {call}\noutput ~o"
        layouts = {"x": Layout(TimeLayout.SAMPLED, (False,))}
        kernels = QueryKernels(parse(text), layouts, CompileOptions(cache=False))
        sampling_grids = {"x": SamplingGrid(100, 0)}
        assert kernels.vector_code(sampling_grids), kernels.vector_refusal(
            sampling_grids
        )
        assert kernels.vector_refusal(sampling_grids) is None

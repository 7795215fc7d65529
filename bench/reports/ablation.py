"""`python -m bench ablation`: each specialised mechanism switched off, by name.

A mechanism is switched off by leaving its strategy out, or by costs under which it is
never chosen. It serves the workloads whose kernels are others without it; for these the
processor time without it is divided by the time with it. Non-temporal stores show with
outputs beyond the caches, from 20 M events on. Beside stand the lines of code of the
files that exist for it alone: what it costs to keep.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import tiltpy as tilt
from bench.measure import BenchOptions
from bench.subject import bound
from bench.timing import Spread, take_turns
from bench.workloads.offpath.catalogue import OFFPATH
from bench.workloads.streams import Workload
from bench.workloads.tuned import WORKLOADS
from tiltpy.costs import Costs

PACKAGE = Path(tilt.__file__).parent
NEVER = 1 << 62
"""A threshold that nothing reaches."""


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A mechanism, options that switch it off, and the files that exist for it."""

    name: str
    off: tilt.CompileOptions
    files: tuple[str, ...]

    def lines(self) -> int:
        """Count its lines of code."""
        return sum(len((PACKAGE / one).read_text().splitlines()) for one in self.files)


def _strategy(name: str, *files: str) -> Mechanism:
    options = tilt.CompileOptions(disabled_strategies=frozenset({name}))
    return Mechanism(name, options, files)


def _threshold(name: str, costs: Costs, *files: str) -> Mechanism:
    return Mechanism(name, tilt.CompileOptions(costs=costs), files)


MECHANISMS: tuple[Mechanism, ...] = (
    _strategy("row_map", "plan/strategies/row_map.py", "lowering/sweep/row_map.py"),
    _strategy(
        "merge_scan",
        "plan/strategies/merge_scan.py",
        "lowering/sweep/merge_loop.py",
        "lowering/sweep/merge_input.py",
    ),
    _strategy("merge_vectors", "lowering/sweep/merge_vectors.py"),
    _strategy(
        "event_scan",
        "plan/strategies/event_scan.py",
        "lowering/sweep/event_loop.py",
    ),
    _strategy("event_vectors", "lowering/sweep/event_vectors.py"),
    _strategy("paced_windows"),
    _strategy("event_payloads", "lowering/sweep/event_payloads.py"),
    _strategy(
        "match_counts",
        "plan/strategies/match_counts.py",
        "emit/matches.py",
        "lowering/sweep/match_counts.py",
        "lowering/sweep/hash_counts.py",
        "lowering/sweep/rank_counts.py",
    ),
    _strategy(
        "edge_scan", "plan/strategies/edge_scan.py", "lowering/sweep/edge_loop.py"
    ),
    _strategy(
        "tumbling_fold",
        "plan/strategies/tumbling_fold.py",
        "lowering/sweep/tumbling_rows.py",
        "lowering/sweep/pane_order.py",
        "lowering/sweep/pane_counts.py",
        "lowering/sweep/selection.py",
    ),
    _strategy(
        "value_cursors",
        "plan/strategies/value_cursors.py",
        "lowering/sweep/value_cursors.py",
        "lowering/sweep/near_numbers.py",
    ),
    _strategy(
        "vector_kernel",
        "plan/cell_facts.py",
        "plan/cell_geometry.py",
        "plan/loop_cells.py",
        "plan/vector_plan.py",
        "plan/vector_stages.py",
        "plan/strategies/vector_kernel.py",
        "plan/strategies/vector_loops.py",
        *(
            str(path.relative_to(PACKAGE))
            for path in sorted((PACKAGE / "lowering" / "vector").glob("*.py"))
        ),
    ),
    _strategy(
        "preaggregation",
        "plan/preaggregation_plan.py",
        "lowering/preaggregation/accumulate.py",
        "lowering/preaggregation/finalize.py",
        *(
            str(path.relative_to(PACKAGE))
            for path in sorted((PACKAGE / "runtime" / "preaggregation").glob("*.py"))
        ),
    ),
    _strategy(
        "concatenation",
        "plan/key_concatenation.py",
        "routines/kernels/cut_by_key.py",
        "runtime/keyed/concatenated_keys.py",
        "runtime/keyed/key_shifts.py",
    ),
    _threshold("densify", Costs(furthest_densified=-1), "lowering/vector/densify.py"),
    _threshold(
        "panes",
        Costs(strided_pane=NEVER),
        "lowering/vector/pane_loop.py",
        "lowering/vector/pane_ring.py",
    ),
    _threshold("pane_ring", Costs(smallest_pane=NEVER), "lowering/vector/pane_ring.py"),
    _threshold("doubling_windows", Costs(longest_tree=1, longest_narrow_tree=1)),
    _threshold(
        "sorting_network",
        Costs(longest_network=0),
        "lowering/vector/sorting_network.py",
        "lowering/vector/quantiles.py",
    ),
    _threshold(
        "value_counts",
        Costs(longest_counted=0),
        "lowering/vector/counted_windows.py",
        "lowering/vector/value_counts.py",
    ),
    _threshold(
        "masked_variance",
        Costs(masked_variance_cells=0),
        "aggregates/masked_variance.py",
    ),
    _threshold("long_chain", Costs(long_chain=NEVER)),
    _threshold(
        "loop_distribution",
        Costs(carried_vectors=NEVER),
        "loops/distribute.py",
        "loops/accesses.py",
    ),
    _threshold("stream_stores", Costs(streamed_bytes=NEVER), "emit/stream_stores.py"),
)
"""Every specialised mechanism that has a switch."""


@dataclass(frozen=True, slots=True)
class Case:
    """A workload's query with its inputs bound."""

    name: str
    query: str
    inputs: Mapping[str, Any]


def lines(chosen: Sequence[Workload] | None, options: BenchOptions) -> Iterator[str]:
    """A line for each mechanism and workload that it serves, worst ratio first."""
    cases = list(_cases(chosen, options))
    yield f"{'mechanism':<18}{'lines':>6}  {'workload':<40}{'without / with':>15}"
    for mechanism in MECHANISMS:
        ratios = []
        for case in cases:
            ratio = compare(case, mechanism.off, options)
            if ratio is not None:
                ratios.append((ratio, case.name))
        head = f"{mechanism.name:<18}{mechanism.lines():>6}"
        if not ratios:
            yield f"{head}  serves none of {len(cases)} workloads"
        for ratio, name in sorted(ratios, key=lambda one: -one[0].median):
            yield f"{head}  {name:<40}{ratio.show():>15}"
            head = " " * len(head)


def _cases(chosen: Sequence[Workload] | None, options: BenchOptions) -> Iterator[Case]:
    """The tuned workloads, and those that no kernel is tuned for."""
    for workload in WORKLOADS if chosen is None else chosen:
        inputs = bound(workload, workload.make(options.events, options.seed))
        yield Case(workload.name, workload.query, inputs)
    for untuned in OFFPATH if chosen is None else ():
        count = min(options.events, untuned.events)
        rows = untuned.inputs(count, options.seed)
        bindings = {name: one.bind() for name, one in rows.items()}
        yield Case(untuned.name, untuned.query, bindings)


def compare(
    case: Case, off: tilt.CompileOptions, options: BenchOptions
) -> Spread | None:
    """Divide the time without a mechanism by that with it; None: it does not serve."""
    queries = {
        "with": tilt.parse(case.query, name=case.name),
        "without": tilt.parse(case.query, name=case.name, options=off),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tilt.TiltWarning)
        for query in queries.values():
            query.run(workers=1, **case.inputs)
        kernels = [query.kernels() for query in queries.values()]
        if kernels[0] == kernels[1]:
            return None
        runners = {
            name: partial(query.run, workers=1, **case.inputs)
            for name, query in queries.items()
        }
        turns = take_turns(runners, options.repeat)
    pairs = zip(turns["without"], turns["with"], strict=True)
    return Spread(tuple(a.processor / b.processor for a, b in pairs))

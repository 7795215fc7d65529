"""The laws of live sessions, over random queries, arrivals and batches.

At every moment the final snapshots so far and the open ones are what the interpreter
says of the accepted rows through that time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compare import first_difference
from tests.compiled import snapshots
from tests.engines.test_keyed_streams import draw_case
from tests.keyed import binding_of, keys_in, random_keyed_setting, table_of
from tests.live.arrivals import (
    LatenessModel,
    Promise,
    Push,
    random_calls,
    select_rows,
    shuffle_arrivals,
    start_of,
)
from tests.random.keyed_queries import KeyedCase
from tests.random.timelines import distinct_query
from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.output_selection import split_by_keys
from tiltpy.compiler.query_kernels import Compiler
from tiltpy.engines.live.saved_session import restore_session, save_session
from tiltpy.engines.live.session import LiveEngine, SessionStep
from tiltpy.interpreter.evaluate import Snapshot
from tiltpy.interpreter.keys import Key
from tiltpy.ir.keys import keys_of
from tiltpy.ir.print.query import format_query
from tiltpy.passes.separate_states import separate_states
from tiltpy.runtime.arrivals.ingress_options import IngressOptions
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.results.output_table import OutputTable

NUMBERS = {
    "plain": 4,
    "rows": 3,
    "folds": 2,
    "regular": 2,
    "open": 2,
    "open rows": 2,
}
"""The number of cases of each kind, by key."""
UNKEYED = {"plain": 4, "rows": 3, "open": 2, "open rows": 2}
TIMELINES = 4
DEEPER = 600
CHECKS = 3
"""The number of comparisons with the interpreter before a session ends."""
Snapshots = dict[Key, list[Snapshot]]


def without_keys(case: KeyedCase) -> KeyedCase:
    """Make all rows of a case those of one temporal object."""
    inputs = {
        name: replace(
            rows,
            declared=replace(rows.declared, keys=()),
            rows=tuple(row._replace(key=()) for row in rows.rows),
            types=(),
        )
        for name, rows in case.inputs.items()
    }
    declared = tuple(replace(each, keys=()) for each in case.query.inputs)
    return replace(case, query=replace(case.query, inputs=declared), inputs=inputs)


def open_engine(
    case: KeyedCase,
    reorder: Mapping[str, int],
    random: Random,
    compiling: CompileOptions | None = None,
    *,
    archive: bool = True,
) -> LiveEngine:
    """Open the engine of a session of a case, with options that are drawn or given.

    Without an `archive` of accepted rows, those in order wait where kernels read them.
    """
    setting = random_keyed_setting(random)
    plain = setting.plain
    compiling = compiling or plain.options(setting.costs)
    groups = [
        OutputGroup(query, Compiler(query, compiling).compile_for)
        for query in split_by_keys(separate_states(case.query))
    ]
    ingress = {}
    for name, rows in case.inputs.items():
        table = table_of(rows, 1000)
        binding = replace(binding_of(rows, table), frame=None)
        schema = table.schema if random.random() < 0.5 else None
        ingress[name] = IngressOptions(
            binding, reorder[name], schema=schema, accepted=archive
        )
    request = Request(case.start, None, case.bounds)
    single = random.choice((0, 8, setting.costs.run.single_call_rows))
    run = replace(setting.costs.run, single_call_rows=single, linear_call_rows=single)
    options = RunOptions(plain.workers, costs=replace(setting.costs, run=run))
    inputs = tuple(
        replace(each, lifetime=each.lifetime or case.inputs[each.name].lifetime)
        for each in case.query.inputs
    )
    query = replace(case.query, inputs=inputs)
    return LiveEngine(query, groups, ingress, request, options)


def resume(
    case: KeyedCase,
    reorder: Mapping[str, int],
    random: Random,
    engine: LiveEngine,
    *,
    archive: bool = True,
) -> LiveEngine:
    """Go on in another engine, with other kernels maybe, from the saved state.

    States of windows without a bound are those of the compile options: with others
    there may be none, or some where there were none.
    """
    compiler = engine.parts[0].group.compile_for.__self__  # type: ignore[attr-defined]
    has_states = engine.inputs and any(part.state.states for part in engine.parts)
    drawn = compiler.options if has_states else None
    saved = save_session(engine)
    try:
        other = open_engine(case, reorder, random, drawn, archive=archive)
        restore_session(other, saved)
    except tilt.TiltError:
        assert not has_states
        other = open_engine(case, reorder, random, compiler.options, archive=archive)
        restore_session(other, saved)
    if engine.inputs:
        assert save_session(other) == saved
    return other


def add_rows(into: Snapshots, table: OutputTable, names: tuple[str, ...]) -> Snapshots:
    """Add the snapshots of a table to those of their keys."""
    arrow = table.to_arrow()
    keys = keys_in(arrow, names) if names else [()] * arrow.num_rows
    for key, snapshot in zip(keys, snapshots(table), strict=True):
        into.setdefault(key, []).append(snapshot)
    return into


class Checker:
    """The final snapshots so far, and what a step must make of them."""

    def __init__(self, case: KeyedCase, engine: LiveEngine) -> None:
        self.case = case
        self.engine = engine
        self.final: dict[str, Snapshots] = {n: {} for n in case.query.outputs}
        self.archives: dict[str, list[pa.Table]] = {n: [] for n in case.inputs}
        self.checks = 0

    def add(self, step: SessionStep) -> None:
        """Take the final snapshots of a step."""
        for name in self.case.query.outputs:
            table = self.engine.final_table(name, step)
            add_rows(self.final[name], table, keys_of(self.case.query, name))
        for name, rows in step.accepted.items():
            self.archives[name].append(rows.table())

    def check_archives(self, accepted: Mapping[str, list[int]]) -> None:
        """Compare what was archived with the accepted rows, sorted by their starts."""
        for name, rows in self.case.inputs.items():
            tables = [each for each in self.archives[name] if each.num_rows]
            assert sum(each.num_rows for each in tables) == len(accepted[name])
            if not tables:
                continue
            archive = pa.concat_tables(tables)
            start = lambda place, rows=rows: start_of(rows, rows.rows[place])  # noqa: E731
            order = sorted(accepted[name], key=start)
            pushed = table_of(rows, 1000).select(archive.column_names).to_pylist()
            expected = [pushed[place] for place in order]
            assert repr(archive.to_pylist()) == repr(expected), name

    def _add_open(
        self, found: Snapshots, expected: Snapshots, name: str, through: int
    ) -> Snapshots:
        """Add the open snapshots of an output; returns what is expected with them."""
        definition = self.case.query.definition(name)
        assert definition is not None
        is_row_object = definition.tdom.rows is not None
        names, known = keys_of(self.case.query, name), dict(expected)
        for key, rows in add_rows({}, self.engine.open_table(name), names).items():
            found.setdefault(key, []).extend(rows)
            if is_row_object:
                known[key] = with_known_ends(expected.get(key, []), rows, through)
        return known

    def difference(
        self, step: SessionStep, accepted: Mapping[str, list[int]], *, last: bool
    ) -> str | None:
        """Find what differs from the interpreter over the accepted rows."""
        inputs = {
            name: select_rows(rows, accepted[name])
            for name, rows in self.case.inputs.items()
        }
        for name in self.case.query.outputs:
            through = step.through[name]
            if through is None:
                continue
            limited = self.case.start is not None and through <= self.case.start
            if limited:
                continue
            self.checks += 1
            case = replace(self.case, inputs=inputs, end=through)
            expected = case.expected()[name]
            found = {key: list(rows) for key, rows in self.final[name].items()}
            if not last:
                expected = self._add_open(found, expected, name, through)
            for key in {**expected, **found}:
                text = first_difference(
                    found.get(key, []),
                    expected.get(key, []),
                    self.case.query,
                    name,
                    exact=True,
                )
                if text is not None:
                    return f"~{name}, key {key}, through {through}: {text}"
        return None


def with_known_ends(
    expected: Sequence[Snapshot], open_rows: Sequence[Snapshot], through: int
) -> list[Snapshot]:
    """Let rows that are open end where a session knows by then that they must.

    Their next row may wait for others that come before it.
    """
    ends = {row.start: row.end for row in open_rows}
    return [
        row._replace(end=max(row.end, ends[row.start]))
        if row.end >= through and row.start in ends
        else row
        for row in expected
    ]


def check_session(case: KeyedCase, seed: int) -> int:
    """Run a session over a case and check it at random moments; counts checks."""
    random = Random(seed)  # noqa: S311
    reorder = {name: random.choice((0, 0, 2, 6)) for name in case.inputs}
    inputs = {
        name: shuffle_arrivals(rows, random.choice((0, reorder[name], 8)), random)
        for name, rows in case.inputs.items()
    }
    case = replace(case, inputs=inputs, end=None)
    archive = seed % 2 == 0
    engine = open_engine(case, reorder, random, archive=archive)
    checker = Checker(case, engine)
    models = {name: LatenessModel(reorder[name]) for name in inputs}
    accepted: dict[str, list[int]] = {name: [] for name in inputs}
    tables = {name: table_of(rows, 1000) for name, rows in inputs.items()}
    calls = list(random_calls(inputs, random))
    checked, resumed = (
        set(random.sample(range(len(calls)), min(CHECKS, len(calls)))) for _ in range(2)
    )
    for number, call in enumerate(calls):
        match call:
            case Push(name, first, stop):
                step = engine.push({name: tables[name].slice(first, stop - first)})
                for place in range(first, stop):
                    if models[name].accepts(
                        start_of(inputs[name], inputs[name].rows[place])
                    ):
                        accepted[name].append(place)
            case Promise(name, time):
                step = engine.advance({name: time})
                models[name].promise(time)
        checker.add(step)
        if number in resumed:
            engine = resume(case, reorder, random, engine, archive=archive)
            checker.engine = engine
        if number in checked:
            text = checker.difference(step, accepted, last=False)
            assert text is None, f"{call}: {text}"
    step = engine.finish()
    checker.add(step)
    text = checker.difference(step, accepted, last=True)
    assert text is None, f"finish: {text}"
    if archive:
        checker.check_archives(accepted)
    for name, source in engine.sources.items():
        assert source.counts.accepted == len(accepted[name])
    return checker.checks


def check_cases(
    kind: str, seeds: range, *, keys: bool, timelines: bool = False
) -> None:
    """Check sessions of random cases, of which some are refused."""
    refused, checks = 0, 0
    for seed in seeds:
        case = draw_case(kind, seed)
        if not keys:
            case = without_keys(case)
        if timelines:
            joined = distinct_query(case.query, seed, bounds=False)
            case = replace(case, query=joined)
        try:
            checks += check_session(case, seed)
        except tilt.QueryError as error:
            assert error.code == "E0305", error  # noqa: PT017
            refused += 1
        except BaseException as error:
            error.add_note(f"{kind}, seed {seed}\n{format_query(case.query)}")
            raise
    assert 2 * checks > len(seeds) - refused


@pytest.mark.parametrize("kind", NUMBERS)
def test_keyed_sessions_are_runs_through_that_time(kind: str, *, deep: bool) -> None:
    check_cases(kind, range(NUMBERS[kind] * (DEEPER if deep else 1)), keys=True)


@pytest.mark.parametrize("kind", UNKEYED)
def test_sessions_are_runs_through_that_time(kind: str, *, deep: bool) -> None:
    check_cases(kind, range(UNKEYED[kind] * (DEEPER if deep else 1)), keys=False)


@pytest.mark.parametrize("keys", [False, True])
def test_sessions_of_timelines_are_runs_through_that_time(
    keys: bool, *, deep: bool
) -> None:
    seeds = range(TIMELINES * (DEEPER if deep else 1))
    check_cases("plain", seeds, keys=keys, timelines=True)


@pytest.mark.parametrize(
    ("seed", "timelines"),
    [
        pytest.param(940_005, True, id="nobody knows"),
        pytest.param(910_002, False, id="the longest is known"),
    ],
)
def test_rows_are_open_until_their_next_one_is_settled(
    seed: int, *, timelines: bool
) -> None:
    check_cases("rows", range(seed, seed + 1), keys=True, timelines=timelines)


def test_strings_of_states_are_encoded_once() -> None:
    """Also where one call turns out not to serve."""
    check_cases("open", range(7_002_008, 7_002_009), keys=False)


def test_nothing_is_said_of_a_domain_behind_all_rows() -> None:
    query = tilt.parse("""
        input x : f64 time t duration 6
        g = TDom(-inf, inf, 6, offset=5)
        ~o[g] = count(~x[g-6 : g])
    """)
    rows = pa.table({"t": [5, 11], "x": [1.0, 2.0]})
    live = query.live(start=38)
    live.push(x=rows)
    update = live.finish()
    assert update["o"].through == 38
    assert len(update["o"].final) == query.run(x=rows, start=38).num_rows == 0


@pytest.mark.parametrize(
    ("kind", "seed", "keys"), [("plain", 9100003, False), ("open", 9200005, True)]
)
def test_an_input_without_rows_is_saved_alike(
    kind: str, seed: int, *, keys: bool
) -> None:
    check_cases(kind, range(seed, seed + 1), keys=keys)

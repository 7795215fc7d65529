"""Row objects in streamed runs and in partitions: the rows of a whole run."""

from random import Random

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compare import first_difference
from tests.compiled import random_setting, run_compiled, snapshots
from tests.engines.test_out_of_core import MB, in_batches, run_streamed
from tests.engines.test_partitions import Pieces
from tests.random.queries import Case
from tests.random.row_queries import random_row_case
from tiltpy.compiler.query_kernels import Compiler
from tiltpy.engines.out_of_core import stream
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event, Snapshot, interpret
from tiltpy.ir.print.query import format_query
from tiltpy.lifetimes import LIFETIMES, Lifetime
from tiltpy.passes.resolve_boundaries import resolve_boundaries
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.ingest.binding import InputBinding

CASES, BATCH, DEEPER = 6, 6, 250


def assert_meant(case: Case, found: dict[str, list[Snapshot]], said: str) -> None:
    expected = interpret(
        case.query, case.events, start=case.start, end=case.end, bounds=case.bounds
    )
    for name in case.query.outputs:
        difference = first_difference(
            found[name], expected[name], case.query, name, exact=True
        )
        text = f"{said}, ~{name}: {difference}\n{format_query(case.query)}"
        assert difference is None, text


@pytest.mark.parametrize("first", range(0, CASES, BATCH))
def test_streams_and_partitions_have_the_rows_that_are_meant(
    first: int, *, deep: bool
) -> None:
    for seed in range(first, first + BATCH * (DEEPER if deep else 1)):
        case = random_row_case(seed, exact=True, specials=seed % 3 == 0)
        random = Random(seed)  # noqa: S311
        setting = random_setting(random, span=80)
        streamed = run_streamed(case, setting, random)
        assert_meant(case, streamed, f"seed {seed}, {setting}")
        interval = random.choice((1, 2, 3, 5, 8, 13, 100))
        pieces = Pieces(case, interval, random.choice((None, interval)), None).run()
        assert_meant(case, pieces, f"seed {seed}, partitions of {interval}")


@pytest.mark.parametrize("kind", LIFETIMES.values())
def test_streams_over_rows_of_every_lifetime_equal_runs(
    kind: type[Lifetime], *, deep: bool
) -> None:
    """However long a row lasts: what it has seen at its stamp is still there."""
    for seed in range(3 if deep else 1):
        random = Random(seed)  # noqa: S311
        length = random.choice((1, 2, 3, 8, 40))
        arguments = (length,) if kind.letters in (("d",), ("p",)) else ()
        lifetime = kind(*arguments)
        query = parse(
            f"input x : f64 {lifetime.format(str)}\ninput y : f64 point\n"
            "e = Rows(~x)\n~seen[e] = ~x[e] + count(~y[e-20 : e+3])\n"
            "~o[t] = sum(~seen[t-9 : t]) + count(~x[t-9 : t])\n"
            "~top[e] = ~seen[e+0] - ~seen[e]\noutput ~seen, ~o, ~top"
        )
        stamps = np.cumsum([random.choice((0, 1, 2, 3, 3, 30)) for _ in range(200)])
        times = {"t": stamps}
        if lifetime.columns is not None:
            start, end = lifetime.columns
            lengths = [random.choice((1, 2, 5, 60)) for _ in stamps]
            times = {start: stamps, end: stamps + lengths}
        x = pa.table({**times, "x": np.arange(len(stamps), dtype=np.float64)})
        y = pa.table({"t": stamps + 1, "y": np.ones(len(stamps))})
        expected = tilt.CompiledQuery(query).run(x=x, y=y)
        parts = stream(
            resolve_boundaries(query),
            (OutputGroup(query, Compiler(query).compile_for),),
            {name: InputBinding(in_batches(table, random)) for name, table in
             {"x": x, "y": y}.items()},
            Request(),
            RunOptions(),
            memory=16 * MB,
            span=random.choice((1, 20, 100)),
        )  # fmt: skip
        streamed: dict[str, list[Snapshot]] = {name: [] for name in query.outputs}
        for part in parts:
            for name, found in streamed.items():
                found.extend(snapshots(part[name]))
        for name, found in streamed.items():
            assert found == snapshots(expected[name]), f"{lifetime}, seed {seed}"


def test_restarts_at_rows_of_long_ago() -> None:
    """A chunk behind all rows of an input still knows where they restarted a window."""
    text = """input x : i64
input y : i64
e = Rows(~x)
~c[e] = ~x[e] > 3
~o[t] = last(~y[since ~c : t])
~p[t] = ~c[last : t]
output ~o, ~p
"""
    events = {
        "x": [Event(1, 2, 5), Event(3, 4, 1)],
        "y": [Event(k, k + 1, k) for k in range(60)],
    }
    case = Case(parse(text), events, None, None, {})
    for seed in range(6):
        random = Random(seed)  # noqa: S311
        setting = random_setting(random, span=10)
        assert_meant(case, run_streamed(case, setting, random), f"seed {seed}")
        assert_meant(case, run_compiled(case, setting), f"seed {seed}")

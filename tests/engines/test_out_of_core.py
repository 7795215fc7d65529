"""Runs over inputs that are read piece by piece say what runs over all of them say."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compare import assert_same, first_difference
from tests.compiled import (
    Setting,
    random_setting,
    run_options,
    snapshots,
    table_of,
)
from tests.costs import default_costs, default_span_costs
from tests.datasets import joined, prices
from tests.random.cut_windows import random_cut_case
from tests.random.key_rows import draw_lifetime
from tests.random.made_strings import random_text_case
from tests.random.open_windows import open_windows, random_open_case
from tests.random.present import random_present_case
from tests.random.queries import Case, random_case
from tests.random.row_queries import random_row_case
from tiltpy.compiler.query_kernels import Compiler
from tiltpy.engines.out_of_core import stream
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event, Snapshot, interpret
from tiltpy.ir.print.query import format_query
from tiltpy.lifetimes import LIFETIMES, Interval, Lifetime
from tiltpy.passes.resolve_boundaries import resolve_boundaries
from tiltpy.passes.separate_states import separate_states
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.incremental.state import InputBuffer, InputSource
from tiltpy.runtime.ingest.binding import InputBinding
from tiltpy.types import Scalar

MB = 1 << 20
OPEN = 9
Row = Event | tuple[int, int, None]


# Random queries, in spans and batches of any length


def with_nulls(events: Sequence[Event], random: Random) -> list[Row]:
    """Rows without a payload before, between and after the events."""
    if not events:
        return []
    first, rows = events[0].start, list[Row]()
    rows += [
        (first - k, first - k + 1, None) for k in range(random.randint(0, 4), 0, -1)
    ]
    until = first
    for event in events:
        if event.start > until:
            rows.append((until, event.start, None))
        rows.append(event)
        until = max(until, event.end)
    return rows + [
        (until + k, until + k + 3, None) for k in range(random.randint(0, 6))
    ]


def in_batches(table: pa.Table, random: Random) -> Iterator[pa.Table]:
    cuts = sorted(
        random.randint(0, table.num_rows) for _ in range(random.randint(0, 8))
    )
    for first, stop in pairwise([0, *cuts, table.num_rows]):
        yield table.slice(first, stop - first)


def run_streamed(
    case: Case, setting: Setting, random: Random
) -> dict[str, list[Snapshot]]:
    bindings = {}
    for one in case.query.inputs:
        rows: list[Row] = list(case.events[one.name])
        if setting.nulls and isinstance(one.type, Scalar):
            rows = with_nulls(case.events[one.name], random)
        batches = in_batches(table_of(one, rows), random)
        bindings[one.name] = InputBinding(batches, lifetime=Interval("start", "end"))
    options = setting.options()
    found: dict[str, list[Snapshot]] = {name: [] for name in case.query.outputs}
    query = separate_states(case.query)
    parts = stream(
        resolve_boundaries(case.query),
        (OutputGroup(query, Compiler(query, options).compile_for),),
        bindings,
        Request(case.start, case.end, case.bounds),
        run_options(setting),
        memory=16 * MB,
        span=random.choice((1, 100, 300, 1000, 3000)),
    )
    apart = {"apart_rows": random.choice((1, 5)), "shown_rows": random.randint(0, 3)}
    with default_span_costs(shown_share=1, **apart):
        for part in parts:
            for name in found:
                found[name] += snapshots(part[name])
    return found


@pytest.mark.parametrize("lifetime", ["point", "duration 5", "until_next", "sampled 1"])
def test_large_pieces_are_not_copied(
    lifetime: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their first rows come before the others, which the rows behind them follow."""
    shown: list[bool] = []

    def show_more(self: InputBuffer) -> None:
        large = self._large
        show(self)
        if large is not None:
            values = self._held.rows.columns[0].values
            shown.append(np.shares_memory(values, large.columns[0].values))

    show = InputBuffer._show_more
    monkeypatch.setattr(InputBuffer, "_show_more", show_more)
    table = prices(9000)
    options = {"apart_rows": 20, "first_bytes": 9000, "least_bytes": 9000}
    with default_span_costs(most_bytes=9000, shown_rows=3, **options):
        for body in (
            "~o[t] = ~x[t] + 1",
            "~o[t] = sum(~x[t-9:t]) > 0 ? ~x[t] : φ",
            "~o[t] = mean(~x[t-20:t]) - ~x[t+7]",
            "g = TDom(-∞, ∞, 20)\n~o[g] = max(~x[g-40:g])",
            "e = Rows(~x)\n~o[e] = ~x[e] - ~x[e-3]",
            "~o[t] = sum(~x[-∞:t])",
        ):
            query = tilt.parse(f"unit s\ninput x : f64 {lifetime} time time\n{body}")
            pieces = tilt.bind(in_slices(table, 1000), column="price")
            whole = query.run(x=tilt.bind(table, column="price")).to_arrow()
            assert joined(query.stream(x=pieces)).equals(whole.combine_chunks())
    assert sum(shown) > 10 or lifetime == "duration 5"  # which overlap


@pytest.mark.parametrize("keys", ["", " by k"])
def test_spans_without_a_complete_cell_are_read_in_few_pulls(
    keys: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cell is far longer than a span: rows still come many at a time."""
    pulls: list[int] = []

    def pull(self: InputSource, size: int) -> int:
        pulls.append(size)
        return whole(self, size)

    whole = InputSource.pull
    monkeypatch.setattr(InputSource, "pull", pull)
    stamps = np.arange(1, 20_001)
    table = pa.table({"t": stamps, "k": stamps % 3, "x": stamps / 8})
    query = tilt.parse(
        f"input x{keys} : f64 point time t\ng = TDom(-∞, ∞, 15000)\n"
        "~o[g] = sum(~x[g-15000:g])"
    )
    expected = query.run(x=tilt.bind(table, column="x")).to_arrow()
    with default_span_costs(first_bytes=1000, most_bytes=1000):
        x = tilt.bind(in_slices(table, 100), column="x")
        parts = list(query.stream(x=x, memory="20MB"))
    assert sum(part.num_rows for part in parts) == expected.num_rows
    assert len(pulls) < 100


def in_slices(table: pa.Table, rows: int) -> Iterator[pa.Table]:
    for first in range(0, table.num_rows, rows):
        yield table.slice(first, rows)


@pytest.mark.parametrize("batch", range(2))
def test_streamed_runs_equal_the_interpreter(batch: int, *, deep: bool) -> None:
    """Whatever the batches, the spans, the nulls and the kernels."""
    for seed in range(batch, 20_000 if deep else 12, 2):
        check_streamed(random_case(seed, exact=True, specials=seed % 3 == 0), seed)


def test_streams_of_made_strings_equal_the_interpreter(*, deep: bool) -> None:
    """Whatever dictionary a batch has, and whatever it makes of it."""
    for seed in range(2000 if deep else 6):
        check_streamed(random_text_case(seed, exact=True), seed)


def test_streams_with_open_windows_equal_the_interpreter(*, deep: bool) -> None:
    checked = 0
    for seed in range(20_000 if deep else OPEN):
        case = random_open_case(seed)
        if case is not None and seed % 3 == 0:
            case = random_present_case(seed, opened=True)
        if seed % 5 == 0:
            case = random_cut_case(seed)
        if case is not None:
            check_streamed(case, seed)
            checked += 1
    assert checked > OPEN // 2


def test_streams_over_rows_with_open_windows_equal_the_interpreter(
    *, deep: bool
) -> None:
    checked = 0
    for seed in range(20_000 if deep else OPEN):
        case = open_windows(random_row_case(seed, exact=True), seed)
        if case is not None:
            check_streamed(case, seed)
            checked += 1
    assert checked > OPEN // 3


def test_outputs_that_fold_on_and_that_others_read_hold_no_rows() -> None:
    """Whoever reads them has states of its own."""
    query = tilt.parse(
        "input x : f64 point time t\n~peak[t] = max(~x[-∞ : t])\n"
        "~loss[t] = ~x[t] / ~peak[t] - 1\n~old[t] = ~loss[t-3] * ~peak[t]\n"
        "output ~peak, ~loss, ~old"
    )
    random = np.random.default_rng(8)
    table = pa.table({"t": np.arange(40_000), "x": random.integers(1, 999, 40_000) / 8})
    expected = query.run(x=table)
    batches: Any = (table.slice(n, 1000) for n in range(0, 40_000, 1000))
    parts = list(query.stream(x=batches, memory="256kB"))
    assert len(parts) > 3
    for name in query.query.outputs:
        several = pa.concat_tables([part[name].to_arrow() for part in parts])
        assert several.combine_chunks().equals(
            expected[name].to_arrow().combine_chunks()
        )


def check_streamed(case: Case, seed: int) -> None:
    random = Random(seed)  # noqa: S311
    setting = random_setting(random, span=80)
    expected = interpret(
        case.query, case.events, start=case.start, end=case.end, bounds=case.bounds
    )
    found = run_streamed(case, setting, random)
    for name in case.query.outputs:
        difference = first_difference(
            found[name], expected[name], case.query, name, exact=True
        )
        text = f"seed {seed}, {setting}, ~{name}: {difference}"
        assert difference is None, f"{text}\n{format_query(case.query)}"


NEAR = "~at[t] = ~x[t] - ~x[t-7]\n~o[t] = ~at[t] + f64(count(~x[t-20 : t+3]))"
FAR = (
    "~c[t] = ~x[t] % 7.0 < 2.0\n~o[t] = { a = ~x[last : t], b = ~x[last : <t-4],"
    " c = sum(~x[last 3 : t-2]), d = count(~x[since ~c : t]) }"
)


@pytest.mark.covering(1)
@pytest.mark.parametrize("objects", [NEAR, FAR])
@pytest.mark.parametrize("kind", LIFETIMES.values())
def test_streams_of_every_lifetime_equal_runs(
    kind: type[Lifetime], objects: str, *, deep: bool
) -> None:
    """Whatever rows an event needs besides its own, and however long it lasts."""
    for seed in range(10 if deep else 2):
        random = Random(seed)  # noqa: S311
        lifetime = draw_lifetime(kind, random, (1, 2, 3, 8, 40))
        query = parse(f"input x : f64 {lifetime.format(str)}\n{objects}\noutput ~o")
        stamps = np.cumsum([random.choice((0, 1, 2, 3, 3, 30)) for _ in range(200)])
        lengths = [random.choice((1, 2, 5, 60)) for _ in stamps]
        times = {"t": stamps}
        if lifetime.columns is not None:
            start, end = lifetime.columns
            times = {start: stamps, end: stamps + lengths}
        table = pa.table({**times, "x": np.arange(len(stamps), dtype=np.float64)})
        expected = tilt.CompiledQuery(query).run(x=table)
        parts = stream(
            resolve_boundaries(query),
            (OutputGroup(query, Compiler(query).compile_for),),
            {"x": InputBinding(in_batches(table, random))},
            Request(),
            RunOptions(),
            memory=16 * MB,
            span=random.choice((1, 20, 100)),
        )
        streamed = [snapshot for part in parts for snapshot in snapshots(part["o"])]
        assert streamed == snapshots(expected["o"]), f"seed {seed}, {lifetime}"
        with default_costs(warmup_rows=5):
            run = tilt.CompiledQuery(query).run(x=table, chunk=9, workers=2)
        assert snapshots(run["o"]) == streamed, f"seed {seed}, {lifetime}"


@pytest.mark.parametrize("vector", [None, True, False])
def test_rows_are_cut_where_later_ones_hide_them(vector: bool | None) -> None:
    """A row that goes on beyond its span may be hidden by one of the next."""
    query = parse("input n : f64\n~o[t] = ~n[t]")
    times = (26, 66), (42, 82), (74, 114)
    events = [Event(*time, number / 2) for number, time in enumerate(times)]
    case = Case(query, {"n": events}, None, None)
    expected = interpret(query, case.events)
    for seed in range(6):
        setting = Setting(chunk=1, vector=vector)
        found = run_streamed(case, setting, Random(seed))  # noqa: S311
        assert_same(found, expected, query, exact=True)


def test_several_inputs_of_different_rates_and_ends() -> None:
    """A dense one, one with a row now and then, one that ends early, one held."""
    query = tilt.parse(
        "input x : f64 point time t\ninput y : f64 until_next time t\n"
        "input z : f64 duration 40 time t\n"
        "~o[t] = ~x[t] + ~y[t]\n~s[t] = exists(~z[t]) ? sum(~x[t-5:t+7]) : φ\n"
        "~n[t] = exists(~z[t-3])"
    )
    random = np.random.default_rng(3)

    def rows(count: int, most: int) -> pa.Table:
        stamps = np.cumsum(random.integers(1, most, count))
        return pa.table({"t": stamps, "v": random.integers(0, 9, count) / 8.0})

    frames = {"x": rows(20_000, 4), "y": rows(70, 900), "z": rows(30, 500)}
    expected = query.run(**frames)
    for seed in range(3):
        cut = Random(seed)  # noqa: S311
        parts = list(
            query.stream(
                x=(frames["x"].slice(k, 500) for k in range(0, 20_000, 500)),
                y=in_batches(frames["y"], cut),
                z=in_batches(frames["z"], cut),
                memory="1MB",
            )
        )
        for name in query.query.outputs:
            found = joined(iter(parts), name)
            assert found.equals(expected[name].to_arrow().combine_chunks())


def test_readers_of_record_batches_and_plain_frames() -> None:
    table = prices(3000)
    query = tilt.parse("unit s\ninput x : f64 until_next\n~o[t] = sum(~x[t-9:t])")
    expected = query.run(x=tilt.bind(table, column="price")).to_arrow()
    for frame in (table.to_reader(100), table, iter(table.to_batches(77))):
        parts = query.stream(x=tilt.bind(frame, column="price"))
        assert joined(parts).equals(expected.combine_chunks())


# Samples


@pytest.mark.parametrize("workers", [1, 2])
def test_arrays_on_the_fly(workers: int) -> None:
    """With holes at the edges of arrays: they stay samples."""
    random = np.random.default_rng(5)
    values = (random.integers(-8, 8, 300_000) / 8).astype(np.float32)
    lost = random.random(len(values)) < 0.1
    signal = pa.array(values, mask=lost)
    query = tilt.parse(
        "input x : f32 sampled 3\nt = TDom(-∞, ∞, 3)\n"
        "~o[t] = mean(~x[t-60:t]) > mean(~x[t-150:t])\n~g[t] = ~x[t] + 1.0"
    )
    expected = query.run(x=tilt.sampled(signal, 7, 3))
    arrays = (signal[k : k + 7001] for k in range(0, len(signal), 7001))
    parts = list(
        query.stream(x=tilt.sampled(arrays, 7, 3), memory="2MB", workers=workers)
    )
    assert len(parts) > 3
    for name in ("o", "g"):
        found = joined(iter(parts), name)
        assert found.equals(expected[name].to_arrow().combine_chunks())


def test_endless_inputs_end_with_the_domain() -> None:
    def forever() -> Iterator[np.ndarray]:
        while True:
            yield np.ones(1000)

    query = tilt.parse("input x : f64 sampled 1\n~o[t] = sum(~x[t-10:t])")
    samples = tilt.sampled(forever(), 0, 1)
    found = joined(query.stream(x=samples, start=500_000, end=500_100))
    assert found["o"].to_pylist() == [10.0] * 100
    assert found["start"][0].as_py() == 500_000


def test_memory_stays_flat() -> None:
    """In a process of its own: the peak is that of a tenth of the data."""
    code = """
import resource, sys
import numpy as np, tiltpy as tilt
query = tilt.parse("input x : f32 sampled 1\\n"
                   "~o[t] = mean(~x[t-20:t]) > mean(~x[t-50:t])")
block = np.arange(1 << 20, dtype=np.float32) % 97
peaks = []
for count in (4, 40):
    arrays = (block for _ in range(count))
    for part in query.stream(x=tilt.sampled(arrays, 0, 1), memory="64MB"):
        part.to_arrow()
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
print(*peaks)
"""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    first, second = (int(word) for word in done.stdout.split())
    assert second < 1.2 * first


# What comes out of nothing


def test_windows_of_all_the_past_keep_states_and_no_rows() -> None:
    """Rows that would not fit in memory, in states that go on from span to span."""
    rows, batch = 2_000_000, 50_000

    def batches() -> Iterator[pa.Table]:
        for first in range(0, rows, batch):
            stamps = np.arange(first, first + batch)
            yield pa.table({"time": stamps * 3, "x": (stamps % 8) / 8})

    query = tilt.parse(
        "input x : f64 time time point\n"
        "reduction halve(v: f64) { init = 0.0 acc = 0.5 * state + v result = state }\n"
        "~c[t] = ~x[t] == 0\n"
        "~o[t] = ~x[t] != φ ? { n = count(~x[-∞ : t]), s = sum(~x[since ~c : t]),\n"
        "    h = halve(~x[-∞ : t]), f = first(~x[-∞ : t]), l = ffill(~x) } : φ\n"
        "output ~o\n"
    )
    last: dict[str, object] = {}
    for part in query.stream(x=batches(), memory="8MB"):
        table = part["o"].to_arrow()
        if table.num_rows:
            last = table.slice(table.num_rows - 1).to_pylist()[0]
    halves = 0.0
    for value in [k / 8 for k in range(8)] * 20:
        halves = 0.5 * halves + value
    assert last["n"] == rows
    assert last["s"] == sum(range(8)) / 8
    assert last["h"] == pytest.approx(halves)
    assert last["f"] == 0
    assert last["l"] == 7 / 8


def test_no_rows_still_have_a_schema() -> None:
    query = tilt.parse("input x : f64 point\n~o[t] = ~x[t] + 1")
    table = pa.table({"t": pa.array([], pa.int64()), "x": pa.array([], pa.float64())})
    for frame in (table, iter([table, table])):
        (part,) = query.stream(x=frame)
        assert part.num_rows == 0
        assert part.schema == query.run(x=table).schema


def test_trailing_nulls_do_not_stretch_the_domain() -> None:
    query = tilt.parse("input x : f64 sampled 1\n~o[t] = count(~x[t-2:t])")
    values = pa.array([None, 1.0, None, 2.0] + [None] * 5000)
    expected = query.run(x=tilt.sampled(values, 0, 1)).to_arrow().combine_chunks()
    arrays = (values[k : k + 10] for k in range(0, len(values), 10))
    assert joined(query.stream(x=tilt.sampled(arrays, 0, 1))).equals(expected)


@pytest.mark.parametrize("keys", ["", "by k "])
@pytest.mark.parametrize("size", [5, 40])
def test_the_first_row_out_of_order_is_named(keys: str, size: int) -> None:
    """Wherever it is: in a piece, at its seam, or among rows that wait for others."""
    query = tilt.parse(
        f"input x {keys}: f64 point time t\ng = TDom(-∞, ∞, 70)\n"
        "~o[g] = max(~x[g-70 : g])"
    )
    for row in range(1, 30):
        stamps = np.arange(1, 31) * 10
        stamps[row] -= 15
        table = pa.table({"t": stamps, "k": stamps * 0, "x": stamps / 8})
        pieces = (table.slice(first, size) for first in range(0, 30, size))
        with pytest.raises(tilt.DataError, match="before that of the row") as error:
            list(query.stream(x=tilt.bind(pieces, column="x")))
        assert error.value.row == row

"""The benchmarks compare, measure and print what they say they do."""

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import chain, count
from time import sleep
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from bench import (
    __main__,
    leaks,
    measure,
    timing,
)
from bench.compile_time import compile_once, slowest_imports
from bench.measure import BenchOptions, Measured, tiltpy
from bench.outcome import Cells, Kept, Outcome, Table, difference
from bench.peers.duckdb import unkeyed as duckdb_peers
from bench.peers.peer import Peer
from bench.reports import ablation, buffers, fusion, growth, median, threads
from bench.reports.table import Table as Lines
from bench.subject import Subject
from bench.timing import LEAST, Seconds, geometric_mean, rate, speedup, take_turns
from bench.traffic import bytes_moved
from bench.workloads.catalogue import ALL

BY_NAME = {workload.name: workload for workload in ALL}


def table(*rows: tuple[int, int, float]) -> Table:
    starts, ends, values = (np.array(column) for column in zip(*rows, strict=True))
    return Table(starts, ends, (values,))


ROWS = table((0, 1, 1.0), (1, 2, 2.0), (4, 6, 3.0))


@pytest.mark.parametrize(
    ("found", "wrong"),
    [
        (ROWS, None),
        (table((0, 1, 1.0), (1, 2, 2.0)), "3 starts, the peer has 2"),
        (table((0, 1, 1), (1, 2, 2), (5, 6, 3)), "starts[2] is 4, the peer has 5"),
        (table((0, 1, 1), (1, 3, 2), (4, 6, 3)), "ends[1] is 2, the peer has 3"),
        (
            table((0, 1, 1), (1, 2, 2.5), (4, 6, 3)),
            "column 0[1] is 2.0, the peer has 2.5",
        ),
    ],
)
def test_rows_are_compared(found: Table, wrong: str | None) -> None:
    assert difference(ROWS, found, exact=True) == wrong


def test_cells_may_share_a_snapshot() -> None:
    values = np.array([1.0, 2.0, np.nan, np.nan, 3.0, 3.0])
    exists = ~np.isnan(values)
    assert difference(ROWS, Cells((values,), exists=exists), exact=True) is None
    found = difference(ROWS, Cells((values,), first=1, exists=exists), exact=True)
    assert found == "cells[0] is 0, the peer has 1"


def test_kept_cells_are_rows() -> None:
    kept = np.array([True, True, False, False, True])
    values = (np.array([1.0, 2.0, 3.0]),)
    expected = table((0, 1, 1), (1, 2, 2), (4, 5, 3))
    assert difference(expected, Kept(values, kept), exact=True) is None
    assert difference(ROWS, Kept(values, kept), exact=True) is not None


@pytest.mark.parametrize(("off", "wrong"), [(1e-5, False), (1e-3, True)])
def test_rounding_is_forgiven(off: float, wrong: bool) -> None:
    values = ROWS.payload[0] * (1 + off)
    found = replace(ROWS, payload=(values,))
    assert (difference(ROWS, found, exact=False) is not None) == wrong
    assert difference(ROWS, found, exact=True) is not None


def test_bytes_are_counted() -> None:
    def each(name: str) -> float:
        workload = BY_NAME[name]
        streams = workload.make(2500, 1)
        result = Subject(workload, streams).run(1)
        return bytes_moved(workload, streams, result.schema, result.num_rows) / 2500

    assert each("select") == 4 + 4
    assert each("trading") == 4 + 1
    assert each("aligned join") == (2 * 4 + 4) / 2
    assert each("select, contiguous") == 12 + 20
    assert each("select, intervals") == 20 + 20
    assert each("select, points") == 12 + 20
    assert each("fraud by customer") == pytest.approx(12 + 0.99 * 17)
    assert each("trading by symbol") == pytest.approx((4 + 1) * 2480 / 2500)


def test_runners_take_turns() -> None:
    seen: list[str] = []

    def run(name: str) -> None:
        seen.append(name)
        sleep(LEAST)

    found = take_turns({name: partial(run, name) for name in ("a", "b")}, 2)
    assert seen == ["a", "b"] * 3
    assert {name: len(seconds) for name, seconds in found.items()} == {"a": 2, "b": 2}


def test_short_runs_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(
        perf_counter=count(0, 2.0).__next__, process_time=count(0, 1.0).__next__
    )
    monkeypatch.setattr(timing, "time", clock)
    seen: list[str] = []
    assert timing.timed(partial(seen.append, "once")) == Seconds(2.0, 1.0)
    assert seen == ["once"]
    assert timing.timed(partial(seen.append, "again"), 5.0) == Seconds(2.0, 1.0)
    assert seen == ["once", "again", "again", "again"]


SLOW = (Seconds(2.0, 2.0), Seconds(4.0, 3.0), Seconds(2.0, 2.0))
FAST = (Seconds(1.0, 1.0), Seconds(1.0, 1.0), Seconds(1.0, 0.5))


def test_rates_and_ratios() -> None:
    assert rate(4_000_000, SLOW).show() == "2.0 ±12%"
    assert rate(40_000_000, FAST[:1]).show() == "40 ±0%"
    assert speedup(FAST, SLOW, one_thread=True).values == (2.0, 3.0, 4.0)
    assert speedup(FAST, SLOW, one_thread=False).values == (2.0, 4.0, 2.0)
    assert geometric_mean([0.5, 2.0, 8.0]) == pytest.approx(2.0)


def test_ratios_are_of_rates() -> None:
    turns = {tiltpy(1): FAST, tiltpy(2): FAST, "C": SLOW, "DuckDB": SLOW}
    counted = {tiltpy(1): 8_000_000, tiltpy(2): 8_000_000, "C": 8_000_000}
    found = Measured(
        BY_NAME["select"],
        8.0,
        turns,
        {**counted, "DuckDB": 4_000_000},
        {"Numba": "ends[0] is 1, the peer has 2"},
        {"DuckDB": 4_000_000},
    )
    by_processor, by_wall = found.ratio(tiltpy(1), "C"), found.ratio(tiltpy(2), "C")
    fewer = found.ratio(tiltpy(2), "DuckDB")
    assert by_processor is not None
    assert by_processor.median == 3.0
    assert by_wall is not None
    assert by_wall.median == 2.0
    assert fewer is not None
    assert fewer.median == 4.0
    assert found.ratio(tiltpy(1), "Polars") is None
    lines = Lines((1, 2), ("C", "Numba", "DuckDB"), 128e6)
    (line,) = lines.add(found)
    assert line.split() == [
        *("select", "8.0", "±0%", "8.0", "±0%", "4.0", "±12%", "wrong"),
        *("2.0", "±12%*", "3.00", "1.00", "8.0", "50", "%"),
    ]
    assert not lines.agrees
    assert list(lines.notes()) == [
        "Numba does not agree on select: ends[0] is 1, the peer has 2",
        "* DuckDB: over 4,000,000 events only",
    ]
    assert [line.split() for line in lines.means()] == [
        ["mean,", "sampled", "3.00", "1.00"]
    ]


def run_main(monkeypatch: pytest.MonkeyPatch, *args: str) -> int:
    small = ("--events", "20000", "--repeat", "2", "--workers", "1")
    monkeypatch.setattr(sys, "argv", ["bench", *args, *small])
    return __main__.main()


def test_a_table_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(duckdb_peers, "MOST_IN_WINDOWS", 5_000)
    chosen = ("trading", "select, points", "--peers", "polars,duckdb")
    assert run_main(monkeypatch, *chosen) == 0
    printed = capsys.readouterr().out
    header, trading, *_ = printed.splitlines()[2:]
    assert header.split()[2:6] == ["1", "worker", "Polars", "DuckDB"]
    assert trading.startswith("trading")
    assert "* DuckDB: over 5,000 events only" in printed
    assert "mean, sampled" in printed
    assert "mean, irregular" not in printed  # Polars has no say in point events
    assert "wrong" not in printed


def test_keyed_workloads_are_grouped_before_or_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ("trading by symbol", "--peers", "numba,polars")
    assert run_main(monkeypatch, *chosen) == 0
    header, grouped, mixed, mean = capsys.readouterr().out.splitlines()[2:]
    assert header.split()[2:7] == ["1", "worker", "Numba", "Polars", "/Numba"]
    assert grouped.startswith("trading by symbol")
    assert len(mixed.removeprefix("  + grouping").split()) == 2 * 2 + 1
    assert mean.startswith("mean, keyed")


def test_a_wrong_peer_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def off_by_one(*_: object) -> Peer:
        def outcome(_: object) -> Outcome:
            return Cells((np.arange(20_000, dtype=np.float32),))

        return Peer(lambda: None, outcome)

    monkeypatch.setattr(measure, "make_peer", off_by_one)
    assert run_main(monkeypatch, "select", "--peers", "polars") == 1
    assert "Polars does not agree on select: column 0[0]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("selct", "no workload 'selct'; did you mean 'select'?"),
        ("draw 4", "no workload 'draw 4'; did you mean 'draw 4: sum, f64 keyed'?"),
        ("backup", "no workload 'backup'; there are fusion; threads"),
    ],
)
def test_an_unknown_workload_is_refused(
    name: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = argparse.ArgumentParser()
    with pytest.raises(SystemExit) as refused:
        __main__._workloads(parser, [name], None)
    assert refused.value.code == 2
    assert said in capsys.readouterr().err


WANTED = BenchOptions(events=20_000, seed=1, repeat=2, workers=(1,), peers=())


def test_figures_have_a_line_for_each_workload() -> None:
    chosen = [BY_NAME["trading"]]
    header, rates, ratios = threads.lines(chosen, WANTED)
    assert len(rates.split()) == 1 + 2 * (len(header.split()) - 2)
    assert ratios.split()[:4] == ["to", "one", "worker", "1.00"]
    _, fused = fusion.lines(chosen, WANTED)
    assert len(fused.split()) == 6
    _, at_once, each = buffers.lines(chosen, WANTED)
    assert len(at_once.split()) == 1 + 2 * 4
    assert len(each.split()) == 2 * 4


def test_ablation_has_a_line_for_each_mechanism() -> None:
    header, *found = ablation.lines([BY_NAME["trading"]], WANTED)
    assert header.split() == ["mechanism", "lines", "workload", "without", "/", "with"]
    by_name = {line.split()[0]: line.split()[1:] for line in found}
    assert by_name.keys() == {one.name for one in ablation.MECHANISMS}
    assert by_name["vector_kernel"][1] == "trading"
    assert by_name["row_map"][1:] == ["serves", "none", "of", "1", "workloads"]
    for one in ablation.MECHANISMS:
        assert one.lines() > 0 or not one.files


def test_rolling_medians_of_ever_longer_windows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(median, "WINDOWS", (10, 100, 10**9))
    header, *rates = median.lines(None, replace(WANTED, events=1000))
    assert header.split()[-2:] == ["Polars", "pandas"]
    assert [line.split()[2] for line in rates] == ["10", "100"]
    monkeypatch.setattr(median, "ROLLING", dict.fromkeys(median.ROLLING, _adding))
    assert "Polars finds other medians" in list(median.lines(None, WANTED))[1]


def test_growth_of_each_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "ROWS", 2000)
    curves = [replace(curve, sizes=curve.sizes[:2]) for curve in growth.CURVES]
    monkeypatch.setattr(growth, "CURVES", curves)
    found = list(growth.lines(None, replace(WANTED, peers=())))
    assert [line for line in found if not line.startswith(" ")] == [
        growth.line(curve.title, [f"{size:,}" for size in curve.sizes])
        for curve in curves
    ]
    assert found[-1].startswith("  to compile, ms")
    assert all(len(line.split()[-2:]) == 2 for line in found)


def test_growth_compares_before_it_times() -> None:
    curve = growth.CURVES[0]
    workload, _ = curve.at(1000)
    _, other = growth.CURVES[1].at(1000)
    with pytest.raises(AssertionError, match=workload.name):
        growth.measure(workload, other, WANTED, peer=True)


def _adding(values: median.Values) -> Callable[[int], object]:
    return lambda window: pl.Series(values) + window


@pytest.mark.parametrize("name", ["where", "trading", "impute", "vibration"])
def test_buffers_find_what_a_run_finds(name: str) -> None:
    workload = BY_NAME[name]
    prepared = buffers.Kernels(workload, WANTED).buffers(500)
    prepared.run()
    buffers_made = len(prepared.calls.places)
    assert prepared.events >= 500 * buffers_made * prepared.rounds
    streams = workload.make(WANTED.events, WANTED.seed)
    expected = Subject(workload, streams).run(1).num_rows
    made = (task.results(table) for task, table in prepared.tasks)
    results = chain.from_iterable(made)
    found = sum(pieces["out"].n for _, pieces, _ in results)
    seams = buffers_made  # some kernels begin a cell early, to look at it
    assert expected - 500 <= found <= expected + seams


def test_compile_time_has_all_stages() -> None:
    stages = compile_once()
    assert {"parse", "passes", "lowering", "all but once"} <= set(stages)
    assert all(seconds > 0 for seconds in stages.values())


def test_slowest_imports_are_in_order() -> None:
    own = [float(line.split()[0]) for line in slowest_imports(5)]
    assert own == sorted(own, reverse=True)
    assert len(own) == 5


def test_a_cycle_compiles_and_runs() -> None:
    leaks.cycle(1)

"""The benchmarks compare like with like: tiltpy's results are those of the peers."""

import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from bench import leaks
from bench.compile_time import compile_once, slowest_imports
from bench.peers import PEERS, call_of
from bench.subject import Subject, results
from bench.timing import Seconds, rate, speedup, take_turns
from bench.workloads import WINDOW, WORKLOADS, Workload

EVENTS = 2 * WINDOW + 500
CASES = [
    pytest.param(workload, function, id=function.__name__)
    for workload in WORKLOADS
    for function in PEERS[workload.name].functions
]


@cache
def subject_of(workload: Workload) -> Subject:
    """A workload, compiled once for all its peers."""
    return Subject(workload, workload.streams(EVENTS, 1))


@pytest.mark.parametrize(("workload", "function"), CASES)
def test_tiltpy_gives_what_the_peer_gives(
    workload: Workload, function: Callable[..., int]
) -> None:
    subject = subject_of(workload)
    call = call_of(PEERS[workload.name], workload.streams(EVENTS, 1))
    expected = call.with_times(call.run(function))
    for result in (subject.over_buffers(1)(), subject.over_frames(2)):
        for ours, theirs in zip(results(result), expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_data_depends_on_the_seed_alone(workload: Workload) -> None:
    once, again, other = (workload.streams(100, seed) for seed in (1, 1, 2))
    for name, stream in once.items():
        np.testing.assert_array_equal(stream.values, again[name].values)
        np.testing.assert_array_equal(stream.ends, again[name].ends)
        assert (stream.values != other[name].values).any()


def test_runners_take_turns() -> None:
    seen: list[str] = []
    runners = {name: (lambda name=name: seen.append(name)) for name in ("a", "b")}
    found = take_turns(runners, 2)
    assert seen == ["a", "b"] * 3
    assert {name: len(seconds) for name, seconds in found.items()} == {"a": 2, "b": 2}


def test_rates_and_ratios() -> None:
    slow = (Seconds(2.0, 2.0), Seconds(4.0, 3.0), Seconds(2.0, 2.0))
    fast = (Seconds(1.0, 1.0), Seconds(1.0, 1.0), Seconds(1.0, 0.5))
    assert rate(4_000_000, slow).show() == "2 (1-2)"
    assert speedup(fast, slow).show(1) == "3.0 (2.0-4.0)"


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


def test_an_unknown_workload_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench", "selct"],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "no workload 'selct'; there are select" in done.stderr

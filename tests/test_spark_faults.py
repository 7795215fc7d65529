"""Killed executors, killed Python workers and second attempts change no result.

Each fault strikes in a stage before the shuffle and in one after it. `--deep` has ten
runs of each.
"""

from pathlib import Path

import pytest

from tests.spark_faults import Fault
from tests.spark_sessions import (
    CLUSTER,
    PATIENCE,
    cluster_of_two_hosts,
    run_program,
)

pytestmark = pytest.mark.xdist_group("spark")
DEEPER = 10


def strike(folder: Path, master: str, *faults: Fault, runs: int) -> None:
    said = run_program(
        "tests.spark_faults", folder, master, *faults * runs, patience=PATIENCE * runs
    )
    assert said.count(": the same") == 2 * len(faults) * runs


def test_who_is_killed_changes_nothing(tmp_path: Path, *, deep: bool) -> None:
    runs = DEEPER if deep else 1
    strike(tmp_path, CLUSTER, "worker killed", "executor killed", runs=runs)


def test_the_faster_of_two_attempts_changes_nothing(
    tmp_path: Path, *, deep: bool
) -> None:
    with cluster_of_two_hosts(tmp_path) as master:
        strike(tmp_path, master, "attempt too slow", runs=DEEPER if deep else 1)

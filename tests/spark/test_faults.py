"""Killed executors, killed Python workers and second attempts change no result.

Each fault strikes in a stage before the shuffle and in one after it. `--deep` has ten
runs of each.
"""

from pathlib import Path

from tests.spark.faults import FAULTS
from tests.spark.sessions import PATIENCE, cluster_of_two_hosts, run_program

DEEPER = 10


def test_faults_change_nothing(tmp_path: Path, *, deep: bool) -> None:
    runs = DEEPER if deep else 1
    words, patience = FAULTS * runs, PATIENCE * runs
    with cluster_of_two_hosts(tmp_path) as master:
        said = run_program(
            "tests.spark.faults", tmp_path, master, *words, patience=patience
        )
    assert said.count(": the same") == 2 * len(words)

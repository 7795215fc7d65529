"""Killed executors, killed Python workers and second attempts change no result.

Each fault strikes once, in a stage before the shuffle or in one after it. `--deep` has
ten runs of each in either stage.
"""

from itertools import cycle
from pathlib import Path
from typing import get_args

from tests.spark.faults import FAULTS, STRIKES, Stage, name_of
from tests.spark.sessions import PATIENCE, cluster_of_two_hosts, run_program

DEEPER = 10


def test_faults_change_nothing(tmp_path: Path, *, deep: bool) -> None:
    in_turn = zip(FAULTS, cycle(get_args(Stage)), strict=False)
    strikes = STRIKES * DEEPER if deep else tuple(in_turn)
    words = [name_of(*strike) for strike in strikes]
    patience = PATIENCE * (DEEPER if deep else 1)
    with cluster_of_two_hosts(tmp_path) as master:
        said = run_program(
            "tests.spark.faults", tmp_path, master, *words, patience=patience
        )
    assert said.count(": the same") == len(words)

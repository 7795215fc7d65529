"""Killed executors, killed Python workers and second attempts change no result.

Each fault strikes once, in a stage before the shuffle or in one after it. `--deep` has
ten runs of each in either stage.
"""

from pathlib import Path

from tests.spark.faults import AND, STRIKES, Fault, Stage, name_of
from tests.spark.sessions import PATIENCE, run_program

DEEPER = 10

RUN: tuple[tuple[Fault, Stage], ...] = (
    ("attempt too slow", "before"),
    ("worker killed", "after"),
    ("executor killed", "after"),
)
"""All faults in one run: no kill ends the slow attempt, whose stage is over by then."""


def test_faults_change_nothing(tmp_path: Path, *, deep: bool) -> None:
    runs = [[strike] for strike in STRIKES] * DEEPER if deep else [RUN]
    words = [AND.join(name_of(*strike) for strike in strikes) for strikes in runs]
    patience = PATIENCE * (DEEPER if deep else 1)
    said = run_program("tests.spark.faults", tmp_path, *words, patience=patience)
    assert said.count(": the same") == len(words)

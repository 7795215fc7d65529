"""No kernel reads or writes beside its arrays: see `fences.py`, `keyed_fences.py`."""

import subprocess
import sys

import pytest

from tests import ROOT

CASES, DEEP_CASES = 24, 6_000


@pytest.mark.parametrize("side", ["high", "low"])
@pytest.mark.parametrize("module", ["fences", "keyed_fences"])
def test_kernels_stay_within_their_arrays(
    module: str, side: str, *, deep: bool
) -> None:
    first = 0 if side == "high" else 10_000
    run(module, first, first + (DEEP_CASES if deep else CASES), side)


def test_an_empty_window_is_not_asked_for_the_row_that_it_cut() -> None:
    run("fences", 30_023, 30_024, "low")


def test_readers_that_lag_see_cells_that_exist() -> None:
    run("fences", 3, 4, "low")


def test_rows_that_are_folded_on_are_not_read_behind_the_last() -> None:
    run("fences", 56, 57, "high")


def test_without_tiles_the_last_vector_reads_cells_that_exist() -> None:
    run("fences", 315, 316, "high")


def run(module: str, first: int, last: int, side: str) -> None:
    """Run cases between fences in a process of its own."""
    command = [
        sys.executable,
        "-m",
        f"tests.runtime.execution.{module}",
        str(first),
        str(last),
        side,
    ]
    done = subprocess.run(  # noqa: S603
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]

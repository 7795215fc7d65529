"""No kernel reads or writes beside its arrays: see `fences.py`, `keyed_fences.py`."""

import subprocess
import sys

import pytest

from tests import ROOT

CASES, DEEP_CASES = 10, 6_000
"""A kind of keyed cases each, and a family of others on one side or the other."""

SEEDS = {
    "high": [
        "scans:56",  # rows behind those that are folded
        "grids:315",  # last vectors without tiles
        "rows:6",  # starts of rows ahead
        "frequencies:21",  # runs that a window has not
    ],
    "low": [
        "grids:30023",  # the row that an empty window cut
        "grids:3",  # cells of readers that lag
    ],
}
"""Cases that once read cells that do not exist."""


@pytest.mark.parametrize("side", ["high", "low"])
@pytest.mark.parametrize("module", ["fences", "keyed_fences"])
def test_kernels_stay_within_their_arrays(
    module: str, side: str, *, deep: bool
) -> None:
    first = 0 if side == "high" else 10_000 + CASES
    run(module, "all", str(first), str(first + (DEEP_CASES if deep else CASES)), side)


@pytest.mark.parametrize("side", SEEDS)
def test_cells_that_do_not_exist_are_not_read(side: str) -> None:
    run("fences", *SEEDS[side], side)


def run(module: str, *words: str) -> None:
    """Run cases between fences in a process of its own."""
    command = [sys.executable, "-m", f"tests.runtime.execution.{module}", *words]
    done = subprocess.run(  # noqa: S603
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]

"""No kernel reads or writes beside its arrays: see `fences.py`, `keyed_fences.py`."""

import subprocess
import sys

import pytest

from tests import ROOT

CASES, DEEP_CASES = 4, 6_000
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
    words = ["all", str(first), str(first + (DEEP_CASES if deep else CASES))]
    words += SEEDS[side] if module == "fences" else []
    command = [sys.executable, "-m", f"tests.runtime.execution.{module}", *words, side]
    done = subprocess.run(  # noqa: S603
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]

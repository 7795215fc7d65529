"""No kernel reads or writes beside its arrays: see `fences.py`, `keyed_fences.py`."""

import subprocess
import sys

import pytest

from tests import ROOT

CASES, DEEP_CASES = 20, 6_000


@pytest.mark.parametrize("side", ["high", "low"])
@pytest.mark.parametrize("program", ["fences all", "keyed_fences all"])
def test_kernels_stay_within_their_arrays(
    program: str, side: str, *, deep: bool
) -> None:
    first = 0 if side == "high" else 10_000
    run(program, first, first + (DEEP_CASES if deep else CASES), side)


@pytest.mark.parametrize(
    ("family", "seed", "side"),
    [
        pytest.param("grids", 30_023, "low", id="the row that an empty window cut"),
        pytest.param("grids", 3, "low", id="cells of readers that lag"),
        pytest.param("scans", 56, "high", id="rows behind those that are folded"),
        pytest.param("grids", 315, "high", id="last vectors without tiles"),
        pytest.param("rows", 6, "high", id="starts of rows ahead"),
        pytest.param("frequencies", 21, "high", id="runs that a window has not"),
    ],
)
def test_cells_that_do_not_exist_are_not_read(
    family: str, seed: int, side: str
) -> None:
    run(f"fences {family}", seed, seed + 1, side)


def run(program: str, first: int, last: int, side: str) -> None:
    """Run cases between fences in a process of its own."""
    module, *family = program.split()
    command = [sys.executable, "-m", f"tests.runtime.execution.{module}", *family]
    command += [str(first), str(last), side]
    done = subprocess.run(  # noqa: S603
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]

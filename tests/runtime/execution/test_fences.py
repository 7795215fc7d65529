"""No kernel reads or writes beside its arrays: see `fences.py`, `keyed_fences.py`."""

import subprocess
import sys

import pytest

from tests import ROOT

CASES, DEEP_CASES = 40, 6_000


@pytest.mark.parametrize("side", ["high", "low"])
@pytest.mark.parametrize("module", ["fences", "keyed_fences"])
def test_kernels_stay_within_their_arrays(
    module: str, side: str, *, deep: bool
) -> None:
    first = 0 if side == "high" else 10_000
    last = first + (DEEP_CASES if deep else CASES)
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

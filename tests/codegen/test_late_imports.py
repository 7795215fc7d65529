"""A run whose kernels are on disk starts without what parses and compiles."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
from array import array
import pyarrow as pa
import tiltpy as tilt
def column(*values):  # `pyarrow.array` would import pandas, and that the functions
    buffers = [None, pa.py_buffer(array("q", values))]
    return pa.Array.from_buffers(pa.int64(), len(values), buffers)
frame = pa.table({"time": column(1, 2, 5), "x": column(1, 2, 4)})
query = tilt.parse("input x : i64 point\\n~o[t] = sum(~x[t-2 : t])")
assert query.run(x=frame, workers=1).num_rows == 4
assert sys.modules.keys().isdisjoint({"numpy.ma", "pyarrow.compute"})
assert ("lark" in sys.modules) == ("tiltpy.frontend.text" in sys.modules)
print(*(name for name in sys.modules if name.startswith("tiltpy.")))
from tiltpy.cli.main import build_parser
build_parser(["run"])
assert sys.modules.keys().isdisjoint({"tiltpy.cli.live", "tiltpy.cli.plot"})
"""
PARSING = ("frontend.elaboration", "frontend.parse", "frontend.text")
COMPILING = (
    "aggregates", "codegen.jit", "codegen.llvm", "compiler.stages", "emit", "loops",
    "lowering", "passes.pipeline", "plan.choose", "plan.strategies",
)  # fmt: skip
BESIDE = (
    "check_reductions", "engines.keyed_engine", "explain", "interpreter", "plot",
    "runtime.arrow.files", "runtime.keyed", "runtime.preaggregation",
)  # fmt: skip
"""What a plain run never needs, compiled or not."""


def loaded() -> set[str]:
    """The packages and modules of a fresh process that runs a query."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True
    )
    return {name.removeprefix("tiltpy.") for name in done.stdout.split()}


def test_only_a_run_that_compiles_imports_what_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = loaded()
    assert first.issuperset((*COMPILING, *PARSING))
    assert first.isdisjoint(BESIDE)
    assert loaded().isdisjoint((*COMPILING, *PARSING, *BESIDE))

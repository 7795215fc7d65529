"""The clock decides nothing of a result: who reads it is known."""

import ast
from collections.abc import Iterator

from tests import ROOT

CLOCKS = {"now", "today", "utcnow", "monotonic", "perf_counter", "time_ns"}
READERS = {
    "tiltpy/codegen/cache/compile_cache.py",  # the age of files, and compile times
    "tiltpy/codegen/jit.py",  # compile times
    "tiltpy/progress/notebook_bar.py",
    "tiltpy/progress/progress_bar.py",
}


def find_readers() -> Iterator[str]:
    """Find modules that import `time`, or ask a `datetime` for the present."""
    for path in sorted((ROOT / "tiltpy").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Import(names=names):
                    reads = any(each.name == "time" for each in names)
                case ast.ImportFrom(module="time"):
                    reads = True
                case ast.Call(func=ast.Attribute(attr=name)):
                    reads = name in CLOCKS
                case _:
                    reads = False
            if reads:
                yield str(path.relative_to(ROOT))


def test_only_the_runner_and_progress_read_a_clock() -> None:
    readers = {path for path in find_readers() if not path.startswith("tiltpy/live/")}
    assert readers == READERS
    assert "tiltpy/live/live_run.py" in set(find_readers())

"""The clock decides nothing of a result: who reads it is known."""

import ast
import re
from collections.abc import Iterator

from tests import ROOT

CLOCKS = {"now", "today", "utcnow", "monotonic", "perf_counter", "time_ns"}
MAYBE = re.compile(rf"import .*\btime\b|from time\b|\.({'|'.join(CLOCKS)})\b")
"""A part of every text that reads one, and of few others, which need no parsing."""
READERS = {
    "tiltpy/codegen/cache/compile_cache.py",  # the age of files, and compile times
    "tiltpy/codegen/jit.py",  # compile times
    "tiltpy/progress/notebook_bar.py",
    "tiltpy/progress/progress_bar.py",
}


def find_readers() -> Iterator[str]:
    """Find modules that import `time`, or ask a `datetime` for the present."""
    for path in sorted((ROOT / "tiltpy").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if MAYBE.search(text) else ():
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
    readers = set(find_readers())
    live = {path for path in readers if path.startswith("tiltpy/live/")}
    assert readers - live == READERS
    assert "tiltpy/live/live_run.py" in live

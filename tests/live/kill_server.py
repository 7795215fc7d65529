"""Runs `tilt live` in processes that are killed: `python -m tests.live.kill_server`.

A line of its standard input is a run, as JSON, and a line of its output says how the
run ended. Each run is a process of its own, forked from this one, where the query is
compiled already: a process imports and compiles nothing. It is killed by SIGKILL
`after` some seconds, or at a `point`: the n-th time that it is about to write, sync,
rename or remove a file. There a write is torn: half of its bytes are in the file.
Another `signal` than SIGKILL does not tear it.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from tiltpy.cli import live_run
from tiltpy.cli.console import read_query
from tiltpy.cli.main import main
from tiltpy.live import append_file, content_cuts, intake, state_folder
from tiltpy.live.sources import tail_source

PIECE = 1500
"""Bytes that are read at once, so that a small file comes in many batches."""
LARGE = 4500
"""Bytes from which on a session is in segments: some sessions are, and some are not."""


class Points:
    """Counts what is done to files, and ends the process at one of the points."""

    def __init__(self, last: int | None, number: int) -> None:
        self.count = 0
        self._last = last
        self._signal = number

    def reach(self) -> bool:
        """Count a point; True where the process is to die."""
        self.count += 1
        if self.count == self._last and self._signal != signal.SIGKILL:
            os.kill(os.getpid(), self._signal)
            return False
        return self.count == self._last

    def watch(self) -> None:
        """Watch what the package does to files."""
        for name in ("fsync", "replace", "unlink"):
            setattr(os, name, self._before(getattr(os, name)))
        append = append_file.AppendFile.append

        def append_half(file: append_file.AppendFile, content: Any) -> None:
            if self.reach():
                append(file, memoryview(content)[: len(content) // 2])
                die()
            append(file, content)

        setattr(append_file.AppendFile, "append", append_half)  # noqa: B010
        write = Path.write_bytes  # segments of a state

        def write_half(path: Path, content: bytes) -> int:
            if self.reach():
                write(path, content[: len(content) // 2])
                die()
            return write(path, content)

        setattr(Path, "write_bytes", write_half)  # noqa: B010

    def _before(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            if self.reach():
                die()
            result = function(*args, **options)
            if self.reach():
                die()
            return result

        return call


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def run(words: list[str], log: str, points: Points) -> None:
    """Run a command line in this process, and end it."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    points.watch()
    code = main(words)
    print(f"points {points.count}", flush=True)
    os._exit(code)


def serve() -> None:
    """Do what the lines of the standard input say."""
    tail_source.PIECE = PIECE
    state_folder.LARGE = LARGE
    content_cuts.LEAST, content_cuts.MOST = LARGE // 8, LARGE // 4
    intake.FULL = 1  # one batch waits while another one is pushed
    read = cache(read_query)
    setattr(live_run, "read_query", lambda path, _: read(path))  # noqa: B010
    for line in sys.stdin:
        task = json.loads(line)
        if task.get("here"):
            print(json.dumps({"code": main(task["words"])}), flush=True)
            continue
        began = time.monotonic()
        child = os.fork()
        if not child:
            number = task.get("signal", signal.SIGKILL)
            run(task["words"], task["log"], Points(task.get("point"), number))
        if task.get("after") is not None:
            time.sleep(task["after"])
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        shown = Path(task["log"]).read_text() if Path(task["log"]).exists() else ""
        answer = {
            "code": os.waitstatus_to_exitcode(status),
            "seconds": time.monotonic() - began,
            "log": shown,
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve()

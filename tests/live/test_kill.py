"""A run that is killed, at any moment, and goes on, has the results of one that is not.

The processes are killed by SIGKILL: while they write, between the steps of a
checkpoint, and at random moments. Killed again and again they still come to the end,
and every byte that they have written is that of a run without interruption.
"""

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc as pi
import pyarrow.parquet as pq
import pytest

import tiltpy as tilt
from tests import ROOT

QUERY = """unit s
input x : f64 time t point
g = TDom(-∞, ∞, 4)
~sums[t] = sum(~x[t-20 : t])
~held[g] = max(~x[g-8 : g])
~rows[g] = count(~x[g-4 : g])
~late[t] = mean(~x[t-3 : t])
output ~sums
output ~held
output ~rows
output ~late
"""
ROWS = 400


@dataclass(frozen=True, slots=True)
class Ended:
    """Return the exit code of a run, minus the signal if one has ended it."""

    code: int
    seconds: float = 0.0
    log: str = ""

    @property
    def was_killed(self) -> bool:
        return self.code == -signal.SIGKILL

    @property
    def points(self) -> int:
        """At how many points it could have been killed."""
        return int(self.log.rpartition("points ")[2])


class Server:
    """Runs command lines, and kills them."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "log"
        command = [sys.executable, "-m", "tests.live.kill_server"]
        self._process = subprocess.Popen(  # noqa: S603 - our own
            command,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, words: list[str], **fault: object) -> Ended:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        task = {"words": words, "log": str(self._log), **fault}
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        return Ended(**json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(30) == 0


@dataclass(frozen=True, slots=True)
class Case:
    """The uninterrupted run, and where others are to be compared with it."""

    server: Server
    folder: Path
    whole: dict[str, Any]
    points: int
    seconds: float

    def resume(self, name: str) -> dict[str, Any]:
        """Run to the end, and read what was written."""
        ended = self.server.run(words_for(self.folder, name))
        assert ended.code == 0, ended.log
        return read_outputs(self.folder / name)


def words_for(folder: Path, name: str) -> list[str]:
    """The command line of a run that writes into a folder of its own."""
    place = folder / name
    place.mkdir(exist_ok=True)
    return [
        "live", str(folder / "q.tilt"), "--input", f"x=tail:{folder / 'x.jsonl'}",
        "--until", "EOF", "--reorder", "6s", "--late", f"side:{place / 'side.jsonl'}",
        "--output", f"sums={place / 'sums.jsonl'}",
        "--output", f"held={place / 'held.csv'}",
        "--output", f"rows={place / 'rows'}/",
        "--output", f"late={place / 'late.arrows'}",
        "--accepted", f"{place / 'accepted'}/",
        "--state", str(place / "state"), "--checkpoint", "1ms", "--quiet",
    ]  # fmt: skip


def read_outputs(place: Path) -> dict[str, Any]:
    """Bytes of text files; the rows of what checkpoints cut into batches and files."""
    return {
        "sums": (place / "sums.jsonl").read_bytes(),
        "held": (place / "held.csv").read_bytes(),
        "side": (place / "side.jsonl").read_bytes(),
        "late": pi.open_stream((place / "late.arrows").read_bytes())
        .read_all()
        .to_pylist(),
        "rows": read_folder(place / "rows").to_pylist(),
        "accepted": read_folder(place / "accepted").to_pylist(),
    }


def read_folder(folder: Path) -> pa.Table:
    """Read the rows of all files, in their order."""
    return pa.concat_tables(pq.read_table(part) for part in sorted(folder.iterdir()))


def write_rows(path: Path) -> None:
    """Rows out of order, some of them too late; values whose sums are not exact."""
    draw = np.random.default_rng(11)
    stamps = np.arange(ROWS) + draw.integers(-4, 5, ROWS)
    values = draw.normal(size=ROWS)
    rows = zip(stamps.tolist(), values.tolist(), strict=True)
    lines = [json.dumps({"t": stamp, "x": value}) + "\n" for stamp, value in rows]
    path.write_text("".join(lines))


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    folder = tmp_path_factory.mktemp("kill")
    (folder / "q.tilt").write_text(QUERY)
    write_rows(folder / "x.jsonl")
    server = Server(folder)
    try:
        compiled = server.run(words_for(folder, "first"), here=True)
        assert compiled.code == 0
        ended = server.run(words_for(folder, "whole"))
        assert ended.code == 0, ended.log
        whole = read_outputs(folder / "whole")
        assert all(whole.values())
        yield Case(server, folder, whole, ended.points, ended.seconds)
    finally:
        server.close()


def test_the_run_has_many_checkpoints_and_late_rows(case: Case) -> None:
    assert case.points > 100
    assert len(case.whole["side"].splitlines()) == 3
    assert case.whole == read_outputs(case.folder / "first")


def test_a_run_over_the_archive_is_the_live_run(case: Case) -> None:
    """To the bit: the text of a float has all of its digits."""
    rows = read_folder(case.folder / "whole" / "accepted")
    assert rows.num_rows == ROWS - 3
    query = tilt.parse(QUERY)
    result = query.run(x=rows)
    sums = [json.loads(line) for line in case.whole["sums"].splitlines()]
    assert result["sums"].to_arrow().to_pylist() == sums
    assert result["late"].to_arrow().to_pylist() == case.whole["late"]
    assert result["rows"].to_arrow().to_pylist() == case.whole["rows"]


def test_killed_at_any_point(case: Case, *, deep: bool) -> None:
    count = case.points if deep else 5
    for point in np.linspace(1, case.points, count).astype(int).tolist():
        name = f"point-{point}"
        ended = case.server.run(words_for(case.folder, name), point=point)
        assert ended.was_killed, ended.log
        assert case.resume(name) == case.whole, point


def test_killed_again_and_again(case: Case, *, deep: bool) -> None:
    """Each process is killed at a random point of what it does."""
    draw = random.Random(5)  # noqa: S311 - tests
    for turn in range(60 if deep else 2):
        name = f"again-{turn}"
        kills = 0
        while kills < 8:
            point = draw.randrange(1, case.points // 3)
            ended = case.server.run(words_for(case.folder, name), point=point)
            if not ended.was_killed:
                break
            kills += 1
        assert kills
        assert case.resume(name) == case.whole, turn


def test_killed_at_random_moments(case: Case, *, deep: bool) -> None:
    draw = random.Random(7)  # noqa: S311 - tests
    for turn in range(500 if deep else 2):
        name = f"moment-{turn}"
        after = draw.uniform(0, case.seconds)
        case.server.run(words_for(case.folder, name), after=after)
        assert case.resume(name) == case.whole, after


def test_changes_add_up_to_the_final_rows(case: Case, *, deep: bool) -> None:
    """Runs write them at moments of their own; what is left of them is the same."""
    form = ["--form", "changes", "--early"]
    ended = case.server.run([*words_for(case.folder, "changes"), *form])
    assert ended.code == 0, ended.log
    revised, killed = 0, 0
    count = ended.points if deep else 3
    for point in np.linspace(20, ended.points - 1, count).astype(int).tolist():
        name = f"changes-{point}"
        words = [*words_for(case.folder, name), *form]
        killed += case.server.run(words, point=point).was_killed
        assert case.server.run(words).code == 0
        text = (case.folder / name / "sums.jsonl").read_text()
        left: dict[str, int] = {}
        for line in text.splitlines():
            row = json.loads(line)
            weight = row.pop("weight")
            revised += weight < 0
            rest = json.dumps(row, ensure_ascii=False)
            left[rest] = left.get(rest, 0) + weight
            assert left[rest] in (0, 1), (point, line)
        rows = sorted(row for row, weight in left.items() if weight)
        assert rows == sorted(case.whole["sums"].decode().splitlines()), point
    assert revised
    assert killed


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_makes_a_checkpoint_and_leaves(
    case: Case, number: signal.Signals
) -> None:
    name = f"signal-{number.name}"
    ended = case.server.run(words_for(case.folder, name), point=90, signal=number)
    assert ended.code == 128 + number, ended.log
    state = (case.folder / name / "state" / "checkpoint").read_bytes()
    assert b'"finished": false' in state
    assert case.resume(name) == case.whole


def test_a_process_from_the_start_is_killed(case: Case) -> None:
    """Not a fork: the command as a user runs it."""
    words = words_for(case.folder, "command")
    command = [sys.executable, "-m", "tiltpy", *words]
    with subprocess.Popen(  # noqa: S603 - our own
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        state = case.folder / "command" / "state" / "checkpoint"
        while process.poll() is None and not state.exists():
            time.sleep(0.01)
        process.kill()
    done = subprocess.run(  # noqa: S603 - our own
        command, cwd=ROOT, capture_output=True, check=False, text=True
    )
    assert done.returncode == 0, done.stderr
    assert read_outputs(case.folder / "command") == case.whole

"""Interrupts: whatever is under way ends soon, and leaves nothing behind.

Each case would go on for a minute, if nobody heard the signal.
"""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tiltpy as tilt
from tiltpy.codegen import jit
from tiltpy.codegen.jit import compile_object
from tiltpy.runtime.arrow import draft_files as drafts
from tiltpy.runtime.arrow.files import replace_files
from tiltpy.runtime.concurrency.offload import (
    call_in_caller,
    in_caller,
    is_abandoned,
    offload,
)

SOON = 20.0
"""Seconds: long on a busy machine, and far less than the work takes."""
POINTS = "input x : f64 time ts point\n"
REFOLDED = """\
reduction r(v: f64) { init = 0.0  acc = state * 0.5 + v  result = state }
~o[t] = r(~x[t-300000000 : t])
"""
EVERY_CELL = "input x : f64 interval\n~o[t] = ~x[t] < 0.0 ? sqrt(t) : φ"


def points(count: int) -> pa.Table:
    return pa.table({"ts": np.arange(count), "x": np.ones(count)})


def by_key(count: int, keys: int) -> pa.Table:
    return points(count).append_column("k", pa.array(np.arange(count) % keys))


def one_event(ticks: int) -> pa.Table:
    return pa.table({"start": [0], "end": [ticks], "x": [1.0]})


@contextmanager
def interrupted(after: float, number: int = signal.SIGINT) -> Iterator[None]:
    """A signal comes to this process after some seconds: `KeyboardInterrupt`.

    Python drops what is raised while it frees an object: garbage goes before.
    """
    gc.collect()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(after, os.kill, (os.getpid(), number))
    began = time.monotonic()
    try:
        timer.start()
        yield
        raise AssertionError("nobody was interrupted")
    except KeyboardInterrupt:
        assert time.monotonic() - began < SOON
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)


def wait_until_idle() -> None:
    """No thread goes on with work that was left."""
    ends = time.monotonic() + SOON
    while is_abandoned():
        assert time.monotonic() < ends
        time.sleep(0.01)


Given = Callable[[], dict[str, Any]]
KERNELS: dict[str, tuple[str, Given]] = {
    "rows": (POINTS + REFOLDED, lambda: {"x": points(1_000_000)}),
    "one worker": (
        POINTS + REFOLDED,
        lambda: {"x": points(1_000_000), "workers": 1},
    ),
    "one chunk": (
        POINTS + REFOLDED,
        lambda: {"x": points(1_000_000), "chunk": 1 << 40},
    ),
    "few rows": (EVERY_CELL, lambda: {"x": one_event(1 << 35)}),
    "one long chunk": (EVERY_CELL, lambda: {"x": one_event(1 << 35), "workers": 1}),
    "one key": (
        POINTS.replace("x :", "x by k :") + REFOLDED,
        lambda: {"x": by_key(1_000_000, 1)},
    ),
    "a batch of keys": (
        POINTS.replace("x :", "x by k :") + REFOLDED,
        lambda: {"x": by_key(3_000_000, 100), "workers": 1},
    ),
    "samples": (
        "input x : f32\n~o[t] = median(~x[t-100000 : t])",
        lambda: {"x": tilt.sampled(np.arange(2e7, dtype=np.float32) % 9973, 0, 1)},
    ),
}


@pytest.mark.parametrize("case", KERNELS)
def test_a_kernel(case: str) -> None:
    text, make = KERNELS[case]
    query, given = tilt.parse(text), make()
    with interrupted(0.3):
        query.run(**given)
    wait_until_idle()
    with interrupted(0.1):  # the next run is like the first
        query.run(**given)


def test_a_stream() -> None:
    query = tilt.parse(POINTS + REFOLDED)
    with interrupted(0.3):
        list(query.stream(x=points(1_000_000)))
    wait_until_idle()


def test_what_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next run waits for what still compiles, or compiles anew."""
    query = tilt.parse(POINTS + "~o[t] = ~x[t] + 1", options=uncached())
    release = threading.Event()

    def slow(*given: Any, **options: Any) -> Any:
        assert release.wait(SOON)
        return compile_object(*given, **options)

    monkeypatch.setattr(jit, "compile_object", slow)
    with interrupted(0.1):
        query.run(x=points(3))
    release.set()
    assert query.run(x=points(3)).num_rows == 3
    wait_until_idle()


def uncached() -> tilt.CompileOptions:
    return tilt.CompileOptions(cache=False)


# Frames and progress of the caller


class Reading:
    """A frame that is read as the function says."""

    def __init__(self, read: Callable[[], Iterator[pa.RecordBatch]]) -> None:
        self.reader = pa.RecordBatchReader.from_batches(points(1).schema, read())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.reader.__arrow_c_stream__(requested_schema)


@pytest.mark.covering(2)
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("method", ["run", "stream", "run_to"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_what_a_reader_raises(
    error: type[BaseException], method: str, tmp_path: Path, *, wrapped: bool
) -> None:
    def read() -> Iterator[pa.RecordBatch]:
        yield points(1).to_batches()[0]
        raise error

    query = tilt.parse(POINTS + "~o[t] = ~x[t] + 1")
    reading = Reading(read)
    frame = reading if wrapped else reading.reader
    ways: dict[str, Callable[[], object]] = {
        "run": lambda: query.run(x=frame),
        "stream": lambda: list(query.stream(x=frame)),
        "run_to": lambda: query.run_to(tmp_path / "o.parquet", x=frame),
    }
    with pytest.raises(error):
        ways[method]()
    assert not list(tmp_path.iterdir())
    assert query.run(x=points(3)).num_rows == 3
    wait_until_idle()


@pytest.mark.covering(1)
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ZeroDivisionError])
@pytest.mark.parametrize("ticks", [1000, 1 << 35])
def test_what_progress_raises(error: type[BaseException], ticks: int) -> None:
    def progress(_done: int, _total: int) -> None:
        raise error

    query = tilt.parse(EVERY_CELL)
    with pytest.raises(error):
        query.run(x=one_event(ticks), progress=progress)
    wait_until_idle()
    assert query.run(x=one_event(1000)).num_rows == 0


def test_readers_and_progress_are_the_callers() -> None:
    here, seen = threading.get_ident(), set()

    def read() -> Iterator[pa.RecordBatch]:
        for batch in points(100_000).to_batches(1000):
            seen.add(threading.get_ident())
            yield batch

    query = tilt.parse(POINTS + "~o[t] = ~x[t] + 1")
    for frame in (Reading(read), Reading(read).reader):
        result = query.run(
            x=frame, progress=lambda *_: seen.add(threading.get_ident()), workers=2
        )
        assert result.num_rows == 100_000
    assert seen == {here}


@pytest.mark.parametrize("main", [True, False])
def test_progress_is_heard_while_one_chunk_computes(*, main: bool) -> None:
    class Enough(Exception):  # noqa: N818
        pass

    calls = []

    def progress(done: int, total: int) -> None:
        calls.append((done, total))
        if len(calls) == 3:
            raise Enough

    cell = "sin(" * 20 + "t" + ")" * 20
    query = tilt.parse(EVERY_CELL.replace("sqrt(t)", cell).replace("<", ">"))
    query.run(x=one_event(10))

    def run() -> None:
        with pytest.raises(Enough):
            query.run(x=one_event(1 << 23), chunk=1 << 24, progress=progress)

    if main:
        run()
    else:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    assert calls == [(0, 1)] * 3
    wait_until_idle()


@pytest.mark.parametrize("known", [True, False])
def test_progress_of_a_stream_counts_rows(*, known: bool) -> None:
    query = tilt.parse(POINTS + "~o[t] = ~x[t] + 1")
    table, seen = points(100_000), list[tuple[int, int]]()
    frame = table if known else iter([table.slice(0, 60_000), table.slice(60_000)])
    results = query.stream(
        x=frame, memory="1MB", progress=lambda done, total: seen.append((done, total))
    )
    assert sum(result.num_rows for result in results) == 100_000
    assert seen == sorted(seen)
    assert seen[-1] == (100_000, 100_000)
    assert len(set(seen)) > 3
    assert all(total == (100_000 if known else done) for done, total in seen)


# Work in another thread


def test_outcomes_come_back() -> None:
    threads: list[int] = []

    def work() -> int:
        threads.append(threading.get_ident())
        assert in_caller(threading.get_ident) == threading.main_thread().ident
        with pytest.raises(ZeroDivisionError):
            in_caller(lambda: 1 // 0)
        return offload(lambda: 7)

    for _ in range(50):
        assert offload(work) == 7
    assert len(set(threads)) == 1  # the thread waits for the next work
    with pytest.raises(ZeroDivisionError):
        offload(lambda: 1 // 0)


def test_progress_is_told_everything_in_order() -> None:
    seen: list[tuple[int, int]] = []
    tell = call_in_caller(lambda done, total: seen.append((done, total)))

    def work() -> None:
        for done in range(1000):
            tell(done, 1000)

    offload(work, tell)
    assert seen == [(done, 1000) for done in range(1000)]


def test_work_in_python_ends_after_an_interrupt() -> None:
    def forever() -> None:
        while True:
            time.sleep(0.001)

    with interrupted(0.05):
        offload(forever)
    wait_until_idle()


# Files


def test_litter_of_a_killed_writer_is_swept(tmp_path: Path) -> None:
    target = tmp_path / "o.csv"
    program = (
        "import sys, time; from pathlib import Path\n"
        "from tiltpy.runtime.arrow.files import replace_files\n"
        "with replace_files(Path(sys.argv[1])) as (place,):\n"
        "    print(place, flush=True); time.sleep(60)"
    )
    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", program, str(target)],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        litter = Path(process.stdout.readline().strip())
        assert litter.exists()
        with replace_files(target):
            assert litter.exists()  # its writer lives
        process.kill()
    others = [
        tmp_path / name
        for name in (".o.csv.part", ".o.csv.1234567.part", ".p.csv.12345678.part")
    ]
    for other in others:
        other.touch()
    link = tmp_path / ".o.csv.abcdef01.part"
    link.symlink_to(others[0])
    with replace_files(target) as (place,):
        assert not litter.exists()
        place.write_text("done")
    assert target.read_text() == "done"
    assert sorted(tmp_path.iterdir()) == sorted([target, link, *others])


def test_a_draft_that_is_swept_before_it_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, lock = tmp_path / "o.csv", drafts._lock
    swept: list[Path] = []

    def late(descriptor: int) -> bool | None:
        if not swept:
            (place,) = tmp_path.iterdir()
            swept.append(place)
            place.unlink()
        return lock(descriptor)

    monkeypatch.setattr(drafts, "_lock", late)
    with replace_files(target) as (place,):
        assert place not in swept
        place.write_text("done")
    assert target.read_text() == "done"


def test_a_draft_that_is_thrown_away_is_freed_beside_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To free what a file holds takes long, and it is what closing it last does."""
    target, close = tmp_path / "o.csv", os.close
    freed_in: SimpleQueue[int] = SimpleQueue()

    def closes(descriptor: int) -> None:
        nameless = os.fstat(descriptor).st_nlink == 0
        close(descriptor)
        if nameless:
            freed_in.put(threading.get_ident())

    monkeypatch.setattr(os, "close", closes)
    with replace_files(target) as (place,):
        place.write_text("done")
    assert freed_in.empty()
    with pytest.raises(KeyboardInterrupt), replace_files(target):
        raise KeyboardInterrupt
    assert freed_in.get(timeout=SOON) != threading.get_ident()
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_a_write_that_is_left(tmp_path: Path, suffix: str) -> None:
    query = tilt.parse(POINTS + "~o[t] = ~x[t] * ~x[t-1] + 1")
    (tmp_path / f"o{suffix}").touch()

    def rows() -> Iterator[pa.Table]:
        for first in range(1 << 30):
            table = points(1 << 17)
            stamps = pa.array(np.arange(1 << 17) + (first << 17))
            yield table.set_column(0, "ts", stamps)

    with interrupted(0.5):
        query.run_to(tmp_path / f"o{suffix}", x=rows())
    assert [one.name for one in tmp_path.iterdir()] == [f"o{suffix}"]
    wait_until_idle()
    assert [one.name for one in tmp_path.iterdir()] == [f"o{suffix}"]
    assert (tmp_path / f"o{suffix}").stat().st_size == 0


# Scripts and the command line


def test_a_script_ends_soon(tmp_path: Path) -> None:
    """Without the last search for cycles, which takes longer than all else."""
    (tmp_path / "script.py").write_text(
        "import atexit, gc, signal, pyarrow as pa\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 0))\n"
        "import tiltpy as tilt\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"query = tilt.parse({EVERY_CELL!r})\n"
        "def run(end):\n"
        "    rows = {'start': [0], 'end': [end], 'x': [1.0]}\n"
        "    query.run(x=pa.table(rows), workers=1)\n"
        "run(1 << 20)  # compiles: Python drops what is raised while it frees objects\n"
        "gc.collect()\n"
        "print('ready', flush=True)\n"
        "run(1 << 35)\n"
    )
    with subprocess.Popen(  # noqa: S603
        [sys.executable, tmp_path / "script.py"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "True\n"
        assert process.stderr.read().splitlines()[-1] == "KeyboardInterrupt"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_command(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "q.tilt").write_text(EVERY_CELL)
    pq.write_table(one_event(1 << 35), tmp_path / "x.parquet")
    program = (
        "import os, signal, sys, tiltpy.cli.run as run\n"
        "from tiltpy.cli.main import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"  # as without nohup
        "read = run.read_run_options\n"
        "def reads(*given, **more):\n"
        "    os.write(1, b'ready\\n'); return read(*given, **more)\n"
        "run.read_run_options = reads; sys.exit(main())"
    )
    words = ["run", "q.tilt", "--input", "x=x.parquet", "--output", "o.csv"]
    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", program, *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        time.sleep(0.3)
        process.send_signal(number)
        said = process.stderr.read()
    assert process.returncode == 128 + number
    lines = [one for one in said.splitlines() if not one.startswith("warning: ")]
    assert lines == (["tilt: interrupted"] if number == signal.SIGINT else [])
    assert sorted(one.name for one in tmp_path.iterdir()) == ["q.tilt", "x.parquet"]

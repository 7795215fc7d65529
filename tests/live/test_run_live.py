"""`run_live`: rows of sources become those of sinks, also after any interruption."""

import itertools
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tiltpy as tilt
from tiltpy.errors import ArgumentError, DataError, StateError, TiltError
from tiltpy.live import live_run, sinks, sources, timers
from tiltpy.live.intake import Intake
from tiltpy.live.run_live import run_live
from tiltpy.live.sinks.sink import Sink
from tiltpy.live.sources.source import Batch, RowSource
from tiltpy.live.timers import Intervals, Timers

SUMS = (
    "unit s\ninput x : f64 time t point\ng = TDom(-∞, ∞, 4)\n~y[g] = sum(~x[g-8 : g])\n"
)
KEYED = "unit s\ninput x by k : f64 time t point\n~y[t] = sum(~x[t-5 : t])\n"
BOTH = (
    "unit s\ninput x : f64 time t point\ninput q : f64 time t until_next\n"
    "~y[t] = ~x[t] * ~q[t]\n"
)
COUNT = 200


def make_rows(count: int = COUNT, seed: int = 1) -> pa.Table:
    """Rows in nearly the order of time, of three keys."""
    draw = np.random.default_rng(seed)
    stamps = np.arange(count) + draw.integers(-3, 4, count)
    values = draw.integers(-8, 9, count) / 8
    keys = draw.choice(["a", "b", "c"], count)
    return pa.table({"t": stamps, "k": keys, "x": values})


def batches_of(rows: pa.Table, size: int) -> list[pa.Table]:
    return [rows.slice(first, size) for first in range(0, rows.num_rows, size)]


def collect() -> tuple[Sink, Callable[[], list[dict[str, Any]]]]:
    """Make a sink, and what gives all rows that it has."""
    tables: list[pa.Table] = []
    rows = lambda: pa.concat_tables(tables).to_pylist() if tables else []  # noqa: E731
    return sinks.call(tables.append), rows


class CrashError(Exception):
    """An error that a test raises in the middle of a run."""


@pytest.mark.parametrize("size", [1, 7, COUNT])
@pytest.mark.parametrize("query", [SUMS, KEYED])
def test_live_is_the_run_over_all_rows(query: str, size: int) -> None:
    rows = make_rows()
    if query == SUMS:
        rows = rows.drop_columns("k")
    compiled = tilt.parse(query)
    sink, written = collect()
    outcome = run_live(
        compiled,
        sources={"x": sources.frames(batches_of(rows, size))},
        into={"y": sink},
        x=tilt.ingress(reorder="7s"),
    )
    end = max(row["end"] for row in written())
    expected = compiled.run(x=rows, end=end)["y"].to_arrow().to_pylist()
    order = lambda row: (row.get("k", ""), row["start"])  # noqa: E731
    assert sorted(written(), key=order) == sorted(expected, key=order)
    assert outcome.finished
    assert outcome.rows == {"y": len(expected)}


def test_late_rows_go_to_a_sink_of_their_own(tmp_path: Path) -> None:
    stamps = [1, 5, 2, 9, 6, 7]
    rows = pa.table({"t": stamps, "x": [1.0] * 6})
    sink, written = collect()
    path = tmp_path / "late.jsonl"
    outcome = run_live(
        tilt.parse(SUMS),
        sources={"x": sources.frames(batches_of(rows, 2))},
        into={"y": sink},
        late={"x": sinks.file(path)},
        x=tilt.ingress(reorder="1s", late="side"),
    )
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["t"], line["row"], line["late_by"]) for line in lines] == [
        (2, 2, 2), (6, 4, 2), (7, 5, 1),
    ]  # fmt: skip
    assert outcome.late == {"x": 3}
    accepted = rows.filter(pa.array([stamp in (1, 5, 9) for stamp in stamps]))
    assert written() == tilt.parse(SUMS).run(x=accepted)["y"].to_arrow().to_pylist()


def test_an_output_without_rows_has_a_header(tmp_path: Path) -> None:
    path = tmp_path / "y.csv"
    run_live(
        tilt.parse(SUMS),
        sources={"x": sources.frames([])},
        into={"y": sinks.file(path)},
    )
    assert path.read_text() == '"start","end","y"\n'


# Interruptions


def places(folder: Path) -> dict[str, Path]:
    folder.mkdir(exist_ok=True)
    return {"y": folder / "y.jsonl", "z": folder / "z"}


TWO = SUMS + "~z[t] = count(~x[t-3 : t])\noutput ~y\noutput ~z\n"


def start(
    folder: Path,
    source: RowSource,
    query: str = TWO,
    **options: Any,
) -> Any:
    """Run with a state folder, a file and a folder of Parquet files."""
    files = places(folder)
    return run_live(
        tilt.parse(query),
        sources={"x": source},
        into={"y": sinks.file(files["y"]), "z": sinks.folder(files["z"])},
        state=folder / "state",
        x=tilt.ingress(reorder="7s"),
        **{"checkpoint": "0s", **options},
    )


def read_all(folder: Path) -> tuple[bytes, list[dict[str, Any]]]:
    """The bytes of the file, and the rows of the folder: checkpoints cut its files."""
    files = places(folder)
    parts = [pq.read_table(part) for part in sorted(files["z"].glob("part-*"))]
    rows = pa.concat_tables(parts).to_pylist() if parts else []
    return files["y"].read_bytes(), rows


def test_a_run_goes_on_after_a_failure_at_any_batch(tmp_path: Path) -> None:
    frames = batches_of(make_rows(60).drop_columns("k"), 10)
    start(tmp_path / "whole", sources.frames(frames))
    whole = read_all(tmp_path / "whole")
    assert whole[0]
    assert whole[1]
    for stop in range(len(frames) + 1):
        folder = tmp_path / str(stop)

        def fail(at: int = stop) -> Iterator[pa.Table]:
            for number, frame in enumerate(frames):
                if number == at:
                    time.sleep(0.02)  # so that those before are in a checkpoint
                    raise CrashError
                yield frame
            raise CrashError

        with pytest.raises(CrashError):
            start(folder, sources.frames(fail))
        start(folder, sources.frames(frames))
        assert read_all(folder) == whole, stop
        start(folder, sources.frames(frames))  # a finished run does nothing
        assert read_all(folder) == whole


class Breaking:
    """A sink around another one, whose n-th call of a method fails, before or after."""

    def __init__(self, sink: Sink, calls: Iterator[int], at: int) -> None:
        self._sink, self._calls, self._at = sink, calls, at

    def _call(self, method: str, *args: object) -> Any:
        if next(self._calls) == self._at:
            raise CrashError
        result = getattr(self._sink, method)(*args)
        if next(self._calls) == self._at:
            raise CrashError
        return result

    def write(self, table: pa.Table) -> None:
        self._call("write", table)

    def flush(self) -> object:
        return self._call("flush")

    def restore(self, position: object) -> None:
        self._call("restore", position)

    def commit(self) -> None:
        if hasattr(self._sink, "commit"):
            self._call("commit")

    def is_empty(self) -> bool:
        return self._sink.is_empty()  # type: ignore[attr-defined, no-any-return]

    def close(self) -> None:
        self._sink.close()


def test_a_run_goes_on_after_a_failure_in_any_sink_call(tmp_path: Path) -> None:
    frames = batches_of(make_rows(40).drop_columns("k"), 20)

    def go(folder: Path, at: int) -> int:
        calls = iter(range(1 << 30))
        files = places(folder)
        run_live(
            tilt.parse(TWO),
            sources={"x": sources.frames(slowly(frames))},
            into={
                "y": Breaking(sinks.file(files["y"]), calls, at),
                "z": Breaking(sinks.folder(files["z"]), calls, at),
            },
            state=folder / "state",
            checkpoint="0s",
            x=tilt.ingress(reorder="7s"),
        )
        return next(calls)

    def slowly(frames: list[pa.Table]) -> Iterator[pa.Table]:
        for frame in frames:
            yield frame
            time.sleep(0.005)

    count = go(tmp_path / "whole", -1)
    whole = read_all(tmp_path / "whole")
    assert count > 20
    for at in range(count):
        folder = tmp_path / str(at)
        try:
            go(folder, at)
        except CrashError:
            go(folder, -1)
        assert read_all(folder) == whole, at


def test_ctrl_c_makes_a_checkpoint_and_leaves(tmp_path: Path) -> None:
    frames = batches_of(make_rows(60).drop_columns("k"), 10)
    start(tmp_path / "whole", sources.frames(frames))

    def interrupt() -> Iterator[pa.Table]:
        yield from frames[:3]
        time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        start(tmp_path / "cut", sources.frames(interrupt), checkpoint=None)
    assert signal.getsignal(signal.SIGINT) is before
    assert read_all(tmp_path / "cut")[1]
    start(tmp_path / "cut", sources.frames(frames))
    assert read_all(tmp_path / "cut") == read_all(tmp_path / "whole")


def test_what_is_not_final_waits_without_until_end(tmp_path: Path) -> None:
    frames = batches_of(make_rows(60).drop_columns("k"), 10)
    start(tmp_path / "whole", sources.frames(frames))
    outcome = start(tmp_path / "cut", sources.frames(frames[:3]), until_end=False)
    assert not outcome.finished
    assert start(tmp_path / "cut", sources.frames(frames)).finished
    assert read_all(tmp_path / "cut") == read_all(tmp_path / "whole")


# State folders


def test_a_state_folder_has_one_user(tmp_path: Path) -> None:
    frames = batches_of(make_rows(20).drop_columns("k"), 10)
    began, ends = threading.Event(), threading.Event()

    def wait() -> Iterator[pa.Table]:
        began.set()
        ends.wait(30)
        yield from frames

    first = threading.Thread(target=start, args=(tmp_path, sources.frames(wait)))
    first.start()
    began.wait(30)
    message = f"process {os.getpid()} uses this state folder; end it"
    with pytest.raises(StateError, match=message):
        start(tmp_path, sources.frames(frames))
    ends.set()
    first.join()
    start(tmp_path, sources.frames(frames))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content[:-1], "is damaged, its checksum does not fit"),
        (lambda content: content[:100] + b"?" + content[101:], "is damaged"),
        (lambda _: b"", "is no checkpoint"),
        (lambda _: b"something else" * 10, "is no checkpoint"),
    ],
)
def test_a_damaged_state_is_refused_and_nothing_changed(
    change: Callable[[bytes], bytes], message: str, tmp_path: Path
) -> None:
    frames = batches_of(make_rows(30).drop_columns("k"), 10)
    start(tmp_path, sources.frames(frames), until_end=False)
    path = tmp_path / "state" / "checkpoint"
    changed = change(path.read_bytes())
    path.write_bytes(changed)
    before = read_all(tmp_path)
    with pytest.raises(StateError, match=message):
        start(tmp_path, sources.frames(frames))
    assert path.read_bytes() == changed
    assert read_all(tmp_path) == before


def test_the_state_of_another_run_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = batches_of(make_rows(30).drop_columns("k"), 10)
    start(tmp_path, sources.frames(frames), until_end=False)
    before = read_all(tmp_path)
    with pytest.raises(StateError, match="belongs to another query, or to one with"):
        start(tmp_path, sources.frames(frames), query=TWO.replace("g-8", "g-16"))
    with pytest.raises(StateError, match="belongs to another query, or to one with"):
        run_live(
            tilt.parse(TWO),
            sources={"x": sources.frames(frames)},
            into={},
            state=tmp_path / "state",
            x=tilt.ingress(reorder="8s"),
        )
    with pytest.raises(StateError, match="with the sinks y, z, and this one has y;"):
        run_live(
            tilt.parse(TWO),
            sources={"x": sources.frames(frames)},
            into={"y": sinks.file(tmp_path / "y.jsonl")},
            state=tmp_path / "state",
            x=tilt.ingress(reorder="7s"),
        )
    monkeypatch.setattr("importlib.metadata.version", lambda _: "9.9")
    with pytest.raises(StateError, match=r"was written by tiltpy .*, and this is 9\.9"):
        start(tmp_path, sources.frames(frames))
    assert read_all(tmp_path) == before


def test_rows_of_another_state_are_not_overwritten(tmp_path: Path) -> None:
    frames = batches_of(make_rows(30).drop_columns("k"), 10)
    start(tmp_path, sources.frames(frames))
    (tmp_path / "state").rename(tmp_path / "old")
    before = read_all(tmp_path)
    with pytest.raises(StateError, match=r"has rows, but .*state has no checkpoint of"):
        start(tmp_path, sources.frames(frames))
    assert read_all(tmp_path) == before
    (tmp_path / "state").rename(tmp_path / "empty")
    (tmp_path / "old").rename(tmp_path / "state")
    start(tmp_path, sources.frames(frames))


def test_a_folder_of_something_else_is_no_state(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "notes.txt").write_text("")
    with pytest.raises(StateError, match=r"no state folder, found notes\.txt in it"):
        start(tmp_path, sources.frames([]))
    with pytest.raises(StateError, match=r"there is no directory .*no; make it first"):
        run_live(
            tilt.parse(SUMS),
            sources={"x": sources.frames([])},
            into={},
            state=tmp_path / "no" / "state",
        )


def test_a_source_with_other_rows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("t,x\n1,1\n2,1\n")
    start(tmp_path, sources.tail(path, follow=False), until_end=False)
    path.write_text("t,x\n1,2\n2,1\n3,1\n")
    with pytest.raises(DataError, match="are not those that were there"):
        start(tmp_path, sources.tail(path, follow=False))


# Time


class Hand:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_timers_say_what_is_due() -> None:
    clock = Hand()
    timers = Timers(Intervals(1.0, {"x": 5.0, "q": 2.0}, {"q": 3.0}), clock)
    assert timers.take_beats() == ["q"]
    assert timers.wait(changed=False) == 1.0
    clock.now += 0.5
    assert timers.wait(changed=True) == 0.5
    assert not timers.is_checkpoint_due()
    clock.now += 0.5
    assert timers.is_checkpoint_due()
    timers.note_checkpoint()
    assert not timers.is_checkpoint_due()
    clock.now = 102.0
    assert timers.take_idle() == ["q"]
    assert timers.take_idle() == []
    clock.now = 104.0
    timers.note_rows("x")
    timers.note_rows("q")
    clock.now = 106.0
    assert timers.take_idle() == ["q"]
    clock.now = 109.0
    assert timers.take_idle() == ["x"]
    timers.drop("q")
    assert timers.take_beats() == []
    assert timers.wait(changed=False) is None


def hold(
    *frames: pa.Table, until: threading.Event, taken: threading.Event | None = None
) -> Iterator[pa.Table]:
    """Give some frames, say that they were taken, and end later."""
    yield from frames
    if taken is not None:
        taken.set()
    assert until.wait(30)


def test_an_idle_input_does_not_hold_back_the_others() -> None:
    quiet, done = pa.table({"t": [1], "x": [2.0]}), threading.Event()
    rows = pa.table({"t": range(10), "x": [1.0] * 10})
    written: list[int] = []
    quiet_taken = threading.Event()

    def follow() -> Iterator[pa.Table]:
        assert quiet_taken.wait(30)
        yield from hold(rows, until=done)

    def note(table: pa.Table) -> None:
        written.extend(table["end"].to_pylist())
        if 8 in written:
            done.set()

    run_live(
        tilt.parse(BOTH),
        sources={
            "x": sources.frames(follow),
            "q": sources.frames(hold(quiet, until=done, taken=quiet_taken)),
        },
        into={"y": sinks.call(note)},
        idle={"q": "50ms"},
    )
    assert written == list(range(1, 10))


def test_an_input_whose_rows_wait_is_not_idle() -> None:
    """They came while a push, which took longer than the input may be quiet."""
    quiet, done = pa.table({"t": [1], "x": [2.0]}), threading.Event()
    rows = pa.table({"t": range(10), "x": [1.0] * 10})
    pushing, quiet_taken = threading.Event(), threading.Event()

    def note(update: Any) -> None:
        if not pushing.is_set():
            pushing.set()
            assert quiet_taken.wait(30)
            time.sleep(0.1)
        elif update["y"].final.num_rows:
            done.set()

    def arrive() -> Iterator[pa.Table]:
        assert pushing.wait(30)
        yield from hold(quiet, until=done, taken=quiet_taken)

    sink, written = collect()
    outcome = run_live(
        tilt.parse(BOTH),
        sources={
            "x": sources.frames(hold(rows, until=done)),
            "q": sources.frames(arrive),
        },
        into={"y": sink},
        idle={"q": "50ms"},
        on_update=note,
    )
    assert outcome.late == {"x": 0, "q": 0}
    assert [row["end"] for row in written()] == list(range(1, 10))


def test_an_input_that_has_ended_holds_nothing_back() -> None:
    done = threading.Event()
    rows = pa.table({"t": range(10), "x": [1.0] * 10})
    sink, written = collect()

    def note(update: Any) -> None:
        if update["y"].through is not None and update["y"].through >= 8:
            done.set()

    run_live(
        tilt.parse(BOTH),
        sources={
            "x": sources.frames(hold(rows, until=done)),
            "q": sources.frames([pa.table({"t": [1], "x": [2.0]})]),
        },
        into={"y": sink},
        on_update=note,
    )
    assert [row["end"] for row in written()] == list(range(1, 10))


def test_a_heartbeat_promises_what_the_clock_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a wall clock that goes on by 20 s from one heartbeat to the next."""
    now = 1_000_000_000
    seconds = itertools.count(now, 20)
    monkeypatch.setattr(live_run, "read_clock", lambda: next(seconds) * 10**9)
    monkeypatch.setattr(timers, "BEAT", 0.02)
    stamps = pa.array([now - 10, now - 9], pa.timestamp("s"))
    rows = pa.table({"t": stamps, "x": [1.0, 2.0]})
    done = threading.Event()
    last = np.datetime64(now + 100, "s").item()

    def note(update: Any) -> None:
        if update["y"].through is not None and update["y"].through >= last:
            done.set()

    sink, written = collect()
    run_live(
        tilt.parse(SUMS),
        sources={"x": sources.frames(hold(rows, until=done))},
        into={"y": sink},
        heartbeat={"x": "30s"},
        on_update=note,
        until_end=False,
    )
    assert [row["y"] for row in written()] == [3.0]
    with pytest.raises(TiltError, match="the ticks of the query have no unit"):
        run_live(
            tilt.parse(SUMS.replace("unit s\n", "")),
            sources={"x": sources.frames([])},
            into={},
            heartbeat={"x": "10s"},
        )


def test_promises_of_a_source_are_kept_in_order() -> None:
    given = [
        Batch(pa.table({"t": [1, 2], "x": [1.0, 1.0]}), 1, promise=10),
        Batch(None, 2, promise=20),
        Batch(pa.table({"t": [15, 25], "x": [1.0, 1.0]}), 3),
    ]
    sink, written = collect()
    outcome = run_live(
        tilt.parse(SUMS), sources={"x": sources.frames(given)}, into={"y": sink}
    )
    assert outcome.late == {"x": 1}
    assert written()[-1]["y"] == 1.0


# What comes, and how much at once


def test_sources_wait_where_the_queue_is_full() -> None:
    table = pa.table({"x": range(1000)})
    seen: list[int] = []

    def draw() -> Iterator[pa.Table]:
        for number in range(50):
            seen.append(number)
            yield table

    intake = Intake({"x": sources.frames(draw)}, full=5 * table.nbytes)
    intake.start()
    for _ in range(100):
        time.sleep(0.01)
        if len(seen) >= 6:
            break
    time.sleep(0.05)
    assert 5 <= len(seen) <= 7
    taken = 0
    while True:
        deliveries = intake.take(5.0)
        taken += sum(delivery.rows is not None for delivery in deliveries)
        if any(delivery.ended for delivery in deliveries):
            break
    assert taken == 50


def test_frames_of_several_schemas_are_pushed_one_by_one() -> None:
    frames = [
        pa.table({"t": [1], "x": [1.0]}),
        pa.table({"t": [2], "x": [2.0], "more": ["a"]}),
    ]
    sink, written = collect()
    run_live(tilt.parse(SUMS), sources={"x": sources.frames(frames)}, into={"y": sink})
    assert written()[0]["y"] == 3.0


def test_the_error_of_a_source_ends_the_run() -> None:
    def fail() -> Iterator[pa.Table]:
        yield pa.table({"t": [1], "x": [1.0]})
        raise CrashError

    sink, _ = collect()
    with pytest.raises(CrashError):
        run_live(
            tilt.parse(SUMS), sources={"x": sources.frames(fail)}, into={"y": sink}
        )


def test_a_session_may_be_given() -> None:
    rows = make_rows(30).drop_columns("k")
    sink, written = collect()
    with tilt.parse(SUMS).live(x=tilt.ingress(reorder="7s")) as session:
        run_live(
            session,
            sources={"x": sources.frames(batches_of(rows, 7))},
            into={"y": sink},
        )
    assert written() == tilt.parse(SUMS).run(x=rows)["y"].to_arrow().to_pylist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sources": {}}, "input 'x' has no source; give one"),
        (
            {"sources": {"x": None, "z": None}},
            "sources: the query has no 'z'; it has x",
        ),
        ({"into": {"yy": None}}, "into: the query has no 'yy'.*did you mean 'y'"),
        ({"late": {"x": sinks.call(print)}}, "'x' does not give its late rows back"),
        (
            {"sources": {"x": pa.table({"x": [1.0]})}},
            r"sources\['x'\]: expected a source: .*frames.*, found a Table",
        ),
        (
            {"into": {"y": print}},
            r"into\['y'\]: expected a sink: .*call\(function\).*, found a builtin",
        ),
        ({"into": {"y": "y.csv"}}, "expected a sink: tilt.sinks.file.*, found a str"),
        ({"late": {"x": "late.csv"}}, "expected a sink"),
        ({"idle": {"q": "1s"}}, "idle: the query has no 'q'"),
        ({"idle": {"x": 1}}, "idle=1: expected a duration, like '5s'"),
        ({"checkpoint": "soon"}, "checkpoint='soon': expected ticks or a duration"),
        ({"x": 3}, r"ingress\(...\)"),
    ],
)
def test_wrong_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    usual: dict[str, Any] = {"sources": {"x": sources.frames([])}, "into": {}}
    with pytest.raises(ArgumentError, match=message):
        run_live(tilt.parse(SUMS), **{**usual, **options})
    with (
        tilt.parse(SUMS).live() as session,
        pytest.raises(ArgumentError, match="of a session takes no state="),
    ):
        run_live(session, **usual, state="state")


def test_errors_say_where_a_row_came_from(tmp_path: Path) -> None:
    query = tilt.parse("unit s\ninput x : f64 time ts point\n~y[t] = ~x[t]")

    def rows(*stamps: int | None, column: str = "x") -> pa.Table:
        times = pa.array(stamps, pa.int64()).cast(pa.timestamp("s"))
        return pa.table({"ts": times, column: [1.0] * len(stamps)})

    folder = tmp_path / "rows"
    folder.mkdir()
    pq.write_table(rows(1, 2, 3), folder / "1.parquet")
    pq.write_table(rows(4, None), folder / "2.parquet")
    text = tmp_path / "x.jsonl"
    lines = [f'{{"ts": "1970-01-01T00:00:0{n}", "x": {n}}}\n' for n in (1, 2, 3)]
    text.write_text("".join([*lines, '{"ts": null, "x": 1}\n']))
    frames = [rows(1, 2), rows(3), rows(4, column="z")]
    for source, where in (
        (tilt.sources.folder(folder, follow=False), r"row 1: in .*2\.parquet: the t"),
        (tilt.sources.file(text), r"row 3: in .*x\.jsonl: the time is null"),
        (tilt.sources.frames([*frames[:2], rows(None)]), "row 0: in frame 3: the ti"),
        (tilt.sources.frames(frames), "'x': in frame 3: there is no such column"),
        (tilt.sources.replay(folder / "2.parquet", speed=1e9), r"row 1: in .*2\.parq"),
    ):
        with pytest.raises(tilt.DataError, match=where):
            tilt.run_live(query, sources={"x": source}, into={})
    pq.write_table(rows(4, column="z"), folder / "2.parquet")
    source = tilt.sources.folder(folder, follow=False)
    with pytest.raises(tilt.DataError, match=r"in .*2\.parquet: there is no such col"):
        tilt.run_live(query, sources={"x": source}, into={})

"""The forms of outputs: a sink that applies what it is told has the rows of now."""

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.engines.test_keyed_streams import draw_case
from tests.keyed import table_of
from tests.live.arrivals import Call, Push, random_calls, shuffle_arrivals
from tests.live.test_laws import open_engine, resume, without_keys
from tests.random.keyed_queries import KeyedCase
from tiltpy.engines.live.session import LiveEngine
from tiltpy.errors import ArgumentError
from tiltpy.ir.keys import keys_of
from tiltpy.ir.print.query import format_query
from tiltpy.live import output_forms, sources
from tiltpy.live.output_forms import FormName, OutputForm, OutputWriter, open_writers
from tiltpy.live.row_changes import list_changes, list_upserts
from tiltpy.live.run_live import run_live
from tiltpy.live.sinks import call, file
from tiltpy.live.sources.source import Batch, RowSource
from tiltpy.live_session import Update

DEEP = 60
"""The random queries of each kind in a deep run."""
Rows = Counter[str]
SUMS = (
    "unit s\ninput x : f64 time t point\ng = TDom(-∞, ∞, 4)\n~y[g] = sum(~x[g-4 : g])\n"
)
QUERIES = {
    "sums": SUMS,
    "keyed": SUMS.replace("x :", "x by k :"),
    "episodes": "unit s\ninput x by k : i64 time t until_next\n"
    "distinct ~y[t] = ~x[t] > 0 ? true : φ\n",
    "one": "unit s\ninput x : i64 time t until_next\ndistinct ~y[t] = ~x[t] > 0\n",
    "structs": "unit s\ninput x : f64 time t point\ng = TDom(-∞, ∞, 4)\n"
    "~y[g] = { last = last(~x[g-4 : g]), of = { n = count(~x[g-4 : g]), "
    "high = max(~x[g-2 : g]) } }\n",
    "rows": "unit s\ninput x : f64 time t duration 5\ne = Rows(~x)\n"
    "~y[e] = ~x[e] + count(~x[e-3 : e])\n",
}


def count_rows(table: pa.Table) -> Rows:
    """Count rows by their text, which tells all bits of a float."""
    return Counter(map(repr, table.to_pylist()))


def apply_changes(rows: Rows, table: pa.Table) -> Rows:
    """Add what a table of changes says; no row is taken back that is not there."""
    for row in table.to_pylist():
        weight = row.pop(table.schema.names[-1])
        assert weight in (-1, 1)
        rows[repr(row)] += weight
        assert rows[repr(row)] >= 0, row
    return +rows


def apply_upserts(rows: dict[object, str], table: pa.Table, place: int) -> int:
    """Put and delete rows by their key and start; counts those there were."""
    count: int = len(rows) + table.num_rows
    for row in table.to_pylist():
        operation = row.pop(table.schema.names[-1])
        at = repr(list(row.values())[:place])
        if operation == "delete":
            del rows[at]
        else:
            assert operation == "put"
            assert rows.get(at) != repr(row), "a row that is there is not put again"
            rows[at] = repr(row)
    return count - len(rows)


class Replica:
    """The sink of an output, which does what it is told, and what must come of it."""

    def __init__(self, form: OutputForm, place: int) -> None:
        self._form, self._place = form, place
        self._tables: list[pa.Table] = []
        self.sink = call(self._tables.append)
        self.rows: Rows = Counter()
        self._by_place: dict[object, str] = {}
        self._final: Rows = Counter()
        self.revised = 0

    def add(self, final: pa.Table) -> None:
        self._final += count_rows(final)

    def check(self, provisional: pa.Table | None) -> None:
        """Compare the sink's rows with the final and the provisional ones."""
        for table in self._tables:
            if self._form.name == "changes":
                self.revised += table["weight"].to_pylist().count(-1)
                self.rows = apply_changes(self.rows, table)
            else:
                self.revised += apply_upserts(self._by_place, table, self._place)
                self.rows = Counter(self._by_place.values())
        self._tables.clear()
        expected = self._final.copy()
        if provisional is not None:
            expected += count_rows(provisional)
        assert self.rows == expected


def check_session(case: KeyedCase, form: OutputForm, seed: int) -> int:
    """Run a session that settles, and is resumed, at random moments."""
    random = Random(seed)  # noqa: S311
    reorder = {name: random.choice((0, 2, 6)) for name in case.inputs}
    inputs = {
        name: shuffle_arrivals(rows, reorder[name], random)
        for name, rows in case.inputs.items()
    }
    case = replace(case, inputs=inputs, end=None)
    engine = open_engine(case, reorder, random)
    by_row = {d.name for d in case.query.definitions if d.tdom.rows is not None}
    names = [n for n in case.query.outputs if form.name != "upsert" or n not in by_row]
    form.check(case.query, names)
    replicas = {n: Replica(form, len(keys_of(case.query, n)) + 1) for n in names}
    writers = open_all(case, form, replicas, {})
    for each in split_pushes(random_calls(inputs, random)):
        update = call_engine(engine, each, inputs)
        for name, writer in writers.items():
            writer.write(update[name], last=False)
            replicas[name].add(update[name].final.to_arrow())
        if random.random() < 0.5:
            for name, writer in writers.items():
                writer.settle(update[name])
                replicas[name].check(form.provisional(update[name]))
            if engine.inputs and random.random() < 0.5:
                engine = resume(case, reorder, random, engine)
                now = Update(engine, engine.look())
                standing = {name: form.provisional(now[name]) for name in names}
                writers = open_all(case, form, replicas, standing)
    update = Update(engine, engine.finish())
    for name, writer in writers.items():
        writer.write(update[name], last=True)
        replicas[name].add(update[name].final.to_arrow())
        replicas[name].check(None)
    return sum(replica.revised for replica in replicas.values())


def split_pushes(calls: Iterable[Call]) -> Iterator[Call]:
    """Split pushes into those of three rows at most."""
    for each in calls:
        if isinstance(each, Push):
            for first in range(each.first, each.stop, 3):
                yield Push(each.input, first, min(first + 3, each.stop))
        else:
            yield each


def open_all(
    case: KeyedCase,
    form: OutputForm,
    replicas: dict[str, Replica],
    standing: dict[str, pa.Table],
) -> dict[str, OutputWriter]:
    sinks = {name: replica.sink for name, replica in replicas.items()}
    return open_writers(form, sinks, case.query, standing)


def call_engine(engine: LiveEngine, each: Call, inputs: dict[str, Any]) -> Update:
    if isinstance(each, Push):
        rows = table_of(inputs[each.input], 1000)
        part = rows.slice(each.first, each.stop - each.first)
        return Update(engine, engine.push({each.input: part}))
    return Update(engine, engine.advance({each.input: each.time}))


@pytest.mark.covering(1)
@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("form", ["changes", "upsert"])
def test_sinks_of_random_queries_have_the_rows_of_now(
    form: FormName, early: bool, *, deep: bool
) -> None:
    for seed, (kind, keys) in itertools.product(
        range(DEEP if deep else 1),
        itertools.product(("plain", "open rows"), (False, True)),
    ):
        case = draw_case(kind, seed)
        case = case if keys else without_keys(case)
        try:
            check_session(case, OutputForm(form, early), seed)
        except tilt.QueryError as error:
            assert error.code == "E0305", error  # noqa: PT017
        except BaseException as error:
            error.add_note(f"{kind}, seed {seed}\n{format_query(case.query)}")
            raise


@pytest.mark.covering(2)
@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("form", ["changes", "upsert"])
@pytest.mark.parametrize("name", QUERIES)
def test_a_sink_has_the_rows_of_now(name: str, form: FormName, early: bool) -> None:
    """Rows are taken back and replaced, also after the session was saved."""
    query = tilt.parse(QUERIES[name])
    if form == "upsert" and name == "rows":
        return
    draw = Random(name)  # noqa: S311
    way = tilt.ingress(reorder="3s")
    session = query.live(x=way)
    output = OutputForm(form, early)
    columns = 1 + len(keys_of(query.query, "y"))
    replica = Replica(output, columns)

    def open_writer(standing: dict[str, pa.Table]) -> OutputWriter:
        return open_writers(output, {"y": replica.sink}, query.query, standing)["y"]

    writer = open_writer({})
    final, pushed = [], []
    for time in range(60):
        stamp = time + draw.randint(-1, 1)
        row = {"t": stamp, "k": draw.choice("ab"), "x": draw.randint(0, 3)}
        if "by k" not in QUERIES[name]:
            del row["k"]
        pushed.append(row)
        update = session.push(x=pa.Table.from_pylist([row]))["y"]
        writer.write(update, last=False)
        final.append(update.final.to_arrow())
        replica.add(final[-1])
        if draw.random() < 0.6:
            writer.settle(update)
            replica.check(output.provisional(update))
            if draw.random() < 0.3:
                session = query.live(x=way, resume=session.save())
                now = session.result()["y"]
                writer = open_writer({"y": output.provisional(now)})
    update = session.finish()["y"]
    writer.write(update, last=True)
    replica.add(update.final.to_arrow())
    replica.check(None)
    result = query.run(x=pa.Table.from_pylist(pushed))["y"].to_arrow()
    assert replica.rows == count_rows(result)
    assert replica.revised or (name not in ("one", "episodes") and not early)


def test_rows_of_one_text_are_counted() -> None:
    nan = float("nan")
    old = pa.table({"a": [1, 1, 2, 3], "b": [nan, nan, 0.0, None]})
    new = pa.table({"a": [3, 1, 2, 4, 4], "b": [None, nan, -0.0, 1.0, 1.0]})
    changes = list_changes(old, new)
    assert changes["weight"].to_pylist() == [-1, -1, 1, 1, 1]
    assert changes["a"].to_pylist() == [1, 2, 2, 4, 4]
    assert apply_changes(count_rows(old), changes) == count_rows(new)


def test_a_column_of_that_name_keeps_it() -> None:
    old = pa.table({"start": [0, 1], "weight": [1, 2], "op": ["a", "b"]})
    new = pa.table({"start": [1, 2], "weight": [3, 4], "op": ["c", "d"]})
    assert list_changes(old, new).schema.names == ["start", "weight", "op", "weight_"]
    upserts = list_upserts(old, new, 1)
    assert upserts.schema.names == ["start", "weight", "op", "op_"]
    assert upserts["start"].to_pylist() == [0, 1, 2]
    assert upserts["op_"].to_pylist() == ["delete", "put", "put"]


def test_many_final_rows_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_forms, "MOST_WAITING", 3)
    tables: list[pa.Table] = []
    rows = pa.table({"t": range(40), "x": [1.0] * 40})
    run_live(
        tilt.parse(SUMS),
        sources={"x": sources.frames([rows.slice(n, 4) for n in range(0, 40, 4)])},
        into={"y": call(tables.append)},
        form="changes",
        checkpoint=None,
    )
    rows_left: Rows = Counter()
    for table in tables:
        rows_left = apply_changes(rows_left, table)
    result = tilt.parse(SUMS).run(x=rows)["y"].to_arrow()
    assert rows_left == count_rows(result)


# Runs


class Stepwise:
    """A source that gives a batch when the one before was pushed."""

    def __init__(self, frames: list[pa.Table], fail: int | None = None) -> None:
        self._frames, self._fail = frames, fail
        self._at = 0
        self.go_on = Event()

    def seek(self, position: int | None) -> None:
        self._at = position or 0

    def __iter__(self) -> Iterator[Batch]:
        for number in range(self._at, len(self._frames)):
            if number == self._fail:
                raise CrashError
            yield Batch(self._frames[number], number + 1)
            self.go_on.wait(10)
            self.go_on.clear()


class CrashError(Exception):
    """An error in the middle of a run."""


def run_stepwise(source: Stepwise, path: Path, form: FormName, state: Path) -> None:
    run_live(
        tilt.parse(SUMS),
        sources={"x": source},
        into={"y": file(path)},
        state=state,
        checkpoint="0s",
        form=form,
        early=True,
        on_update=lambda _: source.go_on.set(),
        x=tilt.ingress(reorder="3s"),
    )


@pytest.mark.parametrize("form", ["changes", "upsert"])
def test_a_run_that_goes_on_writes_the_same_bytes(
    form: FormName, tmp_path: Path
) -> None:
    draw = Random(3)  # noqa: S311
    stamps = [n + draw.randint(-1, 1) for n in range(60)]
    rows = pa.table({"t": stamps, "x": [draw.gauss(0, 1) for _ in stamps]})
    frames = [rows.slice(first, 9) for first in range(0, 60, 9)]
    whole = tmp_path / "whole.jsonl"
    run_stepwise(Stepwise(frames), whole, form, tmp_path / "whole")
    assert b'"weight": -1' in whole.read_bytes() or form == "upsert"
    for fail in range(len(frames)):
        path, state = tmp_path / f"{fail}.jsonl", tmp_path / str(fail)
        with pytest.raises(CrashError):
            run_stepwise(Stepwise(frames, fail), path, form, state)
        run_stepwise(Stepwise(frames), path, form, state)
        assert path.read_bytes() == whole.read_bytes(), fail


def test_what_is_refused() -> None:
    source: Callable[[], RowSource] = lambda: Stepwise([])  # noqa: E731
    with pytest.raises(ArgumentError, match="early=True: early rows change, and form="):
        run_live(tilt.parse(SUMS), sources={"x": source()}, into={}, early=True)
    with pytest.raises(tilt.TiltError, match="form='upserts': expected 'append', 'ups"):
        OutputForm("upserts")  # type: ignore[arg-type]
    by_row = tilt.parse(
        "unit s\ninput x : f64 time t point\ne = Rows(~x)\n~y[e] = ~x[e]\n"
    )
    with pytest.raises(ArgumentError, match="~y has a row for each of ~x, and rows "):
        run_live(
            by_row,
            sources={"x": source()},
            into={"y": call(json.dumps)},
            form="upsert",
        )
    with (
        tilt.parse(SUMS).live() as session,
        pytest.raises(ArgumentError, match=r"of a session takes no form=; give the"),
    ):
        run_live(session, sources={"x": source()}, into={}, form="changes")


def test_the_state_of_another_form_is_refused(tmp_path: Path) -> None:
    frames = [pa.table({"t": [1, 2, 9], "x": [1.0, 2.0, 3.0]})]
    path, state = tmp_path / "y.jsonl", tmp_path / "state"
    with pytest.raises(CrashError):
        run_stepwise(Stepwise([*frames, *frames], 1), path, "changes", state)
    with pytest.raises(tilt.TiltError, match="belongs to another query, or to one"):
        run_stepwise(Stepwise(frames), path, "upsert", state)

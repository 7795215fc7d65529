"""Elements that see the present: `count(v for v in ~x[t-20 : t] if v < ~x[t])`.

Each form against a few lines of Python over the rows themselves, in texts and in
Python; random queries against the interpreter, with every way to run them.
"""

from collections.abc import Callable, Mapping
from math import isclose
from random import Random
from statistics import median

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compiled import Setting, random_setting, run_compiled
from tests.random.held_rows import with_held_rows
from tests.random.present import random_present_case
from tests.random.queries import Case
from tests.semantics.test_properties import check
from tiltpy.emit.references import present_folds
from tiltpy.frontend.parse import parse
from tiltpy.frontend.python.builder import TDom, build_query, define, source
from tiltpy.interpreter.evaluate import Event, Snapshot
from tiltpy.ir.print.query import format_query
from tiltpy.types import F64, STRING

LENGTH = 10
Row = tuple[float, str]
Meaning = Callable[[list[Row], Row, int], object]
W = "~q[t-10 : t]"
FORMS: Mapping[str, Meaning | None] = {
    f"count(v for v in {W} if v.kind == ~q[t].kind)": (
        lambda rows, now, _: sum(kind == now[1] for _, kind in rows)
    ),
    f"count(p for {{price: p}} in {W} if p < ~q[t].price) + 1": (
        lambda rows, now, _: 1 + sum(p < now[0] for p, _ in rows)
    ),
    f"mean(abs({W}.price - mean({W}.price)))": (
        lambda rows, *_: mean(deviations(rows, mean))
    ),
    f"{{ m = median({W}.price); return median(abs(v.price - m) for v in {W}) }}": (
        lambda rows, *_: median(deviations(rows, median))
    ),
    f"var(p - ~q[t].price for {{price: p}} in {W})": (
        lambda rows, *_: mean([d**2 for d in deviations(rows, mean)])
    ),
    f"last(p + ~q[t].price for {{price: p}} in {W})": (
        lambda rows, now, _: rows[-1][0] + now[0]
    ),
    f"sum({W}.price * f64(t))": (lambda rows, _, time: sum(p * time for p, _ in rows)),
    f"nunique(p > ~q[t].price for {{price: p}} in {W})": (
        lambda rows, now, _: len({p > now[0] for p, _ in rows})
    ),
    f"max(p for {{price: p}} in {W} if p < ~q[t-3].price)": None,
    f"sum(p for {{price: p}} in {W} if f64(start(~q[t])) > p)": None,
    f"mode(p > ~q[t].price for {{price: p}} in {W})": None,
    "count(v for v in ~q[-∞ : t] if v.kind == ~q[t].kind) - 1": None,
    "count(p for {price: p} in ~q[-∞ : t] if p < ~q[t].price) + 1": None,
    "median(abs(v.price - ~q[t].price) for v in ~q[last 4 : t])": None,
    "count(v for v in ~q[since ~c : t] if v.kind == ~q[t].kind)": None,
    "sum(v.price - ~q[t].price for v in ~q[after ~c : t within 9])": None,
    "argmax(v.kind, abs(v.price - ~q[t].price) for v in ~q[last 3 : t within 5])": None,
}
"""None where the interpreter alone says what is meant."""
SETTINGS = (
    Setting(optimize=False),
    Setting(chunk=7, workers=2, special_shapes=False, optimize=False),
    Setting(disabled_passes=frozenset({"fuse_operators"}), points=True, optimize=False),
)
RANDOM, BATCH, DEEPER = 6, 6, 680


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def deviations(rows: list[Row], centre: Callable[[list[float]], float]) -> list[float]:
    prices = [price for price, _ in rows]
    return [abs(price - centre(prices)) for price in prices]


def rows_of(random: Random) -> list[Event]:
    """Events of one tick to four, some with a pause before."""
    events, now = [], 0
    for _ in range(50):
        now += random.choice((0, 0, 1, 5))
        length = random.randint(1, 4)
        value = {"price": random.randint(-8, 16) / 8, "kind": random.choice("abc")}
        events.append(Event(now, now + length, value))
        now += length
    return events


def row_of(event: Event) -> Row:
    value = event.value
    assert isinstance(value, Mapping)
    price, kind = value["price"], value["kind"]
    assert isinstance(price, float)
    assert isinstance(kind, str)
    return price, kind


@pytest.mark.few(8)
@pytest.mark.parametrize("text", FORMS)
def test_forms_over_rows(text: str) -> None:
    query = parse(
        "input q : { price: f64, kind: string } interval\n"
        f"~c[t] = ~q[t].price > 1.5\n~o[t] = {text}\noutput ~o"
    )
    assert parse(format_query(query)) == query
    events = rows_of(Random(text))  # noqa: S311
    case = Case(query, {"q": events}, None, None)
    for setting in SETTINGS:
        difference = check(case, setting, exact=False)
        assert difference is None, difference
    (snapshots,) = run_compiled(case, SETTINGS[0]).values()
    meant = FORMS[text]
    if meant is not None:
        check_meaning(snapshots, events, meant)


def check_meaning(
    snapshots: list[Snapshot],
    events: list[Event],
    meant: Meaning,
) -> None:
    """At each tick at which there is a row: what a look at the rows says."""
    at = {
        time: snapshot.value
        for snapshot in snapshots
        for time in range(snapshot.start + 1, snapshot.end + 1)
    }
    for time in range(1, events[-1].end + 1):
        now = [row_of(e) for e in events if e.start < time <= e.end]
        if now:
            rows = [
                row_of(e) for e in events if e.start < time and e.end > time - LENGTH
            ]
            expected, value = meant(rows, now[0], time), at[time]
            assert isinstance(expected, int | float)
            assert isinstance(value, int | float)
            assert isclose(value, expected, rel_tol=1e-12, abs_tol=1e-12), time


def test_a_condition_that_is_null_is_false() -> None:
    """Nothing is less than a present that is φ."""
    query = parse(
        "input x : i64 interval\n~o[t] = count(v for v in ~x[t-5 : t] if v < ~x[t])"
    )
    events = [Event(0, 1, 3), Event(1, 2, 7), Event(3, 4, 5)]
    (found,) = run_compiled(Case(query, {"x": events}, 0, 6), SETTINGS[0]).values()
    assert found == [
        Snapshot(0, 1, 0),
        Snapshot(1, 2, 1),
        Snapshot(2, 3, 0),
        Snapshot(3, 4, 1),
        Snapshot(4, 6, 0),
    ]


def test_equal_windows_with_another_present_are_two_snapshots() -> None:
    """The present cuts like any reference, even where no value changes."""
    text = "~o[t] = sum(v for v in ~x[t-9 : t] if v < ~y[t])"
    query = parse(f"input x : i64 interval\ninput y : i64 interval\n{text}")
    events = {"x": [Event(0, 6, 1)], "y": [Event(0, 3, 5), Event(3, 6, 5)]}
    (found,) = run_compiled(Case(query, events, 0, 6), SETTINGS[0]).values()
    assert found == [Snapshot(0, 3, 1), Snapshot(3, 6, 1)]


def test_python_says_what_texts_say() -> None:
    q, t = source("q", {"price": F64, "kind": STRING}), TDom()
    w = q[t - 10 : t]
    m = tilt.mean(w.price)
    pairs = [
        (
            tilt.count(w, where=w.kind == q[t].kind),
            "count(v for v in ~q[t-10 : t] if v.kind == ~q[t].kind)",
        ),
        (
            tilt.mean(tilt.abs(w.price - m)),
            "mean(abs(~q[t-10 : t].price - mean(~q[t-10 : t].price)))",
        ),
        (
            m + tilt.mean(tilt.abs(w.price - m)),
            "{ m = mean(~q[t-10 : t].price); "
            "return m + mean(abs(~q[t-10 : t].price - m)) }",
        ),
    ]
    for value, text in pairs:
        head = "input q : { price: f64, kind: string }\n"
        (ours,) = build_query(define("o", t, value)).definitions
        (theirs,) = parse(f"{head}~o[t] = {text}").definitions
        assert ours.cuts == theirs.cuts


@pytest.mark.parametrize("batch", range(RANDOM // BATCH))
def test_random_elements_see_the_same(batch: int, *, deep: bool) -> None:
    for first in range(batch * BATCH, RANDOM * (DEEPER if deep else 1), RANDOM):
        for seed in range(first, first + BATCH):
            exact = seed % 5 != 0
            specials = exact and seed % 3 == 0
            case = random_present_case(
                seed, exact=exact, specials=specials, opened=exact and seed % 2 == 0
            )
            if not any(map(present_folds, case.query.definitions)):
                continue
            assert parse(format_query(case.query)) == case.query, f"seed {seed}"
            if seed % 4 == 1:
                case = with_held_rows(case, seed)
            setting = random_setting(Random(seed), span=80)  # noqa: S311
            difference = check(case, setting, exact=exact)
            assert difference is None, f"seed {seed}, {setting}\n{difference}"


ENGINES = """
    ~o[t] = ~x[t] != φ ? {
        rank = count(v for v in ~x[t-9s : t] if v.p < ~x[t].p),
        alike = count(v for v in ~x[t-9s : t] if v.z == ~x[t].z),
        far = median(abs(v.p - ~x[t].p) for v in ~x[t-9s : t]),
        top = argmax(v.z, v.p for v in ~x[t-9s : t])
    } : φ
"""


def trades(rows: int) -> pa.Table:
    """Trades of four symbols, at distinct times."""
    random = np.random.default_rng(5)
    stamps = random.permutation(2 * rows)[:rows]
    columns = {
        "time": pa.array(np.sort(stamps), pa.timestamp("s")),
        "k": pa.array(random.integers(0, 4, rows)),
        "p": pa.array(random.integers(-9, 9, rows) / 4),
        "z": pa.array(random.integers(0, 3, rows)),
    }
    return pa.table(columns)


def test_by_key_as_in_runs_of_each_key() -> None:
    fields = "{ k: i64, p: f64, z: i64 } time time point"
    table = trades(600)
    keyed = tilt.parse(f"unit s\ninput x by k : {fields}\n{ENGINES}").run(x=table)
    alone = tilt.parse(f"unit s\ninput x : {fields}\n{ENGINES}")
    found = keyed.to_arrow()
    for key in range(4):
        of_key = table.filter(pa.array(np.array(table["k"]) == key))
        rows = found.filter(pa.array(np.array(found["k"]) == key)).drop(["k"])
        assert rows.to_pylist() == alone.run(x=of_key).to_arrow().to_pylist()


def test_streams_end_as_runs_do() -> None:
    fields = "{ k: i64, p: f64, z: i64 } time time point"
    query, table = tilt.parse(f"unit s\ninput x : {fields}\n{ENGINES}"), trades(900)
    batches = (table.slice(start, 100) for start in range(0, 900, 100))
    streamed = [batch.to_arrow() for batch in query.stream(x=batches)]
    assert pa.concat_tables(streamed).equals(query.run(x=table).to_arrow())


def test_explain_says_that_windows_are_folded_anew() -> None:
    text = "input x : f64 point\n~o[t] = count(v for v in ~x[t-5 : t] if v < ~x[t])"
    shown = tilt.parse(text).explain()
    assert "count of ~x folds its window anew at each visit" in shown
    assert "not merge_scan: elements of ~x see the present" in shown

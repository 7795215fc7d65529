"""Reductions of pairs, and those that pick an element: `corr`, `argmax`, `last`.

Each against NumPy or a few lines of Python over windows of rows of which some lack a
field, and random texts against the interpreter, with every way to run them.
"""

import math
from collections.abc import Callable, Mapping
from random import Random

import numpy as np
import pytest

import tiltpy as tilt
from tests.compiled import Setting, random_setting, run_compiled
from tests.random.queries import Case
from tests.semantics.test_elements import rows_of
from tests.semantics.test_properties import check
from tiltpy.frontend.parse import parse
from tiltpy.frontend.python.builder import TDom, build_query, define, source
from tiltpy.interpreter.evaluate import Event, interpret
from tiltpy.ir.print.query import format_query
from tiltpy.types import F64, I64

HEAD = "input q : { price: f64, size: i64 } interval\n"
W = "~q[t-10 : t]"
Pairs = list[tuple[float, float]]


def line(pairs: Pairs) -> tuple[float, float] | None:
    """The slope and the intercept of prices over sizes."""
    if len({size for _, size in pairs}) < 2:
        return None
    slope, intercept = np.polyfit([s for _, s in pairs], [p for p, _ in pairs], 1)
    return float(slope), float(intercept)


def correlation(pairs: Pairs) -> float | None:
    if any(len({pair[side] for pair in pairs}) < 2 for side in (0, 1)):
        return None
    return float(np.corrcoef(np.array(pairs).T)[0, 1])


NUMBERS: Mapping[str, Callable[[Pairs], float | None]] = {
    f"cov({W}.price, {W}.size)": (
        lambda pairs: float(np.cov(np.array(pairs).T, bias=True)[0, 1])
    ),
    f"corr(p, s for {{price: p, size: s}} in {W})": correlation,
    f"slope(v.price, v.size for v in {W})": lambda pairs: (line(pairs) or (None,))[0],
    f"intercept({W}.price, {W}.size)": lambda pairs: (line(pairs) or (None,))[-1],
    f"f64(argmax({W}.size, {W}.price))": lambda pairs: max(pairs, key=lambda p: p[0])[
        1
    ],
    f"argmin({W}.price, {W}.size)": lambda pairs: min(pairs, key=lambda p: p[1])[0],
    f"argmax(p, s for {{price: p, size: s}} in {W} if p > 0.5)": (
        lambda pairs: max(
            (pair for pair in pairs if pair[0] > 0.5),
            key=lambda p: p[1],
            default=(None,),
        )[0]
    ),
}
SETTINGS = (
    Setting(optimize=False),
    Setting(chunk=7, workers=2, special_shapes=False, optimize=False),
    Setting(vector=True, small=True, chunk=64, optimize=False),
)


def values_at(query_text: str, events: list[Event]) -> dict[int, object]:
    query = parse(HEAD + query_text)
    assert parse(format_query(query)) == query
    case = Case(query, {"q": events}, None, None)
    for setting in SETTINGS:
        difference = check(case, setting, exact=False)
        assert difference is None, difference
    (snapshots,) = run_compiled(case, SETTINGS[0]).values()
    return {
        time: snapshot.value
        for snapshot in snapshots
        for time in range(snapshot.start + 1, snapshot.end + 1)
    }


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", ["regular", "irregular"])
@pytest.mark.parametrize("text", NUMBERS)
def test_numbers_of_pairs(text: str, kind: str) -> None:
    random = Random(text)  # noqa: S311
    events = rows_of(random, regular=kind == "regular", nulls=True)
    found = values_at(f"~o[t] = {text}", events)
    seen = 0
    for time in range(1, events[-1].end + 1):
        rows = [e.value for e in events if e.start < time and e.end > time - 10]
        pairs = [
            (float(row["price"]), float(row["size"]))
            for row in rows
            if isinstance(row, Mapping)
            and isinstance(row["price"], float)
            and isinstance(row["size"], int)
        ]
        expected = NUMBERS[text](pairs) if pairs else None
        value = found.get(time)
        assert (value is None) == (expected is None), time
        if expected is not None:
            seen += 1
            assert isinstance(value, float)
            assert math.isclose(value, expected, rel_tol=1e-9, abs_tol=1e-9), time
    assert seen > 20


def test_the_last_and_the_first_of_structs() -> None:
    events = rows_of(Random(4), regular=False, nulls=True)  # noqa: S311
    last = values_at(f"~o[t] = last({W})", events)
    first = values_at(f"~o[t] = first({W})", events)
    for time in range(1, events[-1].end + 1):
        rows = [e.value for e in events if e.start < time and e.end > time - 10]
        assert last.get(time) == (rows[-1] if rows else None), time
        assert first.get(time) == (rows[0] if rows else None), time


def test_keys_that_are_nan_are_beyond_all_others() -> None:
    events = [
        Event(i, i + 1, {"price": p, "size": i})
        for i, p in enumerate((1.0, math.nan, 3.0, math.nan))
    ]
    for reduction in ("argmax", "argmin"):
        found = values_at(f"~o[t] = {reduction}({W}.size, {W}.price)", events)
        assert [found[time] for time in range(1, 5)] == [0, 1, 1, 1]


def test_names_of_pairs_are_free() -> None:
    """A query may define what it likes under these names."""
    query = parse(f"{HEAD}def cov(v) = v + 1\n~o[t] = cov(~q[t].size)")
    (found,) = interpret(
        query, {"q": [Event(0, 1, {"price": 1.0, "size": 2})]}
    ).values()
    assert [snapshot.value for snapshot in found] == [3]


def test_python_says_what_texts_say() -> None:
    q, t = source("q", {"price": F64, "size": I64}), TDom()
    w = q[t - 10 : t]
    pairs = [
        (tilt.corr(w.price, w.size), f"corr({W}.price, {W}.size)"),
        (tilt.argmax(w, w.price), f"argmax({W}, {W}.price)"),
        (tilt.last(w), f"last({W})"),
    ]
    for value, text in pairs:
        ours = build_query(define("o", t, value))
        theirs = parse(f"input q : {{ price: f64, size: i64 }}\n~o[t] = {text}")
        assert ours.definitions == theirs.definitions
    where = build_query(define("o", t, tilt.cov(w.price, w.size, where=w.size > 0)))
    assert "v.size > 0" in format_query(where)


EXPRESSIONS = ("v.price", "v.size", "v.price * v.size", "v.size % 3", "-v.price")
KEYS = (*EXPRESSIONS, "v.kind", "~q[t].price - v.price")
VALUES = (*KEYS, "v", "{ a = v.price, b = v.kind }")
CONDITIONS = ("", "", " if v.size > 1", ' if v.kind == "b"', " if v.kind == ~q[t].kind")
WINDOWS = ("~q[t-5 : t]", "~q[t-1 : t]", "~q[t-20 : t-3]", "~q[t-2 : t+2]")
RANDOM, BATCH, DEEPER = 6, 6, 500


def random_text(random: Random) -> str:
    name = random.choice(("cov", "corr", "slope", "intercept", "argmax", "argmin",
                          "first", "last"))  # fmt: skip
    window = f" for v in {random.choice(WINDOWS)}{random.choice(CONDITIONS)}"
    if name in ("argmax", "argmin"):
        values = f"{random.choice(VALUES)}, {random.choice(KEYS)}"
    elif name in ("first", "last"):
        values = random.choice(VALUES)
    else:
        values = f"{random.choice(EXPRESSIONS)}, {random.choice(EXPRESSIONS)}"
    tdom = random.choice(("", "", f"t = TDom(-∞, ∞, {random.choice((2, 5))})\n"))
    return f"{tdom}~o[t] = {name}({values}{window})"


def random_rows(random: Random) -> list[Event]:
    """Events of which some overlap, with fields that may be null."""
    events, now = [], 0
    for _ in range(30):
        now += random.choice((0, 1, 1, 2, 6))
        value = {
            "price": random.choice((None, random.randint(-8, 8) / 4)),
            "size": random.choice((None, random.randint(-3, 5))),
            "kind": random.choice((None, "a", "b")),
        }
        events.append(Event(now, now + random.choice((1, 1, 2, 7)), value))
    return events


@pytest.mark.parametrize("batch", range(RANDOM // BATCH))
def test_random_pairs(batch: int, *, deep: bool) -> None:
    for first in range(batch * BATCH, RANDOM * (DEEPER if deep else 1), RANDOM):
        for seed in range(first, first + BATCH):
            random = Random(seed)  # noqa: S311
            head = "input q : { price: f64, size: i64, kind: string } interval\n"
            query = parse(head + random_text(random))
            assert parse(format_query(query)) == query
            case = Case(query, {"q": random_rows(random)}, None, None)
            setting = random_setting(random, span=60)
            difference = check(case, setting, exact=False)
            assert difference is None, f"seed {seed}, {setting}\n{difference}"

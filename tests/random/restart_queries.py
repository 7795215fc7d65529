"""Seeded random queries by key: windows of all the past, of the last rows, and bounds.

Windows are over rows, and what other windows make of these. Values are multiples of a
quarter, so that sums are exact in any order.
"""

from random import Random

import pyarrow as pa

from tests.random.key_columns import Family
from tests.random.key_rows import KeyedInput, Row
from tests.random.keyed_queries import KeyedCase
from tiltpy.errors import QueryError
from tiltpy.frontend.parse import parse
from tiltpy.ir.nodes import Input, Query
from tiltpy.lifetimes import Interval, Lifetime, Point, UntilNext
from tiltpy.passes.check_windows import check_windows

NAMES = ("sum", "count", "min", "max", "first", "last", "median", "fold")
FOLD = """\
reduction fold(v: f64) {
    init = { rows = 0, sum = 0.0 }
    acc = { rows = state.rows + 1, sum = 0.5 * state.sum + v }
    result = state.rows > 2 ? state.sum : φ
}
"""
STEPS = (1, 1, 1, 2, 5, 40, 900)
"""Ticks from one row of a key to the next."""
LIFETIMES = (Point(), Point(), Point(), Interval("start", "end"), UntilNext())
CONDITIONS = (
    "~x[t] > 1",
    "~x[t] != φ ? count(~x[-∞ : t]) % 3 == 0 : φ",
    "session_start(~x, 30)",
    "~y[t-2] > 0",
)
DOMAINS = ("t", "t", "t", "e", "w")


def random_restart_case(seed: int) -> KeyedCase:
    """A query whose windows fold all the past of their key, and its rows."""
    random = Random(f"restarts {seed}")  # noqa: S311 - tests, not secrets
    query = _query(random)
    keys = random.choice((1, 4, 12, 30))
    family = Family((pa.int64(),), pa.int64(), tuple(range(30)))
    inputs = {
        declared.name: _rows(random, declared, keys, family)
        for declared in query.inputs
    }
    start, end = (random.choice((None, None, 0, 40)), random.choice((None, None, 90)))
    return KeyedCase(query, inputs, start, end, {}, {"k": family})


def _query(random: Random) -> Query:
    """Draw one whose windows all begin with a row."""
    names = ["x", "y"] if random.random() < 0.3 else ["x"]
    lines = [f"input {name} by k : f64" for name in names]
    bounds = random.choice(("-∞, ∞", "-∞, ∞", "-9, ∞", "3, 60", "-∞, 40"))
    lines += [FOLD, "e = Rows(~x)", f"w = TDom({bounds}, {random.choice((2, 7, 30))})"]
    lines.append(f"~r[t] = {random.choice(CONDITIONS[: len(names) + 2])}")
    objects = list(names)
    for name in ("a", "b", "c")[: random.choice((1, 1, 2, 2, 3))]:
        t = random.choice(DOMAINS)
        parts = [_term(random, objects, t) for _ in range(random.choice((1, 1, 2)))]
        body = random.choice((" - ", " + ")).join(parts)
        if random.random() < 0.5 and t != "w":
            body = f"~x[{t}] != φ ? {body} : φ"
        lines.append(f"~{name}[{t}] = {body}")
        objects.append(name)
    outputs = [objects[-1], *(["a"] if random.random() < 0.2 else [])]
    lines += [f"output ~{name}" for name in dict.fromkeys(outputs)]
    query = parse("\n".join(lines))
    try:
        check_windows(query)
    except QueryError:
        return _query(random)
    return query


def _term(random: Random, objects: list[str], t: str) -> str:
    """A fold of all the past, mostly, or something else that is seen beside it."""
    name, kind = random.choice(objects), random.random()
    if t == "e":
        name = "x" if kind < 0.7 else name
    end = random.choice((0, 0, 0, 1, 3, 25, -2)) if t != "w" else 0
    edge = t if not end else f"{t}{-end:+d}"
    if kind < 0.1:
        return f"~{name}[last : {random.choice((edge, f'<{t}'))}]"
    if kind < 0.7:
        counted = f"last {random.choice((1, 2, 5, 12))}"
        begin = random.choice(("-∞", "-∞", counted, "since ~r", "after ~r"))
        window = f"~{name}[{begin} : {edge}]"
        reduction = random.choice(NAMES)
        if reduction == "count":
            return f"f64(count({window}))"
        if random.random() < 0.2:
            return f"{reduction}(v for v in {window} if v > 1)"
        return f"{reduction}({window})"
    if kind < 0.85:
        start = random.choice((30, 31, 90))
        return f"sum(~{name}[{t}-{start} : {edge if end >= 0 else t}])"
    return f"~{name}[{t}]"


def _rows(random: Random, declared: Input, keys: int, family: Family) -> KeyedInput:
    lifetime: Lifetime = random.choice(LIFETIMES)
    points = not isinstance(lifetime, Interval)
    rows = [
        Row((key,), start, end, random.randint(-12, 12) / 4)
        for key in range(keys)
        if random.random() < 0.9
        for start, end in _times(random, points=points)
    ]
    rows.sort(key=lambda row: row.end)
    return KeyedInput(
        declared, lifetime, tuple(rows), family.types, None, in_column=False
    )


def _times(random: Random, *, points: bool) -> list[tuple[int, int]]:
    time, times = random.randint(-50, 50), []
    for _ in range(random.choice((1, 1, 2, 4, 16, random.randint(1, 20)))):
        length = 1 if points else random.choice((1, 2, 10))
        times.append((time, time + length))
        time += length - 1 + random.choice(STEPS)
    return times

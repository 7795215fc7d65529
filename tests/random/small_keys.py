"""Seeded random queries by key: windows of any length over points, few of each key."""

from random import Random

import pyarrow as pa

from tests.random.key_columns import Family
from tests.random.key_rows import KeyedInput, Row
from tests.random.keyed_queries import KeyedCase
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Value
from tiltpy.lifetimes import Point

REDUCTIONS = ("sum", "mean", "count", "min", "max", "std", "first", "last", "product")
STEPS = (1, 1, 2, 5, 40, 3000)
"""Ticks from one row of a key to the next."""


def random_small_case(seed: int) -> KeyedCase:
    """A query and its rows, at most some more of a key than are few."""
    random = Random(f"small {seed}")  # noqa: S311 - tests, not secrets
    scalar = random.choice(("f64", "f64", "f32", "i32", "u8"))
    parts = [_reduction(random) for _ in range(random.choice((1, 1, 2, 3)))]
    fields = "".join(f", f{n} = {part}" for n, part in enumerate(parts))
    value = parts[0] if random.random() < 0.5 else f"{{ x = ~x[t]{fields} }}"
    text = f"input x by k : {scalar}\n~out[t] = ~x[t] != φ ? {value} : φ\n"
    query = parse(text)
    rows = [
        Row((key,), time - 1, time, _value(random, scalar))
        for key in range(random.choice((1, 5, 30, 60)))
        for time in _times(random)
    ]
    rows.sort(key=lambda row: row.end)
    family = Family((pa.int64(),), pa.int64(), tuple(range(60)))
    (declared,) = query.inputs
    one = KeyedInput(
        declared, Point(), tuple(rows), family.types, None, in_column=False
    )
    start, end = (random.choice((None, None, 0, 40)), random.choice((None, None, 90)))
    return KeyedCase(query, {"x": one}, start, end, {}, {"k": family})


def _reduction(random: Random) -> str:
    start = random.choice((1, 2, 6, 50, 10_000, 1 << 40))
    end = random.choice((0, 0, 1, 30))
    if end >= start:
        end = 0
    window = f"~x[t-{start} : t{f'-{end}' if end else ''}]"
    name = random.choice(REDUCTIONS)
    if random.random() < 0.2:
        return f"{name}(v for v in {window} if v > 1)"
    return f"{name}({window})"


def _times(random: Random) -> list[int]:
    time, times = random.randint(-50, 50), []
    for _ in range(random.choice((1, 1, 2, 4, 16, random.randint(1, 20)))):
        times.append(time)
        time += random.choice(STEPS)
    return times


def _value(random: Random, scalar: str) -> Value:
    if scalar in ("i32", "u8"):
        return random.randint(0, 12)
    return random.choice((1.5, 2.0, 0.25, -1.0, 0.0))

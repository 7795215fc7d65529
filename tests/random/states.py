"""Random cases of states: rows whose values repeat never, sometimes or mostly.

A distinct object is a map over such rows: of points, of rows side by side, or of rows
with gaps, some of whose results are φ.
"""

from random import Random

from tests.random.queries import Case
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event, Value

NUMBERS = (
    "~x[t]",
    "~x[t] > 1",
    "~x[t] > 1 ? ~x[t] : φ",
    "i8(~x[t])",
    "{ a = ~x[t], b = ~x[t] > 1 ? f32(~x[t]) : φ }",
    "~x[t] > 1 ? { a = ~x[t] > 3, b = i16(~x[t]) } : φ",
    "~x[t] > 3 ? end(~x[t]) - start(~x[t]) : i64(~x[t])",
)
FLOATS = (-0.0, 0.0, 1.5, 4.0, float("nan"))
MOST_ROWS = 150


def random_state_case(seed: int) -> Case:
    """Draw rows and what a distinct object makes of each."""
    random = Random(f"states {seed}")  # noqa: S311 - tests, not secrets
    of = random.choice(("i64", "f64"))
    text = f"input x : {of}\ndistinct ~o[t] = {random.choice(NUMBERS)}"
    rows = random_state_rows(random, of)
    last = rows[-1].end if rows else 10
    start = random.randrange(-2, last) if random.random() < 0.2 else None
    end = random.randrange(last + 2) if random.random() < 0.2 else None
    if start is not None and end is not None:
        start, end = min(start, end), max(start, end)
    return Case(parse(text), {"x": rows}, start, end)


def random_state_rows(random: Random, of: str) -> list[Event]:
    """Draw rows in order of time."""
    values: tuple[Value, ...] = FLOATS if of == "f64" else (0, 2, 3, 5, 100)
    repeats = random.choice((0.0, 0.02, 0.5, 0.95))
    longest = random.choice((1, 1, 5))
    gaps = random.choice((0.0, 0.0, 0.02, 0.5))
    rows: list[Event] = []
    time, value = random.randrange(5), values[0]
    for _ in range(random.choice((0, 1, 15, 16, 17, 40, MOST_ROWS))):
        if random.random() >= repeats:
            value = random.choice(values)
        if random.random() < gaps:
            time += random.randint(1, 3)
        length = random.randint(1, longest)
        rows.append(Event(time, time + length, value))
        time += length
    return rows

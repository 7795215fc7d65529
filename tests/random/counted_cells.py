"""Random queries that count the values of samples, in windows that slide over them.

`nunique(v.n % 5 for v in ~x[t-40 : t])` and `count(v for v in ~x[t-9 : t-2] if v.k ==
~x[t].k)`: keys close together, or any at all, φ, NaN and both zeros among them; cells
that do not contribute; several windows, over samples and over what is made of them.
"""

from random import Random

from tests.random.matches import SHAPE
from tests.random.queries import Case
from tests.random.whole_windows import CONDITIONS, numbers, payload_of
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event

KEYS = ("a", "f", "n", "n", "u", "k")
PRESENTS = ("~x[t].{key}", "~x[t].{key}", "~x[t-3].{key}", "~y[t].{key}")
OTHERS = ("v.n > 0", "v.a != φ", "~y[t].n > 0", "i64(t) % 2 == 0")
LENGTHS = (1, 2, 7, 15, 16, 17, 33, 60, 100)


def random_counted_case(seed: int) -> Case:
    """A query of two objects, and its samples; equal seeds give equal cases."""
    random = Random(f"counted cells {seed}")  # noqa: S311 - tests, not secrets
    period = random.choice((1, 1, 1, 3))
    lines = [f"input x : {SHAPE}", f"input y : {SHAPE}"]
    lines.append(f"t = TDom(-∞, ∞, {period})")
    lines.append("~d[t] = ~x[t].n % 3 != 1 ? ~x[t].n : φ")
    lines += [f"~{name}[t] = {_result(random, period)}" for name in "op"]
    query = parse("\n".join((*lines, "output ~o, ~p")))
    first = random.randint(-40, 40) * period
    rows = random.choice((40, 130, 170, 220))
    events = {name: _samples(random, first, period, rows) for name in "xy"}
    return Case(query, events, None, None, {})


def _result(random: Random, period: int) -> str:
    fields = []
    for name in "ab"[: random.choice((1, 2))]:
        end = random.choice((0, 0, 0, -period, -5 * period, 2 * period))
        start = end - random.choice(LENGTHS) * period
        bounds = f"t{start:+} : t{end:+}".replace("+0", "")
        fields.append(f"{name} = {_count(random, bounds)}")
    return f"{{ {', '.join(fields)} }}"


def _count(random: Random, bounds: str) -> str:
    condition = random.choice(CONDITIONS)
    key = random.choice(KEYS)
    drawn = random.random()
    if drawn < 0.1:
        return f"nunique(~d[{bounds}])"
    if drawn < 0.2:
        return f"count(v for v in ~d[{bounds}] if v == ~d[t])"
    if drawn < 0.55:
        return f"nunique(v.{key} for v in ~x[{bounds}]{condition})"
    match = f"v.{key} == {random.choice(PRESENTS).format(key=key)}"
    if condition:
        match += f" && {condition.removeprefix(' if ')}"
    if random.random() < 0.2:
        match += f" && {random.choice(OTHERS)}"
    return f"count(v for v in ~x[{bounds}] if {match})"


def _samples(random: Random, first: int, period: int, rows: int) -> list[Event]:
    """Samples without a gap, or with some."""
    number, lost = numbers(random), random.choice((0,) * 11 + (0.1,))
    starts = range(first, first + rows * period, period)
    return [
        Event(start, start + period, payload_of(random, number(row)))
        for row, start in enumerate(starts)
        if random.random() >= lost
    ]

"""Random queries of folds over samples, beside windows that slide and looks ahead.

Some objects fold what others have folded; some see samples that were lost, or are φ.
"""

from dataclasses import replace
from random import Random

from tests.compiled import Setting, random_setting
from tests.random.folds import FoldWriter
from tests.random.queries import Case
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event

OF_ROWS = ("max", "min", "first", "last")
BUILT_IN = (*OF_ROWS, "count")
OVER_INPUTS = (*BUILT_IN, "sum", "mean")
LENGTHS = (90, 150, 200)
CHUNKS = (None, None, 30, 64, 130)


def random_scan_case(seed: int) -> Case:
    """A query of two objects or three, and its samples; equal seeds, equal cases."""
    random = Random(f"lane scans {seed}")  # noqa: S311 - tests, not secrets
    period = random.choice((1, 1, 1, 3))
    folds = [FoldWriter(random).reduction(f"fold{number}") for number in range(2)]
    lines = ["input x : f64\ninput y : f64", *folds, f"t = TDom(-∞, ∞, {period})"]
    line = f"{_fold(random, 'x', OF_ROWS)} - {_fold(random, 'x')}"
    if random.random() < 0.3:
        line = f"~x[t] > 0 ? {_fold(random, 'x')} : φ"
    lines.append(f"~line[t] = {line}")
    lines += [f"~{name}[t] = {_body(random, period)}" for name in "op"]
    outputs = random.choice(("~o", "~o, ~p", "~line, ~p"))
    query = parse("\n".join((*lines, f"output {outputs}")))
    first = random.randint(-40, 40) * period
    rows = random.choice(LENGTHS)
    events = {name: _samples(random, first, period, rows) for name in "xy"}
    return Case(query, events, None, None, {})


def _body(random: Random, period: int) -> str:
    over = random.choice(("x", "x", "y", "line"))
    fold = _fold(random, over)
    return random.choice(
        (
            fold,
            f"{fold} + {_fold(random, 'y')}",
            f"{fold} - mean(~x[t-{7 * period} : t])",
            f"{{ a = {fold}, b = ~line[t], c = max(~y[t-{20 * period} : t]) }}",
            f"{{ a = {fold}, b = {_fold(random, 'line')} }}",
            f"~x[t+{3 * period}] + {fold}",
            f"~y[t] > 1 ? {fold} : ~line[t]",
            f"~y[t] != φ ? {fold} : φ",
        )
    )


def random_scan_setting(random: Random) -> Setting:
    """Ways to run that leave most of the work to a vector kernel."""
    return replace(
        random_setting(random, span=200),
        chunk=random.choice(CHUNKS),
        special_shapes=True,
        layout=None,
        nulls="samples",
        vector=True,
    )


def _fold(random: Random, over: str, names: tuple[str, ...] = ()) -> str:
    window = f"~{over}[-∞ : t]"
    if random.random() < 0.2:
        window = f"v for v in {window} if v < 6"
    if random.random() < 0.6:
        return f"fold{random.randrange(2)}({window})"
    name = random.choice(names or (BUILT_IN if over == "line" else OVER_INPUTS))
    return f"f64({name}({window}))"


def _samples(random: Random, first: int, period: int, rows: int) -> list[Event]:
    """Samples without a gap, or with some; the values are multiples of 1/8."""
    lost = random.choice((0, 0, 0, 0.1))
    return [
        Event(start, start + period, random.randint(-40, 80) / 8)
        for start in range(first, first + rows * period, period)
        if random.random() >= lost
    ]

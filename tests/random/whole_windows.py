"""Random queries that look at windows as a whole, over some hundred rows.

`{ a = median(v.f for v in ~x[w-40 : w] if v.n > 0), b = topk(v.a for ..., 5).top2 }`:
windows that tumble, hop or roll, of more rows than fit some vectors, whose values are
in order, all alike, few, or any at all, φ and NaN among them.
"""

from collections.abc import Callable
from random import Random

from tests.random.matches import SHAPE
from tests.random.queries import Case
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event

NAN, INF = float("nan"), float("inf")
VALUES = (
    "v.a", "v.a", "v.f", "v.n", "v.n", "v.u", "v.k", "v.n % 5", "v.n > 0", "v.a * 2",
)  # fmt: skip
CONDITIONS = ("", "", "", " if v.n > 0", " if v.a != φ", " if v.n > 1000000")
ORDERED = (
    "median({of})", "quantile({of}, 0.9)", "quantile({of}, 0.3, method=\"nearest\")",
    "quantile({of}, 1)", "topk({of}, 1).top1", "topk({of}, 5).top4",
    "topk({of}, 64).top40",
)  # fmt: skip
COUNTED = (
    "nunique({of})",
    "mode({of})",
    "modes({of}, 3).count2",
    "modes({of}, 9).mode3",
)
BESIDE = ("count({of})", "last({of})")


def random_whole_case(seed: int) -> Case:
    """A query of two objects, and its rows; equal seeds give equal cases."""
    random = Random(f"whole windows {seed}")  # noqa: S311 - tests, not secrets
    hop = random.choice((1, 2, 5, 20, 50, 150))
    lines = [f"input x : {SHAPE}", f"w = TDom(-∞, ∞, {hop})"]
    lines += [f"~{name}[w] = {_result(random, hop)}" for name in "op"]
    query = parse("\n".join((*lines, "output ~o, ~p")))
    return Case(query, {"x": _rows(random)}, None, None, {})


def _result(random: Random, hop: int) -> str:
    fields = []
    for name in "abc"[: random.choice((1, 2, 3))]:
        value, condition = random.choice(VALUES), random.choice(CONDITIONS)
        end = random.choice((0, 0, 0, 0, -hop, hop, 3))
        length = hop * random.choice((1, 1, 1, 2, 7, 17)) + random.choice((0, 0, -1, 1))
        start = end - max(1, length)
        of = f"{value} for v in ~x[w{start:+} : w{end:+}]{condition}"
        kinds = COUNTED if value == "v.k" else (*ORDERED, *COUNTED)
        reduction = random.choice((*kinds, *kinds, *BESIDE))
        fields.append(f"{name} = {reduction.format(of=of.replace('+0]', ']'))}")
    return f"{{ {', '.join(fields)} }}"


def _rows(random: Random) -> list[Event]:
    """Up to some hundred rows: samples, points at any time, or of any length."""
    steps = random.choice(((1,), (1,), (3,), (1, 1, 2, 9), (1, 40)))
    longest = random.choice((1, 1, 100))
    number = numbers(random)
    time, rows = random.randint(-60, 60), []
    for row in range(random.choice((0, 1, 2, 17, 60, 200, 400))):
        end = time + random.choice(steps)
        start = max(time, end - longest)
        rows.append(Event(start, end, payload_of(random, number(row))))
        time = end + (random.random() < 0.02 and longest < 100) * 200
    return rows


def numbers(random: Random) -> Callable[[int], int]:
    kinds: tuple[Callable[[int], int], ...] = (
        lambda row: row,
        lambda row: -row,
        lambda row: min(row, 200 - row),
        lambda _: 7,
        lambda _: random.randint(0, 3),
        lambda _: random.randint(-300, 300),
        lambda row: random.choice((-(2**62), 2**62, 5, row)),
    )
    return random.choice(kinds)


def payload_of(random: Random, number: int) -> dict[str, object]:
    specials = (NAN, INF, -INF, -0.0, 0.0, None)
    is_special = random.random() < random.choice((0, 0, 0.03))
    eighths = number % 2**20 / 8 - 30
    payload: dict[str, object] = {
        "a": random.choice(specials) if is_special else eighths,
        "f": random.choice(specials) if is_special else eighths,
        "n": None if is_special and random.random() < 0.5 else number,
        "u": number % 256,
        "k": "abcdefgh"[number % 8],
    }
    return payload

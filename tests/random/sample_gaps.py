"""Random queries that look for values beside gaps of samples, with what fills them.

`last(v.a for v in ~s[t-40 : t] if v.n > 0)`, `interpolate(~x, 7)`, `area(~m[t-9 : t])`,
over samples that may be null or missing, over points of which some are, and over
objects made of them: of every length of window that lanes know, of numbers, strings and
structs, in the past and ahead.
"""

from random import Random

from tests.random.queries import Case
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event
from tiltpy.interpreter.objects import Value

SCALARS = ("f64", "f64", "f32", "i64", "i16", "bool", "string")
STRUCT = "{ a: f64, n: i32, k: string }"
LENGTHS = (1, 2, 3, 7, 10, 16, 17, 31, 33, 50, 64, 100, 130, 150)
OFFSETS = (0, 0, 0, 0, -1, -3, -20, 1, 2, 9)
STRUCT_ELEMENTS = (
    "{r}(v.{f} for v in {w})",
    "{r}(v.{f} for v in {w} if v.n > 0)",
    "{r}(v.n + 1 for v in {w} if v.a != φ)",
    "{r}(~s[{a} : {b}].{f})",
)
ELEMENTS = ("{r}({w})", "{r}({w})", "{r}(v for v in {w} if v != ~y0)")
FILLS = ("ffill({o}, {n})", "bfill({o}, {n})", "asof({o}, {n})")
TIMES = ("age({o}, {n})", "interpolate({o}, {n})", "area({w})", "area({w})")
AREA = """\
reduction area(v: f64, start, end) {
    init = 0.0
    acc = state + v * (end - start)
    merge = a + b
    result = state
}"""
BESIDE = ("count({w})", "{o}[t]", "max(~y[{a} : {b}])", "sum(~y[{a} : {b}])")


def random_gap_case(seed: int) -> Case:
    """A query of an object or two and an output; equal seeds give equal cases."""
    random = Random(f"sample gaps {seed}")  # noqa: S311 - tests, not secrets
    scalar, period = random.choice(SCALARS), random.choice((1, 1, 1, 2, 5))
    lifetime = "time ts point" if period == 1 and seed % 2 == 0 else f"sampled {period}"
    lines = [
        AREA,
        f"input x : {scalar} {lifetime}",
        f"input y : f64 {lifetime}",
        f"input s : {STRUCT} {lifetime}",
        f"t = TDom(-∞, ∞, {period * random.choice((1, 1, 1, 1, 1, 2))})",
        f"~m[t] = {random.choice(_objects(scalar)).replace('w', str(period))}",
        f"~y0[t] = ~y[t-{period}] > 0 ? ~y[t] : φ",
    ]
    names = "abc"[: random.choice((1, 1, 2, 3))]
    fields = [f"{name} = {_field(random, scalar, period)}" for name in names]
    lines += [f"~o[t] = {{ {', '.join(fields)} }}", "output ~o"]
    query = parse("\n".join(lines))
    used = {declared.name for declared in query.inputs}
    cells = random.choice((60, 200, 400))
    lost = random.choice((0.01, 0.1, 0.3, 0.9))
    kinds = {"x": scalar, "y": "f64", "s": "struct"}
    events = {
        name: _samples(random, kind, period, cells, random.choice((lost, lost, 0.0)))
        for name, kind in kinds.items()
        if name in used
    }
    return Case(query, events, None, None, {})


def _objects(scalar: str) -> tuple[str, ...]:
    """Objects with gaps of their own, some with snapshots of several cells."""
    if scalar == "string":
        return ("~x[t]", '~x[t] != "b" ? ~x[t] : φ', "~y[t] > 0 ? ~x[t-w] : φ")
    if scalar == "bool":
        return ("~x[t]", "~x[t] ? φ : ~x[t]", "~y[t] > 0 && ~x[t-w]")
    return ("~x[t]", "~x[t] > 0 ? ~x[t] : φ", "~x[t] + ~x[t-w]", "max(~x[t-w-w : t])")


def _field(random: Random, scalar: str, period: int) -> str:
    end = random.choice(OFFSETS)
    start = end - random.choice(LENGTHS)
    a, b = (f"t{cells * period:+}" for cells in (start, end))
    name = random.choice(("~x", "~x", "~y", "~m", "~y0", "~s"))
    kind = scalar if name in ("~x", "~m") else "f64"
    window = f"{name}[{a} : {b}]"
    drawn = random.random()
    if drawn < 0.15:
        text = random.choice(BESIDE)
    elif name == "~s":
        text = random.choice(STRUCT_ELEMENTS)
    elif drawn < 0.35:
        text = random.choice(FILLS)
    elif drawn < 0.5 and kind == "f64":
        text = random.choice(TIMES)
    else:
        text = random.choice(ELEMENTS)
    if "~y0" in text:
        present = f" if v > {'true' if kind == 'bool' else 0}"
        text = "{r}({w})" if kind == "string" else f"{{r}}(v for v in {{w}}{present})"
    text = text.replace("{o}[t]", "~y[t]")
    return text.format(
        r=random.choice(("last", "first")),
        f=random.choice("ank"),
        o="~y" if name == "~s" else name,
        n=random.choice(LENGTHS) * period,
        w=window,
        a=a,
        b=b,
    )


def _samples(
    random: Random, kind: str, period: int, cells: int, lost: float
) -> list[Event]:
    """Samples from a common time on, some of which are lost."""
    start = 7 * period
    events = [
        Event(time, time + period, _payload(random, kind))
        for time in range(start, start + cells * period, period)
        if random.random() >= lost
    ]
    return events or [Event(start, start + period, _payload(random, kind))]


def _payload(random: Random, kind: str) -> Value:
    number = random.randint(-80, 80)
    match kind:
        case "struct":
            a = random.choice((number / 8, number / 8, None, float("nan"), -0.0))
            k = random.choice((None, "a", "b"))
            return {"a": a, "n": random.choice((number, number, None)), "k": k}
        case "f64" | "f32":
            return random.choice((number / 8,) * 8 + (float("nan"), -0.0))
        case "bool":
            return number > 0
        case "string":
            return random.choice("abc")
        case _:
            return number


HOPS = (16, 20, 32, 48, 80)
FOLDS = (
    "count", "count", "sum", "mean", "min", "max", "std", "any", "var", "skew", "spread"
)  # fmt: skip
SPREAD = """\
reduction spread(v: f64) {
    init = { low = 0.0, high = 0.0, n = 0 }
    acc = {
        low = state.n > 0 ? min(state.low, v) : v,
        high = state.n > 0 ? max(state.high, v) : v,
        n = state.n + 1
    }
    merge = { low = min(a.low, b.low), high = max(a.high, b.high), n = a.n + b.n }
    result = state.n > 1 ? state.high - state.low : φ
}"""


def random_hop_case(seed: int) -> Case:
    """A query of windows that hop, over samples with outages that empty panes."""
    random = Random(f"hops over gaps {seed}")  # noqa: S311 - tests, not secrets
    period, hop = random.choice((1, 1, 1, 2)), random.choice(HOPS)
    fields = []
    for name in "abc"[: random.choice((1, 1, 2, 3))]:
        reduction = random.choice(FOLDS)
        length = hop * random.choice((1, 2, 2, 3, 4, 7)) - random.choice(
            (0, 0, hop // 2)
        )
        end = random.choice((0, 0, 0, -hop, hop, 2 * hop))
        a, b = (f"t{cells * period:+}" for cells in (end - length, end))
        value = "v > 0" if reduction == "any" else "v"
        condition = random.choice(("", "", "", " if v > 0"))
        fields.append(
            f"{name} = {reduction}({value} for v in ~x[{a} : {b}]{condition})"
        )
    lines = [
        SPREAD,
        f"input x : f64 sampled {period}",
        f"t = TDom(-∞, ∞, {hop * period})",
        f"~o[t] = {{ {', '.join(fields)} }}",
        "output ~o",
    ]
    lost, share = random.choice((0.0, 0.0, 0.01, 0.5)), random.choice((0.0, 0.01, 0.03))
    cells, start = random.choice((5, 12, 25)) * hop, 3 * hop * period
    events, out = [], 0
    for time in range(start, start + cells * period, period):
        if random.random() < share:
            out = random.choice((hop, 2 * hop, 5 * hop))
        out -= 1
        if out < 0 and random.random() >= lost:
            events.append(Event(time, time + period, random.randint(-80, 80) / 8))
    events = events or [Event(start, start + period, 1.0)]
    return Case(parse("\n".join(lines)), {"x": events}, None, None, {})

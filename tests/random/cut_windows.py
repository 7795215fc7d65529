"""Random queries whose reductions see where open windows cut snapshots.

`area(~x[since ~c : t])`, with `area(v: f64, start, end)`: over inputs and objects, with
elements that are φ, have conditions or see the present.
"""

from random import Random

from tests.random.matches import random_window
from tests.random.queries import Case, random_domain
from tests.random.streams import StreamMaker
from tiltpy.frontend.parse import parse
from tiltpy.types import F64

REDUCTIONS = """
reduction area(v: f64, start, end) {
    init = 0.0
    acc = state + v * f64(end - start)
    result = state
}
reduction newest(v: f64, start, end) {
    init = i64(φ)
    acc = start
    merge = b
    result = state
}
reduction longest(v: f64, start, end) {
    init = { ticks = 0, end = i64(φ) }
    acc = end - start >= state.ticks ? { ticks = end - start, end = end } : state
    merge = b.ticks >= a.ticks ? b : a
    result = state.ticks % 2 == 0 ? state.end : φ
}
reduction pauses(v: f64, start, end) {
    init = { last = i64(φ), ticks = 0 }
    acc = {
        last = end,
        ticks = state.ticks + (state.last == φ ? 0 : start - state.last)
    }
    result = state.ticks
}
"""
NAMES = ("area", "newest", "longest", "pauses")
OBJECTS = (
    "~x", "~x", "~h", "~r2",
)  # fmt: skip
ELEMENTS = (
    "{w}", "{w}", "v for v in {w} if v > 0", "v > 0.5 ? v : φ for v in {w}",
    "v - ~y[{t}] for v in {w}", "v for v in {w} if v < ~x[{t}]",
)  # fmt: skip


def random_cut_case(seed: int) -> Case:
    """A query with some such reductions, and its streams; the same for a seed."""
    random = Random(f"cuts {seed}")  # noqa: S311 - tests, not secrets
    maker = StreamMaker(random, exact=True, specials=False)
    events = {name: maker.events(F64)[0] for name in "xy"}
    lines = ["input x : f64", "input y : f64", REDUCTIONS, "e = Rows(~x)"]
    lines.append(f"w = TDom(-∞, ∞, {random.choice((2, 3, 7))})")
    lines += ["~c[t] = ~y[t] > 0.5", "~r[e] = ~x[e] > 0.5", "~r2[e] = ~x[e] * 2"]
    lines.append("~h[t] = ~x[t-1] != φ ? ~x[t] : φ")
    names = "opq"[: random.choice((1, 2, 3))]
    for name in names:
        time = random.choice("eettttw")
        calls = [_call(random, time) for _ in range(random.choice((1, 1, 2)))]
        body = ", ".join(f"f{n} = {call}" for n, call in enumerate(calls))
        alive = f"~x[{time}] != φ ? {{ {body} }} : φ"
        body = calls[0] if len(calls) == 1 else f"{{ {body} }}"
        lines.append(f"~{name}[{time}] = {random.choice((alive, body, body))}")
    lines.append("output " + ", ".join(f"~{name}" for name in names))
    return Case(parse("\n".join(lines)), events, *random_domain(random, maker))


def _call(random: Random, time: str) -> str:
    """A reduction of a window, mostly one that sees where it cuts."""
    end = random.choice((0, 0, 0, -1, 2)) if time != "e" else 0
    window = random_window(random, time, end)
    others = OBJECTS if "row e" not in window else ("~x", "~r2")
    window = window.replace("~x", random.choice(others), 1)
    name = random.choice((*NAMES, *NAMES, "sum", "count"))
    element = random.choice(ELEMENTS).format(w=window, t=time)
    return f"{name}({element})"

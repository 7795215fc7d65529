"""Random queries of the most frequent values, beside other order statistics.

`modes(v.k for v in ~x[t-9 : t] if v.n > 0, 3)`: values of every type, φ and NaN among
them, in windows of every kind, whose elements see the present or do not.
"""

from random import Random

from tests.random.matches import INPUTS, SHAPE
from tests.random.queries import Case, random_domain
from tests.random.streams import StreamMaker
from tiltpy.frontend.parse import parse

VALUES = ("v.a", "v.f", "v.n", "v.u", "v.k", "v.n % 2", "v.n > 0")
CONDITIONS = ("", "", " if v.n > 0", " if v.a < ~x[{t}].a", " if i64({t}) % 3 != 0")
BESIDE = ("mode({of})", "nunique({of})", "topk({of}, 2).top2", "count({of})")


def random_frequency_case(seed: int) -> Case:
    """A query of two objects, and its streams; equal seeds give equal cases."""
    random = Random(f"frequencies {seed}")  # noqa: S311 - tests, not secrets
    maker = StreamMaker(random, exact=True, specials=seed % 3 == 0)
    events = {name: maker.events(payload)[0] for name, payload in INPUTS.items()}
    lines = [f"input x : {SHAPE}", "input y : f64", "e = Rows(~x)"]
    lines.append(f"w = TDom(-∞, ∞, {random.choice((2, 3, 7))})")
    for name in "op":
        time = random.choice("ettw")
        end = random.choice((0, 0, 0, -1, 2)) if time != "e" else 0
        start = f"{time}{end - random.choice((1, 4, 9, 20, 60)):+}"
        condition = random.choice(CONDITIONS)
        if end == 0 and not condition:
            opens = ("last 3",) if time == "e" else ("-∞", "last 3", "since ~c")
            start = random.choice((start, *opens))
        value = random.choice(VALUES)
        of = f"{value} for v in ~x[{start} : {time}{end:+}]{condition}"
        of = of.replace("+0]", "]").replace("{t}", time)
        count = random.choice((1, 2, 3, 5, 64))
        result = f"modes({of}, {count})"
        if random.random() < 0.4:
            field = random.choice(("mode", "count")) + str(random.randint(1, count))
            beside = random.choice(BESIDE).format(of=of)
            result = f"{{ a = {result}.{field}, b = {beside} }}"
        lines.append(f"~{name}[{time}] = {result}")
    lines.append("~c[t] = ~y[t] > 0")
    query = parse("\n".join((*lines, "output ~o, ~p")))
    return Case(query, events, *random_domain(random, maker))

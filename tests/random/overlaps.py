"""Random queries over windows of overlapping events, which leave in any order.

Exact states beside those of trees, over elements that may be φ, on grids of any step.
"""

from random import Random

from tests.random.matches import INPUTS, SHAPE
from tests.random.queries import Case, random_domain
from tests.random.streams import Spans, StreamMaker
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event

VALUES = ("v.a", "v.f", "v.n", "v.u", "v.n + i64(v.u)", "v.n % 2", "v.n > 0")
VALUES_OF = {
    "any": VALUES[-1:],
    "all": VALUES[-1:],
    "mean": ("v.a", "v.f", "v.u"),
    "var": ("v.a", "v.f", "v.u"),
}
"""Where not any value will do: means of the greatest integers round."""
CONDITIONS = ("", "", "", " if v.n > 0", " if v.a != φ")
EXACT = ("count", "sum", "any", "all")
OTHERS = ("min", "max", "mean", "sum", "first", "last", "var", "nunique")


def overlapping_spans(random: Random, start: int) -> Spans:
    """Events that start in order and are of any length, a few of them long."""
    longest, spans = random.choice((2, 5, 30)), []
    for _ in range(random.choice((1, 4, 20, 70))):
        start += random.choice((0, 0, 1, 2))
        length = random.randint(1, longest) + 80 * (random.random() < 0.05)
        spans.append((start, start + length))
    return spans


def random_overlap_case(seed: int) -> Case:
    """A query of two objects, and its streams; equal seeds give equal cases."""
    random = Random(f"overlaps {seed}")  # noqa: S311 - tests, not secrets
    maker = StreamMaker(random, exact=True, specials=seed % 3 == 0)
    events = {name: maker.events(payload)[0] for name, payload in INPUTS.items()}
    pools = maker.pools(SHAPE)
    spans = overlapping_spans(random, maker.start)
    events["x"] = [Event(s, e, maker.payload(SHAPE, pools)) for s, e in spans]
    lines = [f"input x : {SHAPE}", "input y : f64"]
    lines.append(f"w = TDom(-∞, ∞, {random.choice((2, 3, 7))})")
    for name in "op":
        time = random.choice("ttw")
        fields = []
        for number in range(random.choice((1, 1, 2, 3))):
            end = random.choice((0, 0, 0, -1, 2))
            reach = random.choice((1, 1, 4, 9, 20, 60))
            window = f"~x[{time}{end - reach:+} : {time}{end:+}]".replace("+0]", "]")
            reduction = random.choice(random.choice((EXACT, OTHERS)))
            values = VALUES_OF.get(reduction, VALUES)
            of = f"{random.choice(values)} for v in {window}{random.choice(CONDITIONS)}"
            fields.append(f"f{number} = {reduction}({of})")
        lines.append(f"~{name}[{time}] = {{ {', '.join(fields)} }}")
    query = parse("\n".join((*lines, "output ~o, ~p")))
    return Case(query, events, *random_domain(random, maker))

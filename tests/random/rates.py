"""Random queries over samples of several rates, where a slow one is beside a fast one.

`~o[t] = ~a[t-3] * ~c[t] + ~b[t]` over samples of 1, 10 and 100,000 ticks, of any phase,
on grids of any precision.
"""

from dataclasses import replace
from random import Random

from tests.compiled import Setting, random_setting
from tests.random.queries import Case
from tests.random.streams import StreamMaker
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event
from tiltpy.types import F64, I32, Scalar

RATIOS = (1, 2, 3, 4, 5, 7, 10, 15, 16, 17, 24, 31, 32, 33, 60, 100, 257, 1000)
"""Ticks of a slow sample to one of the fastest."""
FASTEST = (1, 1, 1, 2, 3, 10)
CELLS = (150, 600, 900, 1500)
"""Samples of the fastest input."""
POINTS = ("~{x}[t]", "~{x}[t]", "~{x}[t-1]", "~{x}[t-{n}]", "~{x}[t+2]", "~{x}[t-40]")
BODIES = (
    "{0} * {1} + {2}",
    "{0} + {1} - {2}",
    "{0} > {1} ? {1} : {2}",
    "{1} != φ ? {0} - {1} : {2}",
    "{{ a = {0} * {1}, b = {2} }}",
    "{0} + {1} * {1} - start(~b[t]) % 7 + {2} * 0",
    "mean(~a[t-{w} : t]) + {1} * {2}",
    "{0} + sum(~b[t-{v} : t]) + {2} * 0",
    "{1} + {2}",
)


def random_rate_case(seed: int) -> Case:
    """A query over three inputs, and its streams; equal seeds give equal cases."""
    random = Random(f"rates {seed}")  # noqa: S311 - tests, not secrets
    maker = StreamMaker(random, exact=True, specials=False)
    maker.start = random.choice((0, 0, -40, 5, 1000, 10**12))
    fastest, cells = random.choice(FASTEST), random.choice(CELLS)
    maker.end = maker.start + cells * fastest
    periods = {"a": fastest}
    periods |= {name: fastest * random.choice(RATIOS) for name in "bc"}
    if random.random() < 0.2:  # of no whole ratio
        periods["c"] += random.randint(1, fastest)
    types = {name: random.choice((F64, F64, I32)) for name in "abc"}
    lost = {name: random.choice((0.0, 0.0, 0.0, 0.1)) for name in "abc"}
    events = {
        name: _samples(random, maker, period, types[name], lost[name])
        for name, period in periods.items()
    }
    lines = [f"input {name} : {types[name]}" for name in "abc"]
    points = [_point(random, name, fastest) for name in "abc"]
    body = random.choice(BODIES).replace("{w}", str(fastest * 20))
    body = body.replace("{v}", str(2 * periods["b"])).format(*points)
    if random.random() < 0.3:
        precision = random.choice((1, fastest, 2 * fastest, 5, 16))
        lines.append(f"t = TDom(-∞, ∞, {precision}, {random.randrange(precision)})")
    lines.append(f"~o[t] = {body}")
    last = "~o"
    if random.random() < 0.3:
        lines.append(f"~p[t] = ~o[t-{fastest}]")
        last = "~o, ~p"
    query = parse("\n".join((*lines, f"output {last}")))
    start, end = None, None
    if random.random() < 0.3:
        start = random.randint(maker.start - 5, maker.end)
        end = random.choice((None, random.randint(start, maker.end + 50)))
    return Case(query, events, start, end)


def random_rate_setting(random: Random) -> Setting:
    """Ways to run that leave most of the work to a vector kernel."""
    setting = random_setting(random, span=200)
    return replace(
        setting,
        chunk=random.choice((None, None, 16, 160, 333)),
        special_shapes=random.random() < 0.9,
        layout=None,
        nulls="samples",
        points=False,
        vector=True,
    )


def _point(random: Random, name: str, fastest: int) -> str:
    return random.choice(POINTS).format(x=name, n=random.choice((2, 3)) * fastest)


def _samples(
    random: Random, maker: StreamMaker, period: int, scalar: Scalar, lost: float
) -> list[Event]:
    """Samples over the span of all inputs, or over less of it, of any phase."""
    pools = maker.pools(scalar)
    start = maker.start + random.choice((0, 0, 0, -1, random.randrange(period)))
    end = maker.end + random.choice(
        (0, 0, 3, -maker.end // 8 if maker.end < 9000 else 0)
    )
    return [
        Event(time, time + period, maker.payload(scalar, pools))
        for time in range(start, max(end, start + 1), period)
        if random.random() >= lost
    ]

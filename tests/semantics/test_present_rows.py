"""Elements that see the row of their domain: the compiler against the interpreter."""

from random import Random

import pytest

from tests.plain import check_engines

INPUTS = """input x : f64
input y : f64
e = Rows(~x)
"""
QUERIES = [
    "~o[e] = count(v for v in ~x[e-9 : e] if v == ~x[e])",
    "~o[e] = count(v for v in ~x[e-9 : e] if v == ~x[e+0])",
    "~o[e] = sum(v - ~y[e] for v in ~x[e-9 : e] if v > ~x[e])",
    "~o[e] = count(v for v in ~x[e-9 : row e] if v == ~x[e])",
    "~o[e] = max(v for v in ~x[e-9 : row e] if v < ~x[e] || start(~x[e]) < 9)",
    "~o[e] = count(v for v in ~x[-∞ : row e] if v == ~x[e])",
    "~o[e] = count(v for v in ~x[-∞ : e] if v < ~x[e]) + 1",
    "~o[e] = sum(v * ~x[e] for v in ~x[last 3 : row e] if v != ~y[e])",
    """~r[e] = ~x[e] > 3
~o[e] = count(v for v in ~x[since ~r : row e] if v <= ~x[e])""",
    """~r[t] = ~y[t] > 3
~o[e] = max(v for v in ~x[since ~r : e within 6] if v < ~x[e])""",
    """~p[e] = ~x[e] > 2 ? ~x[e] * 2 : φ
~o[e] = median(v - ~x[e] for v in ~p[last 4 : row e within 5])""",
    """~p[e] = ~x[e] > 2 ? ~x[e] * 2 : φ
~o[e] = count(v for v in ~p[e-9 : row e] if v < ~x[e])""",
    """~p[e] = ~x[e] > 2 ? ~x[e] * 2 : φ
~o[e] = count(v for v in ~x[e-9 : e] if v < ~p[e])""",
    """~p[e] = sum(~y[e-5 : e])
~o[e] = max(v for v in ~x[e-9 : e] if v < ~p[e])
output ~o, ~p""",
    """~p[e] = -~x[e]
~o[e] = count(v for v in ~p[e-9 : e] if v < ~p[e] || start(~p[e]) > 5)""",
    """~p[e] = -~x[e]
~o[t] = count(v for v in ~p[t-9 : t] if v < ~p[t])""",
    """~p[e] = count(v for v in ~x[e-9 : e] if v <= ~x[e])
f = Rows(~p)
~o[f] = ~p[f] - f64(count(v for v in ~p[f-4 : f] if v == ~p[f]))""",
]


@pytest.mark.few(8)
@pytest.mark.parametrize("query", QUERIES)
def test_elements_see_the_row_of_their_domain(query: str, *, deep: bool) -> None:
    for seed in range(100 if deep else 4):
        random = Random(seed)  # noqa: S311
        events = {name: overlapping_events(random) for name in "xy"}
        check_engines(INPUTS + query, events)


def overlapping_events(random: Random) -> list[tuple[int, int, float]]:
    """Draw events some of which start together, or while others hold."""
    start, events = 0, []
    for _ in range(random.choice((0, 3, 20))):
        start += random.choice((0, 0, 1, 2, 5))
        end = start + random.choice((1, 1, 2, 6))
        events.append((start, end, float(random.randint(0, 5))))
    return events

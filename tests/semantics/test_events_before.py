"""Windows that see the events shortly before, over all that decides about them.

Vectors of events fold such windows anew, reading as many rows as any lane needs; other
loops serve if events are tied, or few.
"""

from random import Random
from unittest.mock import patch

import pytest

from tests.compiled import Setting, run_compiled
from tests.plain import check_engines
from tests.random.events import (
    NearEventWriter,
    random_event_case,
    random_event_setting,
)
from tests.random.queries import Case
from tests.random.ties import with_ties
from tests.semantics.test_properties import check
from tiltpy.lowering.sweep.event_vectors import EventVectors

CASES, BATCH, DEEPER = 8, 8, 750
TIED = 4
"""Of so many cases one has tied events."""


def near_case(seed: int, *, exact: bool) -> Case:
    case = random_event_case(
        seed, exact=exact, specials=exact and seed % 3 == 0, writes=NearEventWriter
    )
    return with_ties(case, seed) if seed % TIED == 1 else case


def check_near_events(seed: int) -> None:
    exact = seed % 5 != 3
    setting = random_event_setting(Random(seed))  # noqa: S311
    difference = check(near_case(seed, exact=exact), setting, exact=exact)
    assert difference is None, f"near event seed {seed}, {setting}\n{difference}"


@pytest.mark.parametrize("batch", range(CASES // BATCH))
def test_events_before_equal_the_interpreter(batch: int, *, deep: bool) -> None:
    for first in range(batch * BATCH, CASES * (DEEPER if deep else 1), CASES):
        for seed in range(first, first + BATCH):
            check_near_events(seed)


def test_cases_reach_vectors_of_events() -> None:
    """Enough of them, or the tests above would test nothing."""
    reached = long = 0
    for seed in range(20):
        setting = random_event_setting(Random(seed))  # noqa: S311
        with patch.object(
            EventVectors, "visit", autospec=True, side_effect=EventVectors.visit
        ) as visit:
            run_compiled(near_case(seed, exact=True), setting)
        reached += visit.called
        depths = [
            rows for call in visit.mock_calls for rows in call.args[0].depths.values()
        ]
        long += any(rows == 1 for rows in depths)
    assert reached >= 4
    assert long >= 1


@pytest.mark.parametrize("window", ["t-15 : t-10", "t-30 : t-9", "t-24 : t-20"])
def test_a_window_that_ends_before_the_nearest_rows_has_those_further_back(
    window: str,
) -> None:
    random = Random(window)  # noqa: S311
    rows = [(at, at + 1, float(at % 8)) for at in range(300) if random.random() < 0.8]
    text = f"input x : f64\n~o[t] = ~x[t] != φ ? sum(~x[{window}]) : φ\noutput ~o"
    settings = [Setting(points=True, vector=False), Setting(points=True, small=True)]
    check_engines(text, {"x": rows}, settings=settings)

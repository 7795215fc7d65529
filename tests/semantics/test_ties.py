"""Events that share their times, over all that decides how they are computed.

Point references see the last of them, windows all. A case is any generator's with some
events repeated; `EVENTS` are windows at point events, `STATES` about anything.
"""

from random import Random
from unittest.mock import patch

import pytest

from tests.compiled import random_setting, run_compiled
from tests.random.events import random_event_case, random_event_setting
from tests.random.held_rows import with_held_rows
from tests.random.queries import random_case
from tests.random.ties import with_ties
from tests.semantics.test_properties import check
from tiltpy.runtime.ingest.visible_rows import visible_rows

EVENTS, STATES = 6, 6
BATCH = 6
DEEPER = 670


def check_tied_events(seed: int) -> None:
    exact = seed % 4 != 3
    case = random_event_case(seed, exact=exact, specials=exact and seed % 3 == 0)
    setting = random_event_setting(Random(seed))  # noqa: S311
    difference = check(with_ties(case, seed), setting, exact=exact)
    assert difference is None, f"tied event seed {seed}, {setting}\n{difference}"


def check_tied_states(seed: int) -> None:
    exact = seed % 4 != 3
    case = random_case(seed, exact=exact, specials=exact and seed % 3 == 0)
    case = with_ties(case, seed)
    if seed % 2:
        case = with_held_rows(case, seed)
    setting = random_setting(Random(seed), span=80)  # noqa: S311
    difference = check(case, setting, exact=exact)
    assert difference is None, f"tied seed {seed}, {setting}\n{difference}"


@pytest.mark.parametrize("batch", range(EVENTS // BATCH))
def test_tied_events_equal_the_interpreter(batch: int, *, deep: bool) -> None:
    for first in range(batch * BATCH, EVENTS * (DEEPER if deep else 1), EVENTS):
        for seed in range(first, first + BATCH):
            check_tied_events(seed)


@pytest.mark.parametrize("batch", range(STATES // BATCH))
def test_tied_states_equal_the_interpreter(batch: int, *, deep: bool) -> None:
    for first in range(batch * BATCH, STATES * (DEEPER if deep else 1), STATES):
        for seed in range(first, first + BATCH):
            check_tied_states(seed)


def test_cases_have_hidden_rows_that_are_dropped() -> None:
    """Enough of them, or the tests above would test nothing."""
    dropped = 0
    for seed in range(30):
        case = with_ties(random_event_case(seed, exact=True), seed)
        setting = random_event_setting(Random(seed))  # noqa: S311
        with patch("tiltpy.engines.engine.visible_rows", wraps=visible_rows) as drop:
            run_compiled(case, setting)
        dropped += drop.called
    assert dropped >= 5

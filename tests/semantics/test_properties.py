"""The compiler against the interpreter: random queries, streams and ways to run them.

Cases with payloads that are small multiples of 1/8, where floats agree to the bit, and
some with arbitrary floats, which agree to rounding; fewer of those that vector kernels
or loops over point events are for, whose streams are longer. `--deep` draws thousands
of times as many. Each runs once, with its own choice of chunk length, workers, layout,
shapes and passes. In some the last rows of inputs hold on. A failing case prints its
seed, its setting and its query.
"""

from random import Random

import pytest

from tests.compare import first_difference
from tests.compiled import Setting, random_setting, run_compiled
from tests.random.events import random_event_case, random_event_setting
from tests.random.grids import random_grid_case, random_grid_setting
from tests.random.held_rows import with_held_rows
from tests.random.payloads import random_payload_case
from tests.random.queries import Case, random_case
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import interpret
from tiltpy.ir.print.query import format_query

BATCH = 14
EXACT, ROUNDED = 28, 14
PAYLOADS = 14
"""Of times, durations and structs in structs; every fifth with arbitrary floats."""
EVENTS = 10
"""Of windows at point events; every fourth with arbitrary floats."""
EVENT_BATCH = 10
GRID_BATCH = 8
GRIDS = 8
"""Every fourth of them with arbitrary floats."""
DEEPER = 3_500
HELD = 4
"""Of so many cases one has last rows that hold on, as those of `until_next`."""


def check(case: Case, setting: Setting, *, exact: bool) -> str | None:
    """Return what differs between the interpreter and machine code, if anything."""
    expected = interpret(
        case.query, case.events, start=case.start, end=case.end, bounds=case.bounds
    )
    found = run_compiled(case, setting)
    for name in case.query.outputs:
        difference = first_difference(
            found[name], expected[name], case.query, name, exact=exact
        )
        if difference is not None:
            return f"~{name}: {difference}\n{format_query(case.query)}"
    return None


def check_batch(first: int, *, exact: bool) -> None:
    for seed in range(first, first + BATCH):
        case = random_case(seed, exact=exact, specials=exact and seed % 3 == 0)
        if seed % HELD == 1:
            case = with_held_rows(case, seed)
        setting = random_setting(Random(seed), span=80)  # noqa: S311
        difference = check(case, setting, exact=exact)
        assert difference is None, f"seed {seed}, {setting}\n{difference}"


@pytest.mark.parametrize("batch", range(EXACT // BATCH))
def test_machine_code_equals_the_interpreter_to_the_bit(
    batch: int, *, deep: bool
) -> None:
    for first in range(batch * BATCH, EXACT * (DEEPER if deep else 1), EXACT):
        check_batch(first, exact=True)


@pytest.mark.parametrize("batch", range(ROUNDED // BATCH))
def test_machine_code_equals_the_interpreter_to_rounding(
    batch: int, *, deep: bool
) -> None:
    for first in range(batch * BATCH, ROUNDED * (DEEPER if deep else 1), ROUNDED):
        check_batch(first, exact=False)


def check_payload_case(seed: int) -> None:
    exact = seed % 5 != 4
    case = random_payload_case(seed, exact=exact, specials=exact and seed % 3 == 0)
    if seed % HELD == 1:
        case = with_held_rows(case, seed)
    setting = random_setting(Random(seed), span=80)  # noqa: S311
    difference = check(case, setting, exact=exact)
    assert difference is None, f"payload seed {seed}, {setting}\n{difference}"
    assert parse(format_query(case.query)) == case.query, f"payload seed {seed}"


@pytest.mark.parametrize("batch", range(PAYLOADS // BATCH))
def test_times_and_nested_structs_equal_the_interpreter(
    batch: int, *, deep: bool
) -> None:
    for first in range(batch * BATCH, PAYLOADS * (DEEPER if deep else 1), PAYLOADS):
        for seed in range(first, first + BATCH):
            check_payload_case(seed)


def check_grid_case(seed: int) -> None:
    exact = seed % 4 != 3
    case = random_grid_case(seed, exact=exact, specials=exact and seed % 3 == 0)
    if seed % HELD == 1:
        case = with_held_rows(case, seed)
    setting = random_grid_setting(Random(seed), case)  # noqa: S311
    difference = check(case, setting, exact=exact)
    assert difference is None, f"grid seed {seed}, {setting}\n{difference}"


@pytest.mark.parametrize("batch", range(GRIDS // GRID_BATCH))
def test_vector_kernels_equal_the_interpreter(batch: int, *, deep: bool) -> None:
    for first in range(batch * GRID_BATCH, GRIDS * (DEEPER if deep else 1), GRIDS):
        for seed in range(first, first + GRID_BATCH):
            check_grid_case(seed)


def check_event_case(seed: int) -> None:
    exact = seed % 4 != 3
    case = random_event_case(seed, exact=exact, specials=exact and seed % 3 == 0)
    if seed % HELD == 1:
        case = with_held_rows(case, seed)
    setting = random_event_setting(Random(seed))  # noqa: S311
    difference = check(case, setting, exact=exact)
    assert difference is None, f"event seed {seed}, {setting}\n{difference}"


@pytest.mark.parametrize("batch", range(EVENTS // EVENT_BATCH))
def test_windows_at_events_equal_the_interpreter(batch: int, *, deep: bool) -> None:
    first_of_all = batch * EVENT_BATCH
    for first in range(first_of_all, EVENTS * (DEEPER if deep else 1), EVENTS):
        for seed in range(first, first + EVENT_BATCH):
            check_event_case(seed)

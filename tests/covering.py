"""Covering arrays: few cases of a product that hold each combination of some values.

A test that is marked `covering(strength)` runs for so many of its parameter sets that
each combination of values of `strength` of its parameters occurs: 2 for pairs, 1 for
each value by itself. `--deep` runs them all.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import pytest


def cover(cases: Sequence[Mapping[str, str]], strength: int) -> list[int]:
    """Choose cases, by their places, that have every combination which any case has.

    Those that add most come first, so that a product of three needs hardly more than
    the two longest of its factors.
    """
    chosen: list[int] = []
    missing = {part for case in cases for part in _parts(case, strength)}
    most = max((len(list(_parts(case, strength))) for case in cases), default=0)
    for wanted in range(most, 0, -1):
        for place, case in enumerate(cases):
            new = missing.intersection(_parts(case, strength))
            if len(new) >= wanted:
                chosen.append(place)
                missing -= new
    return sorted(chosen)


def _parts(
    case: Mapping[str, str], strength: int
) -> Iterator[tuple[tuple[str, str], ...]]:
    return combinations(sorted(case.items()), min(strength, len(case)))


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the parameter sets that tests marked `covering` can do without."""
    groups: dict[str, list[pytest.Function]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("covering"):
            groups.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out: set[pytest.Item] = set()
    for group in groups.values():
        marker = group[0].get_closest_marker("covering")
        assert marker is not None
        (strength,) = marker.args
        chosen = cover([_texts(item.callspec.params) for item in group], strength)
        left_out |= {*group} - {group[place] for place in chosen}
    if left_out:
        config.hook.pytest_deselected(items=[one for one in items if one in left_out])
        items[:] = [one for one in items if one not in left_out]


def _texts(params: Mapping[str, object]) -> dict[str, str]:
    return {name: repr(value) for name, value in params.items()}

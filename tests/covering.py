"""Covering arrays: few cases of a product that hold each combination of some values.

A test that is marked `covering(strength)` runs for so many of its parameter sets that
each combination of values of `strength` of its parameters occurs: 2 for pairs, 1 for
each value by itself. One that is marked `few(count)`, whose parameter sets are alike,
runs for so many, spread evenly. `--deep` runs them all.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import pytest

Part = tuple[tuple[str, str], ...]
"""A combination of some values of a case, each with its name."""


def cover(cases: Sequence[Mapping[str, str]], strength: int) -> list[int]:
    """Choose cases, by their places, that have every combination which any case has.

    Those that add most come first, so that a product of three needs hardly more than
    the two longest of its factors; of these the one whose values were seldom chosen.
    """
    parts = [frozenset(_parts(case, strength)) for case in cases]
    missing = set[Part]().union(*parts)
    met: Counter[tuple[str, str]] = Counter()
    chosen: list[int] = []

    def gain(place: int) -> tuple[int, int]:
        seldom = -sum(met[value] for value in cases[place].items())
        return len(missing & parts[place]), seldom

    while missing:
        best = max(range(len(cases)), key=gain)
        chosen.append(best)
        missing -= parts[best]
        met.update(cases[best].items())
    return sorted(chosen)


def _parts(case: Mapping[str, str], strength: int) -> Iterator[Part]:
    return combinations(sorted(case.items()), min(strength, len(case)))


def spread(count: int, few: int) -> list[int]:
    """Choose `few` places of `count`, the first and the last among them."""
    if few >= count:
        return list(range(count))
    return [place * (count - 1) // max(few - 1, 1) for place in range(few)]


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the parameter sets that marked tests can do without."""
    groups: dict[str, list[pytest.Function]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            groups.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out: set[pytest.Item] = set()
    for group in groups.values():
        left_out |= {*group} - {group[place] for place in _chosen(group)}
    if left_out:
        config.hook.pytest_deselected(items=[one for one in items if one in left_out])
        items[:] = [one for one in items if one not in left_out]


def _chosen(group: Sequence[pytest.Function]) -> Sequence[int]:
    covering = group[0].get_closest_marker("covering")
    if covering is not None:
        (strength,) = covering.args
        return cover([_texts(item.callspec.params) for item in group], strength)
    few = group[0].get_closest_marker("few")
    if few is not None:
        (count,) = few.args
        return spread(len(group), count)
    return range(len(group))


def _texts(params: Mapping[str, object]) -> dict[str, str]:
    return {name: repr(value) for name, value in params.items()}

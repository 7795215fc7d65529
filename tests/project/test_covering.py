"""Covering arrays of the tests' own parameters: complete, and short."""

from itertools import product

import pytest

from tests.covering import cover, spread


@pytest.mark.parametrize(
    ("sizes", "strength", "most"),
    [((16, 3, 3), 2, 48), ((6, 4, 3, 2), 2, 28), ((9, 4), 1, 9), ((5,), 2, 5)],
)
def test_each_combination_is_there(
    sizes: tuple[int, ...], strength: int, most: int
) -> None:
    names = "abcd"[: len(sizes)]
    cases = [
        dict(zip(names, map(str, values), strict=True))
        for values in product(*(range(size) for size in sizes))
    ]
    chosen = [cases[place] for place in cover(cases, strength)]
    assert len(chosen) <= most
    for case in cases:
        for one, other in (
            product(names, repeat=2) if strength == 2 else ((n, n) for n in names)
        ):
            assert any(c[one] == case[one] and c[other] == case[other] for c in chosen)


@pytest.mark.parametrize(
    ("count", "few", "places"),
    [(10, 3, [0, 4, 9]), (7, 1, [0]), (2, 5, [0, 1]), (4, 4, [0, 1, 2, 3])],
)
def test_few_of_many_are_spread(count: int, few: int, places: list[int]) -> None:
    assert spread(count, few) == places

"""Covering arrays of the tests' own parameters: complete, and short."""

from itertools import product

import pytest

from tests.covering import cover


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

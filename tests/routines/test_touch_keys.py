"""Codes of keys are listed once, whatever stands in the places of before."""

from itertools import chain
from random import Random

import numpy as np
import pytest

from tiltpy.routines.catalogue import TOUCH_KEYS
from tiltpy.routines.prepared_call import PreparedCall


@pytest.mark.parametrize("seed", range(40))
def test_codes_are_listed_once(seed: int) -> None:
    random = Random(seed)  # noqa: S311
    room = random.randint(1, 30)
    places = np.array(random.choices(range(-5, 40), k=room))
    call = PreparedCall.of(TOUCH_KEYS, 5)
    for _ in range(3):
        batches = [
            random.choices(range(room), k=random.randint(1, 40))
            for _ in range(random.randint(1, 3))
        ]
        distinct, count = np.empty(sum(map(len, batches)), np.int64), 0
        for codes in batches:
            _, count, *_ = call(len(codes), count, np.array(codes), distinct, places)
        expected = list(dict.fromkeys(chain.from_iterable(batches)))
        assert distinct[:count].tolist() == expected
        assert places[expected].tolist() == list(range(count))

"""The keys of a stream, looked up one by one and many at once."""

from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

from tiltpy.runtime.ingest import key_dictionary
from tiltpy.runtime.ingest.key_dictionary import KeyDictionary
from tiltpy.runtime.ingest.keys import Keys

KEYS = {
    "strings": pa.array([None, "", *(f"ß{number}" for number in range(98))]),
    "integers": pa.array([None, *range(-40, 59)], pa.int16()),
    "unsigned": pa.array([(1 << 64) - 1, *range(99)], pa.uint64()),
    "dates": pa.array([*range(99), None], pa.date32()),
    "floats": pa.array([None, float("nan"), *(n / 2 for n in range(98))]),
    "bools": pa.array([True, False, None]),
}


def show(keys: pa.Array) -> list[str]:
    """List keys, of which not all are equal to themselves, and their type."""
    return [str(keys.type), *map(repr, keys.to_pylist())]


@pytest.mark.parametrize("kind", KEYS)
def test_codes_are_in_order_of_arrival(kind: str) -> None:
    """However many are looked up at once; each batch has a key once."""
    random, keys = np.random.default_rng(len(kind)), KEYS[kind]
    dictionary = KeyDictionary(("k",), {"x": Keys(("k",), (keys[:0],))})
    seen: list[int] = []
    with patch.object(key_dictionary, "MANY_KEYS", 10):
        for _ in range(40):
            size = min(int(random.choice([1, 3, 9, 10, 30])), len(keys))
            batch = random.permutation(len(keys))[:size].tolist()
            column = keys.take(pa.array(batch))
            codes = dictionary.encode("x", Keys(("k",), (column,)))
            seen += [place for place in batch if place not in seen]
            assert codes.tolist() == [seen.index(place) for place in batch]
            assert len(dictionary) == len(seen)
            order, known = dictionary.sort(codes)
            sorted_keys = keys.take(pa.array(np.array(seen)[order]))
            assert show(known.columns[0]) == show(sorted_keys)
        assert show(dictionary.save()[0]) == show(keys.take(pa.array(seen)))
        if not keys.null_count:
            rows = keys.take(pa.array(random.integers(0, len(keys), 200)))
            codes = dictionary.encode_rows("x", (rows,))
            assert show(rows) == show(dictionary.save()[0].take(pa.array(codes)))

"""The keys of a stream, looked up batch by batch."""

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from numpy.typing import NDArray

from tiltpy.runtime.ingest.key_codes import encode_keys
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
    """However many are looked up at once, and however often each comes."""
    random, keys = np.random.default_rng(len(kind)), KEYS[kind]
    dictionary = KeyDictionary(("k",), {"x": Keys(("k",), (keys[:0],))})
    seen: list[int] = []
    for _ in range(40):
        size = int(random.choice([1, 3, 9, 10, 30]))
        batch = random.integers(0, len(keys), size).tolist()
        codes = dictionary.encode("x", (keys.take(pa.array(batch)),))
        for place in batch:
            if place not in seen:
                seen.append(place)
        assert codes.tolist() == [seen.index(place) for place in batch]
        assert len(dictionary) == len(seen)
        order, known = dictionary.sort(np.unique(codes))
        sorted_keys = keys.take(pa.array(np.array(seen)[order]))
        assert show(known.columns[0]) == show(sorted_keys)
        assert list(order) == sort_by_arrow(sorted_keys, order)
    assert show(dictionary.save()[0]) == show(keys.take(pa.array(seen)))
    again = KeyDictionary(("k",), {"x": Keys(("k",), (keys[:0],))})
    again.restore(dictionary.save())
    assert again.encode("x", (keys,)).tolist() == (
        dictionary.encode("x", (keys,)).tolist()
    )


def sort_by_arrow(keys: pa.Array, codes: NDArray[np.int64]) -> list[int]:
    """Sort codes by their keys, null first and NaN last."""
    ranks = encode_keys([keys]).codes
    return list(codes[np.argsort(ranks, kind="stable")])


@given(st.lists(st.lists(st.tuples(*(st.sampled_from(("", "a", "b", None)),) * 3))))
def test_codes_of_several_columns(batches: list[list[tuple[str | None, ...]]]) -> None:
    """Keys of several columns are equal where all columns are; any may be null."""
    names, none = ("a", "b", "c"), pa.array([], pa.string())
    dictionary = KeyDictionary(names, {"x": Keys(names, (none,) * 3)})
    seen: list[tuple[str | None, ...]] = []
    for batch in batches:
        columns = [pa.array([key[c] for key in batch], pa.string()) for c in range(3)]
        codes = dictionary.encode("x", columns)
        seen += [key for key in dict.fromkeys(batch) if key not in seen]
        assert codes.tolist() == [seen.index(key) for key in batch]
    codes, keys = dictionary.sort(np.arange(len(seen)))
    ordered = sorted(seen, key=lambda key: [(part is not None, part) for part in key])
    assert [seen[code] for code in codes] == ordered
    shown = zip(*(column.to_pylist() for column in keys.columns), strict=True)
    assert list(shown) == ordered


@pytest.mark.parametrize("count", [1, 5_000, 20_000])
def test_many_values_keep_their_codes(count: int) -> None:
    """The table grows with the values, those whose bits are much alike among them."""
    texts = pa.array([f"{number}" * (number % 4) for number in range(count)])
    for keys in (
        pa.array(np.arange(count) << 40),
        pa.array(np.arange(count) / 8),
        pa.concat_arrays([texts[: count // 2], pa.nulls(2, pa.string()), texts]),
    ):
        dictionary = KeyDictionary(("k",), {"x": Keys(("k",), (keys[:0],))})
        codes = dictionary.encode("x", (keys,))
        values = dict.fromkeys(keys.to_pylist())
        expected = {value: code for code, value in enumerate(values)}
        assert codes.tolist() == [expected[value] for value in keys.to_pylist()]
        assert dictionary.save()[0].to_pylist() == list(values)

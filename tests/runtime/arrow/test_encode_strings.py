"""Codes of strings do not depend on chunks, nor on how many threads share them."""

import hypothesis.strategies as st
import pyarrow as pa
from hypothesis import given

from tiltpy.runtime.arrow.encode_strings import encode_chunks
from tiltpy.runtime.concurrency.offload import allow_threads

texts = st.lists(st.none() | st.sampled_from(["", "a", "b", "aa", "ä", "a" * 20]))
kinds = st.sampled_from(
    [pa.string(), pa.large_string(), pa.string_view()]
    + [pa.dictionary(index, pa.string()) for index in (pa.int8(), pa.uint32())]
)


def in_a_dictionary(values: list[str | None], *, twice: bool) -> pa.Array:
    """The values in a dictionary that may name a string twice, and null."""
    known = list(dict.fromkeys(values)) * (1 + twice)
    last = {value: place for place, value in enumerate(known)}
    indices = pa.array([last[value] for value in values], pa.int16())
    return pa.DictionaryArray.from_arrays(indices, pa.array(known, pa.string()))


@given(st.lists(st.tuples(texts, kinds), max_size=4), st.integers(2, 4))
def test_threads_find_what_one_does(
    chunks: list[tuple[list[str | None], pa.DataType]], threads: int
) -> None:
    arrays = [pa.array(values, kind) for values, kind in chunks]
    check(arrays, [value for values, _ in chunks for value in values], threads)


@given(texts, texts, st.booleans(), st.integers(1, 3))
def test_dictionaries(
    first: list[str | None], second: list[str | None], twice: bool, threads: int
) -> None:
    arrays = [in_a_dictionary(values, twice=twice) for values in (first, second)]
    check(arrays, first + second, threads)


@given(texts, texts, st.booleans(), st.integers(0, 9), st.integers(1, 3))
def test_chunks_of_one_dictionary(
    first: list[str | None],
    second: list[str | None],
    twice: bool,
    cut: int,
    threads: int,
) -> None:
    """Encode strings and dictionaries in turns."""
    one, other = (in_a_dictionary(each, twice=twice) for each in (first, second))
    plain = pa.array(first, pa.string())
    arrays = [one[:cut], other, one[cut:], one, plain[:cut], plain[cut:], one]
    values = [*first[:cut], *second, *first[cut:], *first, *first, *first]
    check(arrays, values, threads)


def check(arrays: list[pa.Array], values: list[str | None], threads: int) -> None:
    alone = encode_chunks(arrays)
    with allow_threads(threads):
        found = encode_chunks(arrays)
    found.validate(full=True)
    assert found.to_pylist() == values
    assert found.indices.equals(alone.indices)
    assert found.dictionary.equals(alone.dictionary)
    distinct = found.dictionary.to_pylist()
    assert len(set(distinct)) == len(distinct)
    assert set(values) - {None} <= set(distinct)

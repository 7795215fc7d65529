"""Codes of values, and ranks of integers far apart."""

import numpy as np
import pyarrow as pa
import pytest

from tests.costs import default_costs
from tiltpy.runtime.arrow.value_codes import TextCodes
from tiltpy.runtime.concurrency.offload import allow_threads
from tiltpy.runtime.ingest.hashed_integers import are_few_distinct, rank_distinct


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_parts_of_texts_have_the_codes_of_all(kind: pa.DataType) -> None:
    """Parts of an array may begin anywhere, and texts may have any length."""
    random = np.random.default_rng(5)
    numbers = random.integers(0, 3000, 9000)
    texts = pa.array([f"{number}" * int(number % 7) for number in numbers], kind)
    expected: dict[str, int] = {}
    codes = [expected.setdefault(text, len(expected)) for text in texts.to_pylist()]
    known, found = TextCodes(kind), []
    for first in range(0, 9000, 1777):
        found += known.encode_as_int32(texts[first : first + 1777]).tolist()
    assert found == codes
    assert known.list_values().to_pylist() == list(expected)


@pytest.mark.parametrize("kind", [np.uint64, np.int64, np.uint32, np.int32])
@pytest.mark.parametrize("threads", [1, 2])
def test_integers_have_their_ranks(kind: type[np.integer], threads: int) -> None:
    """They are those of the whole range of a type, and portions share them."""
    limits, random = np.iinfo(kind), np.random.default_rng(6)
    some = random.integers(limits.min, limits.max, 500, kind, endpoint=True)
    some[:2] = limits.min, limits.max
    values = some[random.integers(0, 500, 9000)]
    distinct, ranks = np.unique(values, return_inverse=True)
    with default_costs(portion_rows=100), allow_threads(threads):
        codes, listed = rank_distinct(values)
    assert codes.tolist() == ranks.tolist()
    assert listed.tolist() == distinct.tolist()
    assert listed.dtype == values.dtype


def test_a_sample_tells_whether_integers_are_few() -> None:
    random = np.random.default_rng(7)
    for distinct, few in ((100, True), (5_000, True), (200_000, False)):
        assert are_few_distinct(random.integers(0, distinct, 200_000) << 40) == few
    assert not are_few_distinct(np.zeros(100, np.int64))

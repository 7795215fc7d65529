"""Texts are taken, repeated and sorted as by Python, whatever array they stand in."""

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from tiltpy.runtime.arrow.texts import Texts

WORDS = (None, "", "a", "ab", "ab\0", "äöü€", "abcdefgh", "abcdefgh\0", "abcdefghi")


def draw(random: Random) -> pa.Array:
    """Draw texts that have prefixes in common, in a slice of an array."""
    words = [
        (random.choice(WORDS) or "") + random.choice("ab") * random.randint(0, 12)
        for _ in range(random.randint(1, 40))
    ] + [random.choice(WORDS) for _ in range(random.randint(0, 9))]
    kind = random.choice((pa.string(), pa.large_string()))
    return pa.array(words, kind).slice(random.randrange(len(words)))


@pytest.mark.parametrize("seed", range(40))
def test_texts_are_taken_by_their_numbers(seed: int) -> None:
    random = Random(seed)  # noqa: S311
    array = draw(random)
    words, kind = array.to_pylist(), random.choice((pa.string(), pa.large_string()))
    numbers = [random.randrange(len(words)) for _ in range(random.randint(0, 20))]
    counts = [random.randint(0, 3) for _ in numbers]
    absent = [random.random() < 0.3 for _ in numbers]
    texts = Texts.of(array)
    taken = texts.take(np.array(numbers, np.int64), kind)
    taken.validate(full=True)
    assert taken.type == kind
    assert taken.to_pylist() == [words[number] for number in numbers]
    behind = np.where(absent, len(words), numbers).astype(np.int64)
    missing, several = np.array(absent, np.bool_), np.array(counts, np.int64)
    repeated = texts.take(behind, kind, missing, several)
    repeated.validate(full=True)
    assert repeated.to_pylist() == [
        None if left_out else words[number]
        for number, left_out, count in zip(numbers, absent, counts, strict=True)
        for _ in range(count)
    ]


@pytest.mark.parametrize("seed", range(40))
def test_texts_are_sorted_by_their_bytes(seed: int) -> None:
    array = draw(Random(seed)).drop_null()  # noqa: S311
    words = [word.encode() for word in array.to_pylist()]
    order = sorted(range(len(words)), key=lambda number: (words[number], number))
    texts = Texts.of(array)
    assert texts.sort().tolist() == order
    assert texts.longest == max(map(len, words), default=0)


def test_there_may_be_no_texts() -> None:
    texts = Texts.of(pa.array([], pa.string()))
    assert not len(texts.sort())
    absent = np.ones(2, np.bool_)
    assert texts.take(np.zeros(2, np.int64), pa.string(), absent).null_count == 2

"""Cuts of bytes that follow from the bytes around them, and not from where they lie.

Content-defined chunking: bytes are cut behind each word where a hash of the last few
words is low. So rows that move, because others in front of them were forgotten or came,
are in the same pieces as before.
"""

from collections.abc import Iterator

import numpy as np

from tiltpy.runtime.arrays.dtypes import I64Array

LEAST = 1 << 14
"""Bytes of a piece at least, but for the last one."""
MOST = 1 << 18
"""Bytes of a piece at most."""
_MARKED = np.uint32((1 << 32) // (1 << 14))
"""Hashes below are marks: of every 16,384 words there is one."""
_WORD = np.dtype(np.uint32)
"""Rows of columns of 4 and of 8 bytes move by whole words."""
_WINDOW = 16
"""Words that a hash is made of."""
_BLOCK = 1 << 18
"""Words that are hashed at once: they stay in the processor's cache."""
_FACTORS = np.uint32(0x9E3779B1), np.uint32(0x85EBCA77)


def cut_content(content: bytes | memoryview) -> list[memoryview]:
    """Cut bytes into pieces, which are views."""
    view = memoryview(content)
    words = np.frombuffer(view, _WORD, len(view) // _WORD.itemsize)
    blocks = list(_find_marks(words))
    marks = np.concatenate(blocks) if blocks else np.zeros(0, np.int64)
    pieces, first = [], 0
    while first < len(view):
        stop = min(_next_cut(marks, first), len(view))
        pieces.append(view[first:stop])
        first = stop
    return pieces


def _next_cut(marks: I64Array, first: int) -> int:
    """Find the byte at which a piece ends."""
    number = int(marks.searchsorted(first + LEAST))
    stop = int(marks[number]) if number < len(marks) else first + MOST
    return min(stop, first + MOST)


def _find_marks(
    words: np.ndarray[tuple[int], np.dtype[np.uint32]],
) -> Iterator[I64Array]:
    """Find the bytes behind the words where the content may be cut, in order."""
    for first in range(0, len(words) - _WINDOW, _BLOCK):
        hashed = words[first : first + _BLOCK + _WINDOW] * _FACTORS[0]
        hashed ^= hashed >> np.uint32(15)
        sums = np.cumsum(hashed, dtype=np.uint32)
        windows = sums[_WINDOW:] - sums[:-_WINDOW]
        windows *= _FACTORS[1]
        marked = np.flatnonzero(windows < _MARKED)
        yield (marked + (first + _WINDOW + 1)) * _WORD.itemsize

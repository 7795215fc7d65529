"""Predicates of strings by Arrow's kernels, which know UTF-8 and RE2.

The only module below the runtime that imports pyarrow: a regular expression that does
not compile is an error of the query, so the frontend must be able to try it.
"""

import json
from array import array
from collections.abc import Sequence
from itertools import accumulate

import pyarrow as pa

from tiltpy import arrow_functions as pc
from tiltpy.ops import StringTest

_KERNELS: dict[StringTest, str] = {
    "starts_with": "starts_with",
    "ends_with": "ends_with",
    "contains": "match_substring",
    "matches": "match_substring_regex",
}


def array_of(strings: Sequence[str]) -> pa.LargeStringArray:
    """Make an Arrow array of strings, without `pa.array`, which imports pandas."""
    encoded = [string.encode() for string in strings]
    ends = accumulate(map(len, encoded), initial=0)
    offsets, data = array("q", ends).tobytes(), b"".join(encoded)
    both = pa.py_buffer(offsets), pa.py_buffer(data)
    return pa.LargeStringArray.from_buffers(len(encoded), *both)


def match_strings(test: StringTest, strings: pa.Array, pattern: str) -> pa.BooleanArray:
    """Ask of each string whether it starts with a pattern, and so on."""
    return getattr(pc, _KERNELS[test])(strings, pattern=pattern)


def find_members(strings: pa.Array, listed: str) -> pa.BooleanArray:
    """Ask of each string whether it is one of a list in JSON."""
    return pc.is_in(strings, value_set=array_of(json.loads(listed)))


def match_string(test: StringTest, string: str, pattern: str) -> bool:
    """Ask of one string whether it starts with a pattern, and so on."""
    return bool(match_strings(test, array_of([string]), pattern)[0].as_py())


def find_pattern_fault(pattern: str) -> str | None:
    """Describe why a regular expression does not compile; None where it does."""
    try:
        match_strings("matches", array_of([""]), pattern)
    except pa.ArrowInvalid as error:
        return str(error).removeprefix("Invalid regular expression: ")
    return None

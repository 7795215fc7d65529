"""Dictionaries of strings merged to one."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tiltpy.runtime.arrays.dictionary import Codes, Strings
from tiltpy.runtime.arrow.texts import Texts
from tiltpy.runtime.arrow.value_codes import TextCodes


def merge_dictionaries(
    dictionaries: Sequence[pa.LargeStringArray], *, ordered: bool
) -> tuple[Strings, tuple[Codes, ...]]:
    """Merge dictionaries; returns the new codes of the strings of each, too.

    `ordered`: the codes are in order of the strings' UTF-8 bytes.
    """
    known = TextCodes(pa.large_string())
    codes = [known.encode_as_int32(each) for each in dictionaries]
    values = known.list_values()
    if ordered:
        texts = Texts.of(values)
        order = texts.sort()
        values = texts.take(order, values.type)
        ranks = np.empty(len(order), np.int32)
        ranks[order] = np.arange(len(order), dtype=np.int32)
        codes = [ranks[indices] for indices in codes]
    return Strings(values), tuple(codes)

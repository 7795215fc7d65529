"""Functions of strings by Arrow's kernels, over arrays of distinct strings.

Positions are characters (code points). `lower` and `upper` map each letter by itself,
as the Unicode tables of Arrow say.
"""

from collections.abc import Sequence

import pyarrow as pa

from tiltpy import arrow_functions as pc
from tiltpy.string_predicates import array_of
from tiltpy.types import F64, Scalar, int_range

_FLOAT = r"^([+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(?i:inf|infinity))$"
_NAN = "^(?i:nan)$"
_INTEGER, _SHORT = r"^[+-]?[0-9]+$", r"^[+-]?[0-9]{1,18}$"
Constants = Sequence[str | int | None]


def call_strings(
    function: str, constants: Constants, operands: Sequence[pa.Array], type: Scalar
) -> pa.Array:
    """Compute a `StringCall` for each row of arrays of strings; null where it is φ."""
    strings = operands[0]
    match function, constants:
        case "lower", _:
            return pc.utf8_lower(strings)
        case "upper", _:
            return pc.utf8_upper(strings)
        case "trim", _:
            return pc.utf8_trim_whitespace(strings)
        case "substr", (int(start), stop):
            return pc.utf8_slice_codeunits(strings, start=start, stop=stop)
        case "split", (str(separator), int(n)):
            return _split(strings, separator, n)
        case "concat", _:
            return _concat([str(constant) for constant in constants], operands)
        case "len", _:
            return pc.utf8_length(strings).cast(pa.int64())
        case "number", _:
            return (
                _read_floats(strings) if type == F64 else _read_integers(strings, type)
            )
        case _:
            raise AssertionError(function)


def call_string(
    function: str, constants: Constants, operands: Sequence[str], type: Scalar
) -> str | int | float | None:
    """Compute a `StringCall` of strings; None where it is φ."""
    arrays = [array_of([operand]) for operand in operands]
    value: str | int | float | None
    value = call_strings(function, constants, arrays, type)[0].as_py()
    return value


def _split(strings: pa.Array, separator: str, n: int) -> pa.Array:
    """Take the n-th part of each string, from its end if n is negative."""
    parts = pc.split_pattern(strings, pattern=separator)
    counts = pc.list_value_length(parts).to_numpy(zero_copy_only=False)
    firsts = parts.offsets.to_numpy()[:-1].astype("int64")
    index = firsts + (n if n >= 0 else counts + n)
    beyond = (n >= counts) if n >= 0 else (counts + n < 0)
    return parts.values.take(pa.array(index, mask=beyond))


def _concat(fixed: Sequence[str], operands: Sequence[pa.Array]) -> pa.Array:
    """Join strings with the constants before, between and behind them."""
    pieces: list[pa.Array | pa.Scalar] = []
    for constant, operand in zip(fixed, operands, strict=False):
        pieces += [pa.scalar(constant, pa.large_string()), operand]
    pieces += [pa.scalar(text, pa.large_string()) for text in (fixed[-1], "")]
    return pc.binary_join_element_wise(*pieces)


def _read_floats(strings: pa.Array) -> pa.Array:
    numbers = pc.match_substring_regex(strings, pattern=_FLOAT)
    unset = pc.match_substring_regex(strings, pattern=_NAN)
    read = _where(numbers, strings).cast(pa.float64())
    return pc.if_else(unset, pa.scalar(float("nan")), read)


def _read_integers(strings: pa.Array, type: Scalar) -> pa.Array:
    """Read decimal integers; those out of range saturate."""
    unsigned = pc.utf8_ltrim(strings, characters="+")
    short = pc.match_substring_regex(strings, pattern=_SHORT)
    read = _where(short, unsigned).cast(pa.int64())
    low, high = int_range(type)
    if low == 0:
        read = pc.max_element_wise(read, pa.scalar(0, pa.int64()), skip_nulls=False)
        read = read.cast(pa.uint64())
    numbers = pc.match_substring_regex(strings, pattern=_INTEGER)
    long = pc.and_(numbers, pc.invert(short))
    if not pc.any(long).as_py():
        return read
    values = read.to_pylist()
    for row in pc.indices_nonzero(long).to_pylist():
        values[row] = min(max(int(strings[row].as_py()), low), high)
    return pa.array(values, read.type)


def _where(condition: pa.Array, strings: pa.Array) -> pa.Array:
    """Keep the strings that meet a condition; the others are null."""
    return pc.if_else(condition, strings, pa.scalar(None, pa.large_string()))

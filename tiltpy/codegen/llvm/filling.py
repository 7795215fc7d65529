"""Filling lanes with the nearest value before them, or behind.

AVX2 permutes the lanes of one register by a variable: so the lanes of each register are
filled by a table of what its valid ones are, and what is left of it by the register
before. Other machines double: they shift all lanes by one, two, four and eight.
"""

from collections.abc import Iterator
from functools import cache

from tiltpy.abi.signature import LANES
from tiltpy.codegen.llvm.instructions import Instructions, element, type_of, wide
from tiltpy.codegen.llvm.lane_tables import (
    define_table,
    load_row,
    pack_row,
    permute_words,
    shuffle_order,
)
from tiltpy.codegen.llvm.lanes import BITS, Value, earlier, to_bits
from tiltpy.types import BOOL, I32, Scalar

_BEYOND = -128
"""The number of a lane that its register does not fill: low bits number any lane."""


def emit_fill(
    code: Instructions,
    scalar: Scalar,
    vector: str,
    valid: str,
    beyond: str,
    *,
    backwards: bool,
) -> Value:
    """Fill lanes that are not valid; `beyond`, wide, where there is no such value."""
    if not code.permutes:
        return _double(code, scalar, vector, valid, beyond, backwards=backwards)
    kind = wide(type_of(scalar))
    if scalar.bits < 32:  # no such lanes are permuted
        whole = wide(type_of(I32))
        vector, beyond = (
            code.value(f"zext {kind} {each} to {whole}") for each in (vector, beyond)
        )
        found = _permute(code, 32, whole, vector, valid, beyond, backwards=backwards)
        return Value(code.value(f"trunc {whole} {found} to {kind}"), wide=True)
    bits = scalar.bits
    found = _permute(code, bits, kind, vector, valid, beyond, backwards=backwards)
    return Value(found, wide=True)


def _double(
    code: Instructions,
    scalar: Scalar,
    vector: str,
    valid: str,
    beyond: str,
    *,
    backwards: bool,
) -> Value:
    """Fill lanes by those one, two, four and eight lanes away."""
    kind, masks = wide(type_of(scalar)), wide("i1")
    for by in (1, 2, 4, 8):
        sides, flags = (beyond, vector), ("zeroinitializer", valid)
        shift = by
        if backwards:
            sides, flags, shift = (vector, beyond), flags[::-1], LANES - by
        other = earlier(code, scalar, *sides, shift).text
        seen = earlier(code, BOOL, *flags, shift).text
        vector = code.select(valid, kind, vector, other)
        valid = code.value(f"or {masks} {valid}, {seen}")
    return Value(code.select(valid, kind, vector, beyond), wide=True)


def _permute(
    code: Instructions,
    bits: int,
    kind: str,
    vector: str,
    valid: str,
    beyond: str,
    *,
    backwards: bool,
) -> str:
    """Fill the lanes of one register after the other, of 32 or 64 bits each.

    What a register leaves for the next is found beside, so that each of these waits for
    one selection.
    """
    lanes, entry = 256 // bits, element(kind)
    register, masks = f"<{lanes} x {entry}>", f"<{lanes} x i1>"
    flags = to_bits(code, valid)
    first = shuffle_order(range(lanes))
    beyond = code.value(f"shufflevector {kind} {beyond}, {kind} poison, {first}")
    filled = {}
    starts = range(0, LANES, lanes)
    for start in reversed(starts) if backwards else starts:
        own = shuffle_order(range(start, start + lanes))
        values = code.value(f"shufflevector {kind} {vector}, {kind} poison, {own}")
        row = _row(code, flags, start, lanes)
        choices = []
        for order in (
            _load_order(code, row, lanes, backwards=backwards),
            _load_last(code, row, lanes, backwards=backwards),
        ):
            near = permute_words(code, register, values, order)
            none = _is_below_zero(code, order, lanes)
            choices.append(
                f"select {masks} {none}, {register} {beyond}, {register} {near}"
            )
        filled[start], beyond = map(code.value, choices)
    return _join(code, entry, lanes, [filled[start] for start in starts])


def _join(code: Instructions, entry: str, lanes: int, parts: list[str]) -> str:
    """Join registers of so many lanes to a vector."""
    while len(parts) > 1:
        kind = f"<{lanes} x {entry}>"
        lanes *= 2
        order = shuffle_order(range(lanes))
        parts = [
            code.value(f"shufflevector {kind} {left}, {kind} {right}, {order}")
            for left, right in zip(parts[::2], parts[1::2], strict=True)
        ]
    return parts[0]


def _is_below_zero(code: Instructions, order: str, lanes: int) -> str:
    """Test the sign of each lane's words."""
    kind = f"<{lanes} x i{256 // lanes}>"
    sign = code.value(f"bitcast <8 x i32> {order} to {kind}")
    return code.value(f"icmp slt {kind} {sign}, zeroinitializer")


def _row(code: Instructions, flags: str, start: int, lanes: int) -> str:
    """Extract the bits of a register's lanes, which number a row of the tables."""
    moved = code.value(f"lshr {BITS} {flags}, {start}")
    own = code.value(f"and {BITS} {moved}, {(1 << lanes) - 1}")
    return code.value(f"zext {BITS} {own} to i64")


def _load_order(code: Instructions, row: str, lanes: int, *, backwards: bool) -> str:
    """Load which words fill a register, `<8 x i32>`; below zero what none does."""
    name = f"@{'first' if backwards else 'last'}_of_{lanes}"
    code.declared[name] = _table(name, lanes, backwards=backwards)
    packed = load_row(code, name, row)
    return code.value(f"sext <8 x i8> {packed} to <8 x i32>")


def _load_last(code: Instructions, row: str, lanes: int, *, backwards: bool) -> str:
    """Load which words are the last valid lane, or the first, in all lanes."""
    order = _load_order(code, row, lanes, backwards=backwards)
    words, edge = 8 // lanes, 0 if backwards else lanes - 1
    places = [edge * words + place % words for place in range(8)]
    return code.value(
        f"shufflevector <8 x i32> {order}, <8 x i32> poison, {shuffle_order(places)}"
    )


@cache
def _table(name: str, lanes: int, *, backwards: bool) -> str:
    """Define the words that fill a register, for each set of lanes that are valid."""
    rows = (_fillers(bits, lanes, backwards=backwards) for bits in range(1 << lanes))
    words = 8 // lanes
    return define_table(name, [pack_row(_words_of(row, words)) for row in rows])


def _words_of(lanes: Iterator[int], words: int) -> Iterator[int]:
    """Number the words of some lanes."""
    for lane in lanes:
        for word in range(words):
            yield _BEYOND if lane == _BEYOND else lane * words + word


def _fillers(bits: int, lanes: int, *, backwards: bool) -> Iterator[int]:
    """Number for each lane the one that fills it, or `_BEYOND`."""
    for lane in range(lanes):
        near = range(lane, lanes) if backwards else range(lane, -1, -1)
        yield next((other for other in near if bits >> other & 1), _BEYOND)

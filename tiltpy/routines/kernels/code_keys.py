"""Codes of numbers and of texts: a hash table with linear probing.

    for each row:
        slot = the one of its hash
        while the slot has a code, and that is another value's:
            slot = the next one
        if the slot has none, it gets the next code, whose value is noted

A slot has the code and one more; zero is none. At most half of the slots have a code.
"""

from tiltpy.loops.build import (
    add,
    binary,
    conj,
    convert,
    eq,
    i64,
    load,
    lt,
    mul,
    ne,
    number,
    select,
    sub,
)
from tiltpy.loops.nodes import (
    Array,
    Assign,
    Branch,
    For,
    LExpr,
    LoopKernel,
    Num,
    Stmt,
    Store,
    Var,
    While,
)
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.types import I64, U8, U32, U64

ROW, SLOT, ENTRY, COUNT = (number(name) for name in ("row", "slot", "entry", "count"))
VALUE, HASH = Var("value", U64), Var("hash", U64)
FIRST, SIZE, PLACE, SAME, TOTAL = (
    number(name) for name in ("first", "size", "place", "same", "total")
)
FACTOR = Num(0x9E3779B97F4A7C15, U64)
"""2**64 over the golden ratio, which spreads consecutive numbers."""
BYTE_FACTOR = Num(0x100000001B3, U64)
"""The prime of the FNV hash, by which it goes on from byte to byte."""
HALF = Num(1 << 32, U64)


def build_number_codes() -> LoopKernel:
    """Build the loop over numbers of 64 bits."""
    arguments = RoutineArguments()
    rows, slots = arguments.number("rows"), arguments.number("slots")
    known = arguments.number("known")
    values = arguments.array("values", U64)
    table = arguments.array("table", U32, written=True)
    known_values = arguments.array("known values", U64, written=True)
    codes = arguments.array("codes", written=True)

    is_other = ne(load(known_values, ENTRY), VALUE)
    probe = While(conj(lt(i64(0), ENTRY), is_other), _go_on(table, slots))
    note = (Store(known_values, add(COUNT, i64(1)), VALUE),)
    each = (
        Assign(VALUE, load(values, ROW)),
        Assign(HASH, mul(add(VALUE, binary("//", VALUE, HALF)), FACTOR)),
        *_find_slot(table, slots),
        probe,
        *_take_code(table, note),
        Store(codes, ROW, sub(ENTRY, i64(1))),
    )
    return arguments.kernel(
        Assign(COUNT, known),
        For(ROW, i64(0), rows, each),
        arguments.write_back(known, COUNT),
    )


def build_text_codes() -> LoopKernel:
    """Build the loop over texts, which are bytes between two offsets."""
    arguments = RoutineArguments()
    rows, slots = arguments.number("rows"), arguments.number("slots")
    known = arguments.number("known")
    offsets, data = arguments.array("offsets"), arguments.array("data", U8)
    table = arguments.array("table", U32, written=True)
    known_offsets = arguments.array("known offsets", written=True)
    known_data = arguments.array("known data", U8, written=True)
    codes = arguments.array("codes", written=True)

    byte = load(data, add(FIRST, PLACE))
    hash_byte = (
        Assign(HASH, mul(add(HASH, convert(byte, U64)), BYTE_FACTOR)),
        Assign(PLACE, add(PLACE, i64(1))),
    )
    other = load(known_offsets, sub(ENTRY, i64(1)))
    same_size = eq(sub(load(known_offsets, ENTRY), other), SIZE)
    compare: tuple[Stmt, ...] = (
        Assign(SAME, i64(0)),
        Branch(
            lt(i64(0), ENTRY),
            (
                Branch(
                    same_size,
                    (
                        Assign(PLACE, i64(0)),
                        Assign(SAME, i64(1)),
                        While(
                            lt(PLACE, select(eq(SAME, i64(1)), SIZE, i64(0))),
                            (
                                Assign(
                                    SAME,
                                    select(
                                        eq(load(known_data, add(other, PLACE)), byte),
                                        i64(1),
                                        i64(0),
                                    ),
                                ),
                                Assign(PLACE, add(PLACE, i64(1))),
                            ),
                        ),
                    ),
                ),
            ),
        ),
    )
    probe = While(
        conj(lt(i64(0), ENTRY), eq(SAME, i64(0))), _go_on(table, slots), compare
    )
    copy = (
        Store(known_data, add(TOTAL, PLACE), byte),
        Assign(PLACE, add(PLACE, i64(1))),
    )
    note = (
        Assign(TOTAL, load(known_offsets, COUNT)),
        Assign(PLACE, i64(0)),
        While(lt(PLACE, SIZE), copy),
        Store(known_offsets, add(COUNT, i64(1)), add(TOTAL, SIZE)),
    )
    each = (
        Assign(FIRST, load(offsets, ROW)),
        Assign(SIZE, sub(load(offsets, add(ROW, i64(1))), FIRST)),
        Assign(HASH, FACTOR),
        Assign(PLACE, i64(0)),
        While(lt(PLACE, SIZE), hash_byte),
        Assign(HASH, mul(add(HASH, binary("//", HASH, HALF)), FACTOR)),
        *_find_slot(table, slots),
        probe,
        *_take_code(table, note),
        Store(codes, ROW, sub(ENTRY, i64(1))),
    )
    return arguments.kernel(
        Assign(COUNT, known),
        For(ROW, i64(0), rows, each),
        arguments.write_back(known, COUNT),
    )


def _find_slot(table: Array, slots: LExpr) -> tuple[Stmt, ...]:
    """Go to the slot of a hash: its upper half, as a share of all slots."""
    upper = convert(binary("//", HASH, HALF), I64)
    place = binary("//", mul(upper, slots), i64(1 << 32))
    return Assign(SLOT, place), _read(table)


def _go_on(table: Array, slots: LExpr) -> tuple[Stmt, ...]:
    """Go to the next slot, from the last one to the first."""
    after = add(SLOT, i64(1))
    return Assign(SLOT, select(lt(after, slots), after, i64(0))), _read(table)


def _read(table: Array) -> Stmt:
    return Assign(ENTRY, convert(load(table, SLOT), I64))


def _take_code(table: Array, note: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Take the next code where a slot has none, and note its value."""
    take = (
        *note,
        Assign(COUNT, add(COUNT, i64(1))),
        Assign(ENTRY, COUNT),
        Store(table, SLOT, convert(COUNT, U32)),
    )
    return (Branch(eq(ENTRY, i64(0)), take, rarely=True),)

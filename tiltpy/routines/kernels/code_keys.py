"""Codes of numbers and of texts: a hash table with linear probing.

    for each row:
        slot = the one of its hash
        while the slot has a code, and that is another value's:
            slot = the next one
        if the slot has none, it gets the next code, whose value is noted

A slot has the code and one more; zero is none. At most half of the slots have a code.
"""

from functools import reduce

from tiltpy.loops.build import (
    add,
    binary,
    conj,
    convert,
    eq,
    i64,
    le,
    least,
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
    Prefetch,
    Stmt,
    Store,
    Var,
    While,
)
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.types import I64, U8, U32, U64

ROW, SLOT, ENTRY, COUNT = (number(name) for name in ("row", "slot", "entry", "count"))
VALUE, HASH = Var("value", U64), Var("hash", U64)
FIRST, SIZE, PLACE, STOP, OTHER, TOTAL = (
    number(name) for name in ("first", "size", "place", "stop", "other", "total")
)
FACTOR = Num(0x9E3779B97F4A7C15, U64)
"""2**64 over the golden ratio, which spreads consecutive numbers."""
WORD = 8
"""Bytes of a text that are read at once."""
HALF = Num(1 << 32, U64)
AHEAD = 8
"""Rows ahead of which the known values of slots are prefetched: of twice as many, the
slots."""


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
    last = sub(rows, i64(1))

    def hash_later(ahead: int) -> tuple[Stmt, ...]:
        """Go to the slot of a later row, as the table was."""
        later = load(values, least(add(ROW, i64(ahead)), last))
        return Assign(VALUE, later), _hash_number(), _go_to_slot(slots)

    each = (
        *hash_later(2 * AHEAD),
        Prefetch(table, SLOT),
        *hash_later(AHEAD),
        _read(table),
        Prefetch(known_values, ENTRY),
        Assign(VALUE, load(values, ROW)),
        _hash_number(),
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

    there = add(FIRST, PLACE)
    hash_word = (
        *_mix(_word(data, there)),
        Assign(PLACE, add(PLACE, i64(WORD))),
    )
    hash_byte = (
        *_mix(convert(load(data, there), U64)),
        Assign(PLACE, add(PLACE, i64(1))),
    )
    known_there = add(OTHER, PLACE)
    same_word = eq(_word(known_data, known_there), _word(data, there))
    same_byte = eq(load(known_data, known_there), load(data, there))
    compare: tuple[Stmt, ...] = (
        Assign(OTHER, load(known_offsets, sub(ENTRY, i64(1)))),
        Assign(PLACE, i64(0)),
        Assign(STOP, sub(load(known_offsets, ENTRY), OTHER)),
        Assign(STOP, select(eq(STOP, SIZE), SIZE, i64(-1))),
        *_while_same(same_word, WORD),
        *_while_same(same_byte, 1),
    )
    look = Branch(lt(i64(0), ENTRY), compare, (Assign(STOP, i64(0)),))
    probe = While(lt(STOP, i64(0)), (*_go_on(table, slots), look))
    copy = (
        Store(known_data, add(TOTAL, PLACE), load(data, there)),
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
        While(le(add(PLACE, i64(WORD)), SIZE), hash_word),
        While(lt(PLACE, SIZE), hash_byte),
        *_find_slot(table, slots),
        look,
        probe,
        *_take_code(table, note),
        Store(codes, ROW, sub(ENTRY, i64(1))),
    )
    return arguments.kernel(
        Assign(COUNT, known),
        For(ROW, i64(0), rows, each),
        arguments.write_back(known, COUNT),
    )


def _word(data: Array, first: LExpr) -> LExpr:
    """Read eight bytes as a number, which LLVM makes one load."""
    return reduce(
        add,
        [
            mul(convert(load(data, add(first, i64(byte))), U64), Num(256**byte, U64))
            for byte in range(WORD)
        ],
    )


def _mix(value: LExpr) -> tuple[Stmt, ...]:
    """Go on with a hash by a number."""
    return (
        Assign(HASH, mul(add(HASH, value), FACTOR)),
        Assign(HASH, add(HASH, binary("//", HASH, HALF))),
    )


def _while_same(condition: LExpr, size: int) -> tuple[Stmt, ...]:
    """Go on by so many bytes up to `STOP`, which is -1 where two texts differ."""
    differs = (Assign(STOP, i64(-1)),)
    step = (Branch(condition, (Assign(PLACE, add(PLACE, i64(size))),), differs),)
    return (While(le(add(PLACE, i64(size)), STOP), step),)


def _hash_number() -> Stmt:
    return Assign(HASH, mul(add(VALUE, binary("//", VALUE, HALF)), FACTOR))


def _find_slot(table: Array, slots: LExpr) -> tuple[Stmt, ...]:
    """Read the slot of a hash."""
    return _go_to_slot(slots), _read(table)


def _go_to_slot(slots: LExpr) -> Stmt:
    """Go to the slot of a hash: its upper half, as a share of all slots."""
    upper = convert(binary("//", HASH, HALF), I64)
    return Assign(SLOT, binary("//", mul(upper, slots), i64(1 << 32)))


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

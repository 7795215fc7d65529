"""Storing the lanes of a vector that a mask selects, one after another."""

from enum import Enum
from functools import cache

from tiltpy.abi.signature import LANES
from tiltpy.codegen.llvm.instructions import Instructions, element, suffix, wide
from tiltpy.codegen.llvm.lane_tables import (
    WORDS,
    define_table,
    load_row,
    pack_row,
    permute_words,
    shuffle_order,
)
from tiltpy.codegen.llvm.lanes import BITS, to_bits

HALF = LANES // 2


class PackMethod(Enum):
    """A method of a machine to pack the lanes of a register."""

    COMPRESS = "compress"
    PERMUTE = "permute"
    LOOP = "loop"


def choose_pack_method(features: str) -> PackMethod:
    """Choose how a machine with these features packs."""
    if "+avx512f" in features:
        return PackMethod.COMPRESS
    return PackMethod.PERMUTE if "+avx2" in features else PackMethod.LOOP


def emit_pack(
    code: Instructions,
    kind: str,
    text: str,
    mask: str,
    address: str,
    size: int,
    *,
    packing: PackMethod,
) -> None:
    """Store the selected lanes, and up to `LANES` entries in all."""
    if packing == PackMethod.COMPRESS:
        _emit_compressed(code, kind, text, mask, address, size)
        return
    bits = to_bits(code, mask)
    if packing == PackMethod.PERMUTE:
        _emit_permuted(code, kind, text, bits, address, size)
        return
    whole, some, after = code.label(), code.label(), code.label()
    code.choose(code.value(f"icmp eq {BITS} {bits}, -1"), whole, some)
    code.begin(whole)
    code.do(f"store {kind} {text}, ptr {address}, align {size}")
    code.branch(after)
    code.begin(some)
    _emit_loop(code, kind, text, bits, address, size)
    code.branch(after)
    code.begin(after)


def _emit_compressed(
    code: Instructions, kind: str, text: str, mask: str, address: str, size: int
) -> None:
    """Compress lanes in a register and store it: fast, where the machine can.

    LLVM's own splitting of what is wider than a register is at fault (22.1: it stores
    the second half as if it were aligned), so the halves are packed apart.
    """
    if size == 8:
        _pack_halves(code, kind, text, mask, address)
        return
    packed = _compress(code, kind, wide("i1"), text, mask)
    code.do(f"store {kind} {packed}, ptr {address}, align {size}")


def _emit_permuted(
    code: Instructions, kind: str, text: str, bits: str, address: str, size: int
) -> None:
    """Permute the lanes of each register by a table of what bits select, and store it.

    Registers have 256 bits, half of which are used of entries of a byte or two.
    """
    lanes = 4 if size == 8 else HALF
    entry = element(kind)
    for first in range(0, LANES, lanes):
        part = f"<{lanes} x {entry}>"
        order = shuffle_order(range(first, first + lanes))
        values = code.value(f"shufflevector {kind} {text}, {kind} poison, {order}")
        moved = code.value(f"lshr {BITS} {bits}, {first}")
        selected = code.value(f"trunc {BITS} {moved} to i8")
        if lanes < HALF:
            selected = code.value(f"and i8 {selected}, {(1 << lanes) - 1}")
        order = _selected_words(code, selected, lanes)
        packed = _permute(code, part, values, size, order)
        code.do(f"store {part} {packed}, ptr {address}, align {size}")
        count = code.call("llvm.ctpop.i8", "i8", ["i8"], selected)
        number = code.value(f"zext i8 {count} to i64")
        address = code.value(
            f"getelementptr inbounds {entry}, ptr {address}, i64 {number}"
        )


def _selected_words(code: Instructions, bits: str, lanes: int) -> str:
    """Load the numbers of the words of lanes whose bits are set, as `<8 x i8>`.

    A register has eight words in its lanes.
    """
    name = f"@words_of_{lanes}"
    code.declared[name] = _table(name, lanes)
    row = code.value(f"zext i8 {bits} to i64")
    return load_row(code, name, row)


@cache
def _table(name: str, lanes: int) -> str:
    """Define these numbers for all bits of so many lanes."""
    words, size = 8 // lanes, 1 << lanes
    rows = (
        [
            bit * words + word
            for bit in range(lanes)
            if bits >> bit & 1
            for word in range(words)
        ]
        for bits in range(size)
    )
    return define_table(name, [pack_row(row) for row in rows])


def _permute(code: Instructions, kind: str, values: str, size: int, order: str) -> str:
    """Permute the lanes of a register; `order` has those of their words, `<8 x i8>`."""
    if size == 2:  # the machine moves halves of these lanes
        pairs = shuffle_order([lane // 2 for lane in range(LANES)])
        twice = code.value(f"shufflevector <8 x i8> {order}, <8 x i8> poison, {pairs}")
        first = code.value(f"shl <{LANES} x i8> {twice}, splat (i8 1)")
        odd = ", ".join(f"i8 {lane % 2}" for lane in range(LANES))
        order = code.value(f"or <{LANES} x i8> {first}, <{odd}>")
    if size >= 4:
        order = code.value(f"zext <8 x i8> {order} to {WORDS}")
        return permute_words(code, kind, values, order)
    register, name = f"<{LANES} x i8>", "llvm.x86.ssse3.pshuf.b.128"
    if size == 2:
        values = code.value(f"bitcast {kind} {values} to {register}")
        moved = code.call(name, register, [register] * 2, values, order)
        return code.value(f"bitcast {register} {moved} to {kind}")
    wider, half = shuffle_order(range(LANES)), shuffle_order(range(HALF))
    values, order = (
        code.value(f"shufflevector <8 x i8> {each}, <8 x i8> zeroinitializer, {wider}")
        for each in (values, order)
    )
    moved = code.call(name, register, [register] * 2, values, order)
    return code.value(f"shufflevector {register} {moved}, {register} poison, {half}")


def _emit_loop(
    code: Instructions, kind: str, text: str, selected: str, address: str, size: int
) -> None:
    """Store the selected lanes one by one, in a loop over the bits that are set.

    LLVM's own expansion of a compressing store branches on every lane.
    """
    entry, bits = element(kind), BITS
    lanes, left, done = (code.stack(each) for each in (kind, bits, "i64"))
    head, each, end = code.label(), code.label(), code.label()
    code.do(f"store {kind} {text}, ptr {lanes}")
    code.do(f"store {bits} {selected}, ptr {left}")
    code.do(f"store i64 0, ptr {done}")
    code.branch(head)
    code.begin(head)
    set_bits = code.value(f"load {bits}, ptr {left}")
    code.choose(code.value(f"icmp ne {bits} {set_bits}, 0"), each, end)
    code.begin(each)
    name, kinds = f"llvm.cttz.{bits}", [bits, "i1"]
    lane = code.call(name, bits, kinds, set_bits, "true")
    number = code.value(f"load i64, ptr {done}")
    source = code.value(f"getelementptr inbounds {entry}, ptr {lanes}, {bits} {lane}")
    target = code.value(f"getelementptr inbounds {entry}, ptr {address}, i64 {number}")
    value = code.value(f"load {entry}, ptr {source}")
    code.do(f"store {entry} {value}, ptr {target}, align {size}")
    fewer = code.value(f"sub {bits} {set_bits}, 1")
    rest = code.value(f"and {bits} {set_bits}, {fewer}")
    code.do(f"store {bits} {rest}, ptr {left}")
    following = code.value(f"add i64 {number}, 1")
    code.do(f"store i64 {following}, ptr {done}")
    code.branch(head)
    code.begin(end)


def _compress(code: Instructions, kind: str, masks: str, text: str, mask: str) -> str:
    name = f"llvm.experimental.vector.compress.{suffix(kind)}"
    return code.call(name, kind, [kind, masks, kind], text, mask, "poison")


def _pack_halves(
    code: Instructions, kind: str, text: str, mask: str, address: str
) -> None:
    """Pack each half of a vector that takes two registers."""
    entry = element(kind)
    half, masks, bits = f"<{HALF} x {entry}>", f"<{HALF} x i1>", f"i{HALF}"
    for first in (0, HALF):
        values = _half(code, kind, text, first)
        flags = _half(code, wide("i1"), mask, first)
        packed = _compress(code, half, masks, values, flags)
        code.do(f"store {half} {packed}, ptr {address}, align 8")
        set_bits = code.value(f"bitcast {masks} {flags} to {bits}")
        count = code.call(f"llvm.ctpop.{bits}", bits, [bits], set_bits)
        number = code.value(f"zext {bits} {count} to i64")
        address = code.value(
            f"getelementptr inbounds {entry}, ptr {address}, i64 {number}"
        )


def _half(code: Instructions, kind: str, text: str, first: int) -> str:
    """Extract half of a vector's lanes, from lane `first` on."""
    order = shuffle_order(range(first, first + HALF))
    return code.value(f"shufflevector {kind} {text}, {kind} poison, {order}")

"""Arrays in memory: entries and bits, one at a time or `LANES` at once.

A bool is a byte in memory, or a bit of a bitmap. Vectors are aligned to their entries
alone, but for non-temporal stores.
"""

from tiltpy.abi.signature import LANES
from tiltpy.codegen.llvm.instructions import (
    Instructions,
    like,
    literal,
    memory_type,
    suffix,
    wide,
)
from tiltpy.codegen.llvm.lanes import Value, from_bits, to_bits, widen
from tiltpy.codegen.llvm.operators import kind_of
from tiltpy.loops.nodes import Array
from tiltpy.types import BOOL, I64, Scalar

LINE = 64
"""Bytes in a line of the cache."""


def to_memory(code: Instructions, scalar: Scalar, value: Value) -> tuple[str, str]:
    """Convert a value to its type in memory; returns that type and the value."""
    kind = memory_type(scalar)
    if value.wide:
        kind = wide(kind)
    if scalar != BOOL:
        return kind, value.text
    source = kind_of(BOOL, in_lanes=value.wide)
    return kind, code.value(f"zext {source} {value.text} to {kind}")


class Memory:
    """Emits the loads and stores of a function's arrays."""

    def __init__(self, code: Instructions, arrays: dict[Array, str]) -> None:
        self.code = code
        self.arrays = arrays

    def address(self, array: Array, index: str) -> str:
        """Emit the address of an entry."""
        return self._pointer(memory_type(array.type), array, index)

    def _byte(self, array: Array, index: str) -> str:
        return self._pointer("i8", array, index)

    def _pointer(self, kind: str, array: Array, index: str) -> str:
        return self.code.value(
            f"getelementptr inbounds {kind}, ptr {self.arrays[array]}, i64 {index}"
        )

    def prefetch(self, array: Array, index: str) -> None:
        """Prefetch an entry into all caches; it may lie behind the array's end."""
        kind = memory_type(array.type)
        pointer = self.arrays[array]
        address = self.code.value(f"getelementptr {kind}, ptr {pointer}, i64 {index}")
        name = "llvm.prefetch.p0"
        self.code.declared[name] = f"declare void @{name}(ptr, i32, i32, i32)"
        self.code.do(f"call void @{name}(ptr {address}, i32 0, i32 3, i32 1)")

    def choose(self, array: Array, test: str, then: Array, other: Array) -> None:
        """Have `array` stand for one of two arrays."""
        both = f"ptr {self.arrays[then]}, ptr {self.arrays[other]}"
        self.arrays[array] = self.code.value(f"select i1 {test}, {both}")

    # Stores

    def store(self, array: Array, index: str, value: Value, *, past: bool) -> None:
        """Store one entry or `LANES`; `past`: by a non-temporal store."""
        if array.bits:
            self._store_bits(array, index, widen(self.code, value, BOOL))
            return
        kind, text = to_memory(self.code, array.type, value)
        size = array.type.entry_bytes
        aligned = f", align {size}" if value.wide else ""
        if past:
            aligned = f", align {min(size * LANES, 64)}, !nontemporal !0"
        address = self.address(array, index)
        self.code.do(f"store {kind} {text}, ptr {address}{aligned}")

    def pour(self, source: Array, index: str, to: str) -> None:
        """Copy `LANES` entries from `index` on to as far from an address.

        By non-temporal stores.
        """
        size = source.type.entry_bytes
        length = LANES * size
        offset = self.code.value(f"mul i64 {index}, {size}")
        for first in range(0, length, LINE):
            line = min(length, LINE)
            kind = f"<{line // 8} x i64>"
            at = self.code.value(f"add i64 {offset}, {first}")
            staged = f"getelementptr inbounds i8, ptr {self.arrays[source]}, i64 {at}"
            target = f"getelementptr inbounds i8, ptr {to}, i64 {at}"
            entries = self.code.value(
                f"load {kind}, ptr {self.code.value(staged)}, align {size}"
            )
            self.code.do(
                f"store {kind} {entries}, ptr {self.code.value(target)}, align {line}, "
                "!nontemporal !0"
            )

    def _store_bits(self, array: Array, index: str, flags: str) -> None:
        mask = to_bits(self.code, flags)
        at = self.code.value(f"ashr i64 {index}, 3")
        self.code.do(f"store i{LANES} {mask}, ptr {self._byte(array, at)}, align 1")

    # Loads of an entry, or one for each lane

    def load(self, array: Array, index: Value) -> Value:
        """Load the entry at an index; an entry for each lane, if the index is wide."""
        if array.bits:
            return self._bit(array, index)
        if index.wide:
            return self.gather(array, "0", index.text)
        kind = memory_type(array.type)
        value = self.code.value(f"load {kind}, ptr {self.address(array, index.text)}")
        if array.type == BOOL:
            value = self.code.value(f"icmp ne i8 {value}, 0")
        return Value(value, wide=False)

    def gather(self, array: Array, base: str, lanes: str) -> Value:
        """Load an entry for each lane, at the offsets `lanes` from `base`.

        The two are not added, so that constant offsets need no register.
        """
        kind = memory_type(array.type)
        entries = self._load_each(kind, self.address(array, base), lanes)
        return self._from_memory(entries, array.type)

    def _load_each(self, kind: str, base: str, offsets: str) -> str:
        """Load lane by lane: on some processors gathers take three times as long."""
        code, entries = self.code, "poison"
        for lane in range(LANES):
            at = code.value(f"extractelement {wide('i64')} {offsets}, i64 {lane}")
            address = code.value(f"getelementptr inbounds {kind}, ptr {base}, i64 {at}")
            entry = code.value(f"load {kind}, ptr {address}")
            entries = code.value(
                f"insertelement {wide(kind)} {entries}, {kind} {entry}, i64 {lane}"
            )
        return entries

    def _from_memory(self, text: str, scalar: Scalar) -> Value:
        if scalar == BOOL:
            text = self.code.value(f"icmp ne {wide('i8')} {text}, zeroinitializer")
        return Value(text, wide=True)

    def _bit(self, array: Array, index: Value) -> Value:
        """Load a bit of a bitmap, least significant first."""
        number = kind_of(I64, in_lanes=index.wide)
        small = like(number, "i8")
        at = self.code.value(f"ashr {number} {index.text}, {literal(number, '3')}")
        if index.wide:
            byte = self._load_each("i8", self.arrays[array], at)
        else:
            byte = self.code.value(f"load i8, ptr {self._byte(array, at)}")
        low = self.code.value(f"trunc {number} {index.text} to {small}")
        which = self.code.value(f"and {small} {low}, {literal(small, '7')}")
        shifted = self.code.value(f"lshr {small} {byte}, {which}")
        test = kind_of(BOOL, in_lanes=index.wide)
        bit = self.code.value(f"trunc {small} {shifted} to {test}")
        return Value(bit, wide=index.wide)

    # Loads of neighbours

    def load_wide(self, array: Array, index: str) -> Value:
        """Load the `LANES` entries from an index on.

        Numbers of inputs are frozen, else LLVM merges the load with a selection of
        lanes, and the hardware hardly prefetches masked loads: from memory they take
        five times as long.
        """
        if array.bits:
            return self._wide_bits(array, index)
        kind = wide(memory_type(array.type))
        address = self.address(array, index)
        aligned = array.type.entry_bytes
        entries = self.code.value(f"load {kind}, ptr {address}, align {aligned}")
        if array.type != BOOL and not array.written:
            entries = self.code.value(f"freeze {kind} {entries}")
        return self._from_memory(entries, array.type)

    def load_masked(self, array: Array, index: str, mask: str) -> Value:
        """Load the entries from an index on, with 0 in lanes outside the mask."""
        assert not array.bits
        kind = wide(memory_type(array.type))
        entries = self.code.call(
            f"llvm.masked.load.{suffix(kind)}.p0",
            kind,
            [f"ptr align {array.type.entry_bytes}", wide("i1"), kind],
            self.address(array, index),
            mask,
            "zeroinitializer",
        )
        return self._from_memory(entries, array.type)

    def _wide_bits(self, array: Array, index: str) -> Value:
        """Load bits from any index on, and no byte that has none of them.

        Where the first one starts a byte the last byte read is the second again, whose
        copy is shifted out.
        """
        code = self.code
        at = code.value(f"ashr i64 {index}, 3")
        low = code.value(f"load i16, ptr {self._byte(array, at)}, align 1")
        last = code.value(f"add i64 {index}, {LANES - 1}")
        end = code.value(f"ashr i64 {last}, 3")
        high = code.value(f"load i8, ptr {self._byte(array, end)}")
        wide_low = code.value(f"zext i16 {low} to i32")
        wide_high = code.value(f"zext i8 {high} to i32")
        moved = code.value(f"shl i32 {wide_high}, 16")
        both = code.value(f"or i32 {wide_low}, {moved}")
        short = code.value(f"trunc i64 {index} to i32")
        by = code.value(f"and i32 {short}, 7")
        shifted = code.value(f"lshr i32 {both}, {by}")
        bits = code.value(f"trunc i32 {shifted} to i16")
        return Value(from_bits(code, bits), wide=True)

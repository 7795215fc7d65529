"""Arrays in memory: entries and bits, one at a time or `LANES` at once.

A bool is a byte in memory, or a bit of a bitmap. Vectors are aligned to their entries
alone, unless they go past the caches.
"""

from tiltpy.abi import LANES
from tiltpy.codegen.llvm.instructions import (
    Instructions,
    like,
    literal,
    memory_type,
    suffix,
    wide,
)
from tiltpy.codegen.llvm.lanes import Value, from_bits, to_bits, widened
from tiltpy.codegen.llvm.operators import kind_of
from tiltpy.loops.nodes import Array
from tiltpy.types import BOOL, I64, Scalar

LINE = 64
"""Bytes in a line of the cache."""


def size_of(scalar: Scalar) -> int:
    """The bytes of an entry."""
    return scalar.bits // 8 or 1


def in_memory(code: Instructions, scalar: Scalar, value: Value) -> tuple[str, str]:
    """A value's type in memory, and it as that."""
    kind = memory_type(scalar)
    if value.wide:
        kind = wide(kind)
    if scalar != BOOL:
        return kind, value.text
    source = kind_of(BOOL, in_lanes=value.wide)
    return kind, code.value(f"zext {source} {value.text} to {kind}")


class Memory:
    """The arrays of a function, and how its instructions reach into them."""

    def __init__(self, code: Instructions, arrays: dict[Array, str]) -> None:
        self.code = code
        self.arrays = arrays

    def address(self, array: Array, index: str) -> str:
        """Where an entry is."""
        return self._inside(memory_type(array.type), array, index)

    def _byte(self, array: Array, index: str) -> str:
        return self._inside("i8", array, index)

    def _inside(self, kind: str, array: Array, index: str) -> str:
        return self.code.value(
            f"getelementptr inbounds {kind}, ptr {self.arrays[array]}, i64 {index}"
        )

    def prefetch(self, array: Array, index: str) -> None:
        """Into all caches; the place may be behind the array's end."""
        kind = memory_type(array.type)
        pointer = self.arrays[array]
        address = self.code.value(f"getelementptr {kind}, ptr {pointer}, i64 {index}")
        name = "llvm.prefetch.p0"
        self.code.declared[name] = f"declare void @{name}(ptr, i32, i32, i32)"
        self.code.do(f"call void @{name}(ptr {address}, i32 0, i32 3, i32 1)")

    def choose(self, array: Array, test: str, one: Array, other: Array) -> None:
        """One of two arrays by another name."""
        either = f"ptr {self.arrays[one]}, ptr {self.arrays[other]}"
        self.arrays[array] = self.code.value(f"select i1 {test}, {either}")

    # Stores

    def store(self, array: Array, index: str, value: Value, *, past: bool) -> None:
        """One entry or `LANES`; `past`: past the caches."""
        if array.bits:
            self._store_bits(array, index, widened(self.code, value, BOOL))
            return
        kind, text = in_memory(self.code, array.type, value)
        size = size_of(array.type)
        aligned = f", align {size}" if value.wide else ""
        if past:
            aligned = f", align {min(size * LANES, 64)}, !nontemporal !0"
        address = self.address(array, index)
        self.code.do(f"store {kind} {text}, ptr {address}{aligned}")

    def pour(self, source: Array, index: str, to: str) -> None:
        """`LANES` entries to as far from an address, past the caches."""
        size = size_of(source.type)
        length = LANES * size
        offset = self.code.value(f"mul i64 {index}, {size}")
        for first in range(0, length, LINE):
            line = min(length, LINE)
            kind = f"<{line // 8} x i64>"
            at = self.code.value(f"add i64 {offset}, {first}")
            near = f"getelementptr inbounds i8, ptr {self.arrays[source]}, i64 {at}"
            far = f"getelementptr inbounds i8, ptr {to}, i64 {at}"
            found = self.code.value(
                f"load {kind}, ptr {self.code.value(near)}, align {size}"
            )
            self.code.do(
                f"store {kind} {found}, ptr {self.code.value(far)}, align {line}, "
                "!nontemporal !0"
            )

    def _store_bits(self, array: Array, index: str, flags: str) -> None:
        mask = to_bits(self.code, flags)
        at = self.code.value(f"ashr i64 {index}, 3")
        self.code.do(f"store i{LANES} {mask}, ptr {self._byte(array, at)}, align 1")

    # Loads of an entry, or one for each lane

    def load(self, array: Array, index: Value) -> Value:
        """The entry at an index; at each lane's own, if the index is wide."""
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
        """An entry for each lane: `lanes` from `base` on.

        Kept apart, LLVM sees that the lanes' part fits 32 bits, where it does.
        """
        kind = memory_type(array.type)
        places = self.code.value(
            f"getelementptr inbounds {kind}, ptr {self.address(array, base)}, "
            f"{wide('i64')} {lanes}"
        )
        found = self._gathered(wide(kind), places, size_of(array.type))
        return self._from_memory(found, array.type)

    def _gathered(self, many: str, places: str, size: int) -> str:
        return self.code.call(
            f"llvm.masked.gather.{suffix(many)}.v{LANES}p0",
            many,
            [f"{wide('ptr')} align {size}", wide("i1"), many],
            places,
            literal(wide("i1"), "true"),
            "poison",
        )

    def _from_memory(self, text: str, scalar: Scalar) -> Value:
        if scalar == BOOL:
            text = self.code.value(f"icmp ne {wide('i8')} {text}, zeroinitializer")
        return Value(text, wide=True)

    def _bit(self, array: Array, index: Value) -> Value:
        """A bit of a bitmap, least significant first."""
        number = kind_of(I64, in_lanes=index.wide)
        small = like(number, "i8")
        at = self.code.value(f"ashr {number} {index.text}, {literal(number, '3')}")
        if index.wide:
            places = self.code.value(
                f"getelementptr inbounds i8, ptr {self.arrays[array]}, {number} {at}"
            )
            byte = self._gathered(small, places, 1)
        else:
            byte = self.code.value(f"load i8, ptr {self._byte(array, at)}")
        low = self.code.value(f"trunc {number} {index.text} to {small}")
        which = self.code.value(f"and {small} {low}, {literal(small, '7')}")
        shifted = self.code.value(f"lshr {small} {byte}, {which}")
        test = kind_of(BOOL, in_lanes=index.wide)
        found = self.code.value(f"trunc {small} {shifted} to {test}")
        return Value(found, wide=index.wide)

    # Loads of neighbours

    def load_wide(self, array: Array, index: str) -> Value:
        """The `LANES` entries from an index on."""
        if array.bits:
            return self._wide_bits(array, index)
        kind = wide(memory_type(array.type))
        address = self.address(array, index)
        aligned = size_of(array.type)
        found = self.code.value(f"load {kind}, ptr {address}, align {aligned}")
        return self._from_memory(found, array.type)

    def load_some(self, array: Array, index: str, mask: str) -> Value:
        """The same in those lanes in which a mask holds; 0 in the others."""
        assert not array.bits
        kind = wide(memory_type(array.type))
        found = self.code.call(
            f"llvm.masked.load.{suffix(kind)}.p0",
            kind,
            [f"ptr align {size_of(array.type)}", wide("i1"), kind],
            self.address(array, index),
            mask,
            "zeroinitializer",
        )
        return self._from_memory(found, array.type)

    def _wide_bits(self, array: Array, index: str) -> Value:
        """Bits from anywhere on, without a byte that has none of them.

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

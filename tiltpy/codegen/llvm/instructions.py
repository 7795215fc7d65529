"""LLVM IR under construction, as text: instructions are appended to blocks.

Text is what LLVM reads in the end; building it through objects took longer than
optimizing it. Names are numbers, types are written out by who appends.
"""

import re
import struct
from collections.abc import Sequence

from tiltpy.abi.signature import LANES
from tiltpy.types import BOOL, Scalar


def type_of(scalar: Scalar) -> str:
    """Write the type of a scalar in a register."""
    if scalar.is_float:
        return "float" if scalar.bits == 32 else "double"
    return f"i{scalar.bits}"


def memory_type(scalar: Scalar) -> str:
    """Write the type of a scalar in memory: a bool is a byte."""
    return "i8" if scalar == BOOL else type_of(scalar)


def wide(kind: str) -> str:
    """Write the type with an entry for each lane."""
    return f"<{LANES} x {kind}>"


def is_wide(kind: str) -> bool:
    """Tell whether a type has an entry for each lane."""
    return kind.startswith("<")


def element(kind: str) -> str:
    """Extract the type of one lane."""
    return kind[1:-1].split(" x ")[1] if is_wide(kind) else kind


def like(kind: str, other: str) -> str:
    """Write the type `other`, wide if `kind` is."""
    return wide(other) if is_wide(kind) else other


def literal(kind: str, text: str) -> str:
    """Write a constant operand of a type, in all lanes if it is wide."""
    return f"splat ({element(kind)} {text})" if is_wide(kind) else text


def suffix(kind: str) -> str:
    """Write a type as intrinsics have it in their names."""
    name = element(kind)
    short = {"float": "f32", "double": "f64"}.get(name, name)
    return f"v{kind[1:].split(maxsplit=1)[0]}{short}" if is_wide(kind) else short


def constant(value: float, scalar: Scalar) -> str:
    """Write a constant as an operand."""
    if scalar.is_float:
        # Both widths are written as the bits of the double of that value.
        if scalar.bits == 32:
            value = struct.unpack("f", struct.pack("f", value))[0]
        bits = struct.pack(">d", value)
        return f"0x{bits.hex().upper()}"
    if scalar == BOOL:
        return "true" if value else "false"
    return str(int(value))


def number_in(operand: str) -> float | None:
    """Read the float that an operand is in all lanes; None if it is no constant."""
    match = _FLOAT.search(operand)
    if match is None:
        return None
    (value,) = struct.unpack(">d", bytes.fromhex(match[1]))
    return float(value)


_FLOAT = re.compile(r"^(?:splat \(\w+ )?0x([0-9A-F]{16})\)?$")

HINTS = '!1 = !{!"branch_weights", i32 1, i32 1000000}\n!2 = !{}'
"""The metadata of branches that are taken rarely, and of unpredictable choices."""


class Instructions:
    """The body of one function, appended to its last block.

    `masks`: the machine has registers for masks, which have a bit for each lane;
    `permutes`: it has AVX2's permutations of eight lanes, but no such registers;
    `converts`: it converts vectors of 64-bit integers to doubles.
    """

    def __init__(
        self, *, masks: bool = True, permutes: bool = False, converts: bool = True
    ) -> None:
        self.masks = masks
        self.permutes = permutes
        self.converts = converts
        self.entry: list[str] = []
        self.lines: list[str] = []
        self.declared: dict[str, str] = {}
        self.bits: dict[str, str] = {}
        """Bits of wide bools that are known without masks: a lane is no bit there."""
        self.made_of_bits: set[str] = set()
        """Those whose lanes were made of their bits."""
        self._names = 0

    def name(self) -> str:
        """Make a fresh name."""
        self._names += 1
        return f"%x{self._names}"

    def value(self, text: str) -> str:
        """Append an instruction; returns the name of its result."""
        name = self.name()
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {text}")

    def label(self) -> str:
        """Make the name of a block to come."""
        return self.name()[1:]

    def begin(self, label: str) -> None:
        """Start a block; the one before must have ended in a branch."""
        self.lines.append(f"{label}:")

    def branch(self, label: str) -> None:
        """Branch to a block."""
        self.do(f"br label %{label}")

    def choose(
        self, condition: str, yes: str, no: str, *, rarely: bool = False
    ) -> None:
        """Branch to one of two blocks; `rarely`: hardly ever to the first one.

        LLVM then computes nothing of that one ahead of time.
        """
        weights = ", !prof !1" if rarely else ""
        self.do(f"br i1 {condition}, label %{yes}, label %{no}{weights}")

    def stack(self, kind: str) -> str:
        """Allocate a slot in the function's frame."""
        name = self.name()
        self.entry.append(f"  {name} = alloca {kind}")
        return name

    def select(
        self, condition: str, kind: str, then: str, other: str, *, even: bool = False
    ) -> str:
        """Select one of two values; the condition is as wide as they are.

        `even`: never a branch, which LLVM likes where one of them is loaded.
        """
        test = like(kind, "i1")
        hint = ", !unpredictable !2" if even else ""
        return self.value(
            f"select {test} {condition}, {kind} {then}, {kind} {other}{hint}"
        )

    def call(self, symbol: str, result: str, kinds: Sequence[str], *args: str) -> str:
        """Call a function that is declared with these types."""
        self.declared[symbol] = f"declare {result} @{symbol}({', '.join(kinds)})"
        typed = ", ".join(f"{k} {a}" for k, a in zip(kinds, args, strict=True))
        return self.value(f"call {result} @{symbol}({typed})")

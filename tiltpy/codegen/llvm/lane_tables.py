"""Permuting the lanes of an AVX2 register, by a table of what a set of lanes asks for.

A register has eight words in its lanes. A row of a table has the number of a word for
each of them, in a byte.
"""

from collections.abc import Iterable, Sequence

from tiltpy.codegen.llvm.instructions import Instructions

WORDS = "<8 x i32>"
"""A register as words."""


def shuffle_order(lanes: Sequence[int]) -> str:
    """Write the order of a shuffle."""
    return f"<{len(lanes)} x i32> <{', '.join(f'i32 {lane}' for lane in lanes)}>"


def pack_row(words: Iterable[int]) -> int:
    """Pack the numbers of words into the bytes of a row; negative ones, too."""
    return sum((word & 255) << 8 * place for place, word in enumerate(words))


def define_table(name: str, rows: Sequence[int]) -> str:
    """Define a table of packed rows."""
    entries = ", ".join(f"i64 {row}" for row in rows)
    kind = f"[{len(rows)} x i64]"
    return f"{name} = private unnamed_addr constant {kind} [{entries}], align 64"


def load_row(code: Instructions, name: str, row: str) -> str:
    """Load a row of a table, `<8 x i8>`; its number is an `i64`."""
    at = code.value(f"getelementptr inbounds i64, ptr {name}, i64 {row}")
    return code.value(f"load <8 x i8>, ptr {at}, align 8")


def permute_words(code: Instructions, kind: str, values: str, order: str) -> str:
    """Permute the words of a register of a type; `order` is one of words."""
    name = "llvm.x86.avx2.permd"
    values = code.value(f"bitcast {kind} {values} to {WORDS}")
    moved = code.call(name, WORDS, [WORDS] * 2, values, order)
    return code.value(f"bitcast {WORDS} {moved} to {kind}")

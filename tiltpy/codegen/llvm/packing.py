"""Storing the lanes of a vector that a mask selects, one after another."""

from tiltpy.abi.signature import LANES
from tiltpy.codegen.llvm.instructions import Instructions, element, suffix, wide

HALF = LANES // 2


def emit_pack(
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


def emit_packing_store(
    code: Instructions, kind: str, text: str, mask: str, address: str, size: int
) -> None:
    """Store the selected lanes by an intrinsic, one by one where the machine must."""
    name = f"llvm.masked.compressstore.{suffix(kind)}"
    code.declared[name] = f"declare void @{name}({kind}, ptr, {wide('i1')})"
    code.do(
        f"call void @{name}({kind} {text}, ptr align {size} {address}, "
        f"{wide('i1')} {mask})"
    )


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
    order = ", ".join(f"i32 {first + lane}" for lane in range(HALF))
    return code.value(
        f"shufflevector {kind} {text}, {kind} poison, <{HALF} x i32> <{order}>"
    )

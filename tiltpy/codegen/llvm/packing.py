"""Storing the lanes of a vector that a mask selects, one after another."""

from tiltpy.abi.signature import LANES
from tiltpy.codegen.llvm.instructions import Instructions, element, suffix, wide
from tiltpy.codegen.llvm.lanes import to_bits

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


def emit_packing_loop(
    code: Instructions, kind: str, text: str, mask: str, address: str, size: int
) -> None:
    """Store the selected lanes one by one, in a loop over the bits that are set.

    All of them are stored at once. LLVM's own expansion of a compressing store branches
    on every lane.
    """
    entry, bits = element(kind), f"i{LANES}"
    lanes, left, done = (code.stack(each) for each in (kind, bits, "i64"))
    selected = to_bits(code, mask)
    whole, some, head, each, after = (code.label() for _ in range(5))
    code.choose(code.value(f"icmp eq {bits} {selected}, -1"), whole, some)
    code.begin(whole)
    code.do(f"store {kind} {text}, ptr {address}, align {size}")
    code.branch(after)
    code.begin(some)
    code.do(f"store {kind} {text}, ptr {lanes}")
    code.do(f"store {bits} {selected}, ptr {left}")
    code.do(f"store i64 0, ptr {done}")
    code.branch(head)
    code.begin(head)
    set_bits = code.value(f"load {bits}, ptr {left}")
    code.choose(code.value(f"icmp ne {bits} {set_bits}, 0"), each, after)
    code.begin(each)
    name, kinds = f"llvm.cttz.{bits}", [bits, "i1"]
    lane = code.call(name, bits, kinds, set_bits, "true")
    number = code.value(f"load i64, ptr {done}")
    source = code.value(f"getelementptr inbounds {entry}, ptr {lanes}, {bits} {lane}")
    target = code.value(f"getelementptr inbounds {entry}, ptr {address}, i64 {number}")
    value = code.value(f"load {entry}, ptr {source}")
    code.do(f"store {entry} {value}, ptr {target}")
    fewer = code.value(f"sub {bits} {set_bits}, 1")
    rest = code.value(f"and {bits} {set_bits}, {fewer}")
    code.do(f"store {bits} {rest}, ptr {left}")
    following = code.value(f"add i64 {number}, 1")
    code.do(f"store i64 {following}, ptr {done}")
    code.branch(head)
    code.begin(after)


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

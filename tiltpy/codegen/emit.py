"""Loop IR to LLVM IR.

Variables become stack slots that LLVM's SROA turns into registers; arrays become
`noalias` pointers of an inner function, so that loops over them vectorise. Wide values
are LLVM vectors. Trapping instructions never appear: see `operators.py`.
"""

from collections.abc import Iterable
from typing import NamedTuple, assert_never

from tiltpy.abi import LANES
from tiltpy.codegen.instructions import (
    Instructions,
    constant,
    element,
    literal,
    memory_type,
    suffix,
    type_of,
    wide,
)
from tiltpy.codegen.operators import emit_binary, emit_call, emit_convert, kind_of
from tiltpy.codegen.widths import wide_variables
from tiltpy.loops.nodes import (
    Array,
    Assign,
    Bin,
    Branch,
    CallFn,
    Convert,
    CountTrue,
    Earlier,
    Extract,
    For,
    Kernel,
    Lane,
    Lanes,
    LExpr,
    Load,
    Not,
    Num,
    Pack,
    Pick,
    Prefetch,
    Select,
    Splat,
    Stmt,
    Store,
    Var,
    While,
    Wide,
    WriteSlot,
)
from tiltpy.types import BOOL, I64, Scalar

_CALLS = """\
define void @kernels(ptr %calls, i64 %count) {
entry:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %each, label %end
each:
  %number = phi i64 [ 0, %entry ], [ %next, %each ]
  %place = getelementptr ptr, ptr %calls, i64 %number
  %slots = load ptr, ptr %place
  call void @kernel(ptr %slots)
  %next = add i64 %number, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %each, label %end
end:
  ret void
}"""


def emit_module(kernel: Kernel, *, packs: bool = False) -> str:
    """The LLVM IR of a kernel: `void kernel(ptr slots)`.

    Beside it stands `void kernels(ptr calls, i64 count)`, which calls it for each of a
    number of argument arrays: small ones take less time than a call from Python.
    `packs`: the machine has instructions that pack the lanes of a register.
    """
    body = _Body(kernel, packs=packs)
    outer = Instructions()
    arguments = ["ptr %slots"]
    for _, index in kernel.numbers:
        arguments.append(f"i64 {_slot(outer, index)}")
    for array in kernel.arrays:
        pointer = outer.value(f"inttoptr i64 {_slot(outer, array.slot)} to ptr")
        arguments.append(f"ptr {pointer}")
    outer.do(f"call void @body({', '.join(arguments)})")
    outer.do("ret void")
    parameters = ["ptr noalias %slots"]
    parameters += [f"i64 %number{i}" for i in range(len(kernel.numbers))]
    parameters += [f"ptr noalias %array{i}" for i in range(len(kernel.arrays))]
    return "\n".join(
        [
            *body.code.declared.values(),
            "define void @kernel(ptr %slots) {",
            *outer.lines,
            "}",
            f"define internal void @body({', '.join(parameters)}) noinline "
            '"prefer-vector-width"="512" {',
            *body.code.entry,
            *body.code.lines,
            "}",
            _CALLS,
            "!0 = !{i32 1}\n",
        ]
    )


def _slot(code: Instructions, index: int) -> str:
    address = code.value(f"getelementptr i64, ptr %slots, i64 {index}")
    return code.value(f"load i64, ptr {address}")


class _Value(NamedTuple):
    """A value in a register: its name, and whether it is wide."""

    text: str
    wide: bool


class _Body:
    """A kernel's statements, appended to one LLVM function."""

    def __init__(self, kernel: Kernel, *, packs: bool) -> None:
        self.packs = packs
        self.code = Instructions()
        self.places: dict[Var, str] = {}
        self.wide_variables = wide_variables(kernel.body)
        self.arrays = {array: f"%array{i}" for i, array in enumerate(kernel.arrays)}
        for i, (var, _) in enumerate(kernel.numbers):
            self.assign(var, _Value(f"%number{i}", wide=False))
        self.block(kernel.body)
        self.code.do("ret void")

    # Statements

    def assign(self, var: Var, value: _Value) -> None:
        in_lanes = var in self.wide_variables
        kind = kind_of(var.type, in_lanes=in_lanes)
        if var not in self.places:
            self.places[var] = self.code.stack(kind)
        text = self.widened(value, var.type) if in_lanes else value.text
        self.code.do(f"store {kind} {text}, ptr {self.places[var]}")

    def block(self, body: tuple[Stmt, ...]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, statement: Stmt) -> None:
        match statement:
            case Assign(var=var, value=value):
                self.assign(var, self.expr(value))
            case Store():
                self.store(statement)
            case Pack():
                self.pack(statement)
            case Prefetch(array=array, index=index):
                self.prefetch(array, self.scalar(index))
            case WriteSlot(slot=index, value=value):
                number = self.scalar(value)
                address = self.code.value(f"getelementptr i64, ptr %slots, i64 {index}")
                self.code.do(f"store i64 {number}, ptr {address}")
            case While():
                self.loop(statement)
            case For():
                self.counted(statement)
            case Branch():
                self.conditional(statement)
            case _:
                assert_never(statement)

    def loop(self, loop: While) -> None:
        head, inner, done = (self.code.label() for _ in range(3))
        self.code.branch(head)
        self.code.begin(head)
        self.block(loop.head)
        self.code.choose(self.scalar(loop.condition), inner, done)
        self.code.begin(inner)
        self.block(loop.body)
        self.code.branch(head)
        self.code.begin(done)

    def counted(self, loop: For) -> None:
        head, inner, done = (self.code.label() for _ in range(3))
        self.assign(loop.var, self.expr(loop.start))
        stop = self.scalar(loop.stop)
        self.code.branch(head)
        self.code.begin(head)
        now = self.scalar(loop.var)
        more = self.code.value(f"icmp slt i64 {now}, {stop}")
        self.code.choose(more, inner, done)
        self.code.begin(inner)
        self.block(loop.body)
        now = self.scalar(loop.var)
        step = self.code.value(f"add nsw i64 {now}, {loop.step}")
        self.assign(loop.var, _Value(step, wide=False))
        self.code.branch(head)
        self.code.begin(done)

    def conditional(self, branch: Branch) -> None:
        yes, no, done = (self.code.label() for _ in range(3))
        self.code.choose(self.scalar(branch.condition), yes, no)
        self.code.begin(yes)
        self.block(branch.then)
        self.code.branch(done)
        self.code.begin(no)
        self.block(branch.otherwise)
        self.code.branch(done)
        self.code.begin(done)

    def store(self, statement: Store) -> None:
        array = statement.array
        value = self.expr(statement.value)
        index = self.scalar(statement.index)
        if array.bits:
            mask = self.mask(self.widened(value, BOOL))
            at = self.code.value(f"ashr i64 {index}, 3")
            self.code.do(f"store i16 {mask}, ptr {self.byte(array, at)}, align 1")
            return
        kind, text = self.in_memory(array.type, value)
        size = array.type.bits // 8 or 1
        aligned = f", align {size}" if value.wide else ""
        if statement.past:
            aligned = f", align {min(size * LANES, 64)}, !nontemporal !0"
        address = self.address(array, index)
        self.code.do(f"store {kind} {text}, ptr {address}{aligned}")

    def in_memory(self, scalar: Scalar, value: _Value) -> tuple[str, str]:
        """A value's type in memory, and it as that: a bool is a byte."""
        kind = memory_type(scalar)
        if value.wide:
            kind = wide(kind)
        if scalar != BOOL:
            return kind, value.text
        source = kind_of(BOOL, in_lanes=value.wide)
        return kind, self.code.value(f"zext {source} {value.text} to {kind}")

    def pack(self, statement: Pack) -> None:
        """Where registers can be packed, they are, and stored in whole.

        LLVM's own splitting of what is wider than a register is at fault (22.1: it
        stores the second half as if it were aligned), so the halves are packed apart.
        """
        array = statement.array
        value = _Value(self.widened(self.expr(statement.value), array.type), wide=True)
        kind, text = self.in_memory(array.type, value)
        mask = self.widened(self.expr(statement.mask), BOOL)
        address = self.address(array, self.scalar(statement.index))
        if not self.packs:
            self.store_packed(kind, text, mask, address, array)
        elif array.type.bits == 64:
            self.pack_halves(kind, text, mask, address)
        else:
            packed = self.packed(kind, wide("i1"), text, mask)
            aligned = array.type.bits // 8 or 1
            self.code.do(f"store {kind} {packed}, ptr {address}, align {aligned}")

    def packed(self, kind: str, masks: str, text: str, mask: str) -> str:
        name = f"llvm.experimental.vector.compress.{suffix(kind)}"
        return self.code.call(name, kind, [kind, masks, kind], text, mask, "poison")

    def store_packed(
        self, kind: str, text: str, mask: str, address: str, array: Array
    ) -> None:
        """Store what the mask says, lane by lane where the machine must."""
        aligned = array.type.bits // 8 or 1
        name = f"llvm.masked.compressstore.{suffix(kind)}"
        self.code.declared[name] = f"declare void @{name}({kind}, ptr, {wide('i1')})"
        self.code.do(
            f"call void @{name}({kind} {text}, ptr align {aligned} {address}, "
            f"{wide('i1')} {mask})"
        )

    def pack_halves(self, kind: str, text: str, mask: str, address: str) -> None:
        """Pack each half of a vector that takes two registers."""
        half = LANES // 2
        one = element(kind)
        part, masks = f"<{half} x {one}>", f"<{half} x i1>"
        for first in (0, half):
            order = ", ".join(f"i32 {first + lane}" for lane in range(half))
            values, flags = (
                self.code.value(
                    f"shufflevector {whole} {given}, {whole} poison, "
                    f"<{half} x i32> <{order}>"
                )
                for whole, given in ((kind, text), (wide("i1"), mask))
            )
            packed = self.packed(part, masks, values, flags)
            self.code.do(f"store {part} {packed}, ptr {address}, align 8")
            bits = self.code.value(f"bitcast {masks} {flags} to i{half}")
            count = self.code.call(
                f"llvm.ctpop.i{half}", f"i{half}", [f"i{half}"], bits
            )
            number = self.code.value(f"zext i{half} {count} to i64")
            address = self.code.value(
                f"getelementptr inbounds {one}, ptr {address}, i64 {number}"
            )

    # Memory

    def prefetch(self, array: Array, index: str) -> None:
        """Into all caches; the place may be behind the array's end."""
        kind = memory_type(array.type)
        pointer = self.arrays[array]
        address = self.code.value(f"getelementptr {kind}, ptr {pointer}, i64 {index}")
        name = "llvm.prefetch.p0"
        self.code.declared[name] = f"declare void @{name}(ptr, i32, i32, i32)"
        self.code.do(f"call void @{name}(ptr {address}, i32 0, i32 3, i32 1)")

    def address(self, array: Array, index: str) -> str:
        kind = memory_type(array.type)
        pointer = self.arrays[array]
        return self.code.value(
            f"getelementptr inbounds {kind}, ptr {pointer}, i64 {index}"
        )

    def byte(self, array: Array, index: str) -> str:
        return self.code.value(
            f"getelementptr inbounds i8, ptr {self.arrays[array]}, i64 {index}"
        )

    def load(self, array: Array, index: _Value) -> _Value:
        if array.bits:
            return self.bit(array, index)
        if index.wide:
            return self.gather(array, "0", index.text)
        kind = memory_type(array.type)
        value = self.code.value(f"load {kind}, ptr {self.address(array, index.text)}")
        if array.type == BOOL:
            value = self.code.value(f"icmp ne i8 {value}, 0")
        return _Value(value, wide=False)

    def gather(self, array: Array, base: str, lanes: str) -> _Value:
        """An entry for each lane: `lanes` from `base` on.

        Kept apart, LLVM sees that the lanes' part fits 32 bits, where it does.
        """
        kind = memory_type(array.type)
        many = wide(kind)
        places = self.code.value(
            f"getelementptr inbounds {kind}, ptr {self.address(array, base)}, "
            f"{wide('i64')} {lanes}"
        )
        found = self.code.call(
            f"llvm.masked.gather.{suffix(many)}.v{LANES}p0",
            many,
            [f"{wide('ptr')} align {array.type.bits // 8 or 1}", wide("i1"), many],
            places,
            literal(wide("i1"), "true"),
            "poison",
        )
        return self.from_memory(found, array.type)

    def from_memory(self, text: str, scalar: Scalar) -> _Value:
        if scalar == BOOL:
            text = self.code.value(f"icmp ne {wide('i8')} {text}, zeroinitializer")
        return _Value(text, wide=True)

    def wide_load(self, array: Array, index: str) -> _Value:
        if array.bits:
            return self.wide_bits(array, index)
        kind = wide(memory_type(array.type))
        address = self.address(array, index)
        aligned = array.type.bits // 8 or 1
        found = self.code.value(f"load {kind}, ptr {address}, align {aligned}")
        return self.from_memory(found, array.type)

    def wide_bits(self, array: Array, index: str) -> _Value:
        """Bits from anywhere on, without a byte that has none of them.

        Where the first one starts a byte the last byte read is the second again, whose
        copy is shifted out.
        """
        at = self.code.value(f"ashr i64 {index}, 3")
        low = self.code.value(f"load i16, ptr {self.byte(array, at)}, align 1")
        last = self.code.value(f"add i64 {index}, {LANES - 1}")
        end = self.code.value(f"ashr i64 {last}, 3")
        high = self.code.value(f"load i8, ptr {self.byte(array, end)}")
        wide_low = self.code.value(f"zext i16 {low} to i32")
        wide_high = self.code.value(f"zext i8 {high} to i32")
        moved = self.code.value(f"shl i32 {wide_high}, 16")
        both = self.code.value(f"or i32 {wide_low}, {moved}")
        short = self.code.value(f"trunc i64 {index} to i32")
        by = self.code.value(f"and i32 {short}, 7")
        shifted = self.code.value(f"lshr i32 {both}, {by}")
        bits = self.code.value(f"trunc i32 {shifted} to i16")
        return _Value(self.from_mask(bits), wide=True)

    def bit(self, array: Array, index: _Value) -> _Value:
        """A bit of a bitmap, least significant first."""
        number = kind_of(I64, in_lanes=index.wide)
        small = wide("i8") if index.wide else "i8"
        at = self.code.value(f"ashr {number} {index.text}, {literal(number, '3')}")
        if index.wide:
            places = self.code.value(
                f"getelementptr inbounds i8, ptr {self.arrays[array]}, {number} {at}"
            )
            byte = self.code.call(
                f"llvm.masked.gather.v{LANES}i8.v{LANES}p0",
                small,
                [f"{wide('ptr')} align 1", wide("i1"), small],
                places,
                literal(wide("i1"), "true"),
                "poison",
            )
        else:
            byte = self.code.value(f"load i8, ptr {self.byte(array, at)}")
        low = self.code.value(f"trunc {number} {index.text} to {small}")
        which = self.code.value(f"and {small} {low}, {literal(small, '7')}")
        shifted = self.code.value(f"lshr {small} {byte}, {which}")
        test = kind_of(BOOL, in_lanes=index.wide)
        found = self.code.value(f"trunc {small} {shifted} to {test}")
        return _Value(found, wide=index.wide)

    # Wide values

    def widened(self, value: _Value, scalar: Scalar) -> str:
        """A value in all lanes, if it is not wide already."""
        if value.wide:
            return value.text
        kind = type_of(scalar)
        many = wide(kind)
        if not value.text.startswith("%"):
            return literal(many, value.text)
        one = self.code.value(
            f"insertelement {many} poison, {kind} {value.text}, i64 0"
        )
        return self.code.value(
            f"shufflevector {many} {one}, {many} poison, "
            f"<{LANES} x i32> zeroinitializer"
        )

    def mask(self, text: str) -> str:
        """Wide bools as bits."""
        return self.code.value(f"bitcast {wide('i1')} {text} to i{LANES}")

    def from_mask(self, bits: str) -> str:
        return self.code.value(f"bitcast i{LANES} {bits} to {wide('i1')}")

    def earlier(self, expr: Earlier) -> _Value:
        now = self.widened(self.expr(expr.now), expr.type)
        before = self.widened(self.expr(expr.before), expr.type)
        if expr.type == BOOL:
            return _Value(self.earlier_bits(now, before, expr.by), wide=True)
        return self.shuffled(
            expr.type, before, now, range(LANES - expr.by, 2 * LANES - expr.by)
        )

    def shuffled(
        self, scalar: Scalar, first: str, second: str, order: Iterable[int]
    ) -> _Value:
        kind = wide(type_of(scalar))
        lanes = ", ".join(f"i32 {lane}" for lane in order)
        text = self.code.value(
            f"shufflevector {kind} {first}, {kind} {second}, <{LANES} x i32> <{lanes}>"
        )
        return _Value(text, wide=True)

    def earlier_bits(self, now: str, before: str, by: int) -> str:
        """Bools move as the bits of a number: masks have no shuffles of their own."""
        late = self.code.value(f"shl i{LANES} {self.mask(now)}, {by}")
        early = self.code.value(f"lshr i{LANES} {self.mask(before)}, {LANES - by}")
        return self.from_mask(self.code.value(f"or i{LANES} {late}, {early}"))

    def lanes(self, values: Iterable[int], scalar: Scalar) -> _Value:
        kind = type_of(scalar)
        numbers = ", ".join(f"{kind} {value}" for value in values)
        return _Value(f"<{numbers}>", wide=True)

    def pick(self, expr: Pick) -> _Value:
        first = self.widened(self.expr(expr.first), expr.type)
        second = self.widened(self.expr(expr.second), expr.type)
        return self.shuffled(expr.type, first, second, expr.order)

    def count_true(self, operand: LExpr) -> _Value:
        mask = self.mask(self.widened(self.expr(operand), BOOL))
        count = self.code.call(f"llvm.ctpop.i{LANES}", f"i{LANES}", [f"i{LANES}"], mask)
        return _Value(self.code.value(f"zext i{LANES} {count} to i64"), wide=False)

    # Expressions

    def scalar(self, expr: LExpr) -> str:
        """An expression that is not wide."""
        value = self.expr(expr)
        assert not value.wide
        return value.text

    def both(self, a: _Value, b: _Value, scalar: Scalar) -> tuple[list[str], bool]:
        """Two operands, both wide if one is."""
        if not (a.wide or b.wide):
            return [a.text, b.text], False
        return [self.widened(a, scalar), self.widened(b, scalar)], True

    def together(self, exprs: Iterable[LExpr]) -> tuple[list[str], bool]:
        """Operands, all wide if one is."""
        operands = [(self.expr(expr), expr.type) for expr in exprs]
        in_lanes = any(value.wide for value, _ in operands)
        if not in_lanes:
            return [value.text for value, _ in operands], False
        return [self.widened(value, scalar) for value, scalar in operands], True

    def expr(self, expr: LExpr) -> _Value:
        match expr:
            case Num(value=value):
                return _Value(constant(value, expr.type), wide=False)
            case Var():
                in_lanes = expr in self.wide_variables
                kind = kind_of(expr.type, in_lanes=in_lanes)
                text = self.code.value(f"load {kind}, ptr {self.places[expr]}")
                return _Value(text, in_lanes)
            case Load(array=array, index=Bin(op="+", left=start, right=lanes)):
                base, further = self.expr(start), self.expr(lanes)
                if further.wide and not base.wide and not array.bits:
                    return self.gather(array, base.text, further.text)
                (a, b), in_lanes = self.both(base, further, I64)
                kind = kind_of(I64, in_lanes=in_lanes)
                return self.load(
                    array, _Value(self.code.value(f"add {kind} {a}, {b}"), in_lanes)
                )
            case Load(array=array, index=index):
                return self.load(array, self.expr(index))
            case Wide(array=array, index=index):
                return self.wide_load(array, self.scalar(index))
            case Lane():
                return self.lanes(range(LANES), expr.type)
            case Lanes(values=values):
                return self.lanes(values, expr.type)
            case Pick():
                return self.pick(expr)
            case Splat(operand=operand):
                return _Value(self.widened(self.expr(operand), expr.type), wide=True)
            case Earlier():
                return self.earlier(expr)
            case Extract(operand=operand, lane=lane):
                whole = self.widened(self.expr(operand), expr.type)
                kind = wide(type_of(expr.type))
                text = self.code.value(f"extractelement {kind} {whole}, i64 {lane}")
                return _Value(text, wide=False)
            case CountTrue(operand=operand):
                return self.count_true(operand)
            case Not() | Select() | Bin() | Convert() | CallFn():
                return self.operation(expr)
            case _:
                assert_never(expr)

    def operation(self, expr: Not | Select | Bin | Convert | CallFn) -> _Value:
        match expr:
            case Not(operand=operand):
                (given,), in_lanes = self.together((operand,))
                kind = kind_of(BOOL, in_lanes=in_lanes)
                text = self.code.value(f"xor {kind} {given}, {literal(kind, 'true')}")
            case Select(condition=condition, then=then, otherwise=otherwise):
                parts = (condition, then, otherwise)
                (test, yes, no), in_lanes = self.together(parts)
                kind = kind_of(expr.type, in_lanes=in_lanes)
                text = self.code.select(test, kind, yes, no)
            case Bin(op=op, left=left, right=right):
                (a, b), in_lanes = self.together((left, right))
                kind = kind_of(left.type, in_lanes=in_lanes)
                text = emit_binary(self.code, op, left.type, kind, a, b)
            case Convert(operand=operand):
                (given,), in_lanes = self.together((operand,))
                text = emit_convert(
                    self.code, given, operand.type, expr.type, in_lanes=in_lanes
                )
            case CallFn(function=name, arguments=arguments):
                values, in_lanes = self.together(arguments)
                taken = arguments[0].type
                text = emit_call(
                    self.code, name, values, taken, expr.type, in_lanes=in_lanes
                )
            case _:
                assert_never(expr)
        return _Value(text, in_lanes)

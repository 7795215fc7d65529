"""Loop IR to LLVM IR.

Variables become stack slots that LLVM's SROA turns into registers; arrays become
`noalias` pointers of an inner function, so that loops over them vectorise. Trapping
instructions never appear: see `operators.py`.
"""

from typing import assert_never

from llvmlite import ir

from tiltpy.codegen.operators import (
    LLVM_TYPES,
    emit_binary,
    emit_call,
    emit_convert,
    memory_type,
)
from tiltpy.loops.nodes import (
    Array,
    Assign,
    Bin,
    Branch,
    CallFn,
    Convert,
    For,
    Kernel,
    LExpr,
    Load,
    Not,
    Num,
    Select,
    Stmt,
    Store,
    Var,
    While,
    WriteSlot,
)
from tiltpy.types import BOOL, I64, Scalar

_I8, _I64 = ir.IntType(8), ir.IntType(64)


def emit_module(kernel: Kernel) -> str:
    """The LLVM IR of a kernel: `void kernel(ptr slots)`."""
    module = ir.Module(name="tiltpy")
    outer = ir.Function(
        module, ir.FunctionType(ir.VoidType(), [ir.PointerType()]), "kernel"
    )
    builder = ir.IRBuilder(outer.append_basic_block("entry"))

    def slot(index: int) -> ir.Value:
        address = builder.gep(outer.args[0], [_I64(index)], source_etype=_I64)
        return builder.load(address, typ=_I64)

    numbers = [slot(index) for _, index in kernel.numbers]
    pointers = [
        builder.inttoptr(slot(array.slot), ir.PointerType()) for array in kernel.arrays
    ]
    inner = _emit_body(module, kernel)
    builder.call(inner, [outer.args[0], *numbers, *pointers])
    builder.ret_void()
    return str(module)


def _emit_body(module: ir.Module, kernel: Kernel) -> ir.Function:
    pointer = ir.PointerType()
    signature = [
        pointer,
        *[_I64] * len(kernel.numbers),
        *[pointer] * len(kernel.arrays),
    ]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), signature), "body")
    function.linkage = "internal"
    function.attributes.add("noinline")
    slots, *rest = function.args
    slots.add_attribute("noalias")
    arrays = dict(zip(kernel.arrays, rest[len(kernel.numbers) :], strict=True))
    for argument in arrays.values():
        argument.add_attribute("noalias")
    emitter = _Emitter(function, slots, arrays)
    for (var, _), value in zip(kernel.numbers, rest, strict=False):
        emitter.assign(var, value)
    emitter.block(kernel.body)
    emitter.builder.ret_void()
    emitter.entry.branch(emitter.start)
    return function


class _Emitter:
    """Appends a kernel's statements to one LLVM function."""

    def __init__(
        self, function: ir.Function, slots: ir.Value, arrays: dict[Array, ir.Value]
    ) -> None:
        self.entry = ir.IRBuilder(function.append_basic_block("entry"))
        self.start = function.append_basic_block("start")
        self.builder = ir.IRBuilder(self.start)
        self.function = function
        self.slots = slots
        self.arrays = arrays
        self.stack: dict[Var, ir.Value] = {}

    def assign(self, var: Var, value: ir.Value) -> None:
        if var not in self.stack:
            self.stack[var] = self.entry.alloca(
                LLVM_TYPES[var.type.name], name=var.name
            )
        self.builder.store(value, self.stack[var])

    def block(self, body: tuple[Stmt, ...]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, statement: Stmt) -> None:
        match statement:
            case Assign(var=var, value=value):
                self.assign(var, self.expr(value))
            case Store():
                self.store(statement)
            case WriteSlot(slot=index, value=value):
                address = self.builder.gep(self.slots, [_I64(index)], source_etype=_I64)
                self.builder.store(self.expr(value), address)
            case While(condition=condition, body=body):
                self.loop(condition, body)
            case For(var=var, start=start, stop=stop, body=body):
                self.assign(var, self.expr(start))
                self.counted(var, self.expr(stop), body)
            case Branch(condition=condition, then=then, otherwise=otherwise):
                with self.builder.if_else(self.expr(condition)) as (yes, no):
                    with yes:
                        self.block(then)
                    with no:
                        self.block(otherwise)
            case _:
                assert_never(statement)

    def loop(self, condition: LExpr, body: tuple[Stmt, ...]) -> None:
        head = self.function.append_basic_block("head")
        inner = self.function.append_basic_block("loop")
        done = self.function.append_basic_block("done")
        self.builder.branch(head)
        self.builder.position_at_end(head)
        self.builder.cbranch(self.expr(condition), inner, done)
        self.builder.position_at_end(inner)
        self.block(body)
        self.builder.branch(head)
        self.builder.position_at_end(done)

    def counted(self, var: Var, stop: ir.Value, body: tuple[Stmt, ...]) -> None:
        head = self.function.append_basic_block("head")
        inner = self.function.append_basic_block("loop")
        done = self.function.append_basic_block("done")
        self.builder.branch(head)
        self.builder.position_at_end(head)
        now = self.builder.load(self.stack[var], typ=_I64)
        self.builder.cbranch(self.builder.icmp_signed("<", now, stop), inner, done)
        self.builder.position_at_end(inner)
        self.block(body)
        before = self.builder.load(self.stack[var], typ=_I64)
        self.assign(var, self.builder.add(before, _I64(1), flags=["nsw"]))
        self.builder.branch(head)
        self.builder.position_at_end(done)

    def store(self, statement: Store) -> None:
        value = self.expr(statement.value)
        if statement.array.type == BOOL:
            value = self.builder.zext(value, _I8)
        address = self.address(statement.array, self.expr(statement.index))
        self.builder.store(value, address)

    def address(self, array: Array, index: ir.Value) -> ir.Value:
        return self.builder.gep(
            self.arrays[array],
            [index],
            inbounds=True,
            source_etype=memory_type(array.type),
        )

    def load(self, array: Array, index: ir.Value) -> ir.Value:
        if array.bits:
            byte = self.builder.ashr(index, _I64(3))
            address = self.builder.gep(
                self.arrays[array], [byte], inbounds=True, source_etype=_I8
            )
            bit = self.builder.and_(self.builder.trunc(index, _I8), _I8(7))
            shifted = self.builder.lshr(self.builder.load(address, typ=_I8), bit)
            return self.builder.trunc(shifted, ir.IntType(1))
        address = self.address(array, index)
        value = self.builder.load(address, typ=memory_type(array.type))
        if array.type == BOOL:
            return self.builder.icmp_unsigned("!=", value, _I8(0))
        return value

    def expr(self, expr: LExpr) -> ir.Value:
        match expr:
            case Num(value=value):
                return _constant(value, expr.type)
            case Var():
                return self.builder.load(
                    self.stack[expr], typ=LLVM_TYPES[expr.type.name]
                )
            case Load(array=array, index=index):
                return self.load(array, self.expr(index))
            case Not(operand=operand):
                return self.builder.not_(self.expr(operand))
            case Select(condition=condition, then=then, otherwise=otherwise):
                return self.builder.select(
                    self.expr(condition), self.expr(then), self.expr(otherwise)
                )
            case Bin(op=op, left=left, right=right):
                return emit_binary(
                    self.builder, op, left.type, self.expr(left), self.expr(right)
                )
            case Convert(operand=operand):
                return emit_convert(
                    self.builder, self.expr(operand), operand.type, expr.type
                )
            case CallFn(function=name, arguments=arguments):
                values = [self.expr(argument) for argument in arguments]
                return emit_call(
                    self.builder, name, values, arguments[0].type, expr.type
                )
            case _:
                assert_never(expr)


def _constant(value: float, scalar: Scalar) -> ir.Constant:
    kind = LLVM_TYPES[scalar.name]
    if scalar.is_float:
        return ir.Constant(kind, float(value))
    assert isinstance(value, int)
    width = 1 if scalar == BOOL else scalar.bits
    assert scalar != I64 or -(2**63) <= value < 2**63
    return ir.Constant(kind, int(value) & ((1 << width) - 1))

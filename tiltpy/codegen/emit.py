"""Loop IR to LLVM IR.

Variables become stack slots that LLVM's SROA turns into registers; arrays become
`noalias` pointers of an inner function, so that loops over them vectorise. Trapping
instructions never appear: see `operators.py`.
"""

from typing import assert_never

from tiltpy.codegen.instructions import Instructions, constant, memory_type, type_of
from tiltpy.codegen.operators import emit_binary, emit_call, emit_convert
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
from tiltpy.types import BOOL


def emit_module(kernel: Kernel) -> str:
    """The LLVM IR of a kernel: `void kernel(ptr slots)`."""
    body = _Body(kernel)
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
            f"define internal void @body({', '.join(parameters)}) noinline {{",
            *body.code.entry,
            *body.code.lines,
            "}\n",
        ]
    )


def _slot(code: Instructions, index: int) -> str:
    address = code.value(f"getelementptr i64, ptr %slots, i64 {index}")
    return code.value(f"load i64, ptr {address}")


class _Body:
    """A kernel's statements, appended to one LLVM function."""

    def __init__(self, kernel: Kernel) -> None:
        self.code = Instructions()
        self.places: dict[Var, str] = {}
        self.arrays = {array: f"%array{i}" for i, array in enumerate(kernel.arrays)}
        for i, (var, _) in enumerate(kernel.numbers):
            self.assign(var, f"%number{i}")
        self.block(kernel.body)
        self.code.do("ret void")

    def assign(self, var: Var, value: str) -> None:
        kind = type_of(var.type)
        if var not in self.places:
            self.places[var] = self.code.stack(kind)
        self.code.do(f"store {kind} {value}, ptr {self.places[var]}")

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
                number = self.expr(value)
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
        self.code.choose(self.expr(loop.condition), inner, done)
        self.code.begin(inner)
        self.block(loop.body)
        self.code.branch(head)
        self.code.begin(done)

    def counted(self, loop: For) -> None:
        head, inner, done = (self.code.label() for _ in range(3))
        self.assign(loop.var, self.expr(loop.start))
        stop = self.expr(loop.stop)
        self.code.branch(head)
        self.code.begin(head)
        now = self.expr(loop.var)
        more = self.code.value(f"icmp slt i64 {now}, {stop}")
        self.code.choose(more, inner, done)
        self.code.begin(inner)
        self.block(loop.body)
        now = self.expr(loop.var)
        self.assign(loop.var, self.code.value(f"add nsw i64 {now}, 1"))
        self.code.branch(head)
        self.code.begin(done)

    def conditional(self, branch: Branch) -> None:
        yes, no, done = (self.code.label() for _ in range(3))
        self.code.choose(self.expr(branch.condition), yes, no)
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
        if array.type == BOOL:
            value = self.code.value(f"zext i1 {value} to i8")
        address = self.address(array, self.expr(statement.index))
        self.code.do(f"store {memory_type(array.type)} {value}, ptr {address}")

    def address(self, array: Array, index: str) -> str:
        kind = memory_type(array.type)
        pointer = self.arrays[array]
        return self.code.value(
            f"getelementptr inbounds {kind}, ptr {pointer}, i64 {index}"
        )

    def load(self, array: Array, index: str) -> str:
        if array.bits:
            return self.bit(array, index)
        kind = memory_type(array.type)
        value = self.code.value(f"load {kind}, ptr {self.address(array, index)}")
        if array.type == BOOL:
            return self.code.value(f"icmp ne i8 {value}, 0")
        return value

    def bit(self, array: Array, index: str) -> str:
        """A bit of a bitmap, least significant first."""
        at = self.code.value(f"ashr i64 {index}, 3")
        address = self.code.value(
            f"getelementptr inbounds i8, ptr {self.arrays[array]}, i64 {at}"
        )
        byte = self.code.value(f"load i8, ptr {address}")
        low = self.code.value(f"trunc i64 {index} to i8")
        number = self.code.value(f"and i8 {low}, 7")
        shifted = self.code.value(f"lshr i8 {byte}, {number}")
        return self.code.value(f"trunc i8 {shifted} to i1")

    def expr(self, expr: LExpr) -> str:
        match expr:
            case Num(value=value):
                return constant(value, expr.type)
            case Var():
                kind = type_of(expr.type)
                return self.code.value(f"load {kind}, ptr {self.places[expr]}")
            case Load(array=array, index=index):
                return self.load(array, self.expr(index))
            case Not(operand=operand):
                return self.code.value(f"xor i1 {self.expr(operand)}, true")
            case Select(condition=condition, then=then, otherwise=otherwise):
                test, yes = self.expr(condition), self.expr(then)
                no = self.expr(otherwise)
                return self.code.select(test, type_of(expr.type), yes, no)
            case Bin(op=op, left=left, right=right):
                a, b = self.expr(left), self.expr(right)
                return emit_binary(self.code, op, left.type, a, b)
            case Convert(operand=operand):
                given = self.expr(operand)
                return emit_convert(self.code, given, operand.type, expr.type)
            case CallFn(function=name, arguments=arguments):
                values = [self.expr(argument) for argument in arguments]
                taken = arguments[0].type
                return emit_call(self.code, name, values, taken, expr.type)
            case _:
                assert_never(expr)

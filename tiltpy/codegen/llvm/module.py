"""Loop IR to LLVM IR.

Variables become stack slots that LLVM's SROA turns into registers; arrays become
`noalias` pointers of an inner function, so that loops over them vectorise. Wide values
are LLVM vectors. Trapping instructions never appear: see `operators.py`.

A kernel polls its stop flag, and returns early where it is set: before each loop inside
of another, and in each iteration of an uncounted one that stands alone. A loop whose
visits are long has others inside, which go through its windows; those that have none,
and the counted ones, take some nanoseconds a visit, and a chunk some millions of them.
"""

from typing import assert_never

from tiltpy.abi.signature import LANES
from tiltpy.codegen.llvm.arrays import Memory, to_memory
from tiltpy.codegen.llvm.expressions import Expressions
from tiltpy.codegen.llvm.instructions import HINTS, Instructions
from tiltpy.codegen.llvm.lanes import BITS, Value, to_bits, widen
from tiltpy.codegen.llvm.operators import kind_of
from tiltpy.codegen.llvm.packing import PackMethod, emit_pack
from tiltpy.loops.accesses import find_carried
from tiltpy.loops.nodes import (
    Assign,
    Branch,
    Choose,
    For,
    LoopKernel,
    Pack,
    Pour,
    Prefetch,
    Stmt,
    Store,
    Var,
    While,
    WriteSlot,
    has_loop,
)
from tiltpy.loops.widths import assigned_once, wide_variables
from tiltpy.types import BOOL, I64

ALIGNED_STACK = (
    '!llvm.module.flags = !{!3}\n!3 = !{i32 1, !"override-stack-alignment", i32 64}'
)
"""The metadata of a module whose functions are called with a stack aligned to 64 bytes.

Vectors are spilled to lines of the cache, then. By default the stack is aligned to 16
bytes: by chance of the environment's size, or from thread to thread, half of the
spilled vectors lie across two lines, which takes two accesses and cannot be forwarded
to the load that follows. The outer function aligns it, once a call; a loop that had to
do that itself would lose a register.
"""


def emit_module(
    kernel: LoopKernel,
    *,
    packing: PackMethod = PackMethod.LOOP,
    registers: int = 512,
    fuses: bool = True,
    converts: bool = True,
) -> str:
    """Emit the LLVM IR of a kernel: `void kernel(ptr slots, ptr stop)`.

    `registers` are the bytes that the machine's vector registers hold. `fuses`: it has
    instructions that multiply and add in one; `converts`: and such that convert vectors
    of 64-bit integers to doubles.
    """
    masks, permutes = packing is PackMethod.COMPRESS, packing is PackMethod.PERMUTE
    code = Instructions(masks=masks, permutes=permutes, converts=converts)
    body = _Body(kernel, code, packing=packing, registers=registers, fuses=fuses)
    outer = Instructions()
    arguments = ["ptr %slots", "ptr %stop"]
    for _, index in kernel.numbers:
        arguments.append(f"i64 {_slot(outer, index)}")
    for array in kernel.arrays:
        pointer = outer.value(f"inttoptr i64 {_slot(outer, array.slot)} to ptr")
        arguments.append(f"ptr {pointer}")
    outer.do(f"notail call void @body({', '.join(arguments)})")
    outer.do("ret void")
    parameters = ["ptr noalias %slots", "ptr %stop"]
    parameters += [f"i64 %number{i}" for i in range(len(kernel.numbers))]
    parameters += [f"ptr noalias %array{i}" for i in range(len(kernel.arrays))]
    return "\n".join(
        [
            *body.code.declared.values(),
            'define void @kernel(ptr %slots, ptr %stop) "stackrealign" {',
            *outer.lines,
            "}",
            f"define internal void @body({', '.join(parameters)}) noinline "
            '"prefer-vector-width"="512" {',
            *body.code.entry,
            *body.code.lines,
            "}",
            "!0 = !{i32 1}",
            HINTS,
            f"{ALIGNED_STACK}\n",
        ]
    )


def _slot(code: Instructions, index: int) -> str:
    address = code.value(f"getelementptr i64, ptr %slots, i64 {index}")
    return code.value(f"load i64, ptr {address}")


class _Body:
    """Emits a kernel's statements into one LLVM function."""

    def __init__(
        self,
        kernel: LoopKernel,
        code: Instructions,
        *,
        packing: PackMethod,
        registers: int,
        fuses: bool,
    ) -> None:
        self.packing = packing
        self.registers = registers
        self.streams = True
        self.code = code
        self.places: dict[Var, str] = {}
        arrays = {array: f"%array{i}" for i, array in enumerate(kernel.arrays)}
        self.memory = Memory(self.code, arrays)
        self.wide_variables = wide_variables(kernel.body)
        self.assigned_once = assigned_once(kernel.body)
        self.expressions = Expressions(
            self.code, self.memory, self.places, self.wide_variables, fuses=fuses
        )
        for i, (var, _) in enumerate(kernel.numbers):
            self.assign(var, Value(f"%number{i}", wide=False))
        self.depth = 0
        """Loops around the statement that is emitted."""
        self.stopped = self.code.label()
        self.block(kernel.body)
        self.code.branch(self.stopped)
        self.code.begin(self.stopped)
        self.code.do("ret void")

    def block(self, body: tuple[Stmt, ...]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, statement: Stmt) -> None:
        value, scalar = self.expressions.value, self.expressions.scalar
        match statement:
            case Assign(var=var, value=expr):
                self.assign(var, value(expr))
            case Store(array=array, index=index, value=expr, past=past):
                stored = value(expr)
                past = past and self.streams
                self.memory.store(array, scalar(index), stored, past=past)
            case Pack():
                self.pack(statement)
            case Prefetch(array=array, index=index):
                self.memory.prefetch(array, scalar(index))
            case Choose(array=array, condition=test, then=then, otherwise=other):
                self.memory.choose(array, scalar(test), then, other)
            case Pour():
                self.pour(statement)
            case WriteSlot(slot=slot, value=expr):
                number = scalar(expr)
                address = self.code.value(f"getelementptr i64, ptr %slots, i64 {slot}")
                self.code.do(f"store i64 {number}, ptr {address}")
            case While():
                self.while_loop(statement)
            case For():
                self.for_loop(statement)
            case Branch():
                self.branch(statement)
            case _:
                assert_never(statement)

    def assign(self, var: Var, value: Value) -> None:
        in_lanes = var in self.wide_variables
        kind = kind_of(var.type, in_lanes=in_lanes)
        if var not in self.places:
            self.places[var] = self.code.stack(kind)
        text = widen(self.code, value, var.type) if in_lanes else value.text
        self.code.do(f"store {kind} {text}, ptr {self.places[var]}")
        if in_lanes and var.type == BOOL and not self.code.masks:
            self.keep_bits(var, text)

    def keep_bits(self, var: Var, text: str) -> None:
        """Let the bits of a wide bool be known where it is read, beside its lanes.

        LLVM removes what nobody reads.
        """
        if var in self.assigned_once:
            self.expressions.known[var] = Value(text, wide=True)
            return
        if var not in self.expressions.bits:
            self.expressions.bits[var] = self.code.stack(BITS)
        bits = to_bits(self.code, text)
        self.code.do(f"store {BITS} {bits}, ptr {self.expressions.bits[var]}")

    def pack(self, pack: Pack) -> None:
        array = pack.array
        value = Value(self.expressions.wide(pack.value), wide=True)
        kind, text = to_memory(self.code, array.type, value)
        mask = self.expressions.wide(pack.mask)
        address = self.memory.address(array, self.expressions.scalar(pack.index))
        size = array.type.entry_bytes
        packing = self.packing
        emit_pack(self.code, kind, text, mask, address, size, packing=packing)

    def pour(self, pour: Pour) -> None:
        done = Var(f"poured {len(self.places)}", I64)
        count = self.expressions.scalar(pour.count)
        to = self.memory.address(pour.array, self.expressions.scalar(pour.index))
        self.assign(done, Value("0", wide=False))
        head, inner, after = (self.code.label() for _ in range(3))
        self.code.branch(head)
        self.code.begin(head)
        now = self.expressions.scalar(done)
        goes_on = self.code.value(f"icmp slt i64 {now}, {count}")
        self.code.choose(goes_on, inner, after)
        self.code.begin(inner)
        self.memory.pour(pour.source, now, to)
        step = self.code.value(f"add nsw i64 {now}, {LANES}")
        self.assign(done, Value(step, wide=False))
        self.code.branch(head)
        self.code.begin(after)

    def while_loop(self, loop: While) -> None:
        self.poll_inside()
        head, inner, done = (self.code.label() for _ in range(3))
        self.code.branch(head)
        self.code.begin(head)
        self.block(loop.head)
        self.code.choose(self.expressions.scalar(loop.condition), inner, done)
        self.code.begin(inner)
        if not self.depth and not has_loop(loop.body):
            self.poll()
        self.loop_body(loop.body)
        self.code.branch(head)
        self.code.begin(done)

    def poll_inside(self) -> None:
        """Poll where a loop begins in another one."""
        if self.depth:
            self.poll()

    def poll(self) -> None:
        """Leave the kernel if its stop flag is set."""
        # Volatile: another thread sets it.
        flag = self.code.value("load volatile i64, ptr %stop")
        stops, after = self.code.value(f"icmp ne i64 {flag}, 0"), self.code.label()
        self.code.choose(stops, self.stopped, after, rarely=True)
        self.code.begin(after)

    def loop_body(self, body: tuple[Stmt, ...]) -> None:
        """Emit the body of a loop."""
        around = self.streams
        self.streams = self.is_streamed(body)
        self.depth += 1
        self.block(body)
        self.depth -= 1
        self.streams = around

    def is_streamed(self, body: tuple[Stmt, ...]) -> bool:
        """Decide whether the non-temporal stores of a loop are emitted as such.

        Carried vectors beyond the registers are stored on the stack. Those stores wait
        behind non-temporal ones, which is slower where they are as many.
        """
        streamed = _streamed_bytes(body)
        if not streamed:
            return True
        carried = sum(
            place.type.entry_bytes * LANES
            for place in find_carried(body)
            if isinstance(place, Var) and place in self.wide_variables
        )
        return carried - self.registers < streamed

    def for_loop(self, loop: For) -> None:
        self.poll_inside()
        head, inner, done = (self.code.label() for _ in range(3))
        self.assign(loop.var, self.expressions.value(loop.start))
        stop = self.expressions.scalar(loop.stop)
        self.code.branch(head)
        self.code.begin(head)
        now = self.expressions.scalar(loop.var)
        goes_on = self.code.value(f"icmp slt i64 {now}, {stop}")
        self.code.choose(goes_on, inner, done)
        self.code.begin(inner)
        self.loop_body(loop.body)
        now = self.expressions.scalar(loop.var)
        step = self.code.value(f"add nsw i64 {now}, {loop.step}")
        self.assign(loop.var, Value(step, wide=False))
        self.code.branch(head)
        self.code.begin(done)

    def branch(self, branch: Branch) -> None:
        yes, no, done = (self.code.label() for _ in range(3))
        condition = self.expressions.scalar(branch.condition)
        self.code.choose(condition, yes, no, rarely=branch.rarely)
        self.code.begin(yes)
        self.block(branch.then)
        self.code.branch(done)
        self.code.begin(no)
        self.block(branch.otherwise)
        self.code.branch(done)
        self.code.begin(done)


def _streamed_bytes(body: tuple[Stmt, ...]) -> int:
    """Count the bytes that a round of a loop stores by non-temporal stores."""
    streamed = 0
    for statement in body:
        match statement:
            case Store(array=array, past=True):
                streamed += array.type.entry_bytes * LANES
            case Branch(then=then, otherwise=otherwise):
                streamed += _streamed_bytes((*then, *otherwise))
            case _:
                pass
    return streamed

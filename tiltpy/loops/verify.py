"""The verifier of the loop IR: every rule that `nodes.py` states, checked in one walk.

The code generator relies on all of them and checks none: a kernel that breaks one fails
inside LLVM, or computes something else. A violation is a bug of lowering, raised as an
`AssertionError` with the statement and the rule. The tests verify each kernel that they
lower (see `query_kernels.VERIFY_KERNELS`).
"""

from typing import assert_never

from tiltpy.abi.signature import LANES
from tiltpy.loops.build import FALSE
from tiltpy.loops.nodes import (
    Assign,
    Bin,
    Branch,
    CallFn,
    Choose,
    Convert,
    CountTrue,
    Earlier,
    Extract,
    Fill,
    For,
    FromLanes,
    Lane,
    Lanes,
    LastTrue,
    LExpr,
    Load,
    LoopKernel,
    Not,
    Num,
    Pack,
    Pick,
    Pour,
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
from tiltpy.loops.operand_types import type_fault
from tiltpy.loops.scope import KernelScope
from tiltpy.types import BOOL, I64, Scalar


def verify_kernel(kernel: LoopKernel, slots: int | None = None) -> None:
    """Raise an AssertionError with the first rule that a kernel breaks.

    `slots`: the number of slots that it is called with, if known.
    """
    scope = KernelScope(slots)
    scope.declare(kernel)
    _KernelVerifier(scope).block(kernel.body)


class _KernelVerifier:
    """The rules of statements and expressions, in a scope."""

    def __init__(self, scope: KernelScope) -> None:
        self.scope = scope

    def _require(self, holds: bool, rule: str) -> None:
        if not holds:
            self.scope.fail(rule)

    # Statements

    def block(self, body: tuple[Stmt, ...]) -> None:
        """Verify a block of statements."""
        for statement in body:
            self.scope.around.append(statement)
            self._statement(statement)
            self.scope.around.pop()

    def _statement(self, statement: Stmt) -> None:
        match statement:
            case Assign(var=var, value=value):
                self.expression(value)
                self._expect(f"{var.name} is assigned its type", value, var.type)
                self.scope.assign(var)
            case Store():
                self._store(statement)
            case Branch():
                self._branch(statement)
            case While():
                self._while(statement)
            case For():
                self._for(statement)
            case Prefetch(array=array, index=index):
                self._index(index)
                self.scope.require_array(array)
                self._require(not array.bits, "a prefetch is of entries, not of bits")
            case Pack(array=array, index=index, value=value, mask=mask):
                self._index(index)
                self.expression(value)
                self._lanes(mask)
                self._expect("a mask is a bool", mask, BOOL)
                self.scope.change_array(array)
                self._expect("an entry is of its array's type", value, array.type)
                self._require(not array.bits, "lanes are packed into entries, not bits")
            case Choose():
                self._choose(statement)
            case Pour():
                self._pour(statement)
            case WriteSlot(slot=slot, value=value):
                self._scalar("a slot", value, I64)
                self.scope.require_slot(slot, "written")
                owned = slot in self.scope.addresses
                self._require(
                    not owned, "a slot with an array's address is not written"
                )
            case _:
                assert_never(statement)

    def _store(self, store: Store) -> None:
        array, index, value = store.array, store.index, store.value
        self._index(index)
        wide = self._lanes(value) if array.bits else self.expression(value)
        self.scope.change_array(array)
        self._expect("an entry is of its array's type", value, array.type)
        if array.bits:
            self._multiple("bits are stored at a multiple of LANES", index)
        if store.past:
            self._require(wide, "past the caches goes a wide value")
            self._require(not array.bits, "past the caches go entries, not bits")

    def _choose(self, choice: Choose) -> None:
        array, sides = choice.array, (choice.then, choice.otherwise)
        self._scalar("a condition", choice.condition, BOOL)
        self._require(array.slot < 0, "an array that is chosen has no slot")
        for side in sides:
            self.scope.require_array(side)
            alike = (side.type, side.bits) == (array.type, array.bits)
            self._require(alike, "an array is chosen of two of its type")
            may = side.written or not array.written
            self._require(may, f"stores go to arrays that are written: {side.name}")
        self.scope.choose_array(array)

    def _pour(self, pour: Pour) -> None:
        self._index(pour.index)
        self._scalar("a count", pour.count, I64)
        self._multiple("a multiple of LANES is poured", pour.count)
        self.scope.change_array(pour.array)
        self.scope.require_array(pour.source)
        same = pour.array.type == pour.source.type
        self._require(same, "an entry is of its array's type")
        bits = pour.array.bits or pour.source.bits
        self._require(not bits, "past the caches go entries, not bits")

    def _branch(self, branch: Branch) -> None:
        self._scalar("a condition", branch.condition, BOOL)
        self._require(bool(branch.then or branch.otherwise), "a branch does something")
        with self.scope.inside() as then:
            self.block(branch.then)
        with self.scope.inside() as otherwise:
            self.block(branch.otherwise)
        self.scope.merge(then, otherwise)

    def _while(self, loop: While) -> None:
        before = len(self.scope.changes)
        self.block(loop.head)
        reads = self._reads_of("a condition", loop.condition, BOOL)
        with self.scope.inside():
            self.block(loop.body)
        changes = reads.intersection(self.scope.changes[before:])
        ends = bool(changes) or loop.condition == FALSE
        self._require(ends, "a loop changes what its condition reads")

    def _for(self, loop: For) -> None:
        name = loop.var.name
        self._scalar("a bound", loop.start, I64)
        reads_itself = name in self._reads_of("a bound", loop.stop, I64)
        self._require(
            not reads_itself, f"a loop's end does not read its variable: {name}"
        )
        self._require(loop.var.type == I64, "a loop's variable is an i64")
        self._require(name not in self.scope.wide, "a loop's variable is not wide")
        counts = loop.step == 1 or (loop.step > 0 and loop.step % LANES == 0)
        self._require(counts, f"a loop counts by one or whole vectors: {loop.step}")
        self._require(bool(loop.body), "a loop does something")
        self.scope.assign(loop.var)
        with self.scope.inside():
            self.scope.counters.add(name)
            self.block(loop.body)
            self.scope.counters.remove(name)

    # Operands of statements

    def _index(self, index: LExpr) -> None:
        self._scalar("an index", index, I64)

    def _reads_of(self, what: str, expr: LExpr, scalar: Scalar) -> set[str]:
        before = len(self.scope.reads)
        self._scalar(what, expr, scalar)
        return set(self.scope.reads[before:])

    def _scalar(self, what: str, expr: LExpr, scalar: Scalar) -> None:
        wide = self.expression(expr)
        self._expect(f"{what} is {_article(scalar)}", expr, scalar)
        if wide:
            self.scope.fail(f"{what} is not wide")

    def _expect(self, rule: str, expr: LExpr, scalar: Scalar) -> None:
        if expr.type is not scalar and expr.type != scalar:
            self.scope.fail(f"{rule}: {expr.type}, not {scalar}")

    def _multiple(self, rule: str, expr: LExpr) -> None:
        if isinstance(expr, Num) and expr.value % LANES:
            self.scope.fail(f"{rule}: {expr.value}")

    # Expressions

    def expression(self, expr: LExpr) -> bool:
        """Verify an expression; return whether it is wide."""
        wide = self._operands(expr)
        fault = type_fault(expr)
        if fault is not None:
            self.scope.fail(fault)
        return wide

    def _operands(self, expr: LExpr) -> bool:
        match expr:
            case Var(name=name):
                if name not in self.scope.assigned:
                    self.scope.fail(f"a variable is assigned before it is read: {name}")
                self.scope.name_variable(expr)
                self.scope.reads.append(name)
                return name in self.scope.wide
            case Num():
                return False
            case Bin(left=left, right=right):
                return self.expression(left) | self.expression(right)
            case Load(array=array, index=index):
                wide = self.expression(index)
                self._expect("an index is an i64", index, I64)
                self.scope.require_array(array)
                self.scope.reads.append(array.name)
                return wide
            case Select(condition=condition, then=then, otherwise=otherwise):
                wide = self.expression(condition) | self.expression(then)
                return self.expression(otherwise) | wide
            case Not(operand=operand) | Convert(operand=operand):
                return self.expression(operand)
            case CallFn(arguments=arguments):
                wide = False
                for argument in arguments:
                    wide |= self.expression(argument)
                return wide
            case Wide():
                self._wide_load(expr)
                return True
            case Lane() | Lanes():
                return True
            case Splat(operand=operand):
                self.expression(operand)
                return True
            case Earlier(now=first, before=second) | Pick(first=first, second=second):
                wide = self.expression(first) | self.expression(second)
                self._require(wide, "of two values that lanes come from one is wide")
                return True
            case Fill(operand=operand, valid=valid, beyond=beyond):
                self.expression(operand)
                self._lanes(valid)
                one = not self.expression(beyond)
                self._require(one, "what is beyond all lanes is not wide")
                return True
            case Extract(operand=operand):
                self.expression(operand)
                return False
            case FromLanes(values=values):
                for value in values:
                    self._require(not self.expression(value), "a lane has a scalar")
                return True
            case CountTrue(operand=operand) | LastTrue(operand=operand):
                self._lanes(operand)
                return False
            case _:
                assert_never(expr)

    def _lanes(self, expr: LExpr) -> bool:
        """Verify an expression that is wide or a constant."""
        wide = self.expression(expr)
        if not wide and not isinstance(expr, Num):
            self.scope.fail(
                "lanes are those of a wide value, or all alike of a constant"
            )
        return wide

    def _wide_load(self, load: Wide) -> None:
        self._index(load.index)
        self.scope.require_array(load.array)
        self.scope.reads.append(load.array.name)
        if load.mask is not None:
            self._lanes(load.mask)
            self._expect("a mask is a bool", load.mask, BOOL)
            masked = load.array.bits
            self._require(not masked, "lanes of a bitmap are loaded without a mask")


def _article(scalar: Scalar) -> str:
    return "a bool" if scalar == BOOL else f"an {scalar}"

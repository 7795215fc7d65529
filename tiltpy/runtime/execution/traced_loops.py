"""Formulas over columns that leave a trace: one loop of machine code over their rows.

numpy goes over a column for each operation, and for few rows that takes it far longer
than the operations do. So formulas that come again, over columns with a number for each
of many calls or keys, are evaluated once over what leaves a trace:

    for each row:
        load the arguments, do what the formulas say
        store the results

A truth differs from row to row: Python may not ask for one.
"""

from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tiltpy.array_address import address
from tiltpy.codegen.machine_code import NEVER
from tiltpy.lean_dataclass import record
from tiltpy.loops import build
from tiltpy.loops.nodes import (
    Array,
    Assign,
    Bin,
    For,
    LExpr,
    LoopKernel,
    Num,
    Prefetch,
    Select,
    Stmt,
    Store,
    Var,
    While,
)
from tiltpy.ops import BinaryOp
from tiltpy.routines.kernels.arguments import RoutineArguments
from tiltpy.routines.load_kernel import load_kernel
from tiltpy.routines.routine import Argument
from tiltpy.runtime.execution.traced_operands import (
    Operand,
    Side,
    TracedOperand,
    is_number,
)
from tiltpy.types import BOOL, I64, Scalar

AHEAD = 16
"""Rows ahead of which the entries of tables are prefetched."""
ROW = build.number("row")


@record(frozen=True, slots=True, eq=False)
class LoopTable:
    """An array with an entry after each `step` items.

    `has_line`: no table before has its entries in the same cache lines.
    """

    array: Array
    step: int
    has_line: bool


class LoopTrace:
    """The operations of formulas over columns, in order, each once."""

    def __init__(self) -> None:
        self._slots = RoutineArguments()
        self._rows = self._slots.number("rows")
        self.row = LoopNumber(self, ROW)
        """The number of each row."""
        self._numbers = self._slots.array("numbers", written=True)
        self._truths = self._slots.array("truths", BOOL, written=True)
        self._arguments = 0
        self._body: list[Stmt] = []
        self._traced: dict[object, LoopNumber] = {}
        self._names = 0
        self._folds: dict[object, int] = {}
        self._before: list[Assign] = []
        """The first values of folds, which are assigned before the loop."""

    # -- arguments --------------------------------------------------------------------

    def number(self) -> "LoopNumber":
        """Trace the next argument, a number that is the same in all rows."""
        return LoopNumber(self, self._slots.number(self._name_argument()))

    def table(self, of: Scalar = I64, *, is_written: bool = False) -> Array:
        """Trace the next argument, an array of any shape; bools are bytes."""
        return self._slots.array(self._name_argument(), of, written=is_written)

    def column(self, of: Scalar = I64) -> "LoopNumber":
        """Trace the next argument, a column: the number, or truth, of each row."""
        return self.load(self.table(of), ROW)

    def entries(self, tables: Sequence["LoopTable"]) -> tuple["LoopNumber", ...]:
        """Trace the next argument, numbers of entries, and that entry of each table.

        Those of later rows are prefetched: they lie anywhere.
        """
        items = self.table()
        later = build.least(
            build.add(ROW, build.i64(AHEAD)), build.sub(self._rows, build.i64(1))
        )
        item = self.note(build.load(items, later))
        for table in tables:
            if table.has_line:
                self._body.append(Prefetch(table.array, write(item * table.step)))
        here = self.load(items, ROW)
        return here, *(
            self.load(table.array, write(here * table.step)) for table in tables
        )

    def column_of(self, block: Array, column: int) -> "LoopNumber":
        """Trace one of the columns that lie behind one another in an argument."""
        return self.load(block, self._index(column))

    def _index(self, column: int) -> LExpr:
        """Find the item of a row in a column of a block."""
        return build.add(build.mul(self._rows, build.i64(column)), ROW)

    def _name_argument(self) -> str:
        self._arguments += 1
        return f"a{self._arguments}"

    # -- operations -------------------------------------------------------------------

    def note(self, value: LExpr) -> "LoopNumber":
        """Note an operation."""
        known = self._traced.get(value)
        if known is None:
            known = self._traced[value] = LoopNumber(self, self._name(value.type))
            self._body.append(Assign(known.var, value))
        return known

    def load(self, array: Array, item: LExpr) -> "LoopNumber":
        """Load an item of an array, which is there."""
        return self.note(build.load(array, item))

    def select(self, condition: Operand, this: Operand, that: Operand) -> Operand:
        """Trace one operand where a condition holds, the other elsewhere."""
        then, otherwise = write(this), write(that)
        if then == otherwise:
            return this
        return self.note(Select(write(condition), then, otherwise, then.type))

    def least(self, left: Operand, right: Operand) -> "LoopNumber":
        """Trace the smaller one of two numbers."""
        return self.note(build.least(write(left), write(right)))

    def most(self, left: Operand, right: Operand) -> "LoopNumber":
        """Trace the larger one of two numbers."""
        return self.note(build.greatest(write(left), write(right)))

    def search(
        self, times: Array, first: Operand, stop: Operand, wanted: Operand, side: Side
    ) -> "LoopNumber":
        """Trace the search of a time in a slice of each row."""
        low, high, time = write(first), write(stop), write(wanted)
        key = times, low, high, time, side
        known = self._traced.get(key)
        if known is not None:
            return known
        begin, end, middle = (self._name(I64) for _ in range(3))
        below = build.le if side == "right" else build.lt
        is_below = below(build.load(times, middle), time)
        halve = (
            Assign(middle, Bin("//", build.add(begin, end), build.i64(2), I64)),
            Assign(end, Select(is_below, end, middle, I64)),
            Assign(
                begin, Select(is_below, build.add(middle, build.i64(1)), begin, I64)
            ),
        )
        self._body += [
            Assign(begin, low),
            Assign(end, high),
            While(build.lt(begin, end), halve),
        ]
        found = self._traced[key] = LoopNumber(self, begin)
        return found

    def least_since(
        self, times: Array, first: Operand, count: Operand, bound: Operand
    ) -> "LoopNumber":
        """Trace the least time in a slice of each row that is no earlier than a bound.

        `ENDLESS` where there is none.
        """
        found, item, stop = (self._name(I64) for _ in range(3))
        time = build.load(times, item)
        is_late = build.conj(build.le(write(bound), time), build.lt(time, found))
        look = (Assign(found, Select(is_late, time, found, I64)),)
        self._body += [
            Assign(found, build.INF),
            Assign(stop, build.add(write(first), write(count))),
            For(item, write(first), stop, look),
        ]
        return LoopNumber(self, found)

    def store(self, array: Array, item: Operand, value: Operand) -> None:
        """Store a value as an item of an array that is `written`."""
        self._body.append(Store(array, write(item), write(value)))

    # -- over all rows ----------------------------------------------------------------

    def total(self, operand: Operand) -> int:
        """Trace the sum of a number over all rows; returns which of the folds it is."""
        return self._fold(build.add, operand)

    def greatest(self, operand: Operand) -> int:
        """Trace the greatest one of a number in all rows, 0 at least, likewise."""
        return self._fold(build.greatest, operand)

    def _fold(self, fold: Callable[[LExpr, LExpr], LExpr], operand: Operand) -> int:
        key = fold, write(operand)
        number = self._folds.get(key)
        if number is None:
            number = self._folds[key] = len(self._folds)
            var = self._name(I64)
            self._before.append(Assign(var, build.i64(0)))
            self._body.append(Assign(var, fold(var, key[1])))
        return number

    def _name(self, of: Scalar) -> Var:
        self._names += 1
        return Var(f"v{self._names}", of)

    # -- the loop ---------------------------------------------------------------------

    def compile(self, results: Sequence[Operand]) -> "ColumnLoop":
        """Compile the loop, which makes a column of each result."""
        targets = {I64: self._numbers, BOOL: self._truths}
        counts = dict.fromkeys(targets, 0)
        places = []
        for result in results:
            value = write(result)
            column = counts[value.type]
            self._body.append(Store(targets[value.type], self._index(column), value))
            places.append((value.type == BOOL, column))
            counts[value.type] += 1
        loop = For(ROW, build.i64(0), self._rows, tuple(self._body))
        arguments = self._slots.size
        behind = []
        for begin in self._before:
            slot = self._slots.number(f"{begin.var.name} before")
            behind.append(self._slots.write_back(slot, begin.var))
        kernel = self._slots.kernel(*self._before, loop, *behind)
        sizes = arguments, self._slots.size
        return ColumnLoop(kernel, sizes, (counts[I64], counts[BOOL]), places)


Place = tuple[bool, int]
"""The column of a result: true if among truths, and its number there."""


class ColumnLoop:
    """The compiled loop of formulas; one thread at a time calls it."""

    def __init__(
        self,
        kernel: LoopKernel,
        sizes: tuple[int, int],
        counts: tuple[int, int],
        places: Sequence[Place],
    ) -> None:
        self.places = places
        self._counts = counts
        arguments, size = sizes
        self._slots = np.zeros(size, np.int64)
        self._numbers = self._slots.data
        self._form = Struct(f"={arguments}q")
        """The arguments as numbers."""
        self.folds = self._numbers[arguments:]
        """The results of folds."""
        self._address = address(self._slots)
        self._call = load_kernel(kernel).call

    def __call__(
        self, rows: int, arguments: Sequence[Argument]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Compute the columns of so many rows: those of numbers, and of truths."""
        numbers = np.empty((self._counts[0], rows), np.int64)
        truths = np.empty((self._counts[1], rows), np.bool_)
        self._form.pack_into(
            self._numbers,
            0,
            rows,
            address(numbers),
            address(truths),
            *[a if isinstance(a, int) else address(a) for a in arguments],
        )
        self._call(self._address, NEVER)
        return numbers, truths


class LoopNumber(TracedOperand):
    """The number, or the truth, of each row of a loop."""

    __slots__ = ("trace", "var")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, trace: LoopTrace, var: Var) -> None:
        self.trace: LoopTrace = trace
        self.var = var

    def __bool__(self) -> NoReturn:
        raise AssertionError(f"a truth of many rows: {self.var.name}")

    def _operate(
        self, sign: BinaryOp, left: Operand, right: Operand, of: Scalar = I64
    ) -> "LoopNumber":
        return self.trace.note(Bin(sign, write(left), write(right), of))

    def __neg__(self) -> "LoopNumber":
        return self._operate("-", 0, self)

    def __add__(self, other: Operand) -> "LoopNumber":
        return self if is_number(other, 0) else self._operate("+", self, other)

    __radd__ = __add__

    def __sub__(self, other: Operand) -> "LoopNumber":
        return self if is_number(other, 0) else self._operate("-", self, other)

    def __rsub__(self, other: Operand) -> "LoopNumber":
        return self._operate("-", other, self)

    def __mul__(self, other: Operand) -> "LoopNumber":
        return self if is_number(other, 1) else self._operate("*", self, other)

    __rmul__ = __mul__

    def __floordiv__(self, other: Operand) -> "LoopNumber":
        return self if is_number(other, 1) else self._operate("//", self, other)

    def __mod__(self, other: Operand) -> Operand:
        return 0 if is_number(other, 1) else self._operate("%", self, other)

    def __lt__(self, other: Operand) -> "LoopNumber":
        return self._operate("<", self, other, BOOL)

    def __le__(self, other: Operand) -> "LoopNumber":
        return self._operate("<=", self, other, BOOL)

    def __gt__(self, other: Operand) -> "LoopNumber":
        return self._operate(">", self, other, BOOL)

    def __ge__(self, other: Operand) -> "LoopNumber":
        return self._operate(">=", self, other, BOOL)

    def __eq__(self, other: object) -> "LoopNumber":  # type: ignore[override]
        return self._operate("==", self, other, BOOL)

    def __ne__(self, other: object) -> "LoopNumber":  # type: ignore[override]
        return self._operate("!=", self, other, BOOL)

    def __and__(self, other: Operand) -> "LoopNumber":
        return self._operate("&&", self, other, BOOL)

    __rand__ = __and__

    def __or__(self, other: Operand) -> "LoopNumber":
        return self._operate("||", self, other, BOOL)

    __ror__ = __or__

    def __invert__(self) -> "LoopNumber":
        return self.trace.note(build.negate(self.var))


def write(operand: Operand) -> LExpr:
    """Write an operand in loop IR."""
    if isinstance(operand, LoopNumber):
        return operand.var
    if isinstance(operand, bool | np.bool_):
        return Num(bool(operand), BOOL)
    assert isinstance(operand, int), f"no number: {operand!r}"
    return Num(operand, I64)

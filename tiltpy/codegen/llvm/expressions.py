"""Expressions of the loop IR, of one lane or of all."""

from collections.abc import Iterable
from typing import assert_never

from tiltpy.abi import LANES
from tiltpy.codegen.llvm.arrays import Memory
from tiltpy.codegen.llvm.division import emit_division
from tiltpy.codegen.llvm.instructions import (
    Instructions,
    constant,
    literal,
    type_of,
    wide,
)
from tiltpy.codegen.llvm.lanes import (
    Value,
    count_true,
    earlier,
    numbers,
    shuffled,
    together,
    widened,
)
from tiltpy.codegen.llvm.operators import emit_binary, emit_call, emit_convert, kind_of
from tiltpy.loops.build import is_power_of_two
from tiltpy.loops.nodes import (
    Array,
    Bin,
    CallFn,
    Convert,
    CountTrue,
    Earlier,
    Extract,
    Lane,
    Lanes,
    LExpr,
    Load,
    Not,
    Num,
    Pick,
    Select,
    Splat,
    Var,
    Wide,
)
from tiltpy.loops.widths import is_wide_expr
from tiltpy.types import BOOL


class Expressions:
    """Appends what computes expressions; variables are in the places given."""

    def __init__(
        self,
        code: Instructions,
        memory: Memory,
        places: dict[Var, str],
        wide_variables: frozenset[Var],
        *,
        fuses: bool,
    ) -> None:
        self.code = code
        self.memory = memory
        self.places = places
        self.wide_variables = wide_variables
        self.fuses = fuses

    def scalar(self, expr: LExpr) -> str:
        """An expression that is not wide."""
        value = self.value(expr)
        assert not value.wide
        return value.text

    def wide(self, expr: LExpr) -> str:
        """An expression in all lanes."""
        return widened(self.code, self.value(expr), expr.type)

    def value(self, expr: LExpr) -> Value:
        """An expression as wide as it is."""
        match expr:
            case Num(value=value):
                return Value(constant(value, expr.type), wide=False)
            case Var():
                in_lanes = expr in self.wide_variables
                kind = kind_of(expr.type, in_lanes=in_lanes)
                text = self.code.value(f"load {kind}, ptr {self.places[expr]}")
                return Value(text, in_lanes)
            case Load(array=array, index=index):
                return self._load(array, index)
            case Wide(array=array, index=index, mask=None):
                return self.memory.load_wide(array, self.scalar(index))
            case Wide(array=array, index=index, mask=mask):
                assert mask is not None
                first, some = self.scalar(index), self.wide(mask)
                return self.memory.load_some(array, first, some)
            case Lane() | Lanes() | Splat() | Earlier() | Pick():
                return self._in_lanes(expr)
            case Extract(operand=operand, lane=lane):
                whole = self.wide(operand)
                kind = wide(type_of(expr.type))
                text = self.code.value(f"extractelement {kind} {whole}, i64 {lane}")
                return Value(text, wide=False)
            case CountTrue(operand=operand):
                return count_true(self.code, self.wide(operand))
            case Not() | Select() | Bin() | Convert() | CallFn():
                return self._operation(expr)
            case _:
                assert_never(expr)

    def _load(self, array: Array, index: LExpr) -> Value:
        match index:
            case Bin(op="+", left=base, right=lanes) if (
                self._is_wide(lanes) and not self._is_wide(base) and not array.bits
            ):
                return self.memory.gather(
                    array, self.scalar(base), self.value(lanes).text
                )
            case _:
                return self.memory.load(array, self.value(index))

    def _is_wide(self, expr: LExpr) -> bool:
        return is_wide_expr(expr, self.wide_variables)

    def _in_lanes(self, expr: Lane | Lanes | Splat | Earlier | Pick) -> Value:
        match expr:
            case Lane():
                return numbers(range(LANES), expr.type)
            case Lanes(values=values):
                return numbers(values, expr.type)
            case Splat(operand=operand):
                return Value(self.wide(operand), wide=True)
            case Earlier(now=later, before=sooner, by=by):
                now, before = self.wide(later), self.wide(sooner)
                return earlier(self.code, expr.type, before, now, by)
            case Pick(first=one, second=other, order=order):
                first, second = self.wide(one), self.wide(other)
                return shuffled(self.code, expr.type, first, second, order)
            case _:
                assert_never(expr)

    def _together(self, exprs: Iterable[LExpr]) -> tuple[list[str], bool]:
        return together(self.code, [(self.value(expr), expr.type) for expr in exprs])

    def _operation(self, expr: Not | Select | Bin | Convert | CallFn) -> Value:
        match expr:
            case Not(operand=operand):
                (given,), in_lanes = self._together((operand,))
                kind = kind_of(BOOL, in_lanes=in_lanes)
                text = self.code.value(f"xor {kind} {given}, {literal(kind, 'true')}")
            case Select(condition=condition, then=then, otherwise=otherwise):
                parts = (condition, then, otherwise)
                (test, yes, no), in_lanes = self._together(parts)
                kind = kind_of(expr.type, in_lanes=in_lanes)
                text = self.code.select(test, kind, yes, no, even=expr.even)
            case Bin(op="/", left=left, right=right) if (
                self.fuses
                and self._is_wide(left)
                and not self._is_wide(right)
                and not is_power_of_two(right)
            ):
                divisor = self.value(right)
                in_lanes = True
                text = emit_division(self.code, left.type, self.wide(left), divisor)
            case Bin(op=op, left=left, right=right):
                (a, b), in_lanes = self._together((left, right))
                kind = kind_of(left.type, in_lanes=in_lanes)
                text = emit_binary(self.code, op, left.type, kind, a, b)
            case Convert(operand=operand):
                (given,), in_lanes = self._together((operand,))
                text = emit_convert(
                    self.code, given, operand.type, expr.type, in_lanes=in_lanes
                )
            case CallFn(function=name, arguments=arguments):
                values, in_lanes = self._together(arguments)
                taken = arguments[0].type
                text = emit_call(
                    self.code, name, values, taken, expr.type, in_lanes=in_lanes
                )
            case _:
                assert_never(expr)
        return Value(text, in_lanes)

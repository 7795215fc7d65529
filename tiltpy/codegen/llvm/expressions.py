"""Expressions of the loop IR, of one lane or of all."""

from collections.abc import Iterable
from typing import assert_never

from tiltpy.abi.signature import LANES
from tiltpy.codegen.llvm.arrays import Memory
from tiltpy.codegen.llvm.division import emit_division
from tiltpy.codegen.llvm.filling import emit_fill
from tiltpy.codegen.llvm.instructions import (
    Instructions,
    constant,
    literal,
    type_of,
    wide,
)
from tiltpy.codegen.llvm.lanes import (
    BITS,
    Value,
    combine_masks,
    constant_lanes,
    count_true,
    earlier,
    last_true,
    shuffle,
    widen,
    widen_together,
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
    Fill,
    FromLanes,
    Lane,
    Lanes,
    LastTrue,
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
from tiltpy.types import BOOL, Scalar

_MASK_OPERATORS = {"&&": "and", "||": "or", "!=": "xor"}
"""Operators of bools that are one instruction of their bits."""


class Expressions:
    """Emits the instructions of expressions, whose variables are at `places`."""

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
        self.known: dict[Var, Value] = {}
        """Values of variables that are assigned once."""
        self.bits: dict[Var, str] = {}
        """The stack slots of the bits of wide bools that are assigned several times."""

    def scalar(self, expr: LExpr) -> str:
        """Emit an expression that is not wide."""
        value = self.value(expr)
        assert not value.wide
        return value.text

    def wide(self, expr: LExpr) -> str:
        """Emit an expression in all lanes."""
        return widen(self.code, self.value(expr), expr.type)

    def value(self, expr: LExpr) -> Value:
        """Emit an expression, wide if it is."""
        match expr:
            case Num(value=value):
                return Value(constant(value, expr.type), wide=False)
            case Var() if expr in self.known:
                return self.known[expr]
            case Var():
                in_lanes = expr in self.wide_variables
                kind = kind_of(expr.type, in_lanes=in_lanes)
                text = self.code.value(f"load {kind}, ptr {self.places[expr]}")
                if expr in self.bits:
                    bits = self.code.value(f"load {BITS}, ptr {self.bits[expr]}")
                    self.code.bits[text] = bits
                return Value(text, in_lanes)
            case Load(array=array, index=index):
                return self._load(array, index)
            case Wide(array=array, index=index, mask=None):
                return self.memory.load_wide(array, self.scalar(index))
            case Wide(array=array, index=index, mask=mask):
                assert mask is not None
                first, lanes = self.scalar(index), self.wide(mask)
                return self.memory.load_masked(array, first, lanes)
            case Lane() | Lanes() | Splat() | Earlier() | Pick() | Fill():
                return self._in_lanes(expr)
            case Extract(operand=operand, lane=lane):
                vector = self.wide(operand)
                kind = wide(type_of(expr.type))
                text = self.code.value(f"extractelement {kind} {vector}, i64 {lane}")
                return Value(text, wide=False)
            case FromLanes(values=values):
                return self._from_lanes(values, expr.type)
            case CountTrue(operand=operand):
                return count_true(self.code, self.wide(operand))
            case LastTrue(operand=operand):
                return last_true(self.code, self.wide(operand))
            case Not() | Select() | Bin() | Convert() | CallFn():
                return self._operation(expr)
            case _:
                assert_never(expr)

    def _from_lanes(self, values: Iterable[LExpr], scalar: Scalar) -> Value:
        single, kind = type_of(scalar), wide(type_of(scalar))
        text = "poison"
        for lane, value in enumerate(values):
            entry = f"{single} {self.scalar(value)}, i64 {lane}"
            text = self.code.value(f"insertelement {kind} {text}, {entry}")
        return Value(text, wide=True)

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

    def _in_lanes(self, expr: Lane | Lanes | Splat | Earlier | Pick | Fill) -> Value:
        match expr:
            case Lane():
                return constant_lanes(range(LANES), expr.type)
            case Lanes(values=values):
                return constant_lanes(values, expr.type)
            case Splat(operand=operand):
                return Value(self.wide(operand), wide=True)
            case Earlier(now=later, before=sooner, by=by):
                now, before = self.wide(later), self.wide(sooner)
                return earlier(self.code, expr.type, before, now, by)
            case Pick(first=left, second=right, order=order):
                first, second = self.wide(left), self.wide(right)
                return shuffle(self.code, expr.type, first, second, order)
            case Fill(operand=operand, valid=valid, beyond=beyond):
                operands = self.wide(operand), self.wide(valid), self.wide(beyond)
                backwards = expr.backwards
                return emit_fill(self.code, expr.type, *operands, backwards=backwards)
            case _:
                assert_never(expr)

    def _operands(self, exprs: Iterable[LExpr]) -> tuple[list[str], bool]:
        """Emit operands, all wide if any is; and tell whether they are."""
        values = [(self.value(expr), expr.type) for expr in exprs]
        return widen_together(self.code, values)

    def _operation(self, expr: Not | Select | Bin | Convert | CallFn) -> Value:
        match expr:
            case Not(operand=operand):
                (value,), in_lanes = self._operands((operand,))
                kind = kind_of(BOOL, in_lanes=in_lanes)
                true = literal(kind, "true")
                if in_lanes:
                    text = combine_masks(self.code, "xor", value, true)
                else:
                    text = self.code.value(f"xor {kind} {value}, {true}")
            case Select(condition=condition, then=then, otherwise=otherwise):
                operands = (condition, then, otherwise)
                (test, yes, no), in_lanes = self._operands(operands)
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
                (a, b), in_lanes = self._operands((left, right))
                kind = kind_of(left.type, in_lanes=in_lanes)
                if in_lanes and left.type == BOOL and op in _MASK_OPERATORS:
                    text = combine_masks(self.code, _MASK_OPERATORS[op], a, b)
                else:
                    text = emit_binary(self.code, op, left.type, kind, a, b)
            case Convert(operand=operand):
                (value,), in_lanes = self._operands((operand,))
                text = emit_convert(
                    self.code, value, operand.type, expr.type, in_lanes=in_lanes
                )
            case CallFn(function=name, arguments=arguments):
                values, in_lanes = self._operands(arguments)
                source = arguments[0].type
                text = emit_call(
                    self.code, name, values, source, expr.type, in_lanes=in_lanes
                )
            case _:
                assert_never(expr)
        return Value(text, in_lanes)

"""Lowering of functional expressions: a value becomes a loop value and a bool.

The loop value of φ is unspecified but harmless: all loop operations are total, so both
branches of a conditional are computed and one is selected.
"""

import json
import operator
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, assert_never

from tiltpy.abi.signature import LANES
from tiltpy.abi.slots import SlotKind
from tiltpy.emit.builder import Block
from tiltpy.emit.dates import lower_date_component
from tiltpy.ir.nodes import (
    At,
    Binary,
    Call,
    Cast,
    Const,
    DateComponent,
    Element,
    ElementStart,
    EventBound,
    Exists,
    Expr,
    Field,
    If,
    In,
    Let,
    Local,
    MakeStruct,
    MatchString,
    Phi,
    Reduce,
    StringCall,
    Time,
    Unary,
)
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import (
    FALSE,
    TRUE,
    add,
    compare,
    conj,
    convert,
    disj,
    eq,
    i64,
    least,
    load,
    lt,
    ne,
    negate,
    select,
    sub,
)
from tiltpy.loops.nodes import Bin, CallFn, CountTrue, LExpr, Num, Splat
from tiltpy.ops import ARITHMETIC, COMPARISON, BinaryOp
from tiltpy.types import BOOL, F64, I64, STRING, Scalar, Struct, Type, int_range


@dataclass(frozen=True, slots=True)
class LoopValue:
    """A value of the functional IR in a loop: `value`, or φ unless `valid`.

    A struct has no `value` but `fields`, which count only while it is valid.
    """

    type: Type
    value: LExpr | None
    valid: LExpr
    fields: tuple["LoopValue", ...] = ()

    @property
    def scalar(self) -> LExpr:
        """The value of a scalar."""
        assert self.value is not None
        return self.value

    def in_variables(self, block: Block) -> "LoopValue":
        """Assign the value to variables, so that it is computed once."""
        number = None if self.value is None else block.name("v", self.value)
        fields = tuple(field.in_variables(block) for field in self.fields)
        return LoopValue(self.type, number, block.name("ok", self.valid), fields)


EXACT: Mapping[BinaryOp, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv
}  # fmt: skip
"""Operations that Python does as the machine, on integers in range and doubles."""

Reading = At | EventBound | Reduce | Time | Element | ElementStart
Leaf = Callable[[Reading], LoopValue]
"""Reads a reference, as the loop around the expression does."""


def zero(scalar: Scalar) -> Num:
    """A placeholder for the value of φ."""
    if scalar == BOOL:
        return FALSE
    return Num(0.0 if scalar.is_float else 0, scalar)


def numbers_of(value: LoopValue) -> tuple[LExpr, ...]:
    """The numbers of a payload: its scalars, then the flags of fields that may be φ."""
    if not value.fields:
        return (value.scalar,)
    flags = (field.valid for field in value.fields if field.valid != TRUE)
    return (*(field.scalar for field in value.fields), *flags)


def with_numbers(value: LoopValue, valid: LExpr, numbers: Sequence[LExpr]) -> LoopValue:
    """A payload of a value's kind with these numbers instead."""
    if not value.fields:
        (number,) = numbers
        return LoopValue(value.type, number, valid)
    flags = iter(numbers[len(value.fields) :])
    fields = tuple(
        LoopValue(field.type, number, TRUE if field.valid == TRUE else next(flags))
        for field, number in zip(value.fields, numbers, strict=False)
    )
    return LoopValue(value.type, None, valid, fields)


def phi(payload: Type) -> LoopValue:
    """φ of a type."""
    if isinstance(payload, Struct):
        fields = tuple(phi(scalar) for _, scalar in payload.fields)
        return LoopValue(payload, None, FALSE, fields)
    return LoopValue(payload, zero(payload), FALSE)


def lower_expr(
    block: Block,
    leaf: Leaf,
    expr: Expr,
    names: Mapping[str, LoopValue] | None = None,
    *,
    lanes: bool = False,
) -> LoopValue:
    """Append the computation of an expression; `names` are its free names.

    `lanes`: in all of them at once.
    """
    return _Lowering(block, leaf, lanes=lanes).lower(expr, dict(names or {}))


class _Lowering:
    def __init__(self, block: Block, leaf: Leaf, *, lanes: bool) -> None:
        self.block = block
        self.leaf = leaf
        self.lanes = lanes
        self.known: dict[Expr, LoopValue] = {}

    def lower(self, expr: Expr, env: dict[str, LoopValue]) -> LoopValue:
        match expr:
            case Const():
                return LoopValue(expr.type, self.constant(expr), TRUE)
            case Phi():
                return phi(expr.type)
            case At() | EventBound() | Reduce() | Time() | Element() | ElementStart():
                if expr not in self.known:
                    self.known[expr] = self.leaf(expr)
                return self.known[expr]
            case Local(name=name):
                return env[name]
            case Let(name=name, value=value, body=body):
                return self.lower(body, {**env, name: self.lower(value, env)})
            case If():
                return self.conditional(expr, env)
            case MakeStruct(fields=fields):
                lowered = tuple(self.lower(field, env) for field in fields)
                return LoopValue(expr.type, None, TRUE, lowered)
            case Field(operand=operand, name=name):
                struct = self.lower(operand, env)
                assert isinstance(struct.type, Struct)
                index = [n for n, _ in struct.type.fields].index(name)
                field = struct.fields[index]
                return self.name_value(
                    LoopValue(field.type, field.value, conj(struct.valid, field.valid))
                )
            case In(operand=operand, options=options):
                inner = self.lower(operand, env)
                member = self.among(inner.scalar, options)
                return self.name_value(LoopValue(BOOL, member, inner.valid))
            case MatchString(operand=operand):
                inner = self.lower(operand, env)
                kind = SlotKind(expr.test)
                member = self.look_up(kind, expr.pattern, inner.scalar)
                return self.name_value(LoopValue(BOOL, member, inner.valid))
            case StringCall():
                return self.name_value(self.string_call(expr, env))
            case DateComponent(operand=operand):
                inner = self.lower(operand, env)
                component = lower_date_component(self.block, expr, inner.scalar)
                return self.name_value(LoopValue(expr.type, component, inner.valid))
            case Unary() | Binary() | Exists() | Cast() | Call():
                return self.name_value(self.operation(expr, env))
            case _:
                assert_never(expr)

    def operation(
        self, expr: Unary | Binary | Exists | Cast | Call, env: dict[str, LoopValue]
    ) -> LoopValue:
        match expr:
            case Exists(operand=operand):
                return LoopValue(BOOL, self.lower(operand, env).valid, TRUE)
            case Cast(operand=operand):
                inner = self.lower(operand, env)
                return LoopValue(
                    expr.type, convert(inner.scalar, expr.type), inner.valid
                )
            case Unary(op=op, operand=operand):
                inner = self.lower(operand, env)
                return LoopValue(expr.type, self.unary(op, inner.scalar), inner.valid)
            case Call(function=function, arguments=arguments):
                lowered = [self.lower(argument, env) for argument in arguments]
                values = tuple(argument.scalar for argument in lowered)
                return LoopValue(
                    expr.type,
                    CallFn(function, values, expr.type),
                    conj(*(argument.valid for argument in lowered)),
                )
            case Binary(left=left, right=right):
                return self.binary(expr, self.lower(left, env), self.lower(right, env))
            case _:
                assert_never(expr)

    def constant(self, const: Const) -> LExpr:
        """A number, or the dictionary code that the run gives a string."""
        if not isinstance(const.value, str):
            return Num(const.value, const.type)
        code = self.block.builder.number(SlotKind.CODE, const.value)
        return convert(code, STRING)

    def among(self, value: LExpr, options: Sequence[Const]) -> LExpr:
        """Test whether a value is an option; many strings take a look-up table."""
        if value.type == STRING and len(options) > self.block.costs.few_strings:
            listed = json.dumps([option.value for option in options])
            return self.look_up(SlotKind.AMONG, listed, value)
        return any_of([eq(value, self.constant(option)) for option in options])

    def look_up(self, kind: SlotKind, pattern: str, code: LExpr) -> LExpr:
        """Look up the run's table of a test of strings, by a dictionary code."""
        table = self.block.builder.array(kind, pattern, BOOL)
        return load(table, self.bound_code(code))

    def bound_code(self, code: LExpr) -> LExpr:
        """Bound a dictionary code, since that of φ is arbitrary."""
        last = sub(self.block.builder.number(SlotKind.STRINGS, ""), i64(1))
        return convert(least(code, convert(last, STRING)), I64)

    def string_call(self, expr: StringCall, env: dict[str, LoopValue]) -> LoopValue:
        """Look up the run's table of a function of strings."""
        builder, key = self.block.builder, expr.key
        operands = [self.lower(operand, env) for operand in expr.operands]
        index = self.bound_code(operands[0].scalar)
        if len(operands) == 2:
            codes = index, self.bound_code(operands[1].scalar)
            left, right = (
                load(builder.array(SlotKind.MADE, key, I64, column), code)
                for column, code in enumerate(codes, 2)
            )
            index = add(left, right)
        index = self.block.name("entry", index)
        valid = conj(*(operand.valid for operand in operands))
        if expr.is_partial:
            known = builder.array(SlotKind.MADE, key, BOOL, 1)
            valid = conj(valid, load(known, index))
        made = builder.array(SlotKind.MADE, key, expr.type)
        return LoopValue(expr.type, load(made, index), valid)

    def unary(self, op: str, value: LExpr) -> LExpr:
        if op == "!":
            return negate(value)
        assert isinstance(value.type, Scalar)
        # -x is -0.0 - x for floats, so that the sign of a zero flips too.
        start = Num(-0.0 if value.type.is_float else 0, value.type)
        return Bin("-", start, value, value.type)

    def binary(self, expr: Binary, left: LoopValue, right: LoopValue) -> LoopValue:
        op, a, b = expr.op, left.scalar, right.scalar
        if op == "&&":
            value = conj(disj(a, negate(left.valid)), disj(b, negate(right.valid)))
            known_false = disj(
                conj(left.valid, negate(a)), conj(right.valid, negate(b))
            )
            valid = disj(conj(left.valid, right.valid), known_false)
            return LoopValue(BOOL, value, valid)
        if op == "||":
            yes_a, yes_b = conj(a, left.valid), conj(b, right.valid)
            valid = disj(conj(left.valid, right.valid), yes_a, yes_b)
            return LoopValue(BOOL, disj(yes_a, yes_b), valid)
        valid = conj(left.valid, right.valid)
        if op in COMPARISON:
            return LoopValue(BOOL, compare(op, a, b), valid)
        assert op in ARITHMETIC
        if op in ("//", "%") and expr.type.is_integer:
            valid = conj(valid, ne(b, zero(expr.type)))
        assert isinstance(expr.type, Scalar)
        return LoopValue(expr.type, arithmetic(op, a, b, expr.type), valid)

    def conditional(self, expr: If, env: dict[str, LoopValue]) -> LoopValue:
        condition = self.lower(expr.condition, env)
        then = self.lower(expr.then, env)
        otherwise = self.lower(expr.otherwise, env)
        fills = isinstance(expr.condition, Exists) and not then.fields
        if fills and self.lanes and isinstance(expr.otherwise, Binary | Call | Let):
            return self.fill(condition.scalar, then, otherwise)
        return self.choose(condition, then, otherwise)

    def fill(self, exists: LExpr, then: LoopValue, other: LoopValue) -> LoopValue:
        """Choose in lanes where few are filled, in vectors that have any.

        What only these need LLVM computes only there.
        """
        chosen = pick(exists, then.valid, other.valid, then, other)
        if isinstance(exists, Num) or chosen in (then, other):
            return self.name_value(chosen)
        assert isinstance(then.type, Scalar)
        value = self.block.builder.fresh("v", then.type)
        valid = self.block.builder.fresh("ok", BOOL)
        some = self.block.inner()
        for block, one in ((self.block, then), (some, chosen)):
            block.set(value, Splat(one.scalar, then.type))
            block.set(valid, Splat(one.valid, BOOL))
        count = self.block.name("count", CountTrue(Splat(exists, BOOL), I64))
        self.block.when(lt(count, i64(LANES)), some)
        return LoopValue(then.type, value, valid)

    def choose(
        self, condition: LoopValue, then: LoopValue, other: LoopValue
    ) -> LoopValue:
        test = condition.scalar
        valid = conj(condition.valid, select_bool(test, then.valid, other.valid))
        if then.fields:
            fields = tuple(
                self.name_value(pick(test, then.valid, other.valid, a, b))
                for a, b in zip(then.fields, other.fields, strict=True)
            )
            valid = self.block.name("ok", valid)
            return LoopValue(then.type, None, valid, fields)
        chosen = pick(test, then.valid, other.valid, then, other)
        return self.name_value(LoopValue(then.type, chosen.value, valid))

    def name_value(self, lowered: LoopValue) -> LoopValue:
        """Assign a value to variables, so that it is computed once."""
        return LoopValue(
            lowered.type,
            self.block.name("v", lowered.scalar),
            self.block.name("ok", lowered.valid),
        )


def arithmetic(op: BinaryOp, left: LExpr, right: LExpr, scalar: Scalar) -> LExpr:
    """An arithmetic operation, done if both operands are constants.

    Such are numbers in states of as many snapshots in all lanes.
    """
    known = isinstance(left, Num) and isinstance(right, Num)
    if known and op in EXACT and scalar in (I64, F64):
        assert isinstance(left, Num)
        assert isinstance(right, Num)
        a, b = left.value, right.value
        if op != "/" or b != 0:
            number = EXACT[op](a, b)
            low, high = int_range(I64)
            if isfinite(number) if scalar == F64 else low <= number <= high:
                return Num(number, scalar)
    return Bin(op, left, right, scalar)


def any_of(tests: Sequence[LExpr]) -> LExpr:
    """Return whether any test holds, as a balanced tree."""
    if len(tests) == 1:
        return tests[0]
    middle = len(tests) // 2
    return disj(any_of(tests[:middle]), any_of(tests[middle:]))


def pick(
    test: LExpr,
    then_valid: LExpr,
    other_valid: LExpr,
    then: LoopValue,
    other: LoopValue,
) -> LoopValue:
    """`test ? then : other`; a side that is certainly φ is not selected."""
    if other_valid == FALSE:
        return then
    if then_valid == FALSE:
        return other
    return LoopValue(
        then.type,
        select(test, then.scalar, other.scalar),
        select_bool(test, then.valid, other.valid),
    )


def select_bool(test: LExpr, then: LExpr, other: LExpr) -> LExpr:
    """Select a bool, by plain logic where a side is constant."""
    if other == FALSE:
        return conj(test, then)
    if then == FALSE:
        return conj(negate(test), other)
    if then == TRUE and other == TRUE:
        return TRUE
    return select(test, then, other)

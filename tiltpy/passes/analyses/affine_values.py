"""Affine values: what is known of a scalar, as a function of the fields of a state.

It is a constant, or an affine function of fields whose factors are numbers or come from
the row, or neither. Operators combine what is known of their operands.
"""

from collections.abc import Mapping
from dataclasses import field

from tiltpy.ir.nodes import (
    Binary,
    Call,
    Cast,
    Const,
    Phi,
    StringCall,
    Unary,
)
from tiltpy.lean_dataclass import dataclass
from tiltpy.passes.analyses.constants import Operation, fold_operation
from tiltpy.types import BOOL, Scalar

Factors = Mapping[str, float | None]
"""A factor for each field that an affine value depends on; None: the row decides it."""


@dataclass(frozen=True, slots=True)
class AffineValue:
    """A scalar after a row, as far as it is known.

    `reads` are the fields of the state before that have any part in it, those of the
    conditions on its way included. Without `factors` it is not affine.
    """

    constant: Const | Phi | None = None
    factors: Factors | None = field(default_factory=dict)
    reads: frozenset[str] = frozenset()
    nullable: bool = False


def presence_of(operands: list[AffineValue]) -> AffineValue:
    """Evaluate `!= φ` of a scalar, or of a struct by its fields."""
    reads = frozenset[str]().union(*(value.reads for value in operands))
    if len(operands) == 1:
        (value,) = operands
        if value.constant is not None or not value.nullable:
            exists = not isinstance(value.constant, Phi)
            return AffineValue(Const(exists, BOOL), reads=reads)
    affine = all(value.factors == {} for value in operands)
    return AffineValue(None, {} if affine else None, reads)


def operate(expr: Operation, operands: list[AffineValue]) -> AffineValue:
    """Evaluate a node over evaluated operands."""
    reads = frozenset[str]().union(*(value.reads for value in operands))
    nullable = any(value.nullable for value in operands)
    if isinstance(expr, Binary) and expr.op in ("//", "%") and expr.type.is_integer:
        nullable = True
    if isinstance(expr, StringCall) and expr.is_partial:
        nullable = True
    constant = _fold(expr, [value.constant for value in operands])
    if constant is not None:
        return AffineValue(constant, {}, reads, isinstance(constant, Phi))
    return AffineValue(None, _affine(expr, operands), reads, nullable)


def _fold(expr: Operation, operands: list[Const | Phi | None]) -> Const | Phi | None:
    """Compute a node over constants, if all that decides it is one."""
    if isinstance(expr, Binary) and expr.op in ("&&", "||"):
        decisive = expr.op == "||"
        for each in operands:
            if isinstance(each, Const) and each.value is decisive:
                return each
    elif any(isinstance(each, Phi) for each in operands):
        return Phi(expr.type)
    constants = [each for each in operands if isinstance(each, Const)]
    if len(constants) < len(operands):
        return None
    is_extreme = isinstance(expr, Call) and expr.function in ("min", "max")
    if is_extreme and len({*constants}) == 1:
        return constants[0]
    folded = fold_operation(expr, tuple(constants))
    return folded if isinstance(folded, Const | Phi) else None


def _affine(expr: Operation, operands: list[AffineValue]) -> Factors | None:
    """Find the factors of a node over affine operands; None: it is not affine."""
    if all(value.factors == {} for value in operands):
        return {}
    factors = [value.factors for value in operands]
    if any(each is None for each in factors):
        return None
    match expr:
        case Unary(op="-"):
            return _scale(factors[0], -1.0)
        case Cast() if expr.type.is_float and isinstance(expr.operand.type, Scalar):
            return factors[0] if expr.operand.type.is_float else None
        case Binary(op="+" | "-" as op):
            left, right = factors
            assert left is not None
            assert right is not None
            total = dict(left)
            for name, factor in (_scale(right, -1.0) if op == "-" else right).items():
                total[name] = _sum(total.get(name, 0.0), factor)
            return total
        case Binary(op="*") if {} in factors:
            scaled = 1 if factors[0] == {} else 0
            return _scale(factors[scaled], _number(operands[1 - scaled]))
        case Binary(op="/") if factors[1] == {}:
            divisor = _number(operands[1])
            by = 1.0 / divisor if divisor else None
            return _scale(factors[0], by)
        case _:
            return None


def _number(value: AffineValue) -> float | None:
    constant = value.constant
    return float(constant.number) if isinstance(constant, Const) else None


def _scale(factors: Factors | None, by: float | None) -> dict[str, float | None]:
    assert factors is not None
    return {
        name: None if by is None or factor is None else factor * by
        for name, factor in factors.items()
    }


def _sum(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a + b

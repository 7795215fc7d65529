"""Operands of formulas that leave a trace, whatever becomes of that.

Formulas are written once, for ints and for columns of numpy (`call_numbers`). Those of
traced operands become code: a function of few numbers (`traced_numbers`), or a loop
over rows (`traced_loops`).
"""

from typing import Any, Literal, Protocol

Side = Literal["left", "right"]
Operand = Any
"""A traced number, or one that is the same in every call."""


class Traces(Protocol):
    """Traces the operations that have no sign in Python."""

    def select(self, condition: Operand, this: Operand, that: Operand) -> Operand:
        """Trace one operand where a condition holds, the other elsewhere."""

    def least(self, left: Operand, right: Operand) -> Operand:
        """Trace the smaller one of two numbers."""

    def most(self, left: Operand, right: Operand) -> Operand:
        """Trace the larger one of two numbers."""


class TracedOperand:
    """A number, or a truth, whose operations leave a trace."""

    __slots__ = ("trace",)
    __array_ufunc__ = None
    trace: Traces


def is_traced(operand: Operand) -> bool:
    """Tell whether an operand is traced."""
    return isinstance(operand, TracedOperand)


def find_trace(left: Operand, right: Operand) -> Traces | None:
    """Find the trace of operands, if one of them is traced."""
    if isinstance(left, TracedOperand):
        return left.trace
    return right.trace if isinstance(right, TracedOperand) else None


def is_number(operand: Operand, number: int) -> bool:
    """Tell whether an operand is a number that is the same in every call."""
    return isinstance(operand, int) and operand == number

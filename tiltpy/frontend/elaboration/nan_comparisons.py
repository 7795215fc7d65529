"""Warnings of comparisons with a literal nan, which no value passes."""

import math

from tiltpy.errors import warn
from tiltpy.frontend.hints.general import quote
from tiltpy.frontend.surface import syntax

_IMPOSSIBLE = dict.fromkeys(("==", "<", "<=", ">", ">="), "true") | {"!=": "false"}
"""The result that a comparison with nan never has, by operator."""


def warn_of_nan(node: syntax.InfixOperation | syntax.Membership) -> None:
    """Warn of a comparison with nan, or of nan among several values."""
    match node:
        case syntax.Membership(operand=operand):
            if any(_is_nan(option) for option in node.options):
                warn(
                    f"nothing equals the nan that {quote(operand)} is compared with; "
                    f"leave it out, and write is_nan({quote(operand)}) || ..."
                )
        case syntax.InfixOperation(op=op, left=left, right=right):
            if op in _IMPOSSIBLE and (_is_nan(left) or _is_nan(right)):
                negation = "!" if op == "!=" else ""
                other = quote(right if _is_nan(left) else left)
                warn(
                    f"{quote(node, f'a comparison by {op} with nan')} is never "
                    f"{_IMPOSSIBLE[op]}; write {negation}is_nan({other})"
                )


def _is_nan(node: syntax.Expr) -> bool:
    match node:
        case syntax.Paren() | syntax.PrefixOperation(op="-"):
            return _is_nan(node.operand)
        case syntax.Number():
            return math.isnan(node.value)
        case _:
            return False

"""Warnings of comparisons with a literal nan, which no value passes."""

import math
from collections.abc import Iterable

from tiltpy.errors import warn
from tiltpy.frontend.hints.general import quote
from tiltpy.frontend.surface import syntax

_RESULTS = dict.fromkeys(("==", "<", "<=", ">", ">="), "true") | {"!=": "false"}
"""What a comparison with nan never is."""


def check_comparison(node: syntax.InfixOperation) -> None:
    """Warn of a comparison with nan."""
    result = _RESULTS.get(node.op)
    if result is None:
        return
    for operand, other in ((node.left, node.right), (node.right, node.left)):
        if _is_nan(operand):
            negation = "!" if node.op == "!=" else ""
            warn(
                f"{quote(node, f'a comparison by {node.op} with nan')} is never "
                f"{result}; write {negation}is_nan({quote(other)})"
            )
            return


def check_options(operand: syntax.Expr, options: Iterable[syntax.Expr]) -> None:
    """Warn of nan among the values that another is to be one of."""
    if any(_is_nan(option) for option in options):
        warn(
            f"nothing equals the nan that {quote(operand)} is compared with; leave it "
            f"out, and write is_nan({quote(operand)}) || ..."
        )


def _is_nan(node: syntax.Expr) -> bool:
    while isinstance(node, syntax.Paren):
        node = node.operand
    match node:
        case syntax.PrefixOperation(op="-"):
            return _is_nan(node.operand)
        case syntax.Number():
            return math.isnan(node.value)
        case _:
            return False

"""Comparisons with a literal nan, which no value passes: nobody means them."""

import math
from collections.abc import Iterable

from tiltpy.errors import QueryError
from tiltpy.frontend.hints.general import quote
from tiltpy.frontend.surface import syntax

_RESULTS = dict.fromkeys(("==", "<", "<=", ">", ">="), "true") | {"!=": "false"}
"""What a comparison with nan never is."""


def check_comparison(node: syntax.InfixOperation) -> None:
    """Refuse a comparison with nan."""
    result = _RESULTS.get(node.op)
    if result is None:
        return
    for operand, other in ((node.left, node.right), (node.right, node.left)):
        if _is_nan(operand):
            negation = "!" if node.op == "!=" else ""
            raise QueryError(
                "E0206",
                f"a comparison by {node.op} with nan is never {result}",
                node.span,
                f"write {negation}is_nan({quote(other)})",
            )


def check_options(operand: syntax.Expr, options: Iterable[syntax.Expr]) -> None:
    """Refuse nan among the values that another is to be one of."""
    for option in options:
        if _is_nan(option):
            hint = f"leave it out, and write is_nan({quote(operand)}) || ..."
            raise QueryError("E0206", "nothing equals nan", option.span, hint)


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

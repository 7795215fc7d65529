"""Convolutions of samples with constant weights: filters of finite response.

`convolve(~x[t-3s : t], [0.5, 0.25, 0.25])` is `0.5 * ~x[t] + 0.25 * ~x[t-1s] + ...`: as
many samples as weights divide the window among them, and the first weight is that of
the newest. The products are added in pairs, so that the sum is no deeper than it must.
"""

from tiltpy.errors import QueryError
from tiltpy.frontend.elaboration.elaborator import Elaborator
from tiltpy.frontend.elaboration.reductions import Elements, elaborate_elements
from tiltpy.frontend.hints.misplaced import inside_reduction
from tiltpy.frontend.surface import syntax
from tiltpy.ir.construct.operators import binary
from tiltpy.ir.construct.widening import finish
from tiltpy.ir.nodes import At, Binary, Const, Element, Expr, Unary
from tiltpy.ir.traversal import rewrite_element, walk
from tiltpy.limits import MAX_WEIGHTS
from tiltpy.messages import quantity
from tiltpy.ops import CONVOLVE
from tiltpy.source import Span
from tiltpy.types import Scalar

_EXAMPLE = "convolve(~x[t - 3 : t], [0.5, 0.25, 0.25])"


def elaborate_convolution(
    elaborator: Elaborator, node: syntax.CallExpression, level: int
) -> Expr:
    """Elaborate a convolution as the weighted sum of point references."""
    if elaborator.frame is not None:
        raise inside_reduction(node.span, "a convolution")
    weights = _read_weights(elaborator, node, level)
    elements = elaborate_elements(elaborator, node, node.arguments[:1], level)
    period = _period(elements, len(weights))
    element = finish(elements.values[0], "the element")
    if not isinstance(element.type, Scalar) or not element.type.is_number:
        message = f"{CONVOLVE} takes numbers, not {element.type}"
        raise QueryError("E0201", message, element.span, "take a field of numbers")
    products = []
    for number, weight in enumerate(weights):
        offset = elements.window.end - number * period
        value = _at(element, elements.window.object, offset)
        products.append(binary("*", weight, value, node.span))
    return _add(products, node.span)


def _read_weights(
    elaborator: Elaborator, node: syntax.CallExpression, level: int
) -> list[Expr]:
    """Read the list of weights, which are constants."""
    match node.arguments:
        case (_, syntax.ListLiteral(values=values)):
            pass
        case _:
            message = f"{CONVOLVE} takes a window and a list of weights"
            raise QueryError("E0206", message, node.span, f"like {_EXAMPLE}")
    if len(values) > MAX_WEIGHTS:
        message = (
            f"{len(values):,} weights, and a convolution has {MAX_WEIGHTS} at most"
        )
        raise QueryError(
            "E0303", message, values[MAX_WEIGHTS].span, "convolve in two steps"
        )
    weights = elaborator.expressions(values, level)
    for weight in weights:
        if not all(isinstance(each, Const | Unary | Binary) for each in walk(weight)):
            message = "a weight of a convolution is a constant"
            hint = "like 0.25, or a parameter; write the sum out for values that vary"
            raise QueryError("E0116", message, weight.span, hint)
    return weights


def _period(elements: Elements, count: int) -> int:
    """Find the time between two samples: the window's length over their number."""
    window = elements.window
    if elements.condition is not None:
        message = "a convolution takes all samples of its window"
        hint = "write 0 for those that are to be left out: c ? v : 0"
        raise QueryError("E0206", message, elements.condition.span, hint)
    if not window.is_fixed:
        message = "a convolution over a window that has no fixed length"
        hint = f"give it as many periods of the samples as weights, like {_EXAMPLE}"
        raise QueryError("E0109", message, window.span, hint)
    length = window.end - window.start
    if length % count:
        message = (
            f"{count} weights do not divide a window of {quantity(length, 'tick')}"
        )
        hint = "give the window as many periods of the samples as there are weights"
        raise QueryError("E0206", message, window.span, hint)
    return length // count


def _at(element: Expr, name: str, offset: int) -> Expr:
    """Evaluate an element for the snapshot at a point."""

    def rule(node: Expr) -> Expr:
        if isinstance(node, Element):
            return At(name, offset, node.type, span=node.span)
        return node

    return rewrite_element(element, rule)


def _add(terms: list[Expr], span: Span) -> Expr:
    if len(terms) == 1:
        return terms[0]
    middle = (len(terms) + 1) // 2
    return binary("+", _add(terms[:middle], span), _add(terms[middle:], span), span)

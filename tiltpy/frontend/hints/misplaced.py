"""What to say of things that cannot stand where they were written."""

from tiltpy.errors import QueryError
from tiltpy.frontend.surface import syntax
from tiltpy.source import Span


def inside(span: Span, what: str) -> QueryError:
    """The error that something cannot stand inside a reduction."""
    return QueryError(
        "E0113",
        f"{what} cannot stand inside a reduction, only its window and constants",
        span,
        "define an object with it, ~y[t] = ..., and reduce a window of that",
    )


def misplaced(node: syntax.Expr) -> QueryError:
    """The error for a node that is no value by itself."""
    match node:
        case syntax.LastRows():
            return QueryError(
                "E0003",
                "windows by row count (`last n`) are not in this version",
                node.span,
                "give the window a duration, like t - 10s : t",
            )
        case _:
            return QueryError(
                "E0113",
                "`for ... in` stands inside a reduction only",
                node.span,
                "like sum(v for v in ~x[t - 10 : t])",
            )

"""Errors of what cannot stand where it was written."""

from tiltpy.errors import QueryError
from tiltpy.frontend.surface import syntax
from tiltpy.limits import MAX_DEPTH
from tiltpy.source import Span


def inside_reduction(span: Span, what: str) -> QueryError:
    """Make the error that something cannot appear inside a reduction."""
    return QueryError(
        "E0113",
        f"{what} cannot appear inside a reduction, only its window and constants",
        span,
        "define an object with it, ~y[t] = ..., and reduce a window of that",
    )


def misplaced_node(node: syntax.Expr) -> QueryError:
    """Make the error for a node that is no value by itself."""
    match node:
        case syntax.RowsEnd() | syntax.RestartEnd() | syntax.Nearest():
            return QueryError(
                "E0109",
                "this is allowed at the left end of a window only",
                node.span,
                "like ~x[last 20 : t]",
            )
        case syntax.ListLiteral():
            return QueryError(
                "E0206",
                "a list comes after a window, in a convolution only",
                node.span,
                "like convolve(~x[t - 3 : t], [0.25, 0.5, 0.25])",
            )
        case (
            syntax.CalendarStep()
            | syntax.CalendarPrecision()
            | syntax.InputCells()
            | syntax.CellCount()
        ):
            return no_length(node)
        case _:
            return QueryError(
                "E0113",
                "`for ... in` is allowed inside a reduction only",
                node.span,
                "like sum(v for v in ~x[t - 10 : t])",
            )


def no_length(
    node: syntax.CalendarStep
    | syntax.CalendarPrecision
    | syntax.InputCells
    | syntax.CellCount,
) -> QueryError:
    """Make the error that a calendar's step or cells are no constant length of time."""
    match node:
        case syntax.CalendarStep(count=count, step=step):
            message = f"{count}{step} has no constant length"
            domain = f"TDom(-∞, ∞, calendar({count}{step}))"
            hint = f"it can be the precision of a time domain: {domain}"
        case syntax.CalendarPrecision():
            message = "a calendar is no length of time"
            hint = "it is the precision of a time domain: TDom(-∞, ∞, calendar(1d))"
        case syntax.InputCells(object=name):
            message = "the cells of an input are no length of time"
            hint = f"they are the precision of a time domain: TDom(cells of ~{name})"
        case syntax.CellCount():
            message = "cells are counted in the earlier bound of a window only"
            hint = "like ~x[d - 1 cell : d]"
    return QueryError("E0107", message, node.span, hint)


def other_time(name: str, time: str, span: Span) -> QueryError:
    """Make the error that a definition over `time` uses the time variable `name`."""
    return QueryError(
        "E0108",
        f"this definition runs over `{time}`, not over `{name}`",
        span,
        f"write {time}",
    )


def never_joined(span: Span) -> QueryError:
    """Make the error that an object over rows is distinct."""
    return QueryError(
        "E0111",
        "rows are never joined, so no object over them is distinct",
        span,
        "leave `distinct` out, or define a distinct object over a TDom that reads it",
    )


def too_deep(span: Span) -> QueryError:
    """Make the error that an expression nests too deep."""
    return QueryError(
        "E0301",
        f"nested deeper than {MAX_DEPTH} levels",
        span,
        "name parts of it in objects of their own",
    )

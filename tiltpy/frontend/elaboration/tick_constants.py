"""Times in a query: constants in ticks, and references relative to a time variable."""

from math import inf

from tiltpy.errors import QueryError
from tiltpy.frontend.elaboration.poison import Poison
from tiltpy.frontend.hints import general
from tiltpy.frontend.hints.misplaced import no_length, other_time, too_deep
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.durations import unit_of_length
from tiltpy.ir.nodes import Const
from tiltpy.lean_dataclass import dataclass
from tiltpy.limits import MAX_DEPTH
from tiltpy.source import Span
from tiltpy.types import INT_LITERAL, MAX_OFFSET, NANOSECONDS, Unit


@dataclass(frozen=True, slots=True)
class Ticks:
    """A duration parameter's value."""

    count: int


@dataclass(frozen=True, slots=True)
class Times:
    """The tick and the parameters, of which constant times are made.

    `domains` are the names of the time variables, for errors; `poisoned` has the names
    whose errors have been reported.
    """

    unit: Unit | None
    params: dict[str, Const | Ticks]
    domains: frozenset[str]
    poisoned: set[str]


def to_ticks(duration: syntax.DurationLiteral, unit: Unit | None) -> int:
    """Convert a duration literal to ticks, of which it must be a whole number."""
    if unit is None:
        raise QueryError(
            "E0110",
            "a duration in a query of plain ticks",
            duration.span,
            "say what a tick is, like `unit s`",
        )
    ticks, rest = divmod(duration.nanoseconds, NANOSECONDS[unit])
    if rest:
        finer = unit_of_length(duration.finest)
        raise QueryError(
            "E0110",
            f"this is not a whole number of ticks, which are 1{unit} here",
            duration.span,
            f"write `unit {finer}`",
        )
    return ticks


def read_offset(expr: syntax.Expr, time: str, times: Times) -> int:
    """Read the ticks of a time `t + ticks`, relative to the time variable `time`."""
    slope, ticks = _linear(expr, time, times, 0)
    if slope != 1:
        raise QueryError(
            "E0107",
            f"a reference's time is `{time}` plus or minus a constant",
            expr.span,
            general.hint_shift(expr, time),
        )
    return check_range(ticks, expr.span)


def read_constant(expr: syntax.Expr, times: Times) -> int:
    """Read a constant number of ticks."""
    _, ticks = _linear(expr, None, times, 0)
    return check_range(ticks, expr.span)


def is_duration(expr: syntax.Expr, times: Times) -> bool:
    """Tell whether an expression is made of durations: a constant, but no number."""
    waiting = [expr]
    while waiting:
        match waiting.pop():
            case syntax.DurationLiteral():
                return True
            case syntax.Name(text=text):
                if isinstance(times.params.get(text), Ticks):
                    return True
            case (
                syntax.Paren(operand=operand) | syntax.PrefixOperation(operand=operand)
            ):
                waiting.append(operand)
            case syntax.InfixOperation(left=left, right=right):
                waiting += (left, right)
            case _:
                pass
    return False


def is_endless(expr: syntax.Expr, times: Times) -> bool:
    """Tell whether a length is ∞."""
    match expr:
        case syntax.Paren(operand=operand):
            return is_endless(operand, times)
        case syntax.Number(value=value):
            return value == inf
        case syntax.Name(text=text):
            param = times.params.get(text)
            return isinstance(param, Const) and param.value == inf
        case _:
            return False


def read_whole_number(expr: syntax.Expr, times: Times) -> int | None:
    """Evaluate an expression of whole constants; None if it has other operands."""
    try:
        _, count = _linear(expr, None, times, 0)
    except (QueryError, Poison):
        return None
    return count


def check_range(ticks: int, span: Span, limit: int = MAX_OFFSET) -> int:
    """Check that kernels can take so many ticks: at most `limit`, or -`limit`."""
    if abs(ticks) > limit:
        power = limit.bit_length() - 1
        message = f"this is beyond ±2^{power} ticks"
        raise QueryError("E0302", message, span, "use a coarser `unit`")
    return ticks


def _linear(
    expr: syntax.Expr, time: str | None, times: Times, level: int
) -> tuple[int, int]:
    """Read an expression as `slope * time + ticks`; `level` is its depth."""
    if level > MAX_DEPTH:
        raise too_deep(expr.span)
    match expr:
        case syntax.Number():
            return 0, _whole(expr)
        case syntax.DurationLiteral():
            return 0, to_ticks(expr, times.unit)
        case syntax.Paren(operand=operand):
            return _linear(operand, time, times, level + 1)
        case syntax.PrefixOperation(op="-", operand=operand):
            slope, ticks = _linear(operand, time, times, level + 1)
            return -slope, -ticks
        case syntax.InfixOperation(op="+" | "-" | "*" | "//" as op):
            a, b = _linear(expr.left, time, times, level + 1)
            c, d = _linear(expr.right, time, times, level + 1)
            if op == "//":
                if a or c or not d:
                    raise _not_a_time(expr, time, times)
                return 0, b // d
            if op == "*":
                if a and c:
                    raise _not_a_time(expr, time, times)
                return a * d + b * c, b * d
            sign = 1 if op == "+" else -1
            return a + sign * c, b + sign * d
        case syntax.Name():
            return _read_name(expr, time, times)
        case (
            syntax.CalendarStep()
            | syntax.CalendarPrecision()
            | syntax.InputCells()
            | syntax.CellCount()
        ):
            raise no_length(expr)
        case _:
            raise _not_a_time(expr, time, times)


def _whole(number: syntax.Number) -> int:
    if isinstance(number.value, int):
        return number.value
    if number.value == inf:
        hint = "offsets, windows and precisions have a length, like 1d"
        raise QueryError("E0109", "a time must be finite here", number.span, hint)
    hint = "write a duration, like 500ms"
    raise QueryError("E0107", "times are whole ticks", number.span, hint)


def _read_name(name: syntax.Name, time: str | None, times: Times) -> tuple[int, int]:
    if name.text == time:
        return 1, 0
    match times.params.get(name.text):
        case Ticks(count):
            return 0, count
        case Const(value=int(count), type=scalar) if (
            scalar.is_integer or scalar == INT_LITERAL
        ):
            return 0, count
        case Const(value=value) if value in (inf, -inf):
            message = f"`{name.text}` is ∞, and a time must be finite here"
            hint = f"give `{name.text}` a length, like 1h"
            raise QueryError("E0109", message, name.span, hint)
        case Const(type=scalar):
            raise QueryError(
                "E0107",
                f"the parameter `{name.text}` is of type {scalar}, not duration",
                name.span,
                f"declare it as param {name.text} : duration = ...",
            )
        case None:
            if name.text in times.poisoned:
                raise Poison
            if time is not None and (name.text in times.domains or name.text == "t"):
                raise other_time(name.text, time, name.span)
            raise _not_a_time(name, time, times)


def _not_a_time(expr: syntax.Expr, time: str | None, times: Times) -> QueryError:
    if time is None:
        return QueryError(
            "E0116",
            "a constant time was expected",
            expr.span,
            general.hint_constant(expr),
        )
    return QueryError(
        "E0107",
        f"a reference's time is `{time}` plus or minus a constant",
        expr.span,
        general.hint_constant_time(expr, time, frozenset(times.params)),
    )

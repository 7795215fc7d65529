"""Hints for what parses and means nothing: what to write instead.

Texts are quoted as they were written, so that a hint can be pasted; what comes from
Python is named instead.
"""

from collections.abc import Iterable, Sequence

from tiltpy.frontend.hints.other_languages import NAMES_OF_THE_PRESENT
from tiltpy.frontend.hints.windows import hint_end
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.durations import is_duration
from tiltpy.frontend.surface.names import nearest
from tiltpy.frontend.surface.print import format_syntax
from tiltpy.messages import closest
from tiltpy.source import Span


def quote(node: syntax.Expr, otherwise: str = "x") -> str:
    """Quote a node as it was written, if it is short; else return `otherwise`."""
    return node.span.quote(otherwise)


def hint_time(name: str, time: str, *, reducing: bool) -> str:
    """Hint at a time for an object without one."""
    if reducing:
        return f"say which window, like ~{name}[{time} - 10 : {time}]"
    return f"write ~{name}[{time}], or reduce a window of it"


def hint_time_variable(name: str, known: Iterable[str]) -> str:
    """Hint at the nearest time variable, or at a declaration."""
    close = closest(name, known)
    if close:
        return f"did you mean {close}?"
    return f"declare it, like {name} = TDom(-∞, ∞, 1)"


def hint_reduction(window: syntax.Ref) -> str:
    """Hint at a reduction for a window that nothing reduces."""
    name = f"~{window.object}[...]"
    return f"write mean({quote(window, name)}), or another reduction"


def hint_window(ref: syntax.Ref, time: str) -> str:
    """Hint at a window for a reference at one time inside a reduction."""
    match ref.start:
        case syntax.RowsEnd() | syntax.RestartEnd():
            left = quote(ref.start, "...")
            return f"write ~{ref.object}[{left} : {time}]"
        case syntax.Number() | syntax.DurationLiteral():
            length = quote(ref.start, "10")
            return f"reduce a window, like ~{ref.object}[{time} - {length} : {time}]"
        case _:
            return (
                f"reduce a window, like ~{ref.object}[{time} - 10 : {time}], "
                "or a window of an object that combines them first"
            )


def hint_shift(expr: syntax.Expr, time: str) -> str:
    """Hint how a time is shifted that is not the time variable and a constant."""
    match expr:
        case syntax.Number(value=0) | syntax.DurationLiteral(nanoseconds=0):
            return f"write {time}, or {time} - 10; -∞ is all the past"
        case syntax.Number(value=int(count)) if count < 0:  # in Python
            return f"write {time} - {-count}, or last {-count} for rows"
        case syntax.PrefixOperation(op="-", operand=syntax.Number(value=int(count))):
            return f"write {time} - {count}, or last {count} for rows"
        case syntax.Number() | syntax.DurationLiteral():
            return f"write {time} - {quote(expr, format_syntax(expr))}"
        case syntax.PrefixOperation(
            op="-", operand=syntax.Number() | syntax.DurationLiteral()
        ):
            return f"write {time} {quote(expr, '- 10').replace('-', '- ')}"
        case _:
            return f"write {time}, or {time} - 10"


def hint_bounds(name: str) -> str:
    """Hint how the snapshots of a derived object get a start and an end."""
    return (
        f"write distinct ~{name}[t] = ..., whose snapshots last as long as its value, "
        "or define it over Rows(~x), or refer to the input itself"
    )


def hint_constant(expr: syntax.Expr) -> str:
    """Hint at constants, where there is no time variable either."""
    if isinstance(expr, syntax.Text):
        text = quote(expr, '"2024-01-01"')
        if text[1:5].isdecimal():
            return f"write time({text})"
        if "/" in text:
            return f"a time zone is one of a calendar: calendar(1d, {text})"
        return "write a duration without quotes, like 10s, or ticks"
    return "durations, whole numbers and parameters, with + - *"


def hint_constant_time(expr: syntax.Expr, time: str, params: frozenset[str]) -> str:
    """Hint at constants, for another expression inside of a time."""
    match expr:
        case syntax.Text(value=text) if is_duration(text):
            return f"a duration has no quotes: {quote(expr, '10s').strip(chr(34))}"
        case syntax.Text():
            return f"write {time}; the rows of one key are chosen before the run"
        case syntax.Ref() | syntax.CallExpression() | syntax.Conditional():
            return f"the data cannot shift a reference; constants can, like {time} - 10"
        case syntax.Name(text=text):
            close = closest(text, params | {time})
            if close is not None:
                return f"did you mean {close}?"
            if text.lower() in NAMES_OF_THE_PRESENT:
                return f"write {time}, the time at which the object is evaluated"
            wanted = f"a constant is wanted, like param {text} : duration = 10s"
            return hint_end(text, time) or wanted
        case syntax.InfixOperation():
            return f"write {time}, or {time} - 10; constants have + - * alone"
        case _:
            return "only durations, whole numbers and parameters are constants here"


def hint_name(name: syntax.Name, known: Sequence[str]) -> str:
    """Hint at the nearest name, and at quotes where the query has strings."""
    close, text = closest(name.text, known), name.span.source.text
    there = nearest(name.text, known)
    if close is not None or "string" not in text:
        return there
    return "; ".join(filter(None, [there, f'a string is written "{name.text}"']))


def hint_key(object: str, key: str) -> str:
    """Hint how a key can be read like a value."""
    return (
        f"a key is no value by itself; declare `{key}` a field of ~{object} too, and "
        f"write ~{object}[t].{key}"
    )


def hint_comment(span: Span) -> str:
    """Hint at `#` for a word behind another language's comment sign."""
    text = span.source.text
    before = text[text.rfind("\n", 0, span.start) + 1 : span.start].rstrip()
    return "a comment starts with #" if before.endswith(("--", "//")) else ""


def hint_assignment(name: str, value: syntax.Expr | syntax.BlockBody) -> str:
    """Hint what `name = value` outside of definitions may be meant for."""
    match value:
        case syntax.CallExpression(
            callee=syntax.Word(text="rows" | "Row" | "row"),
            arguments=(syntax.Ref() as first, *_),
        ):
            return f"write {name} = Rows(~{first.object})"
        case syntax.CallExpression(callee=syntax.Word(text="calendar")):
            return f"write {name} = TDom(-∞, ∞, {quote(value, 'calendar(1d)')})"
        case _:
            pass
    nodes = list(syntax.walk(value))
    if any(isinstance(node, syntax.Ref) for node in nodes):
        return f"write ~{name}[t] = ..."
    match value:
        case syntax.DurationLiteral():
            return f"write param {name} : duration = {quote(value)}"
        case syntax.Bool():
            return f"write param {name} : bool = {quote(value)}"
        case syntax.Number(value=number):
            kind = "i64" if isinstance(number, int) else "f64"
            return f"write param {name} : {kind} = {quote(value)}"
        case syntax.CallExpression(
            callee=syntax.Word(text="TDom" | "Tdom" | "tdom" | "range")
        ):
            return f"write {name} = TDom(-∞, ∞, 1)"
        case _:
            return f"write {name} = TDom(...), param {name} : ... = ..., or " + (
                f"~{name}[t] = ..."
            )

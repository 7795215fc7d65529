"""Errors of queries that are written in Python, and their hints."""

import re
from collections.abc import Callable

from tiltpy.errors import QueryError, QueryErrors
from tiltpy.frontend.hints.other_languages import (
    FUNCTIONS_ELSEWHERE,
    METHODS_ELSEWHERE,
)
from tiltpy.ops import FUNCTIONS, REDUCTIONS, STRING_FUNCTIONS
from tiltpy.source import Span

_CHAIN = re.compile(r"[^<>=!&|]+(<=?|>=?)[^<>=!&|]+(<=?|>=?)[^<>=!&|]+")
_TYPES = {float: "tilt.f64", int: "tilt.i64", bool: "tilt.bool"}
_Rules = tuple[tuple[str, str], ...]
_HINTS: _Rules = (
    (r"^write ([^?]+) \? ([^?:]+) : φ$", r"write when(\1, \2)"),
    (r"^write ([^?]+) \? ([^?:]+) : ([^?:]+)$", r"write when(\1, \2, \3)"),
    (r" in \((.+)\)$", r".is_in([\1])"),
    (r"distinct ~(\w+)\[\w+\] = \.\.\.", r'define("\1", t, ..., distinct=True)'),
    (r"~(\w+)\[\w+\] = \.\.\.", r'define("\1", t, ...)'),
    (r"like ~(\w+)\[(\w+)\] = ([^,;]+)$", r'like \1 = define("\1", \2, \3)'),
    (
        r"^write ~(\w+)\[\w+\] = ~(\w+)\[(\w+)\] and output ~\w+$",
        r'write compile(define("\1", \3, \2[\3]))',
    ),
    (r"~(?=\w)", ""),
    (r"; -∞ is all the past", "; x[:t] is all the past"),
    (r"\[-∞ : (\w+)\]", r"[:\1]"),
    (r"\[last (\d+) : (\w+)\]", r"[tilt.last_rows(\1) : \2]"),
    (r"\[last : <(\w+)\]", r'["last" : tilt.strict(\1)]'),
    (r"\[(last|nearest)(?: :)? (\w+)\]", r'["\1" : \2]'),
    (r"\[<(\w+) : next\]", r'[tilt.strict(\1) : "next"]'),
    (r"\[(\w+) : next\]", r'[\1 : "next"]'),
    (r"^write last (\d+)$", r"write tilt.last_rows(\1)"),
    (r"\blast (\d+) for rows$", r"tilt.last_rows(\1) for rows"),
    (r"^write row (\w+)$", r"write tilt.row(\1)"),
    (r"\b(\d+) cells?\b", r"tilt.cells(\1)"),
    (r"\b([iuf]\d\d?|bool|duration|time)\((\w+|\.\.\.|φ)\)", r"cast(\2, \1)"),
    (r'(?<![\w"])(\d+(?:ns|us|ms|s|m|h|d))\b', r'"\1"'),
    (r"a < b && b < c", "(a < b) & (b < c)"),
)
"""Ends of windows, definitions and literals of texts, as they read in Python."""

_OPERATORS: _Rules = (
    (r"&& \|\| !", "& | ~"),
    (r"&&", "&"),
    (r"\|\|", "|"),
    (r"`!`", "`~`"),
    (r"`\?`", "`when`"),
    (r"φ", "phi"),
)
"""Operators of texts, as they read in Python."""


def translate_errors(errors: QueryErrors) -> QueryErrors:
    """Translate the errors of a query into the words of its Python."""
    return QueryErrors(
        [
            QueryError(
                e.code,
                _translate(e.message, _OPERATORS),
                e.span,
                translate_hint(e.hint) + _note_precedence(e.message),
            )
            for e in errors.errors
        ]
    )


def _note_precedence(message: str) -> str:
    """Note how tight `&` and `|` bind in Python, for an operand that is no bool."""
    if not re.match(r"`(&&|\|\|)`", message):
        return ""
    return "; & and | bind tighter than comparisons: write (a < b) & (b < c)"


def translate_hint(hint: str) -> str:
    """Translate a hint for a text into the words of Python."""
    return _translate(hint, (*_HINTS, *_OPERATORS))


def _translate(text: str, rules: _Rules) -> str:
    for pattern, instead in rules:
        text = re.sub(pattern, instead, text)
    return text


def no_truth(span: Span) -> QueryError:
    """Make the error that Python asks an expression whether it is true."""
    text = _quote(span)
    called = _find_called(text).replace("sorted", "quantile")
    if not text:
        hint = (
            "write when(c, a, b) for if, & | ~ for and or not, x.is_in([...]) for in, "
            "tilt.max(a, b) for max(a, b)"
        )
    elif called in FUNCTIONS or called in REDUCTIONS:
        hint = f"write tilt.{called}(...)"
    elif re.search(r"\bin [(\[{]", text):
        hint = "write x.is_in([...]) for x in [...]"
    elif re.search(r"\band\b", text):
        hint = "write (a) & (b) for a and b"
    elif re.search(r"\bor\b", text):
        hint = "write (a) | (b) for a or b"
    elif text.startswith("not "):
        hint = "write ~a for not a"
    elif re.search(r"[&|]", text):
        hint = "`&` and `|` bind tighter: write (a < b) & (b < c)"
    elif _CHAIN.fullmatch(text):
        hint = "write (a < b) & (b < c) for a < b < c"
    else:
        hint = "write when(condition, value, otherwise) instead of if"
    message = "an expression has no truth value while the query is written"
    return QueryError("E0201", message, span, hint)


def no_value(what: str, span: Span) -> QueryError:
    """Make the error that Python asks an expression for its values."""
    here = _find_called(_quote(span))
    if what == "text":
        hint = (
            "join strings with tilt.concat(...); in an f-string {...!r} shows the query"
        )
    elif what == "parts":
        hint = 'write x.contains("v") for a part of a string'
    elif what == "length":
        hint = "write tilt.count(...) of a window, tilt.len(...) of a string"
    elif here in ("f64", "i64"):
        hint = f"write tilt.cast(..., tilt.{here})"
    elif here in FUNCTIONS or here in REDUCTIONS:
        hint = f"write tilt.{here}(...)"
    else:
        hint = "functions are tilt's, like tilt.sqrt(...), tilt.sum(...) of a window"
    return QueryError(
        "E0201", f"an expression has no {what} while the query is written", span, hint
    )


def no_method(name: str, span: Span) -> QueryError:
    """Make the error that a field is called."""
    if not name:
        hint = "write x[t] for the value at a time, x[a:b] for a window"
        return QueryError("E0207", "an expression is no function", span, hint)
    elsewhere = METHODS_ELSEWHERE.get(name, FUNCTIONS_ELSEWHERE.get(name, ""))
    here = elsewhere.removeprefix("write ") or name
    if here in REDUCTIONS:
        hint = f"write tilt.{here}(window)"
    elif here in {*FUNCTIONS, *STRING_FUNCTIONS}:
        hint = f"write tilt.{here}(...)"
    elif elsewhere:
        hint = translate_hint(elsewhere)
    else:
        hint = "functions come before what they take, like tilt.mean(window)"
    return QueryError("E0207", f"`.{name}` is a field here, no method", span, hint)


def no_array(function: str, span: Span) -> QueryError:
    """Make the error that a function of numpy is given an expression."""
    here = _find_called(f"{function}(")
    hint = "functions are tilt's, like tilt.sqrt(...), tilt.sum(...) of a window"
    if here in REDUCTIONS and here not in FUNCTIONS:
        hint = f"write tilt.{here}(window)"
    elif here in FUNCTIONS:
        hint = f"write tilt.{here}(...)"
    elif function in METHODS_ELSEWHERE:
        hint = translate_hint(METHODS_ELSEWHERE[function])
    message = f"numpy's {function} takes arrays, and an expression has no values yet"
    return QueryError("E0201", message, span, hint)


def hint_attribute(name: str) -> str:
    """Hint at what tilt calls a function that others call `name`, or nothing."""
    hint = FUNCTIONS_ELSEWHERE.get(name, METHODS_ELSEWHERE.get(name, ""))
    here = hint.removeprefix("write ")
    if here in FUNCTIONS or here in REDUCTIONS:
        return f"write tilt.{here}"
    return translate_hint(hint)


def _find_called(text: str) -> str:
    """Find the function that a text calls, as it is called here."""
    called = re.match(r"(?:\w+\.)*(\w+)\(", text)
    name = "" if called is None else called[1]
    return FUNCTIONS_ELSEWHERE.get(name, "").removeprefix("write ") or name


def no_type(value: object, span: Span) -> QueryError:
    """Make the error that something is not a payload type."""
    name = getattr(value, "__name__", repr(value))
    here = _TYPES.get(value) if isinstance(value, type) else None
    hint = "write a scalar type like tilt.f64, or one per field: {'a': tilt.f64}"
    if here is not None:
        hint = f"write {here}"
    return QueryError("E0202", f"{name} is not a payload type", span, hint)


def no_lifetime(value: object, span: Span) -> QueryError:
    """Make the error that something is no lifetime."""
    hint = 'write point(), duration("10s"), until_next(), sampled("1s") or interval()'
    description = repr(value)
    if isinstance(value, Callable):  # type: ignore[arg-type]
        description = f"the function {getattr(value, '__name__', '')}"
        hint = f"call it, like {getattr(value, '__name__', 'point')}()"
    message = f"expected a lifetime, found {description}"
    return QueryError("E0206", message, span, hint)


def no_columns(value: object, option: str, span: Span) -> QueryError:
    """Make the error that the value of `option` is no name of a column."""
    hint = f'write {option}="symbol", or {option}=("symbol", "venue")'
    return QueryError("E0206", f"expected a column's name, found {value}", span, hint)


def _quote(span: Span) -> str:
    """Quote the caller's text."""
    return span.source.text[span.start : span.end]

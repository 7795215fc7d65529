"""What to say where a text does not parse."""

from collections import deque

from lark import UnexpectedCharacters, UnexpectedToken

from tiltpy.errors import QueryError
from tiltpy.frontend.recovery import Mark, marks, unclosed
from tiltpy.frontend.words import MISSING_FUNCTIONS
from tiltpy.source import Source, Span
from tiltpy.types import NANOSECONDS

_ADVICE = {
    "=": "a comparison is written ==",
    "&": "write && for and",
    "|": "write || for or",
    "and": "write &&",
    "or": "write ||",
    "not": "write !",
    "^": "write pow(a, b)",
    "**": "write pow(a, b)",
    "if": "write condition ? value : φ",
    "else": "write condition ? value : otherwise",
    "'": "strings are double-quoted",
    "is": "write x == φ or x != φ",
}
_NOT_YET = {
    "in": "`in` outside of a reduction is not in this version",
    "by": "keys are not in this version",
    "def": "functions of your own are not in this version",
    "reduction": "reductions of your own are not in this version",
    **MISSING_FUNCTIONS,
}
_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_EXPECTED = {
    "EQUAL": "`=`",
    "COLON": "`:`",
    "LPAR": "`(`",
    "LSQB": "`[`",
    "LBRACE": "`{`",
    "RPAR": "`)`",
    "RSQB": "`]`",
    "RBRACE": "`}`",
    "COMMA": "`,`",
    "IN": "`in`",
    "RETURN": "`return`",
}
"""Terminals that are worth naming, in the order in which they are named."""


def syntax_error(
    source: Source,
    start: int,
    end: int,
    error: UnexpectedToken | UnexpectedCharacters,
) -> QueryError:
    """The error for a stretch of a source that does not parse."""
    if isinstance(error, UnexpectedToken):
        expected = set(error.expected)
        at_end = error.token.type == "$END"
    else:
        expected, at_end = set(error.allowed or ()), False
    found = None
    if not at_end:
        place = start + (error.pos_in_stream or 0)
        found = next(marks(source.text, place, end), None)
    if found is None:
        return _at_end(source, start, end, expected)
    return _at(source, start, found, expected)


def _at_end(source: Source, start: int, end: int, expected: set[str]) -> QueryError:
    opener = unclosed(source.text, start, end)
    if opener is not None:
        text = source.text[opener.start]
        return QueryError(
            "E0002",
            f"this `{text}` is never closed",
            _span(source, opener),
            f"expected `{_CLOSERS[text]}` at the end of the statement",
        )
    last = max(marks(source.text, start, end), key=lambda m: m.end, default=None)
    place = Span(source, start, end) if last is None else _span(source, last)
    return QueryError(
        "E0001",
        "the statement ends too soon",
        place,
        f"expected {_wanted(expected)} after this",
    )


def _at(source: Source, start: int, found: Mark, expected: set[str]) -> QueryError:
    text, span = source.text[found.start : found.end], _span(source, found)
    shown = text if len(text) <= 24 else text[:21] + "..."
    if found.kind == "number":
        return QueryError(
            "E0004",
            f"`{shown}` is no number and no duration",
            span,
            "durations are numbers with ns us ms s m h d, like 1h30m",
        )
    if found.kind == "string" and (len(text) < 2 or not text.endswith('"')):
        return QueryError("E0004", "this string never ends on its line", span)
    if text in _NOT_YET:
        return QueryError("E0003", _NOT_YET[text], span)
    opener = unclosed(source.text, start, found.start)
    if found.kind == "close" and opener is None:
        return QueryError("E0001", f"this `{text}` closes nothing", span)
    if "PLUS" not in expected:
        wanted = _wanted(expected)
    else:  # a whole expression stands before it
        wanted = f"`{_CLOSERS[source.text[opener.start]]}`" if opener else ""
    message = f"unexpected `{shown}`" + (f"; expected {wanted}" if wanted else "")
    if text == "}" and "RETURN" in expected:
        advice = "a block ends in `return ...`; commas separate a struct's fields"
    else:
        advice = _advice(source, start, found, opener)
    return QueryError("E0001", message, span, advice)


def _advice(source: Source, start: int, found: Mark, opener: Mark | None) -> str:
    """What the writer may have meant, by the token and the one before it."""
    text = source.text[found.start : found.end]
    before = deque(marks(source.text, start, found.start), maxlen=1)
    previous = source.text[before[0].start : before[0].end] if before else ""
    after = next(marks(source.text, found.end), None)
    inside = "" if opener is None else source.text[opener.start]
    if text == "," and inside == "[":
        return "a window is written ~x[t - 10 : t]"
    if text == "(" and previous.startswith("~"):
        return f"write {previous}[t], with square brackets"
    follows = "" if after is None else source.text[after.start]
    name = {"[": previous}.get(text, text if follows == "[" else "")
    if name.isidentifier() and name not in _ADVICE:
        return f"a temporal object is written ~{name}[...]"
    if before and before[0].kind == "number" and text in NANOSECONDS:
        return f"a duration is one word: {previous}{text}"
    if text in ("//", "/") and not before:
        return "a comment starts with #"
    return _ADVICE.get(previous + text, "") or _ADVICE.get(text, "")


def _wanted(expected: set[str]) -> str:
    """What could have stood there, in words."""
    if "NUMBER" in expected:
        return "an expression"
    if "POINT" in expected:
        return "a lifetime, `time`, `order` or a statement"
    if "UNIT" in expected:
        return "a statement"
    if "WORD" in expected and "LBRACE" in expected:
        return "a type"
    names = [text for name, text in _EXPECTED.items() if name in expected]
    if "WORD" in expected:
        names.insert(0, "a name")
    elif "BINDING" in expected:
        names.insert(0, "name = value")
    return " or ".join(names[:4]) or "something else"


def _span(source: Source, mark: Mark) -> Span:
    return Span(source, mark.start, mark.end)

"""The error where a text does not parse."""

from itertools import pairwise
from unicodedata import name

from lark import UnexpectedCharacters, UnexpectedToken

from tiltpy.errors import QueryError
from tiltpy.frontend.hints.numbers import hint_number
from tiltpy.frontend.hints.parse_position import ParsePosition
from tiltpy.frontend.hints.syntax import hint_syntax
from tiltpy.frontend.surface.durations import is_duration, is_number
from tiltpy.frontend.surface.names import RESERVED
from tiltpy.frontend.surface.recovery import Lexeme, find_unclosed, lex
from tiltpy.source import Source, Span

CHOOSE = "choose another name"
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
    "CALLEE": "a name and its parameters, like r(v: f64)",
}
"""Terminals that are worth naming, in the order in which they are named."""


def syntax_error(
    source: Source,
    start: int,
    end: int,
    error: UnexpectedToken | UnexpectedCharacters,
) -> QueryError:
    """Make the error for a text between two offsets that does not parse."""
    if isinstance(error, UnexpectedToken):
        expected = set(error.expected)
        at_end = error.token.type == "$END"
    else:
        expected, at_end = set(error.allowed or ()), False
    token = None
    if not at_end:
        offset = start + (error.pos_in_stream or 0)
        token = next(lex(source.text, offset, end), None)
    if token is None:
        return _error_at_end(source, start, end, expected)
    return _error_at(source, start, token, expected)


def _error_at_end(
    source: Source, start: int, end: int, expected: set[str]
) -> QueryError:
    """Make the error that a text ends too soon; `expected` are terminals."""
    opener = find_unclosed(source.text, start, end)
    if opener is not None:
        text = source.text[opener.start]
        return QueryError(
            "E0002",
            f"this `{text}` is never closed",
            _span(source, opener),
            f"expected `{_CLOSERS[text]}` at the end of the statement",
        )
    stray = _find_stray(source, start, end) if "EQUAL" in expected else None
    if stray is not None:
        return _error_at(source, start, stray, {"PLUS"})
    last = max(lex(source.text, start, end), key=lambda m: m.end, default=None)
    last_span = Span(source, start, end) if last is None else _span(source, last)
    before = source.text[last_span.start : last_span.end]
    wanted = _describe_expected(expected)
    if wanted.startswith("`:`"):
        conditional = "?" in source.text[start:end]
        wanted = "`: φ`, or another value," if conditional else "`:` and a type"
    elif before in ("sampled", "duration", "max"):
        wanted = "a duration, like 1s,"
    return QueryError(
        "E0001",
        "the statement ends too soon",
        last_span,
        f"expected {wanted} after this",
    )


def _error_at(
    source: Source, start: int, token: Lexeme, expected: set[str]
) -> QueryError:
    """Make the error at a token of a text from `start` on; `expected` are terminals."""
    stray = _find_stray(source, start, token.end) if "EQUAL" in expected else None
    if stray is not None:
        return _error_at(source, start, stray, {"PLUS"})
    text, span = source.text[token.start : token.end], _span(source, token)
    if token.kind == "number" and not (is_duration(text) or is_number(text)):
        message = f"`{_shorten(text)}` is neither a number nor a duration"
        return QueryError("E0004", message, span, hint_number(text))
    if token.kind == "string" and (len(text) < 2 or not text.endswith('"')):
        message = "this string is not closed on its line"
        return QueryError("E0004", message, span, 'end it with "')
    before = _tokens_before(source, start, token)
    reserved = _reserved_word(source, before, text)
    if reserved is not None:
        return reserved
    opener = find_unclosed(source.text, start, token.start)
    if token.kind == "close" and opener is None:
        message = f"this `{text}` closes nothing"
        return QueryError("E0001", message, span, "leave it out, or open it before")
    ended = "UNIT" in expected and "=" in [source.text[m.start : m.end] for m in before]
    position = ParsePosition(source, token, before, opener, "PLUS" in expected or ended)
    if position.leads:
        wanted = "a statement"
    elif position.words[:-1] == ["input"]:
        wanted = "`by` or `:`"
    elif position.words[-1:] == ["distinct"] and "OBJECT" in expected:
        wanted = "a temporal object"
    elif not position.complete:
        wanted = _describe_expected(expected)
    else:
        wanted = f"`{_CLOSERS[position.inside]}`" if opener else ""
    message = f"unexpected {_describe(text)}" + (
        f"; expected {wanted}" if wanted else ""
    )
    return QueryError("E0001", message, span, hint_syntax(position))


def _reserved_word(
    source: Source, before: tuple[Lexeme, ...], text: str
) -> QueryError | None:
    """Make the error that a word was given a value above, which it cannot have."""
    words = [source.text[token.start : token.end] for token in before]
    for token, (word, sign) in zip(before, pairwise(words), strict=False):
        if word == text and sign == "=" and text in RESERVED:
            message = f"`{text}` is a reserved word"
            return QueryError("E0005", message, _span(source, token), CHOOSE)
    return None


def _tokens_before(source: Source, start: int, token: Lexeme) -> tuple[Lexeme, ...]:
    """List the tokens of the statement before a token."""
    tokens: list[Lexeme] = []
    depth = 0
    for earlier in lex(source.text, start, token.start):
        leads = source.text.rfind("\n", 0, earlier.start) + 1 == earlier.start
        if depth == 0 and leads:
            tokens = []
        depth = max(0, depth + (earlier.kind == "open") - (earlier.kind == "close"))
        tokens.append(earlier)
    leads = source.text.rfind("\n", 0, token.start) + 1 == token.start
    return () if depth == 0 and leads else tuple(tokens)


def _find_stray(source: Source, start: int, end: int) -> Lexeme | None:
    """Find an object after a whole expression, which reads as a definition."""
    stray, depth, last = None, 0, None
    defined = source.text.startswith("output", start)
    for token in lex(source.text, start, end):
        text = source.text[token.start : token.end]
        if depth == 0 and text.startswith("~") and last is not None:
            previous = source.text[last.start : last.end]
            leads = "\n" in source.text[last.end : token.start]
            beside = defined and not leads
            stray = (last if previous.lower() == "not" else token) if beside else None
        defined |= text == "="
        depth += (token.kind == "open") - (token.kind == "close")
        last = token
    return stray


def _describe(text: str) -> str:
    """Describe a token: by its name if it cannot be seen."""
    if text.isprintable() and text.strip():
        return f"`{_shorten(text)}`"
    return f"U+{ord(text[0]):04X} ({name(text[0], 'a control character').lower()})"


def _shorten(text: str) -> str:
    return text if len(text) <= 24 else text[:21] + "..."


def _describe_expected(expected: set[str]) -> str:
    """Describe the expected terminals in words."""
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


def _span(source: Source, token: Lexeme) -> Span:
    return Span(source, token.start, token.end)

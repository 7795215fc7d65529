"""What to say where a text does not parse."""

from itertools import pairwise
from unicodedata import name

from lark import UnexpectedCharacters, UnexpectedToken

from tiltpy.errors import QueryError
from tiltpy.frontend.hints.numbers import advise_number
from tiltpy.frontend.hints.parse_position import Spot
from tiltpy.frontend.hints.syntax import advise
from tiltpy.frontend.surface.durations import is_duration, is_number
from tiltpy.frontend.surface.keywords import RESERVED
from tiltpy.frontend.surface.recovery import Mark, marks, unclosed
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
    stray = _stray(source, start, end) if "EQUAL" in expected else None
    if stray is not None:
        return _at(source, start, stray, {"PLUS"})
    last = max(marks(source.text, start, end), key=lambda m: m.end, default=None)
    place = Span(source, start, end) if last is None else _span(source, last)
    before = source.text[place.start : place.end]
    wanted = _wanted(expected)
    if wanted.startswith("`:`"):
        conditional = "?" in source.text[start:end]
        wanted = "`: φ`, or another value," if conditional else "`:` and a type"
    elif before in ("sampled", "duration", "max"):
        wanted = "a duration, like 1s,"
    return QueryError(
        "E0001", "the statement ends too soon", place, f"expected {wanted} after this"
    )


def _at(source: Source, start: int, found: Mark, expected: set[str]) -> QueryError:
    stray = _stray(source, start, found.end) if "EQUAL" in expected else None
    if stray is not None:
        return _at(source, start, stray, {"PLUS"})
    text, span = source.text[found.start : found.end], _span(source, found)
    if found.kind == "number" and not (is_duration(text) or is_number(text)):
        message = f"`{_shown(text)}` is no number and no duration"
        return QueryError("E0004", message, span, advise_number(text))
    if found.kind == "string" and (len(text) < 2 or not text.endswith('"')):
        message = "this string never ends on its line"
        return QueryError("E0004", message, span, 'end it with "')
    before = _statement(source, start, found)
    reserved = _reserved(source, before, text)
    if reserved is not None:
        return reserved
    opener = unclosed(source.text, start, found.start)
    if found.kind == "close" and opener is None:
        message = f"this `{text}` closes nothing"
        return QueryError("E0001", message, span, "leave it out, or open it before")
    ended = "UNIT" in expected and "=" in [source.text[m.start : m.end] for m in before]
    spot = Spot(source, found, before, opener, "PLUS" in expected or ended)
    if spot.leads:
        wanted = "a statement"
    elif spot.words[:-1] == ["input"]:
        wanted = "`by` or `:`"
    elif not spot.complete:
        wanted = _wanted(expected)
    else:
        wanted = f"`{_CLOSERS[spot.inside]}`" if opener else ""
    message = f"unexpected {_named(text)}" + (f"; expected {wanted}" if wanted else "")
    return QueryError("E0001", message, span, advise(spot))


def _reserved(source: Source, before: tuple[Mark, ...], text: str) -> QueryError | None:
    """The error that a word was given a value above, which it cannot have."""
    words = [source.text[mark.start : mark.end] for mark in before]
    for mark, (word, sign) in zip(before, pairwise(words), strict=False):
        if word == text and sign == "=" and text in RESERVED:
            message = f"`{text}` is a reserved word"
            return QueryError("E0005", message, _span(source, mark), CHOOSE)
    return None


def _statement(source: Source, start: int, found: Mark) -> tuple[Mark, ...]:
    """The tokens before one, from the last that begins a line outside of brackets."""
    kept: list[Mark] = []
    depth = 0
    for mark in marks(source.text, start, found.start):
        leads = source.text.rfind("\n", 0, mark.start) + 1 == mark.start
        if depth == 0 and leads:
            kept = []
        depth = max(0, depth + (mark.kind == "open") - (mark.kind == "close"))
        kept.append(mark)
    leads = source.text.rfind("\n", 0, found.start) + 1 == found.start
    return () if depth == 0 and leads else tuple(kept)


def _stray(source: Source, start: int, end: int) -> Mark | None:
    """The object on a line after a whole expression, which reads as a definition."""
    found, depth, last = None, 0, None
    defined = source.text.startswith("output", start)
    for mark in marks(source.text, start, end):
        text = source.text[mark.start : mark.end]
        if depth == 0 and text.startswith("~") and last is not None:
            previous = source.text[last.start : last.end]
            leads = "\n" in source.text[last.end : mark.start]
            beside = defined and not leads
            found = (last if previous.lower() == "not" else mark) if beside else None
        defined |= text == "="
        depth += (mark.kind == "open") - (mark.kind == "close")
        last = mark
    return found


def _named(text: str) -> str:
    """A token as messages show it; what cannot be seen by its name."""
    if text.isprintable() and text.strip():
        return f"`{_shown(text)}`"
    return f"U+{ord(text[0]):04X} ({name(text[0], 'a control character').lower()})"


def _shown(text: str) -> str:
    return text if len(text) <= 24 else text[:21] + "..."


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

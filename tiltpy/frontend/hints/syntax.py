"""What the writer of a text that does not parse may have meant.

Each rule looks at the token that does not fit and at the few around it, and gives the
way out, or nothing. Most of them know how other languages say the same.
"""

from collections.abc import Callable

from tiltpy.frontend.hints.declarations import advise_declaration
from tiltpy.frontend.hints.keys import advise_keys
from tiltpy.frontend.hints.numbers import advise_length
from tiltpy.frontend.hints.other_languages import (
    FUNCTIONS_ELSEWHERE,
    KEYWORDS_ELSEWHERE,
    METHODS_ELSEWHERE,
    SYMBOLS_ELSEWHERE,
)
from tiltpy.frontend.hints.parse_position import Spot
from tiltpy.ops import FUNCTIONS, REDUCTIONS, STRING_TESTS
from tiltpy.types import NANOSECONDS

_CONDITIONS = {"if", "case", "iif", "iff", "when"}
_CHOICE = "write condition ? value : otherwise"


def advise(spot: Spot) -> str:
    """The way out, or nothing."""
    return next(filter(None, (rule(spot) for rule in _RULES)), "")


# The rules, each by what it looks at


def _invisible(spot: Spot) -> str:
    if not spot.text.strip():
        return "write a plain space"
    return "" if spot.text.isprintable() else "delete it"


def _quote(spot: Spot) -> str:
    return 'strings are written "text"' if spot.text in set("'`“”„‘’«»") else ""


def _comment(spot: Spot) -> str:
    pair = spot.text + spot.next()
    starts = spot.leads or not spot.before
    if "/*" in (pair, spot.previous() + spot.text):
        return "a comment starts with #, on each of its lines"
    return (
        "a comment starts with #" if starts and pair[:2] in ("//", "--", "/*") else ""
    )


def _symbol(spot: Spot) -> str:
    if spot.text == "|" and not spot.complete:
        return "write abs(x)"
    known = (SYMBOLS_ELSEWHERE.get(text, "") for text in spot.joined())
    return next(filter(None, known), "")


def _bracket(spot: Spot) -> str:
    """At a `[` or after one."""
    text, previous = spot.text, spot.previous()
    if text == "[":
        return _indexed(spot)
    if text == ":" and spot.inside == "(":
        return "a window is one of an object: ~x[t - 10 : t]"
    if spot.inside != "[":
        return ""
    if text == ",":
        return "a window is written ~x[t - 10 : t]"
    if text in ("]", ":") and previous in ("[", ":"):
        return "a window is written ~x[t - 10 : t], with both of its ends"
    return "a window is written ~x[t - 10 : t]" if text == ":" else ""


def _indexed(spot: Spot) -> str:
    previous, content = spot.previous(), _content(spot)
    if previous == "in":
        return f"write ({content})"
    if previous == "TDom":
        return f"write TDom({content or '-∞, ∞, 1'})"
    if previous == ")" and content.isdecimal() and "topk" in spot.words:
        return f"write .top{int(content[:9]) + 1}"
    if previous == "]" and content[:1] == '"':
        return f"write .{content.strip(chr(34))}"
    if previous == "]":
        return "a reference has one time, or one window: ~x[t - 10 : t]"
    if spot.previous(2) == "." and spot.previous(3).startswith("~"):
        return f"write {spot.previous(3)}[{content or 't'}].{previous}"
    if previous.isidentifier() and previous.lower() not in KEYWORDS_ELSEWHERE:
        return f"a temporal object is written ~{previous}[{content or 't'}]"
    if "for" in spot.after():
        return "reduce the values, like sum(v for v in ~x[t - 10 : t])"
    return "there are no lists; structs are { a = 1, b = 2 }"


def _content(spot: Spot) -> str:
    """What stands between a bracket and its end on the line."""
    text = spot.source.text
    line = text[spot.found.end : text.find("\n", spot.found.end) % (len(text) + 1)]
    return line.partition("]")[0].strip()[:40] if "]" in line else ""


def _call(spot: Spot) -> str:
    """At a `(` after what cannot be called."""
    if spot.text != "(":
        return ""
    previous = spot.previous()
    if previous.startswith("~"):
        return f"write {previous}[t], with square brackets"
    if spot.previous(2) != ".":
        return ""
    if spot.previous(3).isidentifier() and previous in {*FUNCTIONS, *REDUCTIONS}:
        return f"write {previous}(...)"
    if previous in METHODS_ELSEWHERE:
        return METHODS_ELSEWHERE[previous]
    if previous in STRING_TESTS:
        return f"write {previous}(x, ...)"
    if previous in FUNCTIONS and previous not in REDUCTIONS:
        return f"a function stands before its arguments: {previous}(...)"
    if previous in FUNCTIONS_ELSEWHERE:
        return FUNCTIONS_ELSEWHERE[previous]
    return f"a reduction stands before its window: {previous}(~x[t - 10 : t])"


def _fields(spot: Spot) -> str:
    """Inside of `{ ... }`."""
    text = spot.text
    if spot.inside != "{":
        return ""
    if "for" in spot.words[-4:] and text in (",", "}"):
        return f"write {spot.previous()}: name"
    opened = spot.words[::-1].index("{") if "{" in spot.words else 0
    if text in "+-*/%?<>.&|" and "=" not in spot.words[len(spot.words) - opened :]:
        return "a block ends in `return ...`; one expression needs no { }"
    if text == "}" and spot.previous() == "{":
        return "a struct has a field at least, like { a = 1 }"
    if text == ",":
        return "every field has a name: { a = ..., b = ... }"
    if text == "}":
        return "a block ends in `return ...`; commas separate a struct's fields"
    if spot.found.kind == "word" and spot.next() == ":":
        return f"write {text} = ..."
    if spot.previous() in ("{", ",") and spot.found.kind == "word":
        return "every field has a name: { a = ..., b = ... }"
    if spot.found.kind == "word":
        return "the last line of a block is `return ...`"
    return ""


def _reducer(spot: Spot) -> str:
    """Right inside of `⊕(`."""
    if spot.inside != "(":
        return ""
    if spot.previous(3) in ("⊕", "reduce") and spot.text.startswith("~"):
        return f"write a comma: ⊕({spot.previous()}, {spot.text}[t - 10 : t])"
    if spot.previous(2) not in ("⊕", "reduce"):
        return ""
    if spot.text.startswith("~"):
        return f"say which reduction: ⊕(sum, {spot.text}[t - 10 : t])"
    return "reductions are + * < > and names, like sum"


def _word(spot: Spot) -> str:
    text, previous = spot.text, spot.previous()
    if spot.before and spot.before[-1].kind == "number":
        if text in NANOSECONDS:
            return f"a duration is one word: {previous}{text}"
        if text.isidentifier() and (length := advise_length(previous, text)):
            return length
    if text == "," and previous.isdecimal() and spot.next().isdecimal():
        return f"write {previous}.{spot.next()}, with a point"
    if spot.next() == "[" and text.isidentifier() and (spot.leads or not previous):
        return f"write ~{text}[t] = ..."
    if previous.startswith("~") and text in ("t", "at"):
        return f"write {previous}[t]"
    if text == "*" and previous == "(":
        return "say of what, like count(~x[t - 10 : t])"
    if previous == "lambda":
        return "reductions have names, like ⊕(sum, ~x[t - 10 : t])"
    if text == "~" and spot.next() == "(":
        return "write ! for not"
    if text == "~":
        way = f"write ~{spot.next()}" if spot.next().isidentifier() else ""
        return way or "names begin with a letter"
    if text == "where" and "for" in spot.words:
        return "write if"
    if text == "return" and spot.inside == "{":
        return "the names of a block stand on lines of their own, or end in ;"
    if previous == "in":
        return f"write ({text})" if spot.found.kind == "string" else "write (...)"
    if text in STRING_TESTS:
        return f"write {text}(x, {spot.next()})"
    if text.lower() == "not" and spot.next().lower() == "in":
        return "write !(x in (...))"
    if previous == "with":
        return f"write with {{ {text} = ... }}"
    return KEYWORDS_ELSEWHERE.get(text.lower(), "")


def _beside(spot: Spot) -> str:
    """A token where nothing is known of it."""
    words = spot.words
    if spot.leads and spot.next() == "." and spot.next(2) == "tilt":
        return "a file is read by load(...), a text by parse(...)"
    if spot.found.kind == "close" and spot.inside + spot.text in ("()", "[]", "{}"):
        return "a value is missing before it"
    if spot.found.kind == "close":
        return "brackets close in the order in which they were opened, the last first"
    if spot.leads:
        return "a statement is unit, param, input, output, t = TDom(...), ~y[t] = ..."
    if not spot.complete:
        missing = spot.found.kind == "mark" and spot.text in "+-*/%?<>&|" and words
        return "a value is missing before it" if missing else ""
    if any(word.lower() in _CONDITIONS for word in words):
        return _CHOICE
    if words[-1:] == [")"] and len(words) > 2 and words[-3] == "(":
        return f"write {words[-2]}(...), like a call"
    if spot.found.kind in ("word", "number", "open", "string") and spot.before:
        return "an operator is missing before it"
    if spot.text == ":":
        return "`:` stands in c ? a : b, and in windows ~x[t - 10 : t]"
    return ""


_RULES: tuple[Callable[[Spot], str], ...] = (
    _invisible,
    _quote,
    _comment,
    advise_keys,
    advise_declaration,
    _call,
    _bracket,
    _reducer,
    _symbol,
    _word,
    _fields,
    _beside,
)

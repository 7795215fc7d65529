"""Hints for a text that does not parse.

Each rule looks at the token that does not fit and at the few around it, and gives a
hint, or nothing. Most of them know what other languages write.
"""

import re
from collections.abc import Callable

from tiltpy.frontend.hints.declarations import hint_declaration
from tiltpy.frontend.hints.keys import hint_keys
from tiltpy.frontend.hints.numbers import hint_length
from tiltpy.frontend.hints.other_languages import (
    FUNCTIONS_ELSEWHERE,
    KEYWORDS_ELSEWHERE,
    METHODS_ELSEWHERE,
    SYMBOLS_ELSEWHERE,
)
from tiltpy.frontend.hints.parse_position import ParsePosition
from tiltpy.frontend.hints.timelines import hint_distinct
from tiltpy.ops import FUNCTIONS, REDUCTIONS, STRING_FUNCTIONS, STRING_TESTS
from tiltpy.types import NANOSECONDS

_CONDITIONS = {"if", "case", "iif", "iff", "when"}
_COMPARISONS = {"<", ">", "=", "==", "!=", "<=", ">=", "!", "&&", "||"}
_CHOICE = "write condition ? value : otherwise"


def hint_syntax(position: ParsePosition) -> str:
    """Hint at what may be meant at a position, or nothing."""
    return next(filter(None, (rule(position) for rule in _RULES)), "")


# The rules, each by what it looks at


def _invisible(position: ParsePosition) -> str:
    if not position.text.strip():
        return "write a plain space"
    return "" if position.text.isprintable() else "delete it"


def _quote(position: ParsePosition) -> str:
    return 'strings are written "text"' if position.text in set("'`“”„‘’«»") else ""


def _comment(position: ParsePosition) -> str:
    pair = position.text + position.next()
    starts = position.leads or not position.before
    if "/*" in (pair, position.previous() + position.text):
        return "a comment starts with #, on each of its lines"
    return (
        "a comment starts with #" if starts and pair[:2] in ("//", "--", "/*") else ""
    )


def _symbol(position: ParsePosition) -> str:
    if position.text == "|" and not position.complete:
        return "write abs(x)"
    known = (SYMBOLS_ELSEWHERE.get(text, "") for text in position.adjacent_texts())
    return next(filter(None, known), "")


def _bracket(position: ParsePosition) -> str:
    """Hint at a `[` or after one."""
    text, previous = position.text, position.previous()
    if text == "[":
        return _index(position)
    if text == ":" and position.inside == "(":
        return "a window is one of an object: ~x[t - 10 : t]"
    if position.inside != "[":
        return ""
    if text == "," and position.next() == "within":
        return "leave the comma out, as in ~x[last : t within 10s]"
    if text == ",":
        return "write : between the ends of a window, like ~x[t - 10 : t]"
    if text in ("]", ":") and previous in ("[", ":"):
        return "a window has two ends, like ~x[t - 10 : t]; ~x[-∞ : t] is all the past"
    return "a window is written ~x[t - 10 : t]" if text == ":" else ""


def _open_end(position: ParsePosition) -> str:
    """Hint at what stands behind `since`, `after`, `last` and `within`."""
    text, word, two_before = position.text, position.previous(), position.previous(2)
    if position.inside == "(" and word == "last" and text.isdecimal():
        return f"rows are counted in a window, like mean(~x[last {text} : t])"
    if position.inside != "[":
        outside = text == "within" and word == "]"
        return "write it inside, as in ~x[last : t within 10s]" if outside else ""
    if word in ("until", "till"):
        return "a window ends at a time, like t or t + 10s; `since ~c` begins one"
    if text in ("row", "rows") and two_before == "last":
        return f"`last` counts rows: write last {word}"
    if text in ("row", "rows") and two_before == "-" and word.isdecimal():
        return _hint_rows_before(int(word[:9]))
    if two_before in ("since", "after") and text in _COMPARISONS:
        return f"define an object, like ~c[t] = {word}[t] {text} ..., and write ~c here"
    if word in ("since", "after") and position.text.isidentifier():
        return f"the restarts are an object's: write {word} ~{position.text}"
    if position.text == "[" and two_before in ("since", "after"):
        return _hint_restarts(position, two_before, word)
    return ""


def _hint_restarts(position: ParsePosition, end: str, name: str) -> str:
    """Hint at what `since ~x[` means: the object itself, or a condition of it."""
    rest = position.source.text[position.token.end :].partition("]")[2]
    if rest.lstrip().startswith(":"):
        return f"restarts come at any time: write {end} {name}"
    return f"define the condition, like ~c[t] = {name}[t] > 0: write {end} ~c"


def _hint_rows_before(rows: int) -> str:
    if rows == 1:
        return "write ~x[last : <t] for the row before"
    return f"{rows} rows before is first(~x[last {rows + 1} : t])"


def _cells(position: ParsePosition) -> str:
    """Hint at the cells of an input, the precision of a time domain."""
    text, previous = position.text, position.previous()
    if text == "of" and previous in ("cell", "cells"):
        name = position.next()
    elif previous in ("cell", "cells") and text.startswith("~"):
        name = text
    else:
        return ""
    return f"the cells of an input are a domain: d = TDom(cells of ~{name.lstrip('~')})"


def _index(position: ParsePosition) -> str:
    previous, content = position.previous(), _content(position)
    if previous == "in":
        return f"write ({content})"
    if previous == "TDom":
        return f"write TDom({content or '-∞, ∞, 1'})"
    fields = {"topk": "top", "modes": "mode"}
    called = [word for word in position.words if word in fields]
    if previous == ")" and content.isdecimal() and called:
        return f"write .{fields[called[-1]]}{int(content[:9]) + 1}"
    if previous == ")" and content.isdecimal() and "split" in position.words:
        return f'write the number of the part beside it: split(x, "/", {content})'
    if previous == "]" and content[:1] == '"':
        return f"write .{content.strip(chr(34))}"
    if previous == "]":
        return "a reference has one time, or one window: ~x[t - 10 : t]"
    if position.previous(2) == "." and position.previous(3).startswith("~"):
        return f"write {position.previous(3)}[{content or 't'}].{previous}"
    if previous.isidentifier() and previous.lower() not in KEYWORDS_ELSEWHERE:
        return f"a temporal object is written ~{previous}[{content or 't'}]"
    if "for" in position.after():
        return "reduce the values, like sum(v for v in ~x[t - 10 : t])"
    return "there are no lists; structs are { a = 1, b = 2 }"


def _content(position: ParsePosition) -> str:
    """Find the text between a bracket and its end on the line."""
    text = position.source.text
    line = text[
        position.token.end : text.find("\n", position.token.end) % (len(text) + 1)
    ]
    return line.partition("]")[0].strip()[:40] if "]" in line else ""


def _call(position: ParsePosition) -> str:
    """Hint at a `(` after what cannot be called."""
    if position.text != "(":
        return ""
    previous = position.previous()
    if previous.startswith("~"):
        return f"write {previous}[t], with square brackets"
    if position.previous(2) != ".":
        return ""
    if position.previous(3).isidentifier() and previous in {*FUNCTIONS, *REDUCTIONS}:
        return f"write {previous}(...)"
    if previous in METHODS_ELSEWHERE:
        return METHODS_ELSEWHERE[previous]
    if previous in {*STRING_TESTS, *STRING_FUNCTIONS}:
        return f"write {previous}(x{', ...' * (position.next() != ')')})"
    if previous in FUNCTIONS and previous not in REDUCTIONS:
        return f"a function comes before its arguments: {previous}(...)"
    if previous in FUNCTIONS_ELSEWHERE:
        return FUNCTIONS_ELSEWHERE[previous]
    return f"a reduction comes before its window: {previous}(~x[t - 10 : t])"


def _fields(position: ParsePosition) -> str:
    """Hint inside of `{ ... }`."""
    text = position.text
    if position.inside != "{":
        return ""
    if "for" in position.words[-4:] and text in (",", "}"):
        return f"write {position.previous()}: name"
    words = position.words
    since = words[::-1].index("{") if "{" in words else 0
    if text in "+-*/%?<>.&|" and "=" not in words[len(words) - since :]:
        return "a block ends in `return ...`; one expression needs no { }"
    if text == "}" and position.previous() == "{":
        return "a struct has a field at least, like { a = 1 }"
    if text == ",":
        return "every field has a name: { a = ..., b = ... }"
    if text == "}":
        return "a block ends in `return ...`; commas separate a struct's fields"
    if position.token.kind == "word" and position.next() == ":":
        return f"write {text} = ..."
    if position.previous() in ("{", ",") and position.token.kind == "word":
        return "every field has a name: { a = ..., b = ... }"
    if position.token.kind == "word":
        return "the last line of a block is `return ...`"
    return ""


def _reducer(position: ParsePosition) -> str:
    """Hint right inside of `⊕(`."""
    if position.inside != "(":
        return ""
    if position.previous(3) in ("⊕", "reduce") and position.text.startswith("~"):
        return f"write a comma: ⊕({position.previous()}, {position.text}[t - 10 : t])"
    if position.previous(2) not in ("⊕", "reduce"):
        return ""
    if position.text.startswith("~"):
        return f"say which reduction: ⊕(sum, {position.text}[t - 10 : t])"
    return "reductions are + * < > and names, like sum"


def _word(position: ParsePosition) -> str:
    text, previous = position.text, position.previous()
    if position.before and position.before[-1].kind == "number":
        if text in NANOSECONDS:
            return f"a duration is one word: {previous}{text}"
        if text.isidentifier() and (length := hint_length(previous, text)):
            return length
    if text == "," and previous.isdecimal() and position.next().isdecimal():
        return f"write {previous}.{position.next()}, with a point"
    if (
        position.next() == "["
        and text.isidentifier()
        and (position.leads or not previous)
    ):
        return f"write ~{text}[t] = ..."
    if previous.startswith("~") and text in ("t", "at"):
        return f"write {previous}[t]"
    if text == "*" and previous == "(":
        return "say of what, like count(~x[t - 10 : t])"
    if previous == "lambda":
        return "reductions have names, like ⊕(sum, ~x[t - 10 : t])"
    if text == "~" and position.next() == "(":
        return "write ! for not"
    if text == "~":
        hint = f"write ~{position.next()}" if position.next().isidentifier() else ""
        return hint or "names begin with a letter"
    if text == "where" and "for" in position.words:
        return "write if"
    window = position.words[-1:] == ["]"] and ":" in position.words[-6:]
    if text in ("if", "where") and window and position.inside == "(":
        return "name the values: v for v in ~x[t - 10 : t] if v > 0"
    if text == "return" and position.inside == "{":
        return "the names of a block go on lines of their own, or end in ;"
    if previous == "in":
        return f"write ({text})" if position.token.kind == "string" else "write (...)"
    if text in STRING_TESTS:
        return f"write {text}(x, {position.next()})"
    if text.lower() == "not" and position.next().lower() == "in":
        return "write !(x in (...))"
    if previous == "with":
        return f"write with {{ {text} = ... }}"
    return KEYWORDS_ELSEWHERE.get(text.lower(), "")


def _neighbours(position: ParsePosition) -> str:
    """Hint at a token that no other rule knows, by what stands beside it."""
    words = position.words
    if position.leads and position.next() == "." and position.next(2) == "tilt":
        return "a file is read by load(...), a text by parse(...)"
    if position.token.kind == "close" and position.inside + position.text in (
        "()",
        "[]",
        "{}",
    ):
        return "a value is missing before it"
    if position.token.kind == "close":
        return "brackets close in the order in which they were opened, the last first"
    if position.leads:
        return "a statement is unit, param, input, output, t = TDom(...), ~y[t] = ..."
    if not position.complete:
        missing = (
            position.token.kind == "mark" and position.text in "+-*/%?<>&|" and words
        )
        return "a value is missing before it" if missing else ""
    if any(word.lower() in _CONDITIONS for word in words):
        return _CHOICE
    if words[-1:] == [")"] and len(words) > 2 and words[-3] == "(":
        return f"write {words[-2]}(...), like a call"
    if position.token.kind in ("word", "number", "open", "string") and position.before:
        return _missing_operator(position)
    if position.text == ":":
        return "`:` stands in c ? a : b, and in windows ~x[t - 10 : t]"
    return ""


def _missing_operator(position: ParsePosition) -> str:
    """Hint at a comment or a call, of which neighbours without an operator are part."""
    text, previous, following = position.text, position.previous(), position.next()
    line = position.source.text[: position.token.start].rpartition("\n")[2]
    if re.search(r"(//|--)\s*\w+\s*$", line):
        return "a comment starts with #"
    if text.startswith("~") and previous.isidentifier():  # as kdb has it
        return f"write {previous}({text}), like a call"
    if following.startswith("~") and previous[:1].isdecimal() and text.isidentifier():
        return f"write {text}({following}, {previous}), like a call"
    return "an operator is missing before it"


_RULES: tuple[Callable[[ParsePosition], str], ...] = (
    _invisible,
    _quote,
    _comment,
    hint_keys,
    hint_distinct,
    hint_declaration,
    _call,
    _open_end,
    _cells,
    _bracket,
    _reducer,
    _symbol,
    _word,
    _fields,
    _neighbours,
)

"""Renaming: all uses of a name, or a reason why not.

A new name is tried: the changed text must have no new error, and every name in it must
stand for what it stood for before. So no local name captures another.
"""

import re
from collections.abc import Sequence

from tiltpy.errors import QueryError, TiltError
from tiltpy.frontend.surface.names import RESERVED
from tiltpy.language_server.analysis import Analysis, analyse
from tiltpy.language_server.bindings import OBJECTS, Bindings, Occurrence, Symbol
from tiltpy.language_server.documentation import describe_callee, describe_word
from tiltpy.messages import article
from tiltpy.source import Span
from tiltpy.visible import escape_text

_NAME = re.compile(r"[^\W\d]\w*'*")
_SHORT = 40
"""Characters of a new name that a message quotes."""


class RenameError(TiltError):
    """A name that cannot be changed, or not to this one."""


def find_renamed(analysis: Analysis, offset: int) -> Occurrence:
    """Find the name at a character; raises a `RenameError` if it cannot be changed."""
    if not analysis.reads:
        error = analysis.errors[0]
        line, _ = analysis.source.position(error.span.start)
        raise RenameError(
            f"line {line} does not read: {error.message}; names can be changed when "
            "the whole text reads"
        )
    occurrence = analysis.bindings.at(offset)
    if occurrence is not None:
        return occurrence
    span = analysis.word_at(offset)
    word = "" if span is None else analysis.text_of(span)
    if not word:
        raise RenameError("there is no name here; put the cursor on one")
    if word == "t":
        raise RenameError(
            "`t` is every tick, and nothing declares it; write s = TDom(-∞, ∞, 1) and "
            "~name[s] for another name"
        )
    if describe_callee(word) or describe_word(word):
        raise RenameError(f"`{word}` is a word of the language, which has one name")
    raise RenameError(
        f"`{word}` is no name of an object, a parameter, a time domain, a function or "
        "a local value; fields and columns are named by the data"
    )


def rename(analysis: Analysis, offset: int, name: str) -> list[Span]:
    """List the spans that get a new name; a leading `~` of it does not count.

    Raises a `RenameError` that says in one line why not.
    """
    symbol = find_renamed(analysis, offset).symbol
    name = name.strip().removeprefix("~") if symbol.kind in OBJECTS else name.strip()
    _check_name(symbol, name)
    spans = sorted(
        {(each.span.start, each.span.end) for each in analysis.bindings.of(symbol)}
    )
    text = analysis.source.text
    for start, end in reversed(spans):
        text = text[:start] + name + text[end:]
    changed = analyse(text, analysis.source.name)
    _check_errors(analysis, changed, symbol, name)
    if not _agree(analysis.bindings, changed.bindings, symbol, name):
        raise _clash(analysis, symbol, name)
    return [Span(analysis.source, start, end) for start, end in spans]


def _check_name(symbol: Symbol, name: str) -> None:
    quoted = escape_text(name[:_SHORT]) + ("..." if len(name) > _SHORT else "")
    if not _NAME.fullmatch(name):
        raise RenameError(
            f"`{quoted}` is no name; a name is letters, digits and _, and does not "
            "begin with a digit"
        )
    if symbol.kind not in OBJECTS and name in RESERVED:
        raise RenameError(f"`{quoted}` is a reserved word; choose another name")


def _check_errors(
    analysis: Analysis, changed: Analysis, symbol: Symbol, name: str
) -> None:
    """Check that a new name makes no error that was not there before."""
    before = sorted(error.code for error in analysis.errors)
    after = sorted(error.code for error in changed.errors)
    if before == after:
        return
    error = _new_error(analysis.errors, changed.errors)
    line, _ = changed.source.position(error.span.start)
    raise RenameError(
        f"{symbol.text} cannot be called `{name}`: {error.message} (line {line}); "
        "choose another name"
    )


def _new_error(before: Sequence[QueryError], after: Sequence[QueryError]) -> QueryError:
    messages = {error.message for error in before}
    return next((e for e in after if e.message not in messages), after[0])


def _agree(before: Bindings, after: Bindings, symbol: Symbol, name: str) -> bool:
    """Compare what the names of two texts stand for, place by place."""
    if len(before.occurrences) != len(after.occurrences):
        return False
    pairs: dict[Symbol, Symbol] = {}
    for old, new in zip(before.occurrences, after.occurrences, strict=True):
        wanted = name if old.symbol is symbol else old.symbol.name
        other = pairs.setdefault(old.symbol, new.symbol)
        if other is not new.symbol or wanted != other.name:
            return False
    return len(set(pairs.values())) == len(pairs)


def _clash(analysis: Analysis, symbol: Symbol, name: str) -> RenameError:
    named = (each for each in analysis.bindings.symbols if each.name == name)
    other = next((each for each in named if each is not symbol), None)
    if other is None:
        return RenameError(
            f"`{name}` has a meaning of its own where {symbol.text} stands; choose "
            "another name"
        )
    line, _ = analysis.source.position(other.definition.start)
    return RenameError(
        f"{other.text} is {article(other.kind)} already (line {line}), and one of the "
        "two would hide the other; choose another name"
    )

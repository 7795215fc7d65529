"""Hints for keys that are written in another way, or in another statement.

Keys stand in the declaration of an input, `input trades by symbol : f64`; what is made
of the input has them too, so no other statement says them.
"""

from itertools import takewhile

from tiltpy.frontend.hints.parse_position import ParsePosition
from tiltpy.types import NAMED

_INSTEAD = {
    "by", "key", "keys", "keyed", "group", "grouped", "groupby", "partition",
    "partitioned", "per", "for", "on", "over", "split", "each",
}  # fmt: skip
"""Words of other languages for `by`, or that stand before it there."""
_TIMES = {
    "t", "ts", "time", "timestamp", "date", "second", "minute", "hour", "day", "week",
    "month", "year", "interval", "window", "duration",
}  # fmt: skip
"""Words for groups of rows that people use for windows of time."""
_WINDOWS = "reduce windows of time, like sum(~x[t - 1h : t])"


def hint_keys(position: ParsePosition) -> str:
    """Hint how rows are split by key, or nothing if keys are not meant."""
    statement = position.words[0] if position.before and not position.leads else ""
    if statement == "input" and ":" in position.words:
        return _behind_type(position)
    if statement == "input":
        return _before_type(position)
    if position.text.lower() not in ("by", "group", "partition", "per", "over"):
        return ""
    columns = _columns(position)
    if not columns or columns.rstrip("s").lower() in _TIMES:
        return _WINDOWS if position.complete or columns else ""
    if statement == "output":
        return f"leave it out; the inputs say it: input x by {columns} : ..."
    read = position.words[1:] if statement.startswith("~") else []
    name = next((word[1:] for word in reversed(read) if word.startswith("~")), "x")
    return f"an input has keys, and all that is made of it: input {name} by {columns}"


def _before_type(position: ParsePosition) -> str:
    """Hint at keys between the name of an input and its type."""
    text, words, previous = position.text, position.words, position.previous()
    if words == ["input", "by"]:
        return f"the name comes first: write input x by {text} : ..."
    if text.lower() in _INSTEAD and "by" not in words[2:]:
        return f"write by {_columns(position) or 'symbol'}"
    if "by" not in words[2:]:
        columns = _bracketed_columns(position) if text in "([" else ""
        return f"write by {columns}" if columns else ""
    if previous in ("by", ","):
        return _no_column(position)
    if text == "=" or text in NAMED:
        return "write :" + ("" if text == "=" else f" {text}")
    if text == ".":
        return f"a key is a column of the data: write by {position.next()}"
    if text.lower() == "and" or text in "&+;":
        return "write a comma between them"
    return f"write , {text}" if position.token.kind == "word" else ""


def _no_column(position: ParsePosition) -> str:
    """Hint at what is wrong where the name of a column is expected."""
    text = position.text
    if text in ("(", "[", "{"):
        return f"write by {_bracketed_columns(position) or 'symbol'}, without brackets"
    if text.startswith("~") and len(text) > 1:
        return f"write {text[1:]}, a column of the data"
    if text == ":":
        return "say by which columns, like by symbol, venue"
    if position.token.kind == "number":
        return f'write "{text}", if a column is called so'
    return ""


def _behind_type(position: ParsePosition) -> str:
    """Hint at keys behind the `:` of an input."""
    text, words = position.text, position.words
    name = words[1] if len(words) > 1 else "x"
    if "by" in words[2:4] and text in (":", ",") and not position.inside:
        key = position.next() if text == "," else position.previous()
        typed = text == ":" or position.next(2) == ":"
        keys = words[3:4] if text == ":" else [*words[3:4], key]
        statement = f"input {name} by {', '.join(keys)} : ..."
        return f"a key's type is the data's: write {statement}" if typed else ""
    if text.lower() in ("by", "key", "keys", "keyed", "group", "partition", "per"):
        columns = _columns(position) or "symbol"
        return f"write it before the type: input {name} by {columns}"
    return ""


def _columns(position: ParsePosition) -> str:
    """List the columns that are named after the token on its line."""
    after = [word for word in position.after() if word.lower() not in ("each", "the")]
    lower = [word.lower() for word in after]
    if position.text.lower() != "by" and "by" in lower:
        after = after[lower.index("by") + 1 :]
    elif position.text.lower() in ("group", "partition", "over", "split"):
        return ""
    return ", ".join(_leading_names(after))


def _bracketed_columns(position: ParsePosition) -> str:
    """List the columns that are named after a bracket."""
    return ", ".join(_leading_names(list(position.after())))


def _leading_names(words: list[str]) -> list[str]:
    """List the names before anything else, with or without commas between them."""
    names = takewhile(lambda word: word == "," or _is_name(word), words)
    columns: list[str] = []
    comma = True
    for word in names:
        if word == ",":
            comma = True
        elif comma:
            columns.append(word)
            comma = False
        else:
            break
    return columns


def _is_name(word: str) -> bool:
    return word.isidentifier() or word.startswith('"')

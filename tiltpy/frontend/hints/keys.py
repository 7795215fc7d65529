"""What the writer may have meant who splits rows by key in another way, or elsewhere.

Keys stand in the declaration of an input, `input trades by symbol : f64`; what is made
of the input has them too, so no other statement says them.
"""

from itertools import takewhile

from tiltpy.frontend.hints.parse_position import Spot
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
"""What groups of rows are called where windows of time are meant."""
_WINDOWS = "reduce windows of time, like sum(~x[t - 1h : t])"


def advise_keys(spot: Spot) -> str:
    """The way out, or nothing."""
    statement = spot.words[0] if spot.before and not spot.leads else ""
    if statement == "input" and ":" in spot.words:
        return _behind_type(spot)
    if statement == "input":
        return _before_type(spot)
    if spot.text.lower() not in ("by", "group", "partition", "per", "over"):
        return ""
    columns = _columns(spot)
    if not columns or columns.rstrip("s").lower() in _TIMES:
        return _WINDOWS if spot.complete or columns else ""
    if statement == "output":
        return f"leave it out; the inputs say it: input x by {columns} : ..."
    read = spot.words[1:] if statement.startswith("~") else []
    name = next((word[1:] for word in reversed(read) if word.startswith("~")), "x")
    return f"an input has keys, and all that is made of it: input {name} by {columns}"


def _before_type(spot: Spot) -> str:
    """Between the name of an input and its type."""
    text, words, previous = spot.text, spot.words, spot.previous()
    if words == ["input", "by"]:
        return f"the name stands first: write input x by {text} : ..."
    if text.lower() in _INSTEAD and "by" not in words[2:]:
        return f"write by {_columns(spot) or 'symbol'}"
    if "by" not in words[2:]:
        columns = _enclosed(spot) if text in "([" else ""
        return f"write by {columns}" if columns else ""
    if previous in ("by", ","):
        return _no_column(spot)
    if text == "=" or text in NAMED:
        return "write :" + ("" if text == "=" else f" {text}")
    if text == ".":
        return f"a key is a column of the data: write by {spot.next()}"
    if text.lower() == "and" or text in "&+;":
        return "write a comma between them"
    return f"write , {text}" if spot.found.kind == "word" else ""


def _no_column(spot: Spot) -> str:
    """Where the name of a column is expected."""
    text = spot.text
    if text in ("(", "[", "{"):
        return f"write by {_enclosed(spot) or 'symbol'}, without brackets"
    if text.startswith("~") and len(text) > 1:
        return f"write {text[1:]}, a column of the data"
    if text == ":":
        return "say by which columns, like by symbol, venue"
    if spot.found.kind == "number":
        return f'write "{text}", if a column is called so'
    return ""


def _behind_type(spot: Spot) -> str:
    """Behind the `:` of an input."""
    text, words = spot.text, spot.words
    name = words[1] if len(words) > 1 else "x"
    if "by" in words[2:4] and text in (":", ",") and not spot.inside:
        key = spot.next() if text == "," else spot.previous()
        typed = text == ":" or spot.next(2) == ":"
        keys = words[3:4] if text == ":" else [*words[3:4], key]
        said = f"input {name} by {', '.join(keys)} : ..."
        return f"a key's type is the data's: write {said}" if typed else ""
    if text.lower() in ("by", "key", "keys", "keyed", "group", "partition", "per"):
        return f"write it before the type: input {name} by {_columns(spot) or 'symbol'}"
    return ""


def _columns(spot: Spot) -> str:
    """The columns that are named behind a word, of those on its line."""
    after = [word for word in spot.after() if word.lower() not in ("each", "the")]
    lower = [word.lower() for word in after]
    if spot.text.lower() != "by" and "by" in lower:
        after = after[lower.index("by") + 1 :]
    elif spot.text.lower() in ("group", "partition", "over", "split"):
        return ""
    return ", ".join(_listed(after))


def _enclosed(spot: Spot) -> str:
    """The columns that are named in brackets."""
    return ", ".join(_listed(list(spot.after())))


def _listed(words: list[str]) -> list[str]:
    """The names before anything else, be there commas between them or not."""
    names = takewhile(lambda word: word == "," or _names(word), words)
    found: list[str] = []
    comma = True
    for word in names:
        if word == ",":
            comma = True
        elif comma:
            found.append(word)
            comma = False
        else:
            break
    return found


def _names(word: str) -> bool:
    return word.isidentifier() or word.startswith('"')

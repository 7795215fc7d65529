"""Hints for declarations, and for heads of definitions, that do not parse."""

from tiltpy.frontend.hints.other_languages import LIFETIMES_ELSEWHERE
from tiltpy.frontend.hints.parse_position import ParsePosition
from tiltpy.types import NAMED, NANOSECONDS


def hint_declaration(position: ParsePosition) -> str:
    """Hint at what may be meant before the `=` or the type of a statement."""
    text, words = position.text, position.words
    statement = words[0] if words else ""
    if statement == "param" and text in ("=", ":") and len(position.before) == 2:
        return f"write param {position.previous()} : duration = 10s, or another type"
    if statement == "param" and position.token.kind == "number" and text[0].isdigit():
        return f"write param {position.previous(2)} : duration = {text}"
    if statement == "unit" and text[:1].isdigit():
        unit = text.lstrip("0123456789.")
        return f"write unit {unit}" if unit in NANOSECONDS else ""
    if statement in ("def", "reduction"):
        return _function(position)
    if statement == "input":
        return _input(position)
    if statement == "output":
        return _output(position)
    if not statement.startswith("~"):
        return ""
    if text == "=" and words[-1] == "=" and words.count("=") == 1:
        return "a definition has one ="
    if "=" in words:
        return ""
    if text == ":" and position.next() == "=":
        return "write ="
    if text == ":":
        return "leave the type out; it follows from the expression"
    if text in ("-", ".") and len(position.before) == 1:
        return f"names are letters, digits and _: {statement}_{position.next()}"
    if text == "," and position.inside == "[":
        return f"write {statement}[t] = ..., with one time variable"
    if text == "]" and position.previous() == "[":
        return f"write {statement}[t] = ..."
    return ""


def _input(position: ParsePosition) -> str:
    text = position.text
    if text == "," and position.inside == "":
        return "an input has one type; a struct is written { a: f64, b: i64 }"
    if text == "{" and len(position.before) == 2:
        return f"write input {position.previous()} : {{ ... }}"
    if text in NAMED and len(position.before) == 2:
        return f"write input {position.previous()} : {text}"
    if text == "{" and position.words[2:3] == ["by"] and ":" not in position.words:
        return f"write {' '.join(position.words).replace(' ,', ',')} : {{ ... }}"
    if text == "{":
        return "write the struct's type alone, like input q : { a: f64 }"
    if position.inside == "{" and position.token.kind == "word":
        return f"write {position.previous()}: {text}"
    if text in (")", "start", "begin") and "interval" in position.words:
        return "write interval (start, end), with the names of two columns"
    if position.token.kind == "string" and position.previous() in (
        "duration",
        "sampled",
    ):
        return f"write {text.strip(chr(34))}, without quotes"
    if text[:1].isdigit() and position.previous() == "until_next":
        return f"write until_next max {text}"
    if text == "-" and position.previous() in ("duration", "sampled", "max"):
        return "a lifetime is at least one tick"
    if text == "[":
        return "a payload is a scalar or a struct, like { a: f64, b: f64 }"
    if text.lower() in ("on", "at") and position.next():
        return f"write time {position.next()}"
    return LIFETIMES_ELSEWHERE.get(text.lower(), "")


def _function(position: ParsePosition) -> str:
    text, words = position.text, position.words
    if len(words) == 1:
        return f"write {_HEADS[words[0]].format(text)}"
    if text == "return" and words[-1] == "=":
        return "leave `return` out; it ends a block { ... }"
    if words[0] == "def" and "=" in words[:-1]:
        return ""
    if words[0] == "def" and text in (":", "{", ">", "-"):
        return f"write def {words[1]}(...) = ..."
    if words[0] == "reduction" and text in ("=", ":") and words[-1] == ")":
        return f"write reduction {words[1]}(...) {{ ... }}"
    if words[0] == "reduction" and text == "," and position.inside == "{":
        return "leave it out; the parts go on lines of their own, or end in ;"
    if words[0] == "reduction" and position.next() == "(" and position.inside == "{":
        return f"write {text} = ..., which sees `state` and the element"
    return ""


_HEADS = {"def": "def {}(~v) = ...", "reduction": "reduction {}(v: f64) {{ ... }}"}


def _output(position: ParsePosition) -> str:
    name = "~" + position.previous().removeprefix("~")
    if position.text == "[":
        return f"write output {name}; what goes out is defined before"
    if position.token.kind == "word" and position.before:
        return f"write output {name}, ~{position.text.removeprefix('~')}"
    if position.text == "*":
        return "name them; without `output`, all that no other object uses go out"
    return ""

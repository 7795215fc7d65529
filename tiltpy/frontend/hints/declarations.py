"""What the writer of a declaration, or of a definition's head, may have meant."""

from tiltpy.frontend.hints.other_languages import LIFETIMES_ELSEWHERE
from tiltpy.frontend.hints.parse_position import Spot
from tiltpy.types import NANOSECONDS


def advise_declaration(spot: Spot) -> str:
    """In the head of a definition or a declaration, before its `=` or type."""
    text, words = spot.text, spot.words
    statement = words[0] if words else ""
    if statement == "param" and text in ("=", ":") and len(spot.before) == 2:
        return f"write param {spot.previous()} : duration = 10s, or another type"
    if statement == "param" and spot.found.kind == "number" and text[0].isdigit():
        return f"write param {spot.previous(2)} : duration = {text}"
    if statement == "unit" and text[:1].isdigit():
        unit = text.lstrip("0123456789.")
        return f"write unit {unit}" if unit in NANOSECONDS else ""
    if statement in ("def", "reduction"):
        return _function(spot)
    if statement == "input":
        return _input(spot)
    if statement == "output":
        return _output(spot)
    if not statement.startswith("~"):
        return ""
    if text == "=" and words[-1] == "=" and words.count("=") == 1:
        return "a definition has one ="
    if "=" in words:
        return ""
    if text == ":" and spot.next() == "=":
        return "write ="
    if text == ":":
        return "leave the type out; it follows from the expression"
    if text in ("-", ".") and len(spot.before) == 1:
        return f"names are letters, digits and _: {statement}_{spot.next()}"
    if text == "," and spot.inside == "[":
        return f"write {statement}[t] = ..., with one time variable"
    if text == "]" and spot.previous() == "[":
        return f"write {statement}[t] = ..."
    return ""


def _input(spot: Spot) -> str:
    text = spot.text
    if text == "," and spot.inside == "":
        return "an input has one type; a struct is written { a: f64, b: i64 }"
    if text == "{" and len(spot.before) == 2:
        return f"write input {spot.previous()} : {{ ... }}"
    if text == "{":
        return "write the struct's type alone, like input q : { a: f64 }"
    if spot.inside == "{" and spot.found.kind == "word":
        return f"write {spot.previous()}: {text}"
    if text in (")", "start", "begin") and "interval" in spot.words:
        return "write interval (start, end), with the names of two columns"
    if spot.found.kind == "string" and spot.previous() in ("duration", "sampled"):
        return f"write {text.strip(chr(34))}, without quotes"
    if text == "-" and spot.previous() in ("duration", "sampled", "max"):
        return "a lifetime is at least one tick"
    if text == "[":
        return "a payload is a scalar or a struct, like { a: f64, b: f64 }"
    if text.lower() in ("on", "at") and spot.next():
        return f"write time {spot.next()}"
    return LIFETIMES_ELSEWHERE.get(text.lower(), "")


def _function(spot: Spot) -> str:
    text, words = spot.text, spot.words
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
    if words[0] == "reduction" and text == "," and spot.inside == "{":
        return "leave it out; the parts stand on lines of their own, or end in ;"
    if words[0] == "reduction" and spot.next() == "(" and spot.inside == "{":
        return f"write {text} = ..., which sees `state` and the element"
    return ""


_HEADS = {"def": "def {}(~v) = ...", "reduction": "reduction {}(v: f64) {{ ... }}"}


def _output(spot: Spot) -> str:
    name = "~" + spot.previous().removeprefix("~")
    if spot.text == "[":
        return f"write output {name}; what goes out is defined before"
    if spot.found.kind == "word" and spot.before:
        return f"write output {name}, ~{spot.text.removeprefix('~')}"
    if spot.text == "*":
        return "name them; without `output`, all that no other object uses go out"
    return ""

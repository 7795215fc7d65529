"""Hints in the names of a query: of its objects and its time variables.

Hints show `~x[t - 10 : t]` where nothing is nearer. Here `~x` becomes an object of the
statement that is wrong, else an input of the query, and `t` the statement's own time
variable. Names that the query has itself stay.
"""

import re
from collections.abc import Sequence

from tiltpy.errors import QueryError

_HEAD = re.compile(
    r"^[ \t]*(?:distinct[ \t]+)?~(\w+)[ \t]*\[[ \t]*(\w+)[ \t]*\][ \t]*=", re.MULTILINE
)
_OBJECT = re.compile(r"~(\w+)")
_INPUT = re.compile(r"^[ \t]*input[ \t]+(\w+)", re.MULTILINE)
_TIME = re.compile(r"(?<![\w'`~.\"])t(?![\w'`\"])")
_OWN_X = re.compile(r"~x\b|^[ \t]*input[ \t]+x\b", re.MULTILINE)
_DEFINITION = re.compile(r"\bdef \w+\(")


def use_own_names(error: QueryError) -> None:
    """Rewrite the hint of an error in a text with the names that the text has."""
    text, hint = error.span.source.text, error.hint
    in_python = error.span.source.name.endswith(".py")
    if in_python or not hint or _DEFINITION.search(hint):
        return
    begin = text.rfind("\n", 0, error.span.start) + 1
    end = text.find("\n", error.span.end)
    line = text[begin : end if end >= 0 else len(text)]
    head = _head_of(text, begin, line)
    if head is not None and re.search(rf"^[ \t]*{head[2]}[ \t]*=", text, re.MULTILINE):
        hint = _TIME.sub(head[2], hint)
    if "~x" in hint and not _OWN_X.search(text):
        inputs = _INPUT.findall(text)
        own = _own_object(text, line, head[1] if head else "", inputs)
        if own is not None:
            hint = re.sub(r"Rows\(~x\)", f"Rows(~{inputs[0] if inputs else own})", hint)
            hint = re.sub(r"~x\b", f"~{own}", hint)
    error.hint = hint


def _head_of(text: str, begin: int, line: str) -> re.Match[str] | None:
    """Find the head of the definition that a line is of, which may be indented."""
    if line[:1].isspace():
        *_, head = None, *_HEAD.finditer(text, 0, begin)
        return head
    return _HEAD.match(line)


def _own_object(
    text: str, line: str, defined: str, inputs: Sequence[str]
) -> str | None:
    """Find an object of the statement, but the one that it defines; else an input."""
    known = {*inputs, *(head[1] for head in _HEAD.finditer(text))} - {defined}
    for name in _OBJECT.findall(line):
        if name in known:
            return str(name)
    return inputs[0] if inputs else None

"""The functions that a query can call: its own, and those of `grammar/std.tilt`.

A function of the library is read when a query first calls it, never before: most
queries do without.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from tiltpy.frontend import syntax
from tiltpy.frontend.grammar import parser
from tiltpy.frontend.reader import Reader
from tiltpy.ir.nodes import UserReduction
from tiltpy.source import Source

_HEAD = re.compile(r"^def (\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Functions:
    """What can be called by name, besides what is built in.

    `own` are the query's functions, `reductions` its own reductions; `broken` has the
    names of those that were wrong. The library
    calls itself only: nothing that a query defines changes what its functions mean.
    """

    own: Mapping[str, syntax.Function] = field(default_factory=dict)
    broken: frozenset[str] = frozenset()
    reductions: Mapping[str, UserReduction] = field(default_factory=dict)

    def find(self, name: str) -> syntax.Function | None:
        """The function of that name; a query's own hides the library's."""
        return self.own.get(name) or library_function(name)

    def known(self) -> list[str]:
        """The names of all functions."""
        return [*self.own, *self.reductions, *_places()]


def library_text() -> str:
    """The text of `grammar/std.tilt`."""
    return library_source().text


@cache
def library_source() -> Source:
    """`grammar/std.tilt`, as errors name it."""
    text = (files("tiltpy.grammar") / "std.tilt").read_text(encoding="utf-8")
    return Source("std.tilt", text)


@cache
def library_function(name: str) -> syntax.Function | None:
    """A function of the library, or None."""
    if name not in _places():
        return None
    start, end = _places()[name]
    source = library_source()
    reader = Reader(source, start)
    tree = parser().parse(source.text[start:end], start="start")
    (function,) = reader.transform(tree)
    assert isinstance(function, syntax.Function)
    assert not reader.errors
    return function


def library_functions() -> Iterator[syntax.Function]:
    """All functions of the library, as they stand there."""
    for name in _places():
        function = library_function(name)
        assert function is not None
        yield function


@cache
def _places() -> dict[str, tuple[int, int]]:
    """Where the definition of each function starts and ends."""
    text = library_source().text
    heads = list(_HEAD.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    return {h[1]: (h.start(), end) for h, end in zip(heads, ends, strict=True)}

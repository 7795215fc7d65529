"""The functions that a query can call: its own, and those of `grammar/std.tilt`.

A function of the library is read when a query first calls it, never before: most
queries do without. So are the library's reductions, which only its functions see.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, cast

from tiltpy.frontend.surface import syntax
from tiltpy.frontend.text.grammar import grammar_file, parser
from tiltpy.frontend.text.statement_reader import Reader
from tiltpy.ir.nodes import UserReduction
from tiltpy.source import Source

_HEAD = re.compile(r"^(def|reduction) (\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Functions:
    """What can be called by name, besides what is built in.

    `own` are the query's functions, `reductions` its own reductions; `broken` has the
    names of those that were wrong. `library` are the reductions that functions of the
    library see. The library calls itself only: nothing that a query defines changes
    what its functions mean.
    """

    own: Mapping[str, syntax.Function] = field(default_factory=dict)
    broken: frozenset[str] = frozenset()
    reductions: Mapping[str, UserReduction] = field(default_factory=dict)
    library: Mapping[str, UserReduction] = field(default_factory=dict)

    def find(self, name: str) -> syntax.Function | None:
        """The function of that name; a query's own hides the library's."""
        return self.own.get(name) or library_function(name)

    def known(self) -> list[str]:
        """The names of all functions."""
        return [*self.own, *self.reductions, *_places("def")]


def library_text() -> str:
    """The text of `grammar/std.tilt`."""
    return library_source().text


@cache
def library_source() -> Source:
    """`grammar/std.tilt`, as errors name it."""
    return Source("std.tilt", grammar_file("std.tilt"))


@cache
def library_function(name: str) -> syntax.Function | None:
    """A function of the library, or None."""
    if name not in _places("def"):
        return None
    function = _read(*_places("def")[name])
    assert isinstance(function, syntax.Function)
    return function


@cache
def library_reduction(name: str) -> syntax.OwnReduction:
    """A reduction of the library, of a name that is one's."""
    reduction = _read(*_places("reduction")[name])
    assert isinstance(reduction, syntax.OwnReduction)
    return reduction


def library_functions() -> Iterator[syntax.Function]:
    """All functions of the library, as they stand there."""
    for name in _places("def"):
        function = library_function(name)
        assert function is not None
        yield function


def library_reductions() -> tuple[str, ...]:
    """The names of the library's reductions."""
    return tuple(_places("reduction"))


def _read(start: int, end: int) -> syntax.Statement:
    """The statement that stands there."""
    source = library_source()
    reader = Reader(source, start)
    tree = parser().parse(source.text[start:end], start="start")
    (statement,) = reader.transform(tree)
    assert not reader.errors
    return cast(syntax.Statement, statement)


@cache
def _places(kind: Literal["def", "reduction"]) -> dict[str, tuple[int, int]]:
    """Where the definition of each function or reduction starts and ends."""
    text = library_source().text
    heads = list(_HEAD.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    return {
        head[2]: (head.start(), end)
        for head, end in zip(heads, ends, strict=True)
        if head[1] == kind
    }

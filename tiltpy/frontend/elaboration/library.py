"""The functions that a query can call: its definitions and those of `grammar/std.tilt`.

A function of the library is read when a query first calls it, never before: most
queries do without. So are the library's reductions, which only its functions see.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import cache
from typing import Literal, cast

from tiltpy.frontend.surface import syntax
from tiltpy.frontend.text.grammar import grammar_file, parser
from tiltpy.frontend.text.statement_rules import RULES
from tiltpy.frontend.text.tree_reader import TreeReader
from tiltpy.ir.nodes import UserReduction
from tiltpy.lean_dataclass import dataclass
from tiltpy.source import Source
from tiltpy.types import Type

_HEAD = re.compile(r"^(def|reduction) (\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Functions:
    """Functions that can be called by name, besides the built-in ones.

    `user_defined` are the query's functions, `reductions` its reductions; `poisoned`
    has the names of those that were wrong. `library` are the reductions that only the
    library sees; `picks` makes those that pick an element, by name and type. The
    library calls itself only: nothing that a query defines changes what its functions
    mean.
    """

    user_defined: Mapping[str, syntax.FunctionDefinition] = field(default_factory=dict)
    poisoned: frozenset[str] = frozenset()
    reductions: Mapping[str, UserReduction] = field(default_factory=dict)
    library: Mapping[str, UserReduction] = field(default_factory=dict)
    picks: Callable[[str, Type], UserReduction] | None = None

    def find(self, name: str) -> syntax.FunctionDefinition | None:
        """Find the function of that name; the query's hide the library's."""
        return self.user_defined.get(name) or library_function(name)

    def known_names(self) -> list[str]:
        """List the names of all functions."""
        return [*self.user_defined, *self.reductions, *_heads("def")]


def library_text() -> str:
    """Read the text of `grammar/std.tilt`."""
    return library_source().text


@cache
def library_source() -> Source:
    """Read `grammar/std.tilt`, as errors name it."""
    return Source("std.tilt", grammar_file("std.tilt"))


@cache
def library_function(name: str) -> syntax.FunctionDefinition | None:
    """Find the library's function of that name, or None."""
    if name not in _heads("def"):
        return None
    function = _read(library_source(), *_heads("def")[name])
    assert isinstance(function, syntax.FunctionDefinition)
    return function


@cache
def library_reduction(name: str) -> syntax.ReductionDefinition:
    """Find the library's reduction of that name."""
    reduction = _read(library_source(), *_heads("reduction")[name])
    assert isinstance(reduction, syntax.ReductionDefinition)
    return reduction


def library_functions() -> Iterator[syntax.FunctionDefinition]:
    """Go through the functions of the library, in the order of the text."""
    for name in _heads("def"):
        function = library_function(name)
        assert function is not None
        yield function


def library_reductions() -> tuple[str, ...]:
    """List the names of the library's reductions."""
    return tuple(_heads("reduction"))


def read_reduction_text(text: str) -> syntax.ReductionDefinition:
    """Read a reduction that the frontend wrote."""
    statement = _read(Source("picks", text), 0, len(text))
    assert isinstance(statement, syntax.ReductionDefinition)
    return statement


def _read(source: Source, start: int, end: int) -> syntax.Statement:
    """Parse the statement between two offsets."""
    reader = TreeReader(source, start)
    tree = parser().parse(source.text[start:end], start="start")
    (statement,) = reader.apply(RULES, tree)
    assert not reader.errors
    return cast(syntax.Statement, statement)


@cache
def _heads(kind: Literal["def", "reduction"]) -> dict[str, tuple[int, int]]:
    """Find the start and the end of each definition of a kind, by name."""
    text = library_source().text
    heads = list(_HEAD.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    return {
        head[2]: (head.start(), end)
        for head, end in zip(heads, ends, strict=True)
        if head[1] == kind
    }

"""The names of a text: what each stands for, and every place where it is written.

Names resolve as in the elaboration (`scope.py`, `local_names.py`), but by the syntax
alone, so that they do in a text with errors, too. Fields and columns belong to the data
and are no names here, nor are built-in names and the time `t` that nobody declares.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tiltpy.forks import cached_property
from tiltpy.frontend.surface import syntax
from tiltpy.source import Span

Kind = Literal[
    "input",
    "object",
    "parameter",
    "time domain",
    "run-time bound",
    "function",
    "reduction",
    "object argument",
    "argument",
    "local name",
    "element",
]
OBJECTS = ("input", "object", "object argument")
"""Kinds whose names are written with a `~`."""
Declaration = (
    syntax.Statement
    | syntax.BlockStatement
    | syntax.Parameter
    | syntax.ElementParameter
    | syntax.Comprehension
    | syntax.Name
)


@dataclass(eq=False, frozen=True, slots=True)
class Symbol:
    """A meaning of a name: where it is defined, and in which statement.

    `definition` is the span of the name itself, without `~`. `parameters` are those of
    a function.
    """

    kind: Kind
    name: str
    definition: Span
    node: Declaration
    statement: syntax.Statement
    parameters: Mapping[str, "Symbol"] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The name as it is written."""
        return f"~{self.name}" if self.kind in OBJECTS else self.name


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A place where a name is written: the span of the name, without `~`."""

    span: Span
    symbol: Symbol


@dataclass(frozen=True, slots=True)
class Visible:
    """The names that an expression sees.

    `values` has None for built-in names of a user-defined reduction (`state`); `clock`
    is the time variable and what declares it, which is nothing for the plain `t`.
    """

    objects: Mapping[str, Symbol]
    values: Mapping[str, Symbol | None] = field(default_factory=dict)
    domains: Mapping[str, Symbol] = field(default_factory=dict)
    clock: tuple[str, Symbol | None] = ("", None)

    def value(self, name: str) -> Symbol | None:
        """Find what a name in an expression stands for, if the text defines it."""
        if name in self.values:
            return self.values[name]
        if name == self.clock[0]:
            return self.clock[1]
        return self.domains.get(name)


@dataclass(frozen=True)
class Bindings:
    """All names of a text, in order of their places.

    `visible` is what references and calls see, by the offset where each begins, and
    `parents` are the calls and field accesses, by the offset of their names.
    """

    symbols: tuple[Symbol, ...] = ()
    occurrences: tuple[Occurrence, ...] = ()
    visible: Mapping[int, Visible] = field(default_factory=dict)
    parents: Mapping[int, syntax.CallExpression | syntax.Member] = field(
        default_factory=dict
    )

    @cached_property
    def _starts(self) -> list[int]:
        return [each.span.start for each in self.occurrences]

    def at(self, offset: int) -> Occurrence | None:
        """Find the name at a character, or right before it."""
        index = bisect_right(self._starts, offset)
        for each in self.occurrences[max(0, index - 1) : index + 1]:
            start = each.span.start - (each.symbol.kind in OBJECTS)
            if start <= offset <= each.span.end:
                return each
        return None

    def of(self, symbol: Symbol) -> list[Occurrence]:
        """List the places where a name is written, its definition among them."""
        return [each for each in self.occurrences if each.symbol is symbol]

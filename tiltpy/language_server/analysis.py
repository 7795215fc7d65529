"""Analysis of a text: its statements, its names, its types, what is wrong.

A text is analysed as a whole after every edit. What has an error is left out, and the
rest has types all the same.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tiltpy.errors import QueryError, QueryErrors
from tiltpy.explain.outline import OutputReach, find_reaches
from tiltpy.forks import cached_property
from tiltpy.frontend.elaboration.query import elaborate_partially
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.recovery import Fragment, split_statements
from tiltpy.frontend.surface.size_limits import source_of
from tiltpy.frontend.text.program import read_program
from tiltpy.ir.nodes import Cast, Expr, Let, Query
from tiltpy.ir.reductions import clauses
from tiltpy.ir.traversal import walk
from tiltpy.language_server.bindings import Bindings, Occurrence
from tiltpy.language_server.resolve_names import declared_name, resolve_names
from tiltpy.passes.check_windows import check_windows
from tiltpy.passes.resolve_boundaries import resolve_boundaries
from tiltpy.source import Source, Span

_WORD = re.compile(r"""#[^\n]*|"(?:[^"\\\n]|\\.)*"?|(?P<word>[^\W\d]\w*'*|[⊕∞])""")
"""A comment, a string, or a word."""


@dataclass(frozen=True)
class Analysis:
    """A text and what is known of it; `query` is what is right of it, if anything."""

    source: Source
    program: syntax.Program
    bindings: Bindings
    query: Query | None
    errors: tuple[QueryError, ...]

    @property
    def reads(self) -> bool:
        """Return whether the syntax of the text is right."""
        return self.query is not None and not self.program.errors

    @cached_property
    def fragments(self) -> list[Fragment]:
        """The likely statements of the text."""
        return split_statements(self.source.text)

    def fragment_at(self, offset: int) -> Fragment:
        """Find the likely statement at a character, or the last one before it."""
        before = [each for each in self.fragments if each.start <= offset]
        return before[-1] if before else Fragment(offset, offset)

    def text_of(self, span: Span) -> str:
        """Return the characters of a span."""
        return self.source.text[span.start : span.end]

    def word_at(self, offset: int) -> Span | None:
        """Find the word at a character, or right before it, but not in a comment."""
        for match in _WORD.finditer(self.source.text):
            if match.start() <= offset <= match.end() and match["word"]:
                return Span(self.source, *match.span())
        return None

    def name_at(self, offset: int) -> Occurrence | None:
        """Find the name at a character.

        A statement that does not read may still name what the text declares.
        """
        occurrence = self.bindings.at(offset)
        word = self.word_at(offset)
        if occurrence is not None or word is None or self._is_read(word):
            return occurrence
        before = self.source.text[max(0, word.start - 1) : word.start]
        written = ("~" if before == "~" else "") + self.text_of(word)
        for symbol in self.bindings.symbols if before != "." else ():
            if symbol.text == written and symbol.node is symbol.statement:
                return Occurrence(word, symbol)
        return None

    def _is_read(self, word: Span) -> bool:
        """Tell whether the syntax of the statement around a word is right."""
        around = self.fragment_at(word.start)
        errors = (error.span.start for error in self.program.errors)
        return not any(around.start <= place <= around.end for place in errors)

    @cached_property
    def _types(self) -> Mapping[tuple[int, int], tuple[str, ...]]:
        """The types of expressions, by their offsets: several in a function."""
        types: dict[tuple[int, int], dict[str, None]] = {}
        for body in self._bodies():
            for place, of in self._types_in(body).items():
                types.setdefault(place, {})[of] = None
        return {place: tuple(each) for place, each in types.items()}

    def type_at(self, span: Span) -> str:
        """Find the type of the expression or name of a span, or an empty text."""
        return " or ".join(self._types.get((span.start, span.end), ()))

    def _bodies(self) -> list[Expr]:
        if self.query is None:
            return []
        reductions = self.query.reductions
        bodies = [body for each in reductions for _, body in clauses(each)]
        return [*(each.body for each in self.query.definitions), *bodies]

    def _types_in(self, body: Expr) -> dict[tuple[int, int], str]:
        """Find the type of each expression of a body, as it is before it is widened."""
        types: dict[tuple[int, int], str] = {}
        for node in walk(body):
            is_widened = isinstance(node, Cast) and node.span == node.operand.span
            if node.span.source is self.source and not is_widened:
                value = node.value if isinstance(node, Let) else node
                types.setdefault((node.span.start, node.span.end), str(value.type))
        return types

    @cached_property
    def reaches(self) -> tuple[OutputReach, ...]:
        """The lookback and lookahead of each object in each input."""
        if self.query is None:
            return ()
        names = tuple(each.name for each in self.query.definitions)
        try:
            return tuple(
                find_reaches(resolve_boundaries(replace(self.query, outputs=names)))
            )
        except QueryError:
            return ()


def analyse(text: str, name: str) -> Analysis:
    """Analyse a text, whatever is wrong with it; `name` is what errors call it."""
    try:
        source = source_of(name, text)
    except QueryErrors as error:
        source = Source(name, text)
        nothing = syntax.Program((), Span(source, 0, 0))
        return Analysis(source, nothing, Bindings(), None, error.errors)
    program = read_program(source)
    draft = elaborate_partially(program)
    errors = draft.errors
    if draft.query is None:
        return Analysis(source, program, Bindings(), None, errors)
    if not errors:
        errors = _check_reaches(draft.query)
    bindings = resolve_names((*program.statements, *_unreadable_statements(program)))
    return Analysis(source, program, bindings, draft.query, errors)


def _unreadable_statements(program: syntax.Program) -> Iterator[syntax.Statement]:
    """Make empty statements of those that do not read, so that their names resolve."""
    source = program.span.source
    read = {declared_name(each) for each in program.statements}
    for fragment in split_statements(source.text) if program.poisoned else ():
        if fragment.name in read or fragment.name not in program.poisoned:
            continue
        bare = fragment.name.removesuffix("()").removeprefix("~")
        start = source.text.index(bare, fragment.start)
        name = syntax.Word(bare, Span(source, start, start + len(bare)))
        nowhere, nothing = syntax.Word("", name.span), syntax.PhiLiteral(name.span)
        if fragment.keyword == "input":
            yield syntax.InputStatement(name, syntax.TypeName(nowhere), None, None, ())
        elif fragment.keyword == "param":
            yield syntax.Param(name, nowhere, nothing)
        elif fragment.name.endswith("()"):
            yield syntax.FunctionDefinition(name, (), nothing)
        elif fragment.name.startswith("~"):
            yield syntax.ObjectDefinition(name, nowhere, nothing)
        else:
            yield syntax.TimeDomain(name, (), name.span)


def _check_reaches(query: Query) -> tuple[QueryError, ...]:
    """Check that a query looks no further than times do."""
    try:
        resolve_boundaries(query)
        check_windows(query)
    except QueryError as error:
        return (error,)
    return ()

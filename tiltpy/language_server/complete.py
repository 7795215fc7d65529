"""Completion: the names that are visible at the cursor, and words.

The text around the cursor seldom reads. A name is put at the cursor, brackets are
closed behind it, and what that name would see is what is proposed; if the statement
does not read even so, the names that it had in the last text that did are.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.recovery import Fragment, lex, split_statements
from tiltpy.frontend.text.program import read_fragment
from tiltpy.ir.reductions import CLAUSES
from tiltpy.language_server.analysis import Analysis
from tiltpy.language_server.bindings import OBJECTS, Symbol, Visible
from tiltpy.language_server.documentation import (
    SPELLINGS,
    Documentation,
    callees,
    comment_above,
    describe_callee,
    describe_word,
    format_signature,
)
from tiltpy.language_server.fields import find_fields
from tiltpy.language_server.resolve_names import declared_name, resolve_names
from tiltpy.lean_dataclass import dataclass
from tiltpy.lifetimes import LIFETIMES
from tiltpy.source import Source
from tiltpy.types import NAMED, NANOSECONDS, Type

ProposalKind = Literal["object", "field", "variable", "function", "keyword", "type"]
STATEMENTS = ("unit", "param", "input", "output", "def", "reduction", "distinct")
EXPRESSION_WORDS = (
    "φ", "∞", "true", "false", "nan", "return", "for", "if", "in", "with", "last",
    "next", "nearest", "since", "after", "within", "row", "left", "cells",
)  # fmt: skip
INPUT_WORDS = (*LIFETIMES, "time", "order", "by", "max")
_CURSOR = "cursor_"
_WORD_BEFORE = re.compile(r"~?(?:[^\W\d]\w*'*)?\Z")
_OUTPUT_LIST = re.compile(r"output[ \t]+(?:~?\w+'*[ \t]*,[ \t]*)*\Z")
_HEAD = re.compile(r"(distinct[ \t]+)?~\w+'*\[\Z")
_UNFINISHED = re.compile(r"[-=+*/%?:,&|<>!]\s*\Z")


@dataclass(frozen=True, slots=True)
class Proposal:
    """A word that may stand at the cursor, its form or type, and what it does."""

    label: str
    kind: ProposalKind
    detail: str = ""
    documentation: Documentation | None = None
    word: str = ""
    """The text that a user types for it, where that is not the label."""


@dataclass(frozen=True, slots=True)
class Completion:
    """Proposals for what stands between two offsets of the text."""

    start: int
    end: int
    proposals: tuple[Proposal, ...] = ()


def complete(analysis: Analysis, previous: Analysis | None, offset: int) -> Completion:
    """Propose what may stand at a character; `previous` is the last text that read."""
    text = analysis.source.text
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    match = _WORD_BEFORE.search(line)
    start = offset - (0 if match is None else len(match[0]))
    if _is_hidden(line):
        return Completion(start, offset)
    before = line[: len(line) - (offset - start)]
    cursor = _Cursor(analysis, previous, start, offset, before)
    proposals: dict[str, Proposal] = {}
    for each in cursor.propose():
        proposals.setdefault(each.label, each)
    return Completion(start, offset, tuple(proposals.values()))


def _is_hidden(line: str) -> bool:
    """Tell whether a line ends in a comment or a string."""
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", line)
    return '"' in outside or "#" in outside


@dataclass(frozen=True, slots=True)
class _Cursor:
    """A place in a text: a word that begins at `start`, and the line before it."""

    analysis: Analysis
    previous: Analysis | None
    start: int
    end: int
    before: str

    def propose(self) -> Iterator[Proposal]:
        before, fragment = self.before.lstrip(), self._fragment()
        has_tilde = self.analysis.source.text[self.start : self.start + 1] == "~"
        if before.endswith("."):
            yield from self._fields()
        elif has_tilde:
            yield from self._objects(self._visible())
        elif before == "unit ":
            yield from (Proposal(unit, "type") for unit in NANOSECONDS)
        elif _OUTPUT_LIST.match(before):
            yield from self._objects(self._visible(), kinds=("object",))
        elif re.match(r"(input|param|reduction)\b", before) and self._after_colon():
            yield from _types()
        elif fragment.keyword == "input" and self._in_statement(fragment):
            yield from map(_propose_word, INPUT_WORDS)
        elif _HEAD.match(before):
            yield Proposal("t", "variable", "the time")
            for name in self._visible_before().domains:
                yield Proposal(name, "variable", "time domain")
        elif not before and self._begins_statement(fragment):
            yield from map(_propose_word, STATEMENTS)
        else:
            yield from self._expression(fragment)

    # -- where the cursor is ------------------------------------------------------

    def _fragment(self) -> Fragment:
        return self.analysis.fragment_at(max(0, self.start - 1))

    def _after_colon(self) -> bool:
        return re.search(r":[ \t]*\Z", self.before) is not None

    def _in_statement(self, fragment: Fragment) -> bool:
        """Tell whether the cursor is on a line of a statement, or in its brackets."""
        return "\n" not in self.analysis.source.text[fragment.start : self.start] or (
            not self._is_outside(fragment)
        )

    def _begins_statement(self, fragment: Fragment) -> bool:
        """Tell whether a new line is behind the statement above it."""
        above = self.analysis.source.text[: self.start]
        return self._is_outside(fragment) and not _UNFINISHED.search(above)

    def _is_outside(self, fragment: Fragment) -> bool:
        """Tell whether no bracket of a statement is open at the cursor."""
        return not _open_brackets(self.analysis.source.text, fragment.start, self.start)

    # -- what is visible there ----------------------------------------------------

    def _visible(self) -> Visible:
        """Find the names that a word at the cursor would see."""
        is_object = self.analysis.source.text[self.start : self.start + 1] == "~"
        for program, position in self._try_word("~" * is_object + _CURSOR):
            seen = resolve_names(program.statements).visible.get(position)
            if seen is not None:
                return seen
        return self._visible_before()

    def _visible_before(self) -> Visible:
        """Collect the names of the statement in the last text that read."""
        objects: dict[str, Symbol] = {}
        values: dict[str, Symbol | None] = {}
        domains: dict[str, Symbol] = {}
        symbols = [
            each
            for each in self.analysis.bindings.symbols
            if each.node is each.statement or each.kind == "run-time bound"
        ]
        name = self._fragment().name
        before = self.previous.bindings.symbols if self.previous else ()
        symbols += [each for each in before if declared_name(each.statement) == name]
        for each in symbols:
            if each.kind in OBJECTS:
                objects[each.name] = each
            elif each.kind == "time domain":
                domains[each.name] = each
            elif each.kind not in ("function", "reduction", "run-time bound"):
                values[each.name] = each
        return Visible(objects, values, domains)

    def _try_word(self, word: str) -> Iterator[tuple[syntax.Program, int]]:
        """Yield programs in which a word stands at the cursor, and where it does.

        The first leaves the rest of the text as it is; the others close the brackets
        that are open, and end the statement there.
        """
        text, start = self.analysis.source.text, self.start
        fragment = self._fragment()
        closing = _close_brackets(text, fragment.start, start)
        rest = closing + text[max(fragment.end, self.end) :]
        for lead, behind in (
            ("", text[self.end :]),
            ("", rest),
            ("", f" return 0{rest}"),
            ("return ", rest),
        ):
            changed = text[:start] + lead + word + behind
            source = Source(self.analysis.source.name, changed)
            before = [each for each in split_statements(changed) if each.start <= start]
            statements = read_fragment(source, before[-1]) if before else ()
            if statements:
                renewed = {declared_name(each) for each in statements}
                program = self.analysis.program
                others = (
                    each
                    for each in program.statements
                    if declared_name(each) not in renewed
                )
                yield (
                    replace(program, statements=(*others, *statements)),
                    start + len(lead),
                )

    # -- proposals ----------------------------------------------------------------

    def _objects(
        self, visible: Visible, kinds: tuple[str, ...] = OBJECTS
    ) -> Iterator[Proposal]:
        types, defined = self._types(), self._fragment().name
        for name, symbol in visible.objects.items():
            is_itself = symbol.node is symbol.statement and f"~{name}" == defined
            if symbol.kind in kinds and not is_itself:
                of = types.get(name)
                yield Proposal(f"~{name}", "object", "" if of is None else str(of))

    def _types(self) -> dict[str, Type]:
        """Collect the types of objects, now or in the last text that read."""
        types: dict[str, Type] = {}
        for each in (self.previous, self.analysis):
            if each is not None and each.query is not None:
                types |= {i.name: i.type for i in each.query.inputs}
                types |= {d.name: d.type for d in each.query.definitions}
        return types

    def _fields(self) -> Iterator[Proposal]:
        for program, position in self._try_word(_CURSOR):
            bindings = resolve_names(program.statements)
            parent = bindings.parents.get(position)
            if isinstance(parent, syntax.Member):
                places = (node.span.start for node in syntax.walk(parent.operand))
                seen = (bindings.visible[p] for p in places if p in bindings.visible)
                visible = next(seen, Visible({}))
                fields = find_fields(parent.operand, visible, self._types())
                for name, of in fields.items():
                    yield Proposal(name, "field", "" if of is None else str(of))
                return

    def _expression(self, fragment: Fragment) -> Iterator[Proposal]:
        visible = self._visible()
        if fragment.keyword == "reduction":
            yield from (Proposal(f"{clause} = ", "keyword") for clause in CLAUSES)
        if visible.clock[0]:
            yield Proposal(visible.clock[0], "variable", "the time")
        for name, symbol in visible.values.items():
            kind = "of the reduction" if symbol is None else symbol.kind
            yield Proposal(name, "variable", kind)
        for name in visible.domains:
            yield Proposal(name, "variable", "time domain")
        yield from self._objects(visible)
        for symbol in self.analysis.bindings.symbols:
            if symbol.kind in ("function", "reduction"):
                node = symbol.node
                assert isinstance(
                    node, syntax.FunctionDefinition | syntax.ReductionDefinition
                )
                form = f"reduction {symbol.name}"
                if isinstance(node, syntax.FunctionDefinition):
                    form = format_signature(node)
                comment = comment_above(node.name.span.source, node.name.span.start)
                known = Documentation(form, comment)
                yield Proposal(symbol.name, "function", form, known)
        for name in callees():
            built_in = describe_callee(name)
            form = "" if built_in is None else built_in.form
            yield Proposal(name, "function", form, built_in)
        yield from map(_propose_word, EXPRESSION_WORDS)


def _propose_word(word: str) -> Proposal:
    ascii_words = [name for name, sign in SPELLINGS.items() if sign == word]
    known = describe_word(word)
    form = "" if known is None else known.form
    return Proposal(word, "keyword", form, known, *ascii_words[:1])


def _types() -> Iterator[Proposal]:
    for name in NAMED:
        yield Proposal(name, "type", "", describe_word(name))


def _open_brackets(text: str, start: int, end: int) -> list[str]:
    """List the brackets that are open at a character of a statement."""
    stack: list[str] = []
    for lexeme in lex(text, start, end):
        if lexeme.kind == "open":
            stack.append(text[lexeme.start])
        elif lexeme.kind == "close" and stack:
            stack.pop()
    return stack


def _close_brackets(text: str, start: int, end: int) -> str:
    pairs = {"(": ")", "[": "]", "{": "}"}
    return "".join(pairs[each] for each in reversed(_open_brackets(text, start, end)))

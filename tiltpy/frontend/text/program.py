"""Text -> statements: one parse when all is well, else statement by statement.

Where the text does not parse, it is split at what looks like the start of a statement,
and each fragment is parsed by itself, so that one run reports all errors.
"""

from typing import Any

from lark import UnexpectedCharacters, UnexpectedToken

from tiltpy.errors import QueryError
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.recovery import Fragment, split_statements
from tiltpy.frontend.text.grammar import parser
from tiltpy.frontend.text.statement_rules import RULES
from tiltpy.frontend.text.syntax_errors import syntax_error
from tiltpy.frontend.text.tree_reader import TreeReader
from tiltpy.limits import MAX_ERRORS
from tiltpy.source import Source, Span


def read_program(source: Source) -> syntax.Program:
    """Read the statements of a text, and what is wrong with its syntax."""
    reader = _ProgramReader(source)
    whole_text = Fragment(0, len(source.text))
    error = reader.read(whole_text)
    if error is not None:
        for fragment in split_statements(source.text):
            reader.read_alone(fragment)
            if len(reader.errors) >= MAX_ERRORS:
                break
        if not reader.errors:
            reader.errors.append(error)
    return syntax.Program(
        tuple(reader.statements),
        Span(source, 0, min(len(source.text), 1)),
        tuple(reader.errors),
        frozenset(reader.poisoned),
    )


def read_fragment(source: Source, fragment: Fragment) -> tuple[syntax.Statement, ...]:
    """Read the statements of a part of a text; none where it does not parse."""
    reader = _ProgramReader(source)
    reader.read_alone(fragment)
    return tuple(reader.statements)


def read_expression(source: Source) -> syntax.Expr:
    """Read a text that is one expression."""
    expr: syntax.Expr = _read_rule(source, "expr")
    return expr


def read_lifetime(source: Source) -> syntax.Lifetime:
    """Read a text that is one lifetime, as in the declaration of an input."""
    lifetime: syntax.Lifetime
    _, _, lifetime = _read_rule(source, "lifetime")
    return lifetime


def _read_rule(source: Source, rule: str) -> Any:
    """Read a text that is one rule of the grammar, or raise its first error."""
    try:
        tree = parser().parse(source.text, start=rule)
    except (UnexpectedToken, UnexpectedCharacters) as error:
        raise syntax_error(source, 0, len(source.text), error) from None
    reader = TreeReader(source)
    node = reader.apply(RULES, tree)
    if reader.errors:
        raise reader.errors[0]
    return node


class _ProgramReader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.statements: list[syntax.Statement] = []
        self.errors: list[QueryError] = []
        self.poisoned: set[str] = set()

    def read(self, fragment: Fragment) -> QueryError | None:
        """Read the statements of a fragment, or return why it does not parse."""
        start, end = fragment.start, fragment.end
        try:
            tree = parser().parse(self.source.text[start:end], start="start")
        except (UnexpectedToken, UnexpectedCharacters) as error:
            return syntax_error(self.source, start, end, error)
        reader = TreeReader(self.source, start)
        self.statements += reader.apply(RULES, tree)
        self.errors += reader.errors
        self.poisoned |= reader.poisoned
        return None

    def read_alone(self, fragment: Fragment) -> None:
        """Read a fragment by itself; if it does not parse, poison its name."""
        error = self.read(fragment)
        if error is None:
            return
        self.errors.append(error)
        self.poisoned |= {fragment.name} - {""}

"""Text -> statements: one parse when all is well, else statement by statement.

Where the text does not parse, it is cut at what looks like the start of a statement and
each piece is parsed by itself, so that one run reports all errors.
"""

from typing import Any

from lark import UnexpectedCharacters, UnexpectedToken

from tiltpy.errors import QueryError
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.program import Program
from tiltpy.frontend.surface.recovery import Piece, pieces
from tiltpy.frontend.text.grammar import parser
from tiltpy.frontend.text.statement_reader import Reader
from tiltpy.frontend.text.syntax_errors import syntax_error
from tiltpy.limits import MAX_ERRORS
from tiltpy.source import Source, Span


def read_program(source: Source) -> Program:
    """The statements of a text, and what was wrong with its syntax."""
    program = _Reading(source)
    whole = Piece(0, len(source.text))
    error = program.read(whole)
    if error is not None:
        for piece in pieces(source.text):
            program.read_alone(piece)
            if len(program.errors) >= MAX_ERRORS:
                break
        if not program.errors:
            program.errors.append(error)
    return Program(
        tuple(program.statements),
        Span(source, 0, min(len(source.text), 1)),
        tuple(program.errors),
        frozenset(program.broken),
    )


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
    reader = Reader(source)
    node = reader.transform(tree)
    if reader.errors:
        raise reader.errors[0]
    return node


class _Reading:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.statements: list[syntax.Statement] = []
        self.errors: list[QueryError] = []
        self.broken: set[str] = set()

    def read(self, piece: Piece) -> QueryError | None:
        """Read a stretch of statements, or say why it does not parse."""
        text = self.source.text[piece.start : piece.end]
        try:
            tree = parser().parse(text, start="start")
        except (UnexpectedToken, UnexpectedCharacters) as error:
            return syntax_error(self.source, piece.start, piece.end, error)
        reader = Reader(self.source, piece.start)
        self.statements += reader.transform(tree)
        self.errors += reader.errors
        self.broken |= reader.broken
        return None

    def read_alone(self, piece: Piece) -> None:
        """Read what looks like a statement."""
        error = self.read(piece)
        if error is None:
            return
        self.errors.append(error)
        self.broken |= {piece.name} - {""}

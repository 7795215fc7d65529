"""A query as it was written, whole: what the parser and the builder hand over."""

from dataclasses import dataclass, field

from tiltpy.errors import QueryError
from tiltpy.frontend.surface import syntax
from tiltpy.source import Span


@dataclass(frozen=True, slots=True)
class Program:
    """A query as it was written, and what was wrong with its syntax.

    `broken` holds the names (objects with `~`) of statements that were left out; `span`
    is where to say that something is missing.
    """

    statements: tuple[syntax.Statement, ...]
    span: Span
    errors: tuple[QueryError, ...] = ()
    broken: frozenset[str] = field(default_factory=frozenset)

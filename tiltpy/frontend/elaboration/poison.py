"""Errors of a query, collected; and poison, which stands for one already reported."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeVar

from tiltpy.errors import QueryError, QueryErrors, each_error
from tiltpy.frontend.hints.own_names import use_own_names
from tiltpy.frontend.surface import syntax
from tiltpy.limits import MAX_ERRORS
from tiltpy.source import Span

_Value = TypeVar("_Value")


class Poison(Exception):  # noqa: N818 - it never reaches a user
    """Something was wrong here, and has been reported."""


class FatalPoison(Poison):
    """An expression too deep or too large: the rest of its body is not elaborated."""


@dataclass(slots=True)
class ErrorLog:
    """The errors of a whole query.

    `poisoned` has the names whose definitions were wrong: objects as `~x`, functions
    and reductions as `f()`, parameters and time domains as they are.
    """

    errors: list[QueryError]
    poisoned: set[str] = field(default_factory=set)

    def attempt(self, name: str, make: Callable[[], _Value]) -> _Value | None:
        """Call `make`; if it raises an error, log it and poison the name."""
        try:
            return make()
        except QueryError as error:
            self.errors.append(error)
        except Poison:
            pass
        self.poisoned |= {name} - {""}
        return None

    def require_distinct(self, words: Sequence[tuple[str, syntax.Word]]) -> None:
        """Log an error for every name that is defined a second time."""
        first: dict[str, Span] = {}
        for name, word in words:
            if name in first:
                line, _ = first[name].source.position(first[name].start)
                self.errors.append(
                    QueryError(
                        "E0104",
                        f"a second {name if name[0] == '~' else f'`{name}`'}",
                        word.span,
                        f"the first is on line {line}; give it another name",
                    )
                )
                if name.startswith("~"):
                    self.poisoned.add(name)
            first.setdefault(name, word.span)

    def poisoned_callees(self) -> frozenset[str]:
        """List the functions and reductions whose definitions were wrong."""
        return frozenset(name[:-2] for name in self.poisoned if name.endswith("()"))

    def poison(self, names: Iterable[str]) -> None:
        """Report nothing that depends on these names."""
        self.poisoned.update(names)

    def raise_errors(self) -> None:
        """Raise a QueryErrors if there are errors."""
        if self.errors:
            raise QueryErrors(self.ordered_errors())

    def ordered_errors(self) -> list[QueryError]:
        """List each error once, in order of the text."""
        errors = chain.from_iterable(map(each_error, self.errors))
        in_order = sorted(errors, key=lambda e: (e.span.start, e.span.end))
        distinct = {(e.code, e.message, e.span): e for e in reversed(in_order)}
        for error in distinct.values():
            use_own_names(error)
        return list(reversed(distinct.values()))[:MAX_ERRORS]

"""Lifetimes: how the rows of an input become events.

A lifetime answers what the package asks of it, so that no caller has to know which it
is: how far an event reaches beside its stamp (`before`, `after`), how long it can last
(`longest`), whether the next row ends it (`needs_next_row`), which columns hold its
times (`columns`), and its text in the language (`format`). A new one is a class in this
module and a word in `grammar/tilt.lark`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, get_args

from tiltpy.lean_dataclass import dataclass


class LifetimeAnswers(ABC):
    """The questions that the package asks of every lifetime.

    The fields of a lifetime are its arguments in the language, in order. The answers
    below are those of a row that is valid from the tick of its stamp on.
    """

    __slots__ = ()

    keyword: ClassVar[str]
    """The word that it begins with in the language."""
    clause: ClassVar[str] = ""
    """The text behind the keyword where there are arguments, with `{}` for each."""
    letters: ClassVar[tuple[str, ...]] = ()
    """The names in messages of the arguments that cannot be left out."""
    needs_next_row: ClassVar[bool] = False
    """Whether an event ends where the next row of its key says."""
    is_point: ClassVar[bool] = False
    """Whether the declaration says that every event lasts one tick: kernels that are
    compiled for it read no ends."""

    @property
    @abstractmethod
    def arguments(self) -> tuple[int | str, ...]:
        """Lengths in ticks or names of columns, in the order of the language."""

    @property
    def before(self) -> int:
        """The ticks between the start of an event and its stamp."""
        return 1

    @property
    def after(self) -> int:
        """The ticks between the stamp of an event and its end, but for other rows."""
        return 0

    @property
    def longest(self) -> int | None:
        """The most ticks that an event lasts, or None where there is no limit."""
        return None

    @property
    def columns(self) -> tuple[str, str] | None:
        """The columns of starts and ends, or None where one column has stamps."""
        return None

    def format(
        self, ticks: Callable[[int], str], column: Callable[[str], str] = str
    ) -> str:
        """Write it as in the language.

        `ticks` writes a length of time, `column` the name of a column.
        """
        texts = (
            column(argument) if isinstance(argument, str) else ticks(argument)
            for argument in self.arguments
        )
        return self.keyword + (self.clause.format(*texts) if self.arguments else "")


@dataclass(frozen=True, slots=True)
class Point(LifetimeAnswers):
    """A row stamped `τ` is valid over `(τ-1, τ]`."""

    keyword = "point"
    is_point = True
    arguments = ()
    longest = 1


@dataclass(frozen=True, slots=True)
class FixedDuration(LifetimeAnswers):
    """A row stamped `τ` is valid over `(τ-1, τ-1+ticks]`."""

    ticks: int

    keyword, clause, letters = "duration", " {}", ("d",)

    @property
    def arguments(self) -> tuple[int]:
        return (self.ticks,)

    @property
    def after(self) -> int:
        return self.ticks - 1

    @property
    def longest(self) -> int:
        return self.ticks


@dataclass(frozen=True, slots=True)
class UntilNext(LifetimeAnswers):
    """A row is valid until the next strictly greater stamp, at most `max` ticks."""

    max: int | None = None

    keyword, clause = "until_next", " max {}"
    needs_next_row = True

    @property
    def arguments(self) -> tuple[int, ...]:
        return () if self.max is None else (self.max,)

    @property
    def longest(self) -> int | None:
        return self.max


@dataclass(frozen=True, slots=True)
class Sampled(LifetimeAnswers):
    """A signal of period `period` ticks: a row stamped `τ` holds over `(τ-p, τ]`."""

    period: int

    keyword, clause, letters = "sampled", " {}", ("p",)

    @property
    def arguments(self) -> tuple[int]:
        return (self.period,)

    @property
    def before(self) -> int:
        return self.period

    @property
    def longest(self) -> int:
        return self.period


@dataclass(frozen=True, slots=True)
class Interval(LifetimeAnswers):
    """Two columns hold each event's start and end."""

    start: str = "start"
    end: str = "end"

    keyword, clause, letters = "interval", " ({}, {})", ("start", "end")

    @property
    def arguments(self) -> tuple[str, str]:
        return self.start, self.end

    @property
    def before(self) -> int:
        return 0

    @property
    def columns(self) -> tuple[str, str]:
        return self.start, self.end


Lifetime = Point | FixedDuration | UntilNext | Sampled | Interval
"""The validity of an input's rows."""

LIFETIMES: dict[str, type[Lifetime]] = {L.keyword: L for L in get_args(Lifetime)}
"""The lifetimes by keyword, in the order in which messages list them."""


def make_lifetime(keyword: str, *arguments: int | str) -> Lifetime:
    """Make the lifetime of a keyword; its arguments are ticks or columns' names."""
    make: Callable[..., Lifetime] = LIFETIMES[keyword]
    return make(*arguments)


def list_forms() -> str:
    """List the lifetimes as a query writes them: `point, duration d, ...`."""
    return ", ".join(
        kind.keyword + (kind.clause.format(*kind.letters) if kind.letters else "")
        for kind in LIFETIMES.values()
    )


def list_calls() -> str:
    """List the lifetimes as Python makes them: `point(), duration(d), ...`."""
    *most, last = (f"{n}({', '.join(kind.letters)})" for n, kind in LIFETIMES.items())
    return f"{', '.join(most)} or {last}"

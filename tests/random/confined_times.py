"""Random queries that use the time as a number where a condition holds, and there only.

Each condition needs a row near by, through other objects, too: the time itself, what
holds without rows, and older constructs stand beside it.
"""

import re
from dataclasses import dataclass, replace
from random import Random

from tests.random.queries import Case
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event
from tiltpy.ir.nodes import Query

CLUSTERS = 3
STEP = 42_000
"""The ticks between clusters of rows: a multiple of all precisions and of 1,000."""
HEAD = (
    "input x : i64\ninput y : f64\nevery = TDom(-∞, ∞, 1)\n"
    "coarse = TDom(-∞, ∞, 3, offset=1)\n"
)


@dataclass(frozen=True, slots=True)
class ConfinedWriter:
    """Writes the text of a query by means of a source of random numbers."""

    random: Random

    def query(self) -> Query:
        """A query of a condition, an object that uses the time, and two readers."""
        bodies = (
            ("p", self.near(0)),
            ("b", self.times()),
            ("o", self.reader()),
            ("r", self.reader()),
        )
        lines = [self.definition(name, body) for name, body in bodies]
        return parse("\n".join((HEAD, *lines, "output ~o, ~r")))

    def definition(self, name: str, body: str) -> str:
        """A definition over a domain, for which `T` stands in its body."""
        domain = self.random.choice(("every", "every", "coarse"))
        over_domain = re.sub(r"\bT\b", domain, body)
        return f"~{name}[{domain}] = {over_domain}"

    def near(self, depth: int = 2) -> str:
        """A condition that is true only near rows."""
        k = self.random.randint(-2, 3)
        leaves = [
            f"~x[T] > {k}",
            "exists(~y[T-1])",
            f"sum(~x[T-5 : T]) > {k}",
            "count(~y[T-4 : T+2]) == 1",
            f"~x[T] > {k} && ~x[T] != ~x[T-2]",
        ]
        if depth < 2:
            return f"({self.random.choice(leaves)})"
        leaves += ["~p[T]", "~p[T-2]", "exists(~x[T]) && ~p[T]"]
        first, second = (self.random.choice(leaves) for _ in range(2))
        return self.random.choice(
            (
                f"({first})",
                f"({first} && {self.anywhere()})",
                f"({self.anywhere()} && ({first}))",
                f"(({first}) || ({second}))",
                f"(({self.anywhere()}) ? ({first}) : ({second}))",
            )
        )

    def anywhere(self) -> str:
        """A condition that may be true without rows."""
        return self.random.choice(
            (
                "!exists(~x[last : <T within 9])",
                "count(~y[T-20 : T]) < 3",
                "!~p[T]",
                "T % 3 == 0",
                "~y[T] == φ",
            )
        )

    def times(self) -> str:
        """A number made of the time where a condition holds."""
        time = "T % 1000"
        return self.random.choice(
            (
                f"{self.near()} ? {time} : φ",
                f"{self.near()} ? ({self.anywhere()} ? {time} : 7) : φ",
                f"{self.near()} ? {time} : {self.near()} ? ~x[T-1] : φ",
                f"{self.near()} ? {time} + ~x[T] : φ",
            )
        )

    def reader(self) -> str:
        """A definition's body that reads the times."""
        return self.random.choice(
            (
                "~b[T]",
                "sum(~b[T-5 : T])",
                "last(~b[-∞ : T])",
                "~b[last : T]",
                "~b[last : <T] - ~b[T]",
                "max(~b[-∞ : T])",
                "count(~b[since ~p : T])",
                "~b[T-1] + count(~x[T-3 : T])",
                "exists(~x[T]) ? sum(~b[last 3 : T]) : φ",
            )
        )


def random_confined_case(seed: int) -> Case:
    """A random query, and events for it in clusters."""
    random = Random(f"confined {seed}")  # noqa: S311 - tests, not secrets
    query = ConfinedWriter(random).query()
    xs, ys, time = list[Event](), list[Event](), 0
    for _ in range(CLUSTERS):
        time += random.choice((1, 2, 5, 11))
        for _ in range(random.randint(0, 6)):
            xs.append(Event(time, time + 1, random.randint(-2, 4)))
            ys.append(Event(time + 2, time + random.choice((3, 4, 9)), 0.5))
            time += random.choice((1, 2, 3, 8))
    return Case(query, {"x": xs, "y": ys}, None, None)


def spread(case: Case, seed: int, step: int) -> Case:
    """Move the events of a case into clusters, `step` ticks apart."""
    random = Random(f"spread {seed}")  # noqa: S311 - tests, not secrets
    every = sorted(start for events in case.events.values() for start, *_ in events)
    cuts = sorted(random.sample(every, min(len(every), CLUSTERS)))

    def moved(event: Event) -> Event:
        by = step * sum(event.start >= cut for cut in cuts)
        return Event(event.start + by, event.end + by, event.value)

    events = {name: list(map(moved, each)) for name, each in case.events.items()}
    return replace(case, events=events)

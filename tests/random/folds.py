"""Random queries of folds that go on from row to row, beside older constructs.

Each state has one to three fields: recursions over numbers, those that start afresh at
a row, automata, counters, and what depends on the rows in some other way.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.random.queries import Case, random_domain
from tests.random.streams import StreamMaker
from tiltpy.frontend.parse import parse
from tiltpy.types import BOOL, F64, I64

GRIDS: tuple[str, ...] = ("every", "every", "coarse", "late")
FACTORS = ("0.0", "0.25", "0.5", "-0.5", "0.9", "0.999", "1.0", "-1.0")
OBJECTS = (("x", F64), ("y", I64), ("b", BOOL))


@dataclass(frozen=True, slots=True)
class FoldWriter:
    """Writes the text of a query by means of a source of random numbers."""

    random: Random

    def query(self) -> str:
        """A query with one to three outputs, each of one fold or two.

        Those of some are all over rows, and begin anew at rows or on a grid.
        """
        count = self.random.randint(1, 3)
        folds = "\n".join(f"{self.reduction(f'fold{i}')}" for i in range(3))
        outputs = [f"~o{number}" for number in range(count)]
        domains, over, cut = GRIDS, "every", self.condition("~x[every]", "~y[every]")
        if self.random.random() < 0.2:
            over = self.random.choice(("rows", "coarse"))
            domains, cut = ("rows",), self.condition(f"~x[{over}]")
        lines = [self.definition(name, domains) for name in outputs]
        return "\n".join(
            (
                "input x : f64\ninput y : i64\ninput b : bool",
                folds,
                "every = TDom(-∞, ∞, 1)",
                f"coarse = TDom(-∞, ∞, {self.random.choice((2, 3, 7))}, offset=1)",
                "late = TDom(6, ∞, 1)",
                "rows = Rows(~x)",
                f"~cut[{over}] = {cut}",
                *lines,
                f"output {', '.join(outputs)}",
            )
        )

    def definition(self, name: str, domains: Sequence[str]) -> str:
        domain = self.random.choice(domains)
        body = re.sub(r"\bt\b", domain, self.body())
        return f"{name}[{domain}] = {body}"

    def body(self) -> str:
        """An expression over `t`, which stands for the domain of its definition."""
        return self.random.choice(
            (
                self.fold,
                lambda: f"~x[t] != φ ? {self.fold()} : φ",
                lambda: f"~x[t] != φ ? {self.fold()} + f64(~y[t-2]) : φ",
                lambda: f"~x[t+3] + {self.fold()}",
                lambda: f"{self.fold()} - sum(~x[t-5 : t])",
                lambda: f"{{ a = {self.fold()}, c = {self.fold()} }}",
                lambda: f"{{ a = {self.fold()}, n = count(~y[-∞ : t]) }}",
                lambda: f"~b[t] ? {self.fold()} : f64(t)",
            )
        )()

    def fold(self) -> str:
        name = f"fold{self.random.randrange(3)}"
        left = self.random.choice(("-∞", "-∞", "-∞", "since ~cut", "after ~cut"))
        end = self.random.choice(("t", "t", "t", "t-2", "t+3"))
        window = f"~x[{left} : {end}]"
        if self.random.random() < 0.3:
            return f"{name}(2.0 * v for v in {window} if v < 6)"
        return f"{name}({window})"

    def condition(self, x: str, y: str = "0") -> str:
        return self.random.choice((f"{x} > 3", f"{x} < {y}", f"{x} == 0", f"{x} > 99"))

    def reduction(self, name: str) -> str:
        """A reduction without `merge`, its fields by their numbers."""
        count = self.random.randint(1, 3)
        fields = [self.field(number, count) for number in range(count)]
        starts = ", ".join(f"s{i} = {start}" for i, (start, _) in enumerate(fields))
        following = [f"s{i} = {after}" for i, (_, after) in enumerate(fields)]
        result = self.random.choice([f"state.s{i}" for i in range(count)])
        return (
            f"reduction {name}(v: f64) {{ init = {{ {starts} }}"
            f" acc = {{ {', '.join(following)} }} result = f64({result}) }}"
        )

    def field(self, number: int, count: int) -> tuple[str, str]:
        """The first value of a field, and what it becomes."""
        state, choice = f"state.s{number}", self.random.choice
        other = f"f64(state.s{self.random.randrange(count)})"
        step = f"{choice(FACTORS)} * {state} + {choice(FACTORS)} * v"
        condition = self.condition("v", other)
        return choice(
            (
                ("0.0", step),
                ("0.0", f"{step} + {choice(FACTORS)} * {other}"),
                ("0.0", f"{condition} ? v : {step}"),
                ("f64(φ)", f"{state} == φ ? v : {step}"),
                ("0.0", f"max({state}, v)"),
                ("0.0", f"0.25 * v * {state} + v"),
                ("false", f"v > 2 ? true : v < -2 ? false : {state}"),
                ("0", f"{condition} ? 0 : {state} + 1"),
                ("0", f"({state} + 1) % {choice((2, 5))}"),
                ("0", f"v > 0 ? min({state} + 1, 3) : 0"),
                ("0.0", "v"),
            )
        )


def random_fold_case(seed: int) -> Case:
    """A random query of folds, and events for it."""
    random = Random(f"folds {seed}")  # noqa: S311 - tests, not secrets
    maker = StreamMaker(random, exact=True, specials=random.random() < 0.1)
    query = parse(FoldWriter(random).query())
    events = {name: maker.events(kind)[0] for name, kind in OBJECTS}
    return Case(query, events, *random_domain(random, maker))

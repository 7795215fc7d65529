"""Random queries over rows: objects with one row for each row of an input.

Half of the definitions stand over the rows of an input or of a row object before them;
the others over grids, and see row objects as they see inputs.
"""

from dataclasses import replace
from random import Random
from typing import Literal

from tests.random.expressions import Graded, Row, Source
from tests.random.grades import Grade
from tests.random.queries import (
    Case,
    QueryWriter,
    input_grade,
    random_domain,
    random_payload,
    random_tdom,
)
from tests.random.streams import StreamMaker
from tiltpy.ir.nodes import At, EventBound, Input, Query, TemporalExpr, Time
from tiltpy.types import I64, TDom, columns


class RowQueryWriter(QueryWriter):
    """Writes definitions over rows and over grids.

    `roots` are the inputs whose rows inputs and row objects have, `over` is that of the
    definition at hand, or "".
    """

    def __init__(self, random: Random, *, exact: bool) -> None:
        super().__init__(random, exact=exact)
        self.roots: dict[str, str] = {}
        self.over = ""

    def own_rows(self) -> list[Source]:
        """The objects that have the row at which a definition stands."""
        return [s for s in self.sources if self.roots.get(s.name) == self.over]

    def reference(self) -> Row:
        own = self.own_rows() if self.over else []
        if not own or self.chance(0.4):
            return super().reference()
        source = self.random.choice(own)
        return At(source.name, 0, source.type, row=True), source.grades

    def clock(self) -> Graded:
        if self.chance(0.4):
            return Time(0, I64), Grade(magnitude=12)
        which: Literal["start", "end"] = self.random.choice(("start", "end"))
        source = self.random.choice([s for s in self.sources if s.name in self.roots])
        row = bool(self.over) and source in self.own_rows() and self.chance(0.7)
        offset = 0 if row else self.offset(source)
        bound = EventBound(which, source.name, offset, I64, row)
        return bound, Grade(magnitude=12)

    def random_rows(self) -> TDom:
        """The rows of an input or of a row object."""
        name = self.random.choice(list(self.roots))
        nulls = name == self.roots[name] and self.chance(0.3)
        return TDom(rows=name, nulls=nulls)

    def define(self, name: str, tdom: TDom) -> TemporalExpr:
        self.over = "" if tdom.rows is None else self.roots[tdom.rows]
        definition = super().define(name, tdom)
        if self.over:
            self.roots[name] = self.over
            root = next(s for s in self.sources if s.name == self.over)
            self.sources[-1] = replace(self.sources[-1], is_disjoint=root.is_disjoint)
        return definition


def random_row_case(seed: int, *, exact: bool, specials: bool = False) -> Case:
    """A query over rows and its streams; the same for the same seed."""
    random = Random(f"rows {seed}")  # noqa: S311 - tests, not secrets
    maker = StreamMaker(random, exact=exact, specials=specials)
    writer = RowQueryWriter(random, exact=exact)
    inputs, events = [], {}
    for name in "mnk"[: random.choice((1, 2, 2, 3))]:
        payload = random_payload(random)
        events[name], disjoint = maker.events(payload)
        inputs.append(Input(name, payload))
        writer.roots[name] = name
        grades = {
            column: input_grade(scalar, exact=exact, specials=specials)
            for column, scalar in columns(payload)
        }
        writer.sources.append(Source(name, payload, grades, True, disjoint))
    bounds: dict[str, int] = {}
    definitions = []
    for number in range(random.choice((1, 1, 2, 3, 3, 4, 5))):
        rows = number == 0 or random.random() < 0.6
        tdom = writer.random_rows() if rows else random_tdom(random, maker, bounds)
        definitions.append(writer.define(f"o{number}", tdom))
    names = [definition.name for definition in definitions]
    outputs = [n for n in names[:-1] if random.random() < 0.5] + names[-1:]
    query = Query(
        None,
        tuple(inputs),
        tuple(definitions),
        tuple(outputs),
        reductions=tuple(writer.own.values()),
    )
    return Case(query, events, *random_domain(random, maker), bounds)

"""Seeded random queries: well typed, small, biased toward the edges of the semantics.

`random_case(seed, exact=...)` draws a query and streams for it. With `exact`, floats
are small multiples of 1/8 and every value is the same to the bit however a reduction
associates, but for the reductions and functions that `compare.is_rough` names. To keep
both kinds of comparison sound each expression carries a grade (`random_grades`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from hypothesis import strategies

from tests.random.expressions import COMMON, STRUCTS, ExpressionWriter, Row, Source
from tests.random.grades import (
    Grade,
    Level,
    reduced_grade,
    settle,
)
from tests.random.streams import StreamMaker
from tiltpy.interpreter.evaluate import Event
from tiltpy.ir.nodes import (
    Binary,
    Const,
    Element,
    Exists,
    Expr,
    If,
    Input,
    Let,
    MakeStruct,
    Phi,
    Query,
    Reduce,
    TemporalExpr,
    Window,
)
from tiltpy.ir.traversal import drop_unused, source_cuts
from tiltpy.ir.verify.types import reduction_type
from tiltpy.types import (
    BOOL,
    F64,
    I64,
    SCALARS,
    STRING,
    Bound,
    Scalar,
    Struct,
    TDom,
    Type,
    columns,
)


@dataclass(frozen=True, slots=True)
class Case:
    """A query, the events of each input, and the arguments of a run."""

    query: Query
    events: dict[str, list[Event]]
    start: int | None
    end: int | None
    bounds: dict[str, int] = field(default_factory=dict)


Templates = tuple[tuple[int, Callable[[], Row]], ...]
PRECISIONS = (1, 1, 1, 1, 1, 1, 2, 3, 4, 5, 7, 10)


class QueryWriter(ExpressionWriter):
    """Writes the definitions of one query, each over the objects before it."""

    # Definitions

    def templates(self) -> Templates:
        """Return what a definition may be, each with its weight."""
        return (
            (5, self.scalar_body),
            (2, self.where_body),
            (2, self.join_body),
            (2, self.fill_body),
            (2, self.shift_body),
            (4, self.window_body),
            (1, self.trend_body),
            (2, self.struct_body),
            (2, self.order_body),
        )

    def define(self, name: str, tdom: TDom) -> TemporalExpr:
        """A definition; later ones may refer to it."""
        self.locals, self.bindings = [], []
        templates = self.templates()
        weights = [weight for weight, _ in templates]
        (_, template), *_ = self.random.choices(templates, weights)
        body, grades = template()
        for local, value in reversed(self.bindings):
            body = Let(local, value, body)
        body = drop_unused(body)  # as the language does
        made = Source(name, body.type, grades, period=tdom.precision)
        self.sources.append(made)
        return TemporalExpr(name, tdom, body, source_cuts(body))

    def scalar_body(self) -> Row:
        return self.row(self.number(self.scalar_type(), self.random.randint(1, 3)))

    def where_body(self) -> Row:
        row, grades = self.reference()
        return If(self.condition(1), row, Phi(row.type)), grades

    def join_body(self) -> Row:
        scalar = self.scalar_type()
        left, right = self.near_column(scalar), self.near_column(scalar)
        both = Binary("&&", Exists(left[0], BOOL), Exists(right[0], BOOL), BOOL)
        joined, grade = self.combine(scalar, left, right)
        return self.row((If(both, joined, Phi(scalar)), grade))

    def fill_body(self) -> Row:
        """Not strict in what it reads: `~w[t] != φ ? ~w[t] : 0`."""
        value, grade = self.column(self.reference())
        assert isinstance(value.type, Scalar)
        other, other_grade = self.number(value.type, 1)
        filled = If(Exists(value, BOOL), value, other)
        return self.row((filled, grade.join(other_grade)))

    def shift_body(self) -> Row:
        return self.reference()

    def window_body(self) -> Row:
        return self.row(self.reduction(firm=False))

    def trend_body(self) -> Row:
        """The paper's running example: where one average is above the other."""
        slow, fast = self.reduction(firm=True), self.reduction(firm=True)
        slow, fast = self.coerce(slow, F64), self.coerce(fast, F64)
        gap = self.bind(Binary("-", fast[0], slow[0], F64))
        above = Binary(">", gap, Const(0.0, F64), BOOL)
        grade = self.added(F64, slow[1], fast[1])
        return self.row((If(above, gap, Phi(F64)), grade))

    def order_body(self) -> Row:
        """Some of the greatest or most frequent values, or quantiles of one window."""
        source = self.windowed()
        window = Window(source.name, *self.window(source))
        value, grade = self.column((Element(source.type), source.grades))
        assert isinstance(value.type, Scalar)
        if grade.level is Level.ROUGH or value.type.is_temporal:
            return self.window_body()
        count = self.random.choice((1, 2, 3, 20))
        name = self.random.choice(("topk", "modes"))
        top = reduction_type(name, value.type, count)
        if isinstance(top, Struct) and (value.type == STRING or self.chance(0.5)):
            made: Expr = Reduce(name, window, value, top, parameter=count)
            counts = reduced_grade("count", I64, grade, 1)
            return made, {
                field: counts if field.startswith("count") else grade
                for field, _ in top.fields
            }
        shares = self.random.sample((0.0, 0.25, 0.5, 0.75, 1.0), 3)
        found = tuple(
            Reduce("quantile", window, value, F64, parameter=share) for share in shares
        )
        shape = Struct((("low", F64), ("middle", F64), ("high", F64)))
        grade = reduced_grade("quantile", F64, grade, 1)
        return MakeStruct(found, shape), dict.fromkeys(dict(shape.fields), grade)

    def struct_body(self) -> Row:
        shape = self.random.choice(STRUCTS)
        fields = [
            self.number(scalar, self.random.randint(0, 2))
            for _, scalar in columns(shape)
        ]
        made: Expr = MakeStruct(tuple(value for value, _ in fields), shape)
        if self.chance(0.6):
            made = If(self.condition(1), made, Phi(shape))
        names = (name for name, _ in shape.fields)
        return made, dict(zip(names, (grade for _, grade in fields), strict=True))


# Cases


def random_case(
    seed: int,
    *,
    exact: bool,
    specials: bool = False,
    writes: type[QueryWriter] = QueryWriter,
    draws: type[StreamMaker] = StreamMaker,
    payloads: Callable[[Random], Type] | None = None,
) -> Case:
    """A query and its streams; the same for the same seed.

    `writes` is what writes the definitions, `draws` what draws the events, `payloads`
    the types of the inputs. `specials` mixes NaN, -0.0, infinities and the ends of
    integer types into payloads.
    """
    random = Random(seed)  # noqa: S311 - tests, not secrets
    maker = draws(random, exact=exact, specials=specials)
    writer = writes(random, exact=exact)
    inputs, events = [], {}
    for name in "mnk"[: random.choice((1, 1, 2, 2, 3))]:
        payload = (payloads or random_payload)(random)
        events[name], disjoint = maker.events(payload)
        inputs.append(Input(name, payload))
        grades = {
            column: input_grade(scalar, exact=exact, specials=specials)
            for column, scalar in columns(payload)
        }
        writer.sources.append(Source(name, payload, grades, True, disjoint))
    bounds: dict[str, int] = {}
    definitions = [
        writer.define(f"o{i}", random_tdom(random, maker, bounds))
        for i in range(random.choice((1, 1, 2, 2, 2, 3, 3, 4, 5)))
    ]
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


def random_payload(random: Random) -> Type:
    drawn = random.random()
    if drawn < 0.2:
        return random.choice(STRUCTS)
    if drawn < 0.35:
        return random.choice(tuple(SCALARS.values()))
    return random.choice(COMMON)


def input_grade(scalar: Scalar, *, exact: bool, specials: bool) -> Grade:
    """Grade an input's payloads; infinities and NaN sum the same anyhow."""
    if scalar in (BOOL, STRING):
        return Grade()
    if scalar.is_integer or scalar.is_temporal:
        return settle(scalar, Grade(magnitude=None if specials else 4))
    return Grade(places=3, magnitude=3) if exact else Grade(Level.FIRM, 0, 4)


def random_tdom(random: Random, maker: StreamMaker, bounds: dict[str, int]) -> TDom:
    precision = random.choice(PRECISIONS)
    offset = random.randrange(precision) if random.random() < 0.3 else 0
    start: Bound = None
    end: Bound = None
    if random.random() < 0.1:
        start = maker.start + random.randint(-3, 5)
    if random.random() < 0.1:
        end = maker.end + random.randint(0, 5)
    if random.random() < 0.03:
        start, bounds["opening"] = "opening", maker.start + 2
    return TDom(start, end, precision, offset)


def random_domain(random: Random, maker: StreamMaker) -> tuple[int | None, int | None]:
    start = maker.start + random.randint(-6, 10) if random.random() < 0.2 else None
    end = maker.end + random.randint(-10, 12) if random.random() < 0.2 else None
    if start is not None and end is not None and start > end:
        return end, start
    return start, end


def random_cases(
    *, exact: bool, specials: bool = False
) -> strategies.SearchStrategy[Case]:
    """Random cases for Hypothesis."""

    def case(seed: int) -> Case:
        return random_case(seed, exact=exact, specials=specials)

    return strategies.integers(0, 2**32 - 1).map(case)

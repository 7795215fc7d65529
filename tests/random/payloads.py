"""Random queries over times, durations and structs in structs.

What `random_queries` draws, with expressions of ticks among those of numbers, and
payloads with structs in them, in and out.
"""

from random import Random

from tests.random.expressions import Graded, Row, Source
from tests.random.grades import Grade, Level, settle
from tests.random.queries import (
    Case,
    QueryWriter,
    Templates,
    input_grade,
    random_domain,
    random_payload,
    random_tdom,
)
from tests.random.streams import StreamMaker
from tiltpy.ir.nodes import (
    Binary,
    Call,
    Cast,
    Const,
    EventBound,
    Exists,
    Expr,
    Field,
    If,
    Input,
    MakeStruct,
    Phi,
    Query,
    Time,
    Unary,
)
from tiltpy.ir.temporal_types import as_time, is_temporal
from tiltpy.types import (
    BOOL,
    DURATION,
    F32,
    F64,
    I64,
    TIME,
    Scalar,
    Struct,
    Type,
    columns,
    is_nested,
)

QUOTE = Struct((("price", F64), ("at", TIME)))
SIDE = Struct((("size", I64), ("took", DURATION), ("firm", BOOL)))
SHAPES: tuple[Struct, ...] = (
    Struct((("at", TIME), ("took", DURATION))),
    Struct((("bid", QUOTE), ("ask", QUOTE))),
    Struct((("n", I64), ("side", SIDE), ("bid", QUOTE))),
    Struct((("side", SIDE), ("x", F32))),
)
PAYLOADS: tuple[Type, ...] = (*SHAPES, TIME, DURATION)
TICKS = (TIME, DURATION, DURATION)


class PayloadWriter(QueryWriter):
    """Writes queries of which many values are ticks, or lie in structs in structs."""

    def templates(self) -> Templates:
        return (*super().templates(), (4, self.nested_body), (2, self.inner_body))

    def scalar_type(self) -> Scalar:
        return self.random.choice(TICKS) if self.chance(0.4) else super().scalar_type()

    def constant(self, scalar: Scalar) -> Graded:
        if scalar.is_temporal:
            return Const(self.random.randint(-4, 9), scalar), Grade(magnitude=4)
        return super().constant(scalar)

    def coerce(self, graded: Graded, scalar: Scalar) -> Graded:
        """Only numbers and ticks are cast to one another."""
        value, grade = graded
        assert isinstance(value.type, Scalar)
        if scalar == TIME and isinstance(value, Time | EventBound):
            return as_time(value), grade
        if value.type != scalar and (value.type.is_temporal or scalar.is_temporal):
            if not value.type.is_number and not scalar.is_number:
                return super().coerce(self.coerce(graded, I64), scalar)
            if scalar.is_temporal and value.type.is_float:
                assert grade.level < Level.ROUGH
                return Cast(value, scalar), settle(scalar, Grade(magnitude=None))
        return super().coerce(graded, scalar)

    def own_reduction(
        self, source: Source, bounds: tuple[int, int], reduced: Graded, most: int
    ) -> Graded | None:
        """Those drawn are of numbers."""
        kinds = [of for _, of in columns(source.type)]
        if is_nested(source.type) or any(of.is_temporal for of in kinds):
            return None
        if is_temporal(reduced[0].type):
            return None
        return super().own_reduction(source, bounds, reduced, most)

    # Values

    def number(self, scalar: Scalar, depth: int, *, firm: bool = False) -> Graded:
        if scalar.is_temporal and depth > 0 and self.chance(0.75):
            made = self.time(depth) if scalar == TIME else self.length(depth)
            return made, settle(scalar, Grade(magnitude=None))
        if scalar.is_temporal:
            return self.leaf(scalar, firm=firm)
        if scalar in (F64, I64) and depth > 0 and self.chance(0.1):
            sides = self.ticks(DURATION, depth), self.ticks(DURATION, depth)
            op = "/" if scalar == F64 else "//"
            magnitude = None if scalar == I64 else 63
            level = Level.FIRM if scalar == F64 else Level.EXACT
            grade = settle(scalar, Grade(level, magnitude=magnitude))
            return Binary("/" if op == "/" else "//", *sides, scalar), grade
        return super().number(scalar, depth, firm=firm)

    def ticks(self, scalar: Scalar, depth: int) -> Expr:
        return self.number(scalar, depth - 1, firm=True)[0]

    def time(self, depth: int) -> Expr:
        inputs = [source for source in self.sources if source.is_input]
        match self.random.choice(("+", "+ d", "-", "min", "t", "bound", "if", "cast")):
            case "+":
                sides = self.ticks(TIME, depth), self.ticks(DURATION, depth)
                return Binary("+", *sides, TIME)
            case "+ d":
                sides = self.ticks(DURATION, depth), self.ticks(TIME, depth)
                return Binary("+", *sides, TIME)
            case "-":
                sides = self.ticks(TIME, depth), self.ticks(DURATION, depth)
                return Binary("-", *sides, TIME)
            case "min":
                return self.extreme(TIME, depth)
            case "t" if self.element is None:
                return Time(0, TIME)
            case "bound" if self.element is None:
                source = self.random.choice(inputs)
                return EventBound("end", source.name, self.offset(source), TIME)
            case "if":
                return self.choice(TIME, depth, firm=True)[0]
            case _:
                return self.coerce((self.ticks(I64, depth), Grade()), TIME)[0]

    def length(self, depth: int) -> Expr:
        one = self.ticks(DURATION, depth)
        match self.random.choice(
            ("+", "-", "-", "* n", "* x", "/", "//", "%", "f", "c")
        ):
            case "+":
                return Binary("+", one, self.ticks(DURATION, depth), DURATION)
            case "-":
                kind = self.random.choice(TICKS)
                sides = self.ticks(kind, depth), self.ticks(kind, depth)
                return Binary("-", *sides, DURATION)
            case "* n":
                count = self.ticks(I64, depth)
                sides = (one, count) if self.chance(0.5) else (count, one)
                return Binary("*", *sides, DURATION)
            case "* x":
                factor = self.ticks(F64, depth)
                sides = (one, factor) if self.chance(0.5) else (factor, one)
                return Binary("*", *sides, DURATION)
            case "/":
                return Binary("/", one, self.ticks(F64, depth), DURATION)
            case "//":
                return Binary("//", one, self.ticks(I64, depth), DURATION)
            case "%":
                return Binary("%", one, self.ticks(DURATION, depth), DURATION)
            case "f":
                if self.chance(0.3):
                    return self.choice(DURATION, depth, firm=True)[0]
                if self.chance(0.4):
                    return self.extreme(DURATION, depth)
                absolute = Call("abs", (one,), DURATION)
                literal = isinstance(one, Const)
                negative = Unary("-", one, DURATION)
                return absolute if literal or self.chance(0.5) else negative
            case _:
                scalar = self.random.choice((I64, F64, F32))
                return Cast(self.ticks(scalar, depth), DURATION)

    def extreme(self, scalar: Scalar, depth: int) -> Expr:
        sides = self.ticks(scalar, depth), self.ticks(scalar, depth)
        return Call(self.random.choice(("min", "max")), sides, scalar)

    def combine(self, scalar: Scalar, left: Graded, right: Graded) -> Graded:
        if not scalar.is_temporal:
            return super().combine(scalar, left, right)
        name = self.random.choice(("min", "max"))
        return Call(name, (left[0], right[0]), scalar), left[1].join(right[1])

    # Structs

    def struct(self, shape: Struct, depth: int) -> Row:
        """A value of a struct type: a literal, what a reference has, or a choice."""
        if depth > 0 and self.chance(0.3):
            then, grades = self.struct(shape, depth - 1)
            other: Row = (Phi(shape), {})
            if self.chance(0.6):
                other = self.struct(shape, depth - 1)
            made = If(self.condition(1), then, other[0])
            return made, {n: g.join(other[1].get(n, g)) for n, g in grades.items()}
        found = self.found(shape)
        return self.literal(shape) if found is None or self.chance(0.5) else found

    def found(self, shape: Struct) -> Row | None:
        """An object's payload of that type, or a struct in one."""
        for _ in range(4):
            expr, grades = self.row_at_hand()
            if expr.type == shape:
                return expr, grades
            if not isinstance(expr.type, Struct):
                continue
            inside = [name for name, of in expr.type.fields if of == shape]
            if inside:
                (name, *_) = inside
                inner = {n: grades[f"{name}.{n}"] for n, _ in shape.fields}
                return Field(expr, name, shape), inner
        return None

    def literal(self, shape: Struct) -> Row:
        fields: list[Expr] = []
        grades: dict[str, Grade] = {}
        value: Expr
        for name, of in shape.fields:
            if isinstance(of, Struct):
                value, inner = self.struct(of, 1)
                grades[name] = Grade()
                grades |= {f"{name}.{n}": grade for n, grade in inner.items()}
            else:
                value, grades[name] = self.number(of, self.random.randint(0, 2))
            fields.append(value)
        return MakeStruct(tuple(fields), shape), grades

    def nested_body(self) -> Row:
        return self.struct(self.random.choice(SHAPES), 1)

    def inner_body(self) -> Row:
        """A struct in a struct by itself, or whether it is there."""
        value, grades = self.struct(self.random.choice((QUOTE, SIDE)), 1)
        if self.chance(0.3):
            return self.row((Exists(value, BOOL), Grade()))
        return value, grades

    def struct_body(self) -> Row:
        return self.nested_body()


def random_payload_case(seed: int, *, exact: bool, specials: bool = False) -> Case:
    """A query and its streams; the same for the same seed."""
    random = Random(seed)  # noqa: S311 - tests, not secrets
    maker = StreamMaker(random, exact=exact, specials=specials)
    writer = PayloadWriter(random, exact=exact)
    inputs, events = [], {}
    for name in "mnk"[: random.choice((1, 2, 2, 3))]:
        payload: Type = random_payload(random)
        if random.random() < 0.7:
            payload = random.choice(PAYLOADS)
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
        for i in range(random.choice((1, 2, 2, 3, 4)))
    ]
    names = [definition.name for definition in definitions]
    outputs = [n for n in names[:-1] if random.random() < 0.5] + names[-1:]
    own = tuple(writer.own.values())
    given = tuple(inputs), tuple(definitions), tuple(outputs)
    query = Query(None, *given, reductions=own)
    return Case(query, events, *random_domain(random, maker), bounds)

"""Seeded random queries over point events: rolling results at them, and those kept.

Random queries that are about anything hardly reach the loops that go from event to
event, or rows enough for these to stay in them: see `lowering.at_events`.
"""

from random import Random

from tests.compiled import Setting
from tests.random.expressions import COMPARISONS, STRUCTS, Graded, Row, Source
from tests.random.grades import Grade
from tests.random.queries import (
    Case,
    QueryWriter,
    Templates,
    input_grade,
    random_domain,
    random_payload,
)
from tests.random.streams import Spans, StreamMaker
from tiltpy.interpreter.evaluate import Event
from tiltpy.ir.nodes import (
    At,
    Binary,
    Const,
    Element,
    Exists,
    Expr,
    If,
    Input,
    MakeStruct,
    Phi,
    Query,
    Reduce,
    Time,
    Window,
)
from tiltpy.ops import WHOLE_WINDOW
from tiltpy.passes.pipeline import PASS_NAMES
from tiltpy.types import BOOL, F64, I64, SCALARS, Scalar, Struct, TDom, Type, columns

COUNTS = (1, 3, 8, 30, 80, 150)
"""Events of a stream."""
LENGTHS = (1, 2, 5, 9, 20, 40, 70)
"""Ticks of a window."""
PLAIN = (F64, SCALARS["f32"], SCALARS["i64"], SCALARS["i16"])


class EventStreams(StreamMaker):
    """Events of a tick, close together or some ticks apart."""

    def stream(self, payload: Type, spans: Spans) -> list[Event]:
        pools = self.pools(payload)
        return [Event(s, e, self.payload(payload, pools)) for s, e in spans]

    def apart(self) -> Spans:
        """Point events."""
        longest = self.random.choice((1, 2, 4, 10))
        found, time = [], self.start
        for _ in range(self.random.choice(COUNTS)):
            time += self.random.randint(1, longest)
            found.append((time - 1, time))
        self.end = time
        return found

    def beside(self) -> Spans:
        """Another stream over the same time."""
        draw = (self.points, self.points, self.contiguous, self.with_gaps)
        spans = self.random.choice(draw)()
        return spans or [(self.start, self.start + 1)]


class EventWriter(QueryWriter):
    """Writes objects that are there when one input's events are, at some distance."""

    def __init__(self, random: Random, *, exact: bool) -> None:
        super().__init__(random, exact=exact)
        self.near = random.random() < 0.35
        """Whether all that is seen are the events themselves, a few ticks back."""
        self.at = 0 if self.near else random.choice((0, 0, 0, 0, -1, -4, 3))

    @property
    def point(self) -> Source:
        """The events that results are at."""
        return self.sources[0]

    def templates(self) -> Templates:
        return (
            (5, self.rolling_body),
            (2, self.rolling_struct_body),
            (2, self.kept),
            (2, self.tested),
            (1, self.filled),
        )

    def windowed(self) -> Source:
        """Mostly the events themselves."""
        alone = self.near or self.chance(0.6)
        return self.point if alone else self.random.choice(self.sources)

    def offset(self, source: Source) -> int:
        return self.at if source is self.point else super().offset(source)

    def window(self, source: Source) -> tuple[int, int]:
        """Mostly up to the event, or to the time of the result."""
        del source
        if self.near:
            end = self.random.choice((0, 0, -1, -3))
            return end - self.random.randint(1, 13), end
        end = self.random.choice((self.at, self.at, 0, 0, -1, -10, 1, 5))
        return end - self.random.choice(LENGTHS), end

    def reduction_name(self, found: list[str]) -> str:
        """One that sees rows as they come; often the last of them."""
        if self.near:
            found = [name for name in found if name not in ("first", "last")]
        elif "last" in found and self.chance(0.35):
            return "last"
        rolling = [name for name in found if name not in WHOLE_WINDOW]
        return super().reduction_name(rolling or found)

    def _event(self) -> Expr:
        return At(self.point.name, self.at, self.point.type)

    def rolling_body(self) -> Row:
        """A reduction at the events, with or without their own value."""
        value, grade = self.reduction(firm=False)
        assert isinstance(value.type, Scalar)
        own, own_grade = self.column((self._event(), self.point.grades))
        if self.chance(0.5) and own.type == value.type:
            return self.row(self.combine(value.type, (own, own_grade), (value, grade)))
        there = Exists(self._event(), BOOL)
        return self.row((If(there, value, Phi(value.type)), grade))

    def rolling_struct_body(self) -> Row:
        """Several reductions side by side."""
        names = ("a", "b", "c")[: self.random.randint(1, 3)]
        found = {name: self.reduction(firm=False) for name in names}
        fields = []
        for name, (value, _) in found.items():
            assert isinstance(value.type, Scalar)
            fields.append((name, value.type))
        shape = Struct(tuple(fields))
        made = MakeStruct(tuple(value for value, _ in found.values()), shape)
        gated = If(Exists(self._event(), BOOL), made, Phi(shape))
        return gated, {name: grade for name, (_, grade) in found.items()}

    def kept(self) -> Row:
        """Events of which some are kept."""
        outer, self.sources = self.sources, [self.point]
        row: Row = self.reference()
        if self.chance(0.5):
            row = self.row(self.number(self.scalar_type(), 1))
        condition = self.condition(1)
        self.sources = outer
        body, grades = row
        return If(condition, body, Phi(body.type)), grades

    def tested(self) -> Row:
        """The time, or a column, of events that have neighbours, or have none."""
        source = self.windowed()
        window = Window(source.name, *self.window(source))
        count = Reduce("count", window, Element(source.type), I64)
        bound = Const(self.random.choice((0, 0, 0, 1, 2)), I64)
        left, right = (count, bound) if self.chance(0.7) else (bound, count)
        test: Expr = Binary(self.random.choice(COMPARISONS), left, right, BOOL)
        if self.chance(0.7):
            test = Binary("&&", Exists(self._event(), BOOL), test, BOOL)
        value: Graded = (Time(0, I64), Grade(magnitude=12))
        if self.chance(0.4):
            value = self.column((self._event(), self.point.grades))
        return self.row((If(test, value[0], Phi(value[0].type)), value[1]))

    def filled(self) -> Row:
        """The events, and something else between them."""
        own, grade = self.column((self._event(), self.point.grades))
        assert isinstance(own.type, Scalar)
        other, other_grade = self.constant(own.type)
        there = Exists(self._event(), BOOL)
        return self.row((If(there, own, other), grade.join(other_grade)))


class NearEventWriter(EventWriter):
    """Writes objects that see the events shortly before, or the one before alone."""

    def __init__(self, random: Random, *, exact: bool) -> None:
        super().__init__(random, exact=exact)
        self.near, self.at = True, 0

    def window(self, source: Source) -> tuple[int, int]:
        """Few ticks, or any number before the event."""
        if self.chance(0.4):
            return -self.random.choice((2, 5, 30, 500)), -1
        del source
        end = self.random.choice((0, 0, 0, -1, -3))
        return end - self.random.randint(1, 33), end

    def reduction_name(self, found: list[str]) -> str:
        """One that folds, or the last row."""
        if "last" in found and self.chance(0.3):
            return "last"
        return super().reduction_name(found)


def random_event_case(
    seed: int,
    *,
    exact: bool,
    specials: bool = False,
    writes: type[EventWriter] = EventWriter,
) -> Case:
    """A query and its streams; the same for the same seed."""
    random = Random(f"events {seed}")  # noqa: S311 - tests, not secrets
    maker = EventStreams(random, exact=exact, specials=specials)
    writer = writes(random, exact=exact)
    inputs: list[Input] = []
    events: dict[str, list[Event]] = {}
    for name in "mn"[: random.choice((1, 1, 2))]:
        payload = random.choice((*PLAIN, random_payload(random), STRUCTS[0]))
        spans = maker.beside() if inputs else maker.apart()
        events[name] = maker.stream(payload, spans)
        inputs.append(Input(name, payload))
        grades = {
            column: input_grade(scalar, exact=exact, specials=specials)
            for column, scalar in columns(payload)
        }
        writer.sources.append(Source(name, payload, grades, is_input=True))
    names = ["o0", "o1", "o2"][: random.choice((1, 1, 2, 3))]
    given = tuple(writer.sources)
    definitions = []
    for name in names:
        definitions.append(writer.define(name, TDom(None, None, 1)))
        if random.random() < 0.8:  # seldom objects over objects
            writer.sources[:] = given
    used = tuple(writer.own.values())
    query = Query(
        None, tuple(inputs), tuple(definitions), tuple(names), reductions=used
    )
    return Case(query, events, *random_domain(random, maker))


def random_event_setting(random: Random) -> Setting:
    """Ways to run that leave most of the work to the sweep kernel."""
    disabled = [name for name in PASS_NAMES if random.random() < 0.25]
    return Setting(
        random.choice((None, None, None, 1, 9, 40, 100)),
        random.choice((1, 1, 2)),
        disabled_passes=frozenset(disabled if random.random() < 0.3 else ()),
        optimize=random.random() < 0.3,
        nulls=random.choice((None, None, None, None, "gaps")),
        points=random.random() < 0.9,
        vector=random.choice((False, False, None, True)),
        small=random.random() < 0.6,
    )

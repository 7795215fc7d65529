"""Random queries that make strings, and numbers of strings."""

from random import Random

from tests.random.expressions import STRUCTS, Graded, Source
from tests.random.grades import Grade, Level, settle
from tests.random.queries import Case, QueryWriter, random_case, random_payload
from tests.random.reductions import Elements, Own, named
from tests.random.streams import StreamMaker
from tiltpy.interpreter.scalars import Atom
from tiltpy.ir.construct.strings import read_number, string_call
from tiltpy.ir.nodes import Binary, Const, Expr, Reduce, Window
from tiltpy.ops import StringFunction
from tiltpy.source import UNKNOWN
from tiltpy.types import BOOL, I64, STRING, Scalar, Struct, Type

PAIR = Struct((("a", STRING), ("b", STRING), ("n", I64)))
SHAPES: tuple[Type, ...] = (PAIR, PAIR, STRING, STRING, STRUCTS[3])
TEXTS = (
    "a/b", "/", "a//b/", " a\t", "\u2003b", "ÉCLAIR", "straße", "İ", "ŉ", "ΑΣ", "ǆ",
    "e\u0301/b", "\U0001f600b", "1", "-7", " 7", "+3", "2.5", ".5", "5.", "1e3", "e5",
    "1e400", "-1e-400", "nan", "-INF", "infinity", "300", "-129", "9223372036854775808",
    "-99999999999999999999", "18446744073709551615", "007", "1_0", "0x1", "٣", "-",
)  # fmt: skip
SEPARATORS = ("/", "/", "", "a", "//", "b", " ", ".", "é")
CHANGES: tuple[StringFunction, ...] = ("lower", "upper", "trim", "substr", "split")
MOST_CONCATS = 3
"""In one query: what each of them may make is joined with each other string."""


class TextMaker(StreamMaker):
    """Draws payloads of which many are texts with parts, letters or numbers."""

    def value(self, scalar: Scalar) -> Atom:
        if scalar == STRING and self.random.random() < 0.6:
            return self.random.choice(TEXTS)
        return super().value(scalar)


def text_payload(random: Random) -> Type:
    """A payload with strings, mostly."""
    return random.choice(SHAPES) if random.random() < 0.7 else random_payload(random)


class TextWriter(QueryWriter):
    """Writes queries with functions of strings in all places of strings and numbers."""

    concats = 0

    def scalar_type(self) -> Scalar:
        return STRING if self.chance(0.3) else super().scalar_type()

    def number(self, scalar: Scalar, depth: int, *, firm: bool = False) -> Graded:
        if scalar == STRING and depth > 0 and self.chance(0.6):
            return self.text(depth), Grade()
        if scalar.is_number and depth > 0 and self.chance(0.15):
            return self.count(scalar, self.text(depth))
        return super().number(scalar, depth, firm=firm)

    def coerce(self, graded: Graded, scalar: Scalar) -> Graded:
        value, _ = graded
        if value.type == STRING and scalar.is_number and self.chance(0.6):
            return self.count(scalar, value)
        return super().coerce(graded, scalar)

    def text(self, depth: int) -> Expr:
        """A string that a function makes."""
        if self.concats < MOST_CONCATS and self.chance(0.25):
            self.concats += 1
            parts = [self.number(STRING, depth - 1)[0] for _ in "ab"]
            parts += [self.constant(STRING)[0]] * self.chance(0.4)
            self.random.shuffle(parts)
            return string_call("concat", parts, UNKNOWN)
        function = self.random.choice(CHANGES)
        string, constants = self.number(STRING, depth - 1)[0], list[Expr]()
        if function == "substr":
            lengths = self.random.choice(((), (0,), (1,), (2,), (5,)))
            numbers = (self.random.randint(-4, 3), *lengths)
            constants = [Const(each, I64) for each in numbers]
        elif function == "split":
            separator = self.random.choice([each for each in SEPARATORS if each])
            number = Const(self.random.choice((0, 0, 1, 1, 2, -1, -2, 5)), I64)
            constants = [Const(separator, STRING), number]
        return string_call(function, [string, *constants], UNKNOWN)

    def count(self, scalar: Scalar, string: Expr) -> Graded:
        """A number made of a string: its length, or the number that it is."""
        if self.chance(0.4):
            length = string_call("len", [string], UNKNOWN)
            return super().coerce((length, Grade(magnitude=16)), scalar)
        grade = Grade(Level.FIRM, 0, None)
        if scalar.is_integer:
            grade = settle(scalar, Grade(magnitude=None))
        return read_number(string, scalar, UNKNOWN), grade

    def asked(self, value: Expr) -> Expr:
        """Now and then a question of what is made of a string."""
        if self.chance(0.2):
            length = string_call("len", [value], UNKNOWN)
            return Binary(">", length, self.constant(I64)[0], BOOL)
        return super().asked(value)

    def own_reduction(
        self, source: Source, bounds: tuple[int, int], reduced: Graded, most: int
    ) -> Graded | None:
        """A fold with strings that it makes in its state, of strings."""
        element, grade = reduced
        spent = self.concats >= MOST_CONCATS
        if element.type != STRING or spent or self.chance(0.3):
            return super().own_reduction(source, bounds, reduced, most)
        self.concats += 2
        own = random_fold(self.random, Elements(STRING, grade, most))
        reduction = own.reduction
        self.own[reduction.name] = reduction
        window, of = Window(source.name, *bounds), reduction.result.type
        made = Reduce(reduction.name, window, element, of, bounds=reduction.bounds)
        return self.column((made, own.grades))


def random_fold(random: Random, elements: Elements) -> Own:
    """The last two strings, how long all were, and how often one starts as the next."""
    change = random.choice(("lower", "upper", "trim"))
    text = (
        'init = { before = "", last = "", n = 0, same = 0 } '
        f"acc = {{ before = state.last, last = {change}(v), n = state.n + len(v), "
        "same = concat(substr(state.last, 0, 1), v) == v ? state.same + 1 : "
        "state.same } "
        'result = { both = concat(state.before, "-", state.last), n = state.n, '
        "same = state.same, read = f64(state.last) }"
    )
    grades = {
        "both": elements.grade,
        "n": elements.count.grown(6),
        "same": elements.count,
        "read": Grade(Level.FIRM, 0, None),
    }
    return Own(named(random, elements, text), grades)


def random_text_case(seed: int, *, exact: bool, specials: bool = False) -> Case:
    """A query that mostly makes strings, and its streams; the same for a seed."""
    return random_case(
        seed,
        exact=exact,
        specials=specials,
        writes=TextWriter,
        draws=TextMaker,
        payloads=text_payload,
    )

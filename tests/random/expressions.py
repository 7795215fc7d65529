"""Random well-typed expressions, biased toward the edges of the semantics."""

from ctypes import c_float
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

from tests.compare import LIBRARY_FUNCTIONS, ROUGH_REDUCTIONS
from tests.random.grades import (
    SUM_BITS,
    Grade,
    Level,
    reduced_grade,
    settle,
    small,
    sound_reductions,
)
from tests.random.reductions import Elements, random_own
from tests.random.streams import WORDS
from tiltpy.ir.nodes import (
    At,
    Binary,
    Call,
    Cast,
    Const,
    Element,
    EventBound,
    Exists,
    Expr,
    Field,
    If,
    In,
    Local,
    MatchString,
    Phi,
    Reduce,
    Time,
    Unary,
    UserReduction,
    Window,
)
from tiltpy.ir.traversal import source_cuts
from tiltpy.ir.verify.types import reduction_type
from tiltpy.ops import FUNCTIONS, REDUCTIONS, STRING_TESTS, BinaryOp
from tiltpy.types import (
    BOOL,
    F32,
    F64,
    I64,
    SCALARS,
    STRING,
    Scalar,
    Struct,
    Type,
    columns,
)

Graded = tuple[Expr, Grade]
Row = tuple[Expr, dict[str, Grade]]
"""An expression of any type and the grade of each of its columns ("" for a scalar)."""


@dataclass(frozen=True, slots=True)
class Source:
    """An object that a definition may refer to."""

    name: str
    type: Type
    grades: dict[str, Grade]
    is_input: bool = False
    is_disjoint: bool = True
    period: int = 1
    """The ticks that each snapshot lasts, at least."""


STRUCTS = (
    Struct((("a", F64), ("b", I64))),
    Struct((("a", F32), ("b", BOOL))),
    Struct((("price", F64), ("size", F64), ("n", SCALARS["i32"]))),
    Struct((("type", STRING), ("n", I64))),
)
PATTERNS = ("^a", "[0-9]+s$", "(?i)B", ".", "é|\\x00", "^$")
COMMON = (F64, F64, F64, I64, I64, F32, BOOL, STRING)
OFFSETS = (0, 0, 0, 0, 0, 0, -1, -1, 1, -2, 3, -5, 7, -10)
WINDOWS = (
    (-2, 0), (-3, 0), (-5, 0), (-10, 0), (-20, 0), (-1, 0), (-1, 1), (0, 1), (0, 5),
    (-7, -3), (2, 4), (-4, 3), (-13, 0), (-40, 0),
)  # fmt: skip
COMPARISONS: tuple[BinaryOp, ...] = ("<", "<=", ">", ">=", ">", "<", "==", "!=")
EXACT_FUNCTIONS = [
    rule.name
    for rule in FUNCTIONS.values()
    if rule.exact and rule.result == "float" and rule.arity == 1
]


class ExpressionWriter:
    """Draws expressions over the objects so far, each with its grade."""

    def __init__(self, random: Random, *, exact: bool) -> None:
        self.random = random
        self.exact = exact
        self.sources: list[Source] = []
        self.locals: list[Row] = []
        self.bindings: list[tuple[str, Expr]] = []
        self.element: Row | None = None
        self.own: dict[str, UserReduction] = {}

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def row(self, graded: Graded) -> Row:
        return graded[0], {"": graded[1]}

    # References

    def source(self) -> Source:
        """Mostly one of the latest objects, so that definitions chain."""
        if self.chance(0.5):
            return self.sources[-1]
        return self.random.choice(self.sources)

    def reference(self) -> Row:
        source = self.source()
        return At(source.name, self.offset(source), source.type), source.grades

    def offset(self, source: Source) -> int:
        """Return where a point reference looks, from its reader's time."""
        del source
        return self.random.choice(OFFSETS)

    def scalar_type(self) -> Scalar:
        """Mostly a type that is at hand, so that casts stay few."""
        if self.chance(0.15):
            return self.random.choice(tuple(SCALARS.values()))
        if self.chance(0.2):
            return self.random.choice(COMMON)
        found = self.source().type
        if isinstance(found, Struct):
            return self.random.choice([scalar for _, scalar in columns(found)])
        return found

    def leaf(self, scalar: Scalar, *, firm: bool = False) -> Graded:
        """A value without operators, of the wanted type (by a cast, if need be)."""
        drawn = self.random.random()
        if drawn < 0.1:
            return self.constant(scalar)
        if self.element is None and drawn < 0.3:
            found = self.reduction(firm=firm)
        elif self.element is None and drawn < 0.35:
            found = self.clock()
        else:
            return self.near_column(scalar, firm=firm)
        if found[1].level is Level.ROUGH and (firm or found[0].type != scalar):
            return self.constant(scalar)
        return self.coerce(found, scalar)

    def near_column(self, scalar: Scalar, *, firm: bool = False) -> Graded:
        """A column, if possible of the wanted type already."""
        for _ in range(4):
            found = self.column(self.row_at_hand())
            rough = found[1].level is Level.ROUGH
            if found[0].type == scalar and not (rough and firm):
                return found
        return self.constant(scalar) if rough else self.coerce(found, scalar)

    def row_at_hand(self) -> Row:
        if self.element is not None:
            return self.element
        if self.locals and self.chance(0.5):
            return self.random.choice(self.locals)
        return self.reference()

    def column(self, row: Row) -> Graded:
        expr, grades = row
        if not isinstance(expr.type, Struct):
            return expr, grades[""]
        name, of = self.random.choice(expr.type.fields)
        if isinstance(of, Struct):
            inner, scalar = self.random.choice(of.fields)
            found = Field(Field(expr, name, of), inner, scalar)
            return found, grades[f"{name}.{inner}"]
        return Field(expr, name, of), grades[name]

    def clock(self) -> Graded:
        """`t` as a number, or the bounds of an input's event."""
        if self.chance(0.5):
            return Time(0, I64), Grade(magnitude=12)
        inputs = [source for source in self.sources if source.is_input]
        which: Literal["start", "end"] = self.random.choice(("start", "end"))
        source = self.random.choice(inputs)
        offset = self.offset(source)
        return EventBound(which, source.name, offset, I64), Grade(magnitude=12)

    def constant(self, scalar: Scalar) -> Graded:
        if scalar == BOOL:
            return Const(self.chance(0.5), BOOL), Grade()
        if scalar == STRING:
            return Const(self.random.choice(WORDS), STRING), Grade()
        if scalar.is_integer:
            least = 0 if scalar.kind == "uint" else -4
            return Const(self.random.randint(least, 7), scalar), Grade(magnitude=3)
        if self.exact or self.chance(0.5):
            return Const(self.random.randint(-32, 32) / 8, scalar), Grade(
                places=3, magnitude=2
            )
        drawn = self.random.uniform(-4, 4)
        value = c_float(drawn).value if scalar == F32 else drawn
        return Const(value, scalar), Grade(Level.FIRM, 0, 2)

    def coerce(self, graded: Graded, scalar: Scalar) -> Graded:
        value, grade = graded
        if value.type == scalar:
            return graded
        assert grade.level < Level.ROUGH
        if value.type == STRING:  # which is never cast
            value = self.asked(value)
            return (value if scalar == BOOL else Cast(value, scalar)), Grade()
        if scalar == STRING:
            assert isinstance(value.type, Scalar)
            test = value
            if value.type != BOOL:
                test = Binary(">", value, self.constant(value.type)[0], BOOL)
            return If(test, self.constant(STRING)[0], self.constant(STRING)[0]), Grade()
        return Cast(value, scalar), settle(scalar, grade)

    def asked(self, value: Expr) -> Expr:
        """A bool that a string decides."""
        word = self.random.choice(WORDS)
        drawn = self.random.random()
        if drawn < 0.4:
            return Binary(
                self.random.choice(COMPARISONS), value, Const(word, STRING), BOOL
            )
        if drawn < 0.6:
            return self.member(value, STRING)
        test = self.random.choice(list(STRING_TESTS))
        if test == "matches":
            word = self.random.choice(PATTERNS)
        return MatchString(test, value, word, BOOL)

    def member(self, value: Expr, scalar: Scalar) -> Expr:
        """`value in (...)`."""
        drawn = (
            self.constant(scalar)[0] for _ in range(self.random.choice((1, 2, 3, 12)))
        )
        options = tuple(dict.fromkeys(one for one in drawn if isinstance(one, Const)))
        return In(value, options, BOOL)

    # Windows

    def windowed(self) -> Source:
        """An object to look at through a window."""
        return self.source()

    def reduction(self, *, firm: bool) -> Graded:
        source = self.windowed()
        start, end = self.window(source)
        outer = self.element, self.locals
        self.element, self.locals = (Element(source.type), source.grades), []
        element, grade = self.reduced_element()
        self.element, self.locals = outer
        assert isinstance(element.type, Scalar)
        most = 1 << SUM_BITS
        if source.is_disjoint:
            most = -(-(end - start) // source.period) + (source.period > 1)
        found = sound_reductions(element.type, grade, most, firm=firm, exact=self.exact)
        rough = grade.level < Level.ROUGH and small(grade) and not firm
        rough = rough and not element.type.is_temporal and element.type != STRING
        if rough and element.type != BOOL and self.chance(0.15 if self.exact else 0.4):
            found = sorted(ROUGH_REDUCTIONS)
        if self.chance(0.2):
            drawn = self.own_reduction(source, (start, end), (element, grade), most)
            if drawn is not None:
                return drawn
        name = self.reduction_name(found)
        if name == "count" and self.chance(0.3):
            element, grade = Element(source.type), Grade()
        ddof = 1 if REDUCTIONS[name].ddof and self.chance(0.3) else 0
        parameter = self.parameter(name)
        result = reduction_type(name, element.type, parameter)
        assert result is not None
        window = Window(source.name, start, end)
        made: Expr = Reduce(name, window, element, result, ddof, parameter)
        if isinstance(result, Struct):
            top, result = self.random.choice(columns(result))
            made = Field(made, top, result)
            name = "count" if top.startswith("count") else name
        return made, reduced_grade(name, result, grade, most)

    def own_reduction(
        self, source: Source, bounds: tuple[int, int], reduced: Graded, most: int
    ) -> Graded | None:
        """A reduction of the query's own, if one can be compared."""
        element, grade = reduced
        if isinstance(source.type, Struct) and self.chance(0.3):
            element, grade = Element(source.type), Grade()
        drawn = random_own(self.random, Elements(element.type, grade, most))
        if drawn is None:
            return None
        own = drawn.reduction
        self.own[own.name] = own
        window = Window(source.name, *bounds)
        made = Reduce(own.name, window, element, own.result.type, bounds=own.bounds)
        return self.column((made, drawn.grades))

    def parameter(self, name: str) -> float | int | None:
        """The `q` of a quantile, the `n` of `topk` and `modes`."""
        if name == "quantile":
            return self.random.choice((0.0, 0.1, 0.25, 0.5, 0.9, 0.99, 1.0))
        takes_n = REDUCTIONS[name].parameter == "n"
        return self.random.choice((1, 2, 3, 7)) if takes_n else None

    def window(self, source: Source) -> tuple[int, int]:
        """The bounds of a window, from its reader's time."""
        del source
        return self.random.choice(WINDOWS)

    def reduction_name(self, found: list[str]) -> str:
        """One of those that are sound."""
        return self.random.choice(found)

    def reduced_element(self) -> Graded:
        """Draw what is reduced: mostly a plain column, or an expression, or an `if`."""
        assert self.element is not None
        value, grade = self.column(self.element)
        assert isinstance(value.type, Scalar)
        if self.chance(0.25) and grade.level < Level.ROUGH:
            value, grade = self.number(value.type, 1)
        if self.chance(0.25):
            value = self.filtered(value)
        return value, grade

    def filtered(self, value: Expr) -> Expr:
        """`value` under an `if`."""
        return If(self.condition(1), value, Phi(value.type))

    # Scalars

    def number(self, scalar: Scalar, depth: int, *, firm: bool = False) -> Graded:
        """An expression of a scalar type; `firm`: one that may decide something."""
        if scalar == BOOL:
            return self.condition(depth), Grade()
        if depth <= 0 or self.chance(0.2):
            return self.leaf(scalar, firm=firm)
        drawn = self.random.random()
        if scalar == STRING:
            drawn *= 0.65
        if drawn < 0.45:
            left = self.number(scalar, depth - 1, firm=firm)
            return self.combine(scalar, left, self.number(scalar, depth - 1, firm=firm))
        if drawn < 0.65:
            return self.choice(scalar, depth, firm)
        if drawn < 0.72 and self.element is None:
            return self.let(scalar, depth, firm)
        if drawn < 0.82:
            return self.strict_division(scalar, depth)
        return self.function(scalar, depth, firm)

    def choice(self, scalar: Scalar, depth: int, firm: bool) -> Graded:
        then, grade = self.number(scalar, depth - 1, firm=firm)
        if self.chance(0.4):
            return If(self.condition(depth - 1), then, Phi(scalar)), grade
        other, other_grade = self.number(scalar, depth - 1, firm=firm)
        made = If(self.condition(depth - 1), then, other)
        return made, grade.join(other_grade)

    def let(self, scalar: Scalar, depth: int, firm: bool) -> Graded:
        """A local name; definitions bind them all in front of their result."""
        if self.chance(0.4):
            value, grades = self.reference()
        else:
            value, grades = self.row(self.number(scalar, depth - 1))
        if source_cuts(value):  # names of constants do not survive parsing
            self.locals.append((self.bind(value), grades))
        return self.number(scalar, depth - 1, firm=firm)

    def bind(self, value: Expr) -> Local:
        name = f"s{len(self.bindings)}"
        self.bindings.append((name, value))
        return Local(name, value.type)

    def added(self, scalar: Scalar, left: Grade, right: Grade) -> Grade:
        return settle(scalar, left.join(right).grown(1))

    def combine(self, scalar: Scalar, left: Graded, right: Graded) -> Graded:
        """`+ - * min max`, where grades allow; bools by `&&` and `||`."""
        if scalar == STRING:
            less = Binary(self.random.choice(COMPARISONS), left[0], right[0], BOOL)
            return If(less, left[0], right[0]), Grade()
        if scalar == BOOL:
            op: BinaryOp = self.random.choice(("&&", "||"))
            return Binary(op, left[0], right[0], BOOL), Grade()
        grade = left[1].join(right[1])
        name = self.random.choice(("+", "+", "-", "-", "*", "min", "max"))
        if grade.level is Level.ROUGH and not small(grade):
            return left
        if name == "*" and grade.level < Level.ROUGH:
            product = Grade(grade.level, left[1].places + right[1].places, None)
            if left[1].magnitude is not None and right[1].magnitude is not None:
                magnitude = left[1].magnitude + right[1].magnitude
                product = replace(product, magnitude=magnitude)
            return Binary("*", left[0], right[0], scalar), settle(scalar, product)
        if name in ("min", "max"):
            return Call(name, (left[0], right[0]), scalar), grade
        op = "-" if name == "-" else "+"
        made = Binary(op, left[0], right[0], scalar)
        if op == "-" and scalar.kind == "uint":  # wraps below 0
            return made, settle(scalar, Grade(magnitude=None))
        return made, self.added(scalar, left[1], right[1])

    def strict_division(self, scalar: Scalar, depth: int) -> Graded:
        """`/`, `//` and `%`, by zero among others."""
        left, grade = self.number(scalar, depth - 1, firm=True)
        right, divisor = self.number(scalar, depth - 1, firm=True)
        exact = grade.level is Level.EXACT and divisor.level is Level.EXACT
        if scalar.is_integer or (exact and self.chance(0.5)):
            op: BinaryOp = self.random.choice(("//", "%"))
            if op == "%":
                return Binary(op, left, right, scalar), grade.join(divisor)
            whole = settle(scalar, Grade(magnitude=None))
            if scalar.is_integer:
                return Binary(op, left, right, scalar), whole
            magnitude = (grade.magnitude or 0) + divisor.places
            floored = settle(scalar, Grade(magnitude=magnitude))
            return Binary(op, left, right, scalar), floored
        return Binary("/", left, right, scalar), Grade(Level.FIRM, 0, None)

    def function(self, scalar: Scalar, depth: int, firm: bool) -> Graded:
        drawn = self.random.random()
        if drawn < 0.3:
            value, grade = self.number(scalar, depth - 1, firm=firm)
            if scalar.kind == "uint":  # wraps below 0
                grade = settle(scalar, Grade(magnitude=None))
            return Unary("-", value, scalar), grade
        if drawn < 0.5:
            value, grade = self.number(scalar, depth - 1, firm=firm)
            return Call("abs", (value,), scalar), grade
        value, grade = self.number(scalar, depth - 1, firm=True)
        if drawn < 0.6 or scalar.is_integer:
            return Call("sign", (value,), scalar), Grade()
        if self.exact or firm or drawn < 0.7 or not small(grade):
            name = self.random.choice(EXACT_FUNCTIONS)
            grade = replace(grade, places=0)
            return Call(name, (value,), scalar), grade.grown(1)
        name = self.random.choice(sorted(LIBRARY_FUNCTIONS))
        both = (value, self.number(scalar, 0, firm=True)[0])
        arguments = both[: FUNCTIONS[name].arity]
        return Call(name, arguments, scalar), Grade(Level.ROUGH, 0, None)

    # Conditions

    def condition(self, depth: int) -> Expr:
        """A bool; never decided by a value that holds to rounding only."""
        drawn = self.random.random()
        if depth <= 0 and drawn < 0.3:
            return self.leaf(BOOL, firm=True)[0]
        if drawn < 0.45:
            scalar = self.scalar_type()
            left, _ = self.number(scalar, max(depth - 1, 0), firm=True)
            right, _ = self.number(scalar, max(depth - 1, 0), firm=True)
            if scalar == STRING and self.chance(0.5):
                return self.asked(left)
            if self.chance(0.4):
                right, _ = self.constant(scalar)
            if self.chance(0.1):
                return self.member(left, scalar)
            return Binary(self.random.choice(COMPARISONS), left, right, BOOL)
        if drawn < 0.65 or depth <= 0:
            row = self.row_at_hand()
            seen = self.column(row)[0] if self.element or self.chance(0.5) else row[0]
            negative = self.chance(0.25) and self.element is None
            return (
                Unary("!", Exists(seen, BOOL), BOOL) if negative else Exists(seen, BOOL)
            )
        if drawn < 0.72:
            return Exists(self.number(self.scalar_type(), depth - 1)[0], BOOL)
        if drawn < 0.76:
            value, _ = self.number(self.random.choice((F64, F32)), depth - 1, firm=True)
            name = self.random.choice(("is_nan", "is_inf", "is_finite"))
            return Call(name, (value,), BOOL)
        if drawn < 0.82:
            return Unary("!", self.condition(depth - 1), BOOL)
        op: BinaryOp = self.random.choice(("&&", "||"))
        return Binary(op, self.condition(depth - 1), self.condition(depth - 1), BOOL)

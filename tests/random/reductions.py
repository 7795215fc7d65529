"""Reductions of one's own for random queries: every way to slide, over any elements.

Each is a text that is parsed once. What varies besides the type of the element is
whether `merge` and `deacc` are there, so that all of them mean what they do without.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from random import Random

from tests.random.grades import Grade, Level, fits, reduced_grade, settle, sum_bits
from tiltpy.frontend.parse import parse
from tiltpy.ir.nodes import UserReduction
from tiltpy.ir.verify.types import reduction_type
from tiltpy.types import BOOL, F64, I64, STRING, Scalar, Struct, Type

TICKS = 12
"""The bits of a snapshot's length."""


@dataclass(frozen=True, slots=True)
class Own:
    """A reduction and the grade of each column of its result."""

    reduction: UserReduction
    grades: dict[str, Grade]


@dataclass(frozen=True, slots=True)
class Elements:
    """The elements to reduce: their type, their grade, and how many at most."""

    type: Type
    grade: Grade
    most: int

    @property
    def scalar(self) -> Scalar:
        assert isinstance(self.type, Scalar)
        return self.type

    @property
    def wide(self) -> Scalar:
        """The type of their sum."""
        found = reduction_type("sum", self.scalar)
        assert isinstance(found, Scalar)
        return F64 if found.is_float else found

    @property
    def count(self) -> Grade:
        return Grade(magnitude=sum_bits(self.most))


@cache
def written(payload: str, text: str) -> UserReduction:
    """The reduction of a text."""
    head = f"input x : {payload} interval\n"
    return parse(f"{head}{text}\n~o[t] = own(~x[t-1 : t])").reductions[0]


def named(
    random: Random, elements: Elements, text: str, *options: str
) -> UserReduction:
    """The reduction, with some of the parts that it may have and need not."""
    chosen = [option for option in options if random.random() < 0.6]
    bounds = ", start, end" if "start" in text else ""
    whole = f"reduction own(v: {elements.type}{bounds}) {{ {text} {' '.join(chosen)} }}"
    made = written(str(elements.type), whole)
    return replace(made, name=f"own_{abs(hash_of(whole)) % 10**8}")


def hash_of(text: str) -> int:
    """Hash a value, alike in every process."""
    found = 0
    for letter in text:
        found = (found * 131 + ord(letter)) % (1 << 61)
    return found


# -- what there is --------------------------------------------------------------------


def total(random: Random, elements: Elements) -> Own:
    wide = elements.wide
    text = f"init = {wide}(0) acc = state + {wide}(v) result = state"
    options = ["merge = a + b"]
    if wide.is_integer:
        options.append(f"deacc = state - {wide}(v)")
    grade = reduced_grade("sum", wide, elements.grade, elements.most)
    return Own(named(random, elements, text, *options), {"": grade})


def spread(random: Random, elements: Elements) -> Own:
    """Its fields are φ in the beginning."""
    scalar = elements.scalar
    text = (
        f"init = {{ low = {scalar}(φ), high = {scalar}(φ) }} "
        "acc = { fresh = state.low == φ return { low = fresh ? v : min(state.low, v), "
        "high = fresh ? v : max(state.high, v) } } "
        "result = state.high - state.low"
    )
    merge = "merge = { low = min(a.low, b.low), high = max(a.high, b.high) }"
    grade = settle(scalar, elements.grade.grown(1))
    if scalar.kind == "uint":
        grade = settle(scalar, Grade(magnitude=None))
    return Own(named(random, elements, text, merge), {"": grade})


def ends(random: Random, elements: Elements) -> Own:
    """Its states merge in order alone, and its result is a struct."""
    scalar = elements.scalar
    text = (
        f"init = {{ first = {scalar}(φ), last = {scalar}(φ), n = 0 }} "
        "acc = { first = state.n == 0 ? v : state.first, last = v, n = state.n + 1 } "
        "result = state"
    )
    merge = "merge = { first = a.first, last = b.last, n = a.n + b.n }"
    grades = {"first": elements.grade, "last": elements.grade, "n": elements.count}
    return Own(named(random, elements, text, merge), grades)


def latest(random: Random, elements: Elements) -> Own:
    """Its fields become one another."""
    scalar = elements.scalar
    text = (
        f"init = {{ now = {scalar}(φ), last = {scalar}(φ), older = {scalar}(φ) }} "
        "acc = { now = v, last = state.now, older = state.last } result = state"
    )
    merge = (
        "merge = { one = b.last == φ return { now = b.now, "
        "last = one ? a.now : b.last, "
        "older = one ? a.last : (b.older == φ ? a.now : b.older) } }"
    )
    grades = dict.fromkeys(("now", "last", "older"), elements.grade)
    return Own(named(random, elements, text, merge), grades)


def rises(random: Random, elements: Elements) -> Own:
    """It cannot slide at all."""
    text = (
        f"init = {{ n = 0, last = {elements.scalar}(φ) }} "
        "acc = { up = state.last != φ && v > state.last "
        "return state with { n = up ? state.n + 1 : state.n, last = v } } "
        "result = state.n"
    )
    return Own(named(random, elements, text), {"": elements.count})


def shares(random: Random, elements: Elements) -> Own:
    """φ from a 0 on, until that has left."""
    text = "init = 0 acc = state + 60 // i64(v) result = state"
    reduction = named(random, elements, text, "merge = a + b")
    return Own(reduction, {"": settle(I64, Grade(magnitude=None))})


def even(random: Random, elements: Elements) -> Own:
    """φ where the number of snapshots is odd."""
    text = "init = 0 acc = state + 1 result = state % 2 == 0 ? state : φ"
    options = "merge = a + b", "deacc = state - 1"
    return Own(named(random, elements, text, *options), {"": elements.count})


def area(random: Random, elements: Elements) -> Own:
    wide = elements.wide
    product = f"{wide}(v) * {wide}(end - start)"
    text = f"init = {wide}(0) acc = state + {product} result = state"
    if wide.is_integer:
        return Own(
            named(random, elements, text, "merge = a + b"),
            {"": settle(wide, Grade(magnitude=None))},
        )
    grade = elements.grade.grown(TICKS + sum_bits(elements.most))
    return Own(named(random, elements, text, "merge = a + b"), {"": grade})


def ticks(random: Random, elements: Elements) -> Own:
    """Return how much of the window has snapshots, and where the first starts."""
    text = (
        "init = { from = i64(φ), ticks = 0 } "
        "acc = { from = state.from == φ ? start : state.from, "
        "ticks = state.ticks + (end - start) } "
        "result = { ticks = state.ticks, from = state.from }"
    )
    merge = "merge = { from = a.from, ticks = a.ticks + b.ticks }"
    grades = {"ticks": elements.count.grown(TICKS), "from": Grade(magnitude=42)}
    return Own(named(random, elements, text, merge), grades)


def foremost(random: Random, elements: Elements) -> Own:
    """Of strings: the last in order, and how many are some that the query names."""
    text = (
        "init = { best = string(φ), some = 0 } "
        "acc = { better = state.best == φ || v > state.best "
        'one = matches(v, "^a") || v in ("b", "view", "zz") '
        "return { best = better ? v : state.best, "
        "some = one ? state.some + 1 : state.some } } "
        "result = state"
    )
    best = "b.best == φ || a.best > b.best ? a.best : b.best"
    merge = (
        f"merge = {{ best = a.best == φ ? b.best : {best}, some = a.some + b.some }}"
    )
    grades = {"best": elements.grade, "some": elements.count}
    return Own(named(random, elements, text, merge), grades)


def present(random: Random, elements: Elements) -> Own:
    """Of structs: how often a field is there."""
    assert isinstance(elements.type, Struct)
    name, _ = random.choice(elements.type.fields)
    text = f"init = 0 acc = state + (v.{name} != φ ? 1 : 0) result = state"
    options = "merge = a + b", f"deacc = state - (v.{name} != φ ? 1 : 0)"
    return Own(named(random, elements, text, *options), {"": elements.count})


Template = Callable[[Random, Elements], Own]


def random_own(random: Random, elements: Elements) -> Own | None:
    """A reduction of such elements whose result can be compared; None: there is none.

    Elements that hold to rounding only have none.
    """
    if elements.grade.level is Level.ROUGH:
        return None
    if isinstance(elements.type, Struct):
        return present(random, elements)
    found: list[Template] = [ends, latest, even, ticks]
    if elements.type == STRING:
        found += [rises, foremost]
    elif elements.type != BOOL:
        found += [rises, spread]
        exact = elements.grade.level is Level.EXACT
        bits = sum_bits(elements.most)
        if elements.wide.is_integer or (exact and fits(F64, elements.grade, bits)):
            found += [total, total]
        if elements.wide.is_integer or (
            exact and fits(F64, elements.grade, bits + TICKS)
        ):
            found += [area, area]
        if elements.type.is_integer:
            found.append(shares)
    return random.choice(found)(random, elements)

"""Python expressions over temporal objects: they write surface syntax.

An `Expression` looks like a number and holds what was written, where. Nothing is typed
or computed before `build_query` elaborates it like a text.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import partial
from itertools import islice
from numbers import Integral, Real
from typing import Literal, TypeVar

import numpy as np

from tiltpy.argument_checks import has_items
from tiltpy.errors import QueryError, TiltError
from tiltpy.frontend.hints.misplaced import too_deep
from tiltpy.frontend.hints.python import no_array, no_method, no_truth, no_value
from tiltpy.frontend.python.caller_span import caller_span
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.durations import from_timedelta
from tiltpy.frontend.surface.print import format_syntax
from tiltpy.frontend.surface.timestamps import nanoseconds_of
from tiltpy.limits import MAX_DEPTH, MAX_OPTIONS
from tiltpy.messages import article
from tiltpy.ops import BinaryOp, UnaryOp
from tiltpy.source import Span

T = TypeVar("T")


@dataclass(frozen=True, eq=False, slots=True)
class Declaration:
    """An input, a parameter, a definition or a reduction, and what it refers to."""

    serial: int
    statement: (
        syntax.InputStatement
        | syntax.Param
        | syntax.ObjectDefinition
        | syntax.ReductionDefinition
    )
    needs: frozenset["Declaration"]


@dataclass(frozen=True, eq=False, slots=True)
class Provenance:
    """The objects and domains that an expression refers to, its depth and size."""

    objects: frozenset[Declaration] = frozenset()
    domains: frozenset[syntax.Domain] = frozenset()
    depth: int = 1
    size: int = 1


@dataclass(frozen=True, eq=False, repr=False)
class Expression:
    """A value at each time: combine it with operators, `when` and functions.

    `& | ~` are the logical and, or and not; `x != phi` asks whether there is a value.
    A field of a struct is an attribute, or `x.field("name")`: methods hide theirs.
    """

    syntax: syntax.Expr
    provenance: Provenance = field(default_factory=Provenance)

    def __add__(self, other: "Value") -> "Expression":
        return binary("+", self, other)

    def __radd__(self, other: "Value") -> "Expression":
        return binary("+", other, self)

    def __sub__(self, other: "Value") -> "Expression":
        return binary("-", self, other)

    def __rsub__(self, other: "Value") -> "Expression":
        return binary("-", other, self)

    def __mul__(self, other: "Value") -> "Expression":
        return binary("*", self, other)

    def __rmul__(self, other: "Value") -> "Expression":
        return binary("*", other, self)

    def __truediv__(self, other: "Value") -> "Expression":
        return binary("/", self, other)

    def __rtruediv__(self, other: "Value") -> "Expression":
        return binary("/", other, self)

    def __floordiv__(self, other: "Value") -> "Expression":
        return binary("//", self, other)

    def __rfloordiv__(self, other: "Value") -> "Expression":
        return binary("//", other, self)

    def __mod__(self, other: "Value") -> "Expression":
        return binary("%", self, other)

    def __rmod__(self, other: "Value") -> "Expression":
        return binary("%", other, self)

    def __pow__(self, other: "Value") -> "Expression":
        return call("pow", self, other)

    def __rpow__(self, other: "Value") -> "Expression":
        return call("pow", other, self)

    def __eq__(self, other: object) -> "Expression":  # type: ignore[override]
        return binary("==", self, other)

    def __ne__(self, other: object) -> "Expression":  # type: ignore[override]
        return binary("!=", self, other)

    def __lt__(self, other: "Value") -> "Expression":
        return binary("<", self, other)

    def __le__(self, other: "Value") -> "Expression":
        return binary("<=", self, other)

    def __gt__(self, other: "Value") -> "Expression":
        return binary(">", self, other)

    def __ge__(self, other: "Value") -> "Expression":
        return binary(">=", self, other)

    def __and__(self, other: "Value") -> "Expression":
        return binary("&&", self, other)

    def __rand__(self, other: "Value") -> "Expression":
        return binary("&&", other, self)

    def __or__(self, other: "Value") -> "Expression":
        return binary("||", self, other)

    def __ror__(self, other: "Value") -> "Expression":
        return binary("||", other, self)

    def __invert__(self) -> "Expression":
        return unary("!", self)

    def __neg__(self) -> "Expression":
        return unary("-", self)

    def __pos__(self) -> "Expression":
        return self

    def __abs__(self) -> "Expression":
        return call("abs", self)

    def __getattr__(self, name: str) -> "Expression":
        if name.startswith("_"):
            raise AttributeError(name)
        return self.field(name)

    def field(self, name: str) -> "Expression":
        """Take the field of that name, of a struct."""
        span, operand = caller_span(), lift(self)
        node = syntax.Member(operand.syntax, syntax.Word(name, span), span)
        return combine(node, [operand])

    def replace(self, **fields: "Value") -> "Expression":
        """Change some fields of the struct."""
        span, operand = caller_span(), lift(self)
        values = [lift(value) for value in fields.values()]
        bindings = bind(list(fields), values, span)
        return combine(syntax.With(operand.syntax, bindings, span), [operand, *values])

    def is_in(self, options: "Iterable[Value]", *others: object) -> "Expression":
        """Tell whether the value is one of some constants, which are in a list."""
        span, operand = caller_span(), lift(self)
        no_list = isinstance(options, str | Expression) or not has_items(options)
        if others or no_list:
            hint = 'write is_in(["view", "click"]), or =='
            raise QueryError("E0206", "is_in takes several values", span, hint)
        constants = [lift(option) for option in islice(options, MAX_OPTIONS + 1)]
        if not constants:
            raise QueryError("E0206", "is_in of no values", span, "give it some")
        node = syntax.Membership(
            operand.syntax, tuple(c.syntax for c in constants), span
        )
        return combine(node, [operand, *constants])

    def starts_with(self, prefix: str) -> "Expression":
        """Tell whether a string starts with another."""
        return call("starts_with", self, prefix)

    def ends_with(self, suffix: str) -> "Expression":
        """Tell whether a string ends with another."""
        return call("ends_with", self, suffix)

    def contains(self, substring: str) -> "Expression":
        """Tell whether a string has another in it."""
        return call("contains", self, substring)

    def matches(self, regex: str) -> "Expression":
        """Tell whether a regular expression (RE2) matches anywhere in a string."""
        return call("matches", self, regex)

    def __bool__(self) -> bool:
        raise no_truth(caller_span())

    # What Python's own functions ask for: values, which there are none of yet.

    def __iter__(self) -> "Iterator[Expression]":
        raise no_value("values", caller_span())

    def __len__(self) -> int:
        raise no_value("length", caller_span())

    def __float__(self) -> float:
        raise no_value("value", caller_span())

    def __int__(self) -> int:
        raise no_value("value", caller_span())

    def __format__(self, spec: str) -> str:
        raise no_value("text", caller_span())

    def __round__(self, digits: int | None = None) -> "Expression":
        if digits is None:
            return call("round", self)
        scale: float = 10.0**digits
        return call("round", self * scale) / scale

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, **_: object
    ) -> "Expression":
        operator = _OPERATORS.get(ufunc.__name__)
        if operator is None or method != "__call__":
            raise no_array(ufunc.__name__, caller_span())
        # A scalar that numpy compares comes as an array without axes.
        left, right = (
            each[()] if isinstance(each, np.ndarray) and not each.ndim else each
            for each in inputs
        )
        if operator == "**":
            return call("pow", left, right)
        return binary(operator, left, right)

    def __array_function__(self, function: Callable[..., object], *_: object) -> None:
        raise no_array(function.__name__, caller_span())

    def __call__(self, *_: object, **__: object) -> "Expression":
        member = self.syntax
        name = member.name.text if isinstance(member, syntax.Member) else ""
        raise no_method(name, caller_span())

    def __getitem__(self, time: "Value | slice") -> "Expression":
        span = caller_span()
        message, hint = "only objects have values at times", "write q[t].price"
        if isinstance(time, str):
            hint = f"write .{time}"
        elif isinstance(time, slice):
            message = "only objects have windows"
            hint = 'name it: y = define("y", t, ...), and take a window of y'
        raise QueryError("E0107", message, span, hint)

    def __contains__(self, value: object) -> bool:
        raise no_value("parts", caller_span())

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return format_syntax(self.syntax)


_OPERATORS: dict[str, BinaryOp | Literal["**"]] = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//",
    "remainder": "%", "less": "<", "less_equal": "<=", "greater": ">",
    "greater_equal": ">=", "equal": "==", "not_equal": "!=", "power": "**",
    "bitwise_and": "&&", "bitwise_or": "||",
}  # fmt: skip
"""Operators by their names in numpy, which asks for them beside its own scalars."""

Value = Expression | float | bool | str | timedelta | date | np.generic
"""Anything that reads as a value: a string is one, but in place of a time a duration,
like `x[t - "10s"]`; a `timedelta` is one everywhere, and dates and `datetime`s are
times; so are numpy's scalars."""


def lift(value: object) -> Expression:
    """Lift a Python value to an expression at the caller's line."""
    span = caller_span()
    match value:
        case Expression(syntax=syntax.PhiLiteral()):
            return Expression(syntax.PhiLiteral(span))
        case Expression(syntax=syntax.Ref(start=None) | syntax.Name() as bare):
            return Expression(replace(bare, span=span), value.provenance)
        case Expression():
            return value
        case bool() | np.bool_():
            return Expression(syntax.Bool(bool(value), span))
        case timedelta() | np.timedelta64():  # which numpy counts among the integers
            return Expression(_time(partial(from_timedelta, value, span), value, span))
        case Integral():
            return Expression(syntax.Number(int(value), span))
        case Real():
            return Expression(syntax.Number(float(value), span))
        case date() | np.datetime64():
            instant = _time(partial(nanoseconds_of, value), value, span)
            return Expression(syntax.Moment(instant, span))
        case str():
            return Expression(syntax.Text(value, span, in_python=True))
        case None:
            message = "None is not a value of a query"
            raise QueryError("E0201", message, span, "write phi")
        case _:
            message = f"{article(type(value).__name__)} is not a value of a query"
            hint = "numbers, bools, strings, durations and times are"
            if isinstance(value, Mapping):
                hint = "write tilt.struct(a=..., b=...)"
            raise QueryError("E0201", message, span, hint)


def _time(read: Callable[[], T], value: object, span: Span) -> T:
    """Read a length or an instant; what is none is an error at the caller's line."""
    try:
        return read()
    except TiltError as error:
        raise QueryError("E0004", f"{value} {error}", span, "") from None


def combine(node: syntax.Expr, operands: Sequence[Expression]) -> Expression:
    """Make an expression of its syntax and the expressions in it."""
    depth = 1 + max((operand.provenance.depth for operand in operands), default=0)
    if depth > MAX_DEPTH:
        raise too_deep(node.span)
    inner = [operand.provenance for operand in operands]
    provenance = Provenance(
        frozenset().union(*(p.objects for p in inner)),
        frozenset().union(*(p.domains for p in inner)),
        depth,
        1 + sum(p.size for p in inner),
    )
    return Expression(node, provenance)


def binary(op: BinaryOp, left: object, right: object) -> Expression:
    """Apply a binary operator: `left op right`."""
    sides = lift(left), lift(right)
    span = caller_span()
    return combine(
        syntax.InfixOperation(op, sides[0].syntax, sides[1].syntax, span), sides
    )


def unary(op: UnaryOp, operand: object) -> Expression:
    """Apply a unary operator: `op operand`."""
    lifted = lift(operand)
    return combine(syntax.PrefixOperation(op, lifted.syntax, caller_span()), [lifted])


def call(name: str, *arguments: object, **named: object) -> Expression:
    """Call a function of the language: `name(arguments, name = value)`."""
    span = caller_span()
    plain = [lift(argument) for argument in arguments]
    extra = [lift(value) for value in named.values()]
    node = syntax.CallExpression(
        syntax.Word(name, span),
        tuple(argument.syntax for argument in plain),
        bind(list(named), extra, span),
        span,
    )
    return combine(node, [*plain, *extra])


def call_given(name: str, *arguments: object) -> Expression:
    """Call a function of the language with the arguments that are not None."""
    return call(name, *(each for each in arguments if each is not None))


def bind(
    names: Sequence[str], values: Sequence[Expression], span: Span
) -> tuple[syntax.NamedValue, ...]:
    """Pair names with values, as `name = value`."""
    pairs = zip(names, values, strict=True)
    return tuple(syntax.NamedValue(syntax.Word(n, span), v.syntax) for n, v in pairs)

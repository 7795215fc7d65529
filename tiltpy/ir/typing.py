"""Typed constructors of expressions: what both doors build the IR with.

Each takes operands that may still be untyped (see `widening.py`), applies the typing
rules of `grammar/README.md`, and raises a `QueryError` where they are broken.
"""

from collections.abc import Sequence
from math import isnan, trunc

from tiltpy.errors import QueryError
from tiltpy.ir.folding import LIMIT, fold_arithmetic, fold_comparison, out_of_range
from tiltpy.ir.nodes import (
    Binary,
    Call,
    Cast,
    Const,
    Element,
    Exists,
    Expr,
    Field,
    If,
    In,
    MakeStruct,
    MatchString,
    Phi,
    Reduce,
    Unary,
    UserReduction,
    Window,
)
from tiltpy.ir.temporal import FUNCTIONS as TEMPORAL_FUNCTIONS
from tiltpy.ir.temporal import beside_times, is_temporal
from tiltpy.ir.ticks import (
    negated,
    no_number,
    no_ticks_reduction,
    ticks_arithmetic,
    ticks_cast,
)
from tiltpy.ir.verify_types import reduction_type
from tiltpy.ir.widening import (
    adapt,
    common_type,
    finish,
    is_untyped,
    to_f32,
    typed,
)
from tiltpy.names import article, closest
from tiltpy.ops import (
    COMPARISON,
    FUNCTIONS,
    LOGICAL,
    REDUCTIONS,
    BinaryOp,
    StringTest,
    UnaryOp,
)
from tiltpy.patterns import pattern_fault
from tiltpy.source import Span
from tiltpy.types import (
    BOOL,
    DURATION,
    F32,
    F64,
    FLOAT_LITERAL,
    INT_LITERAL,
    PHI,
    STRING,
    TIME,
    Scalar,
    Struct,
    Type,
    int_range,
    is_nested,
)


def number(value: float, span: Span) -> Const:
    """A number literal, untyped until it meets a typed operand."""
    if isinstance(value, int) and abs(value) > LIMIT:
        raise out_of_range(span)
    return Const(value, INT_LITERAL if isinstance(value, int) else FLOAT_LITERAL, span)


def string(value: str, span: Span) -> Const:
    """A string literal."""
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise QueryError(
            "E0004",
            "half of a surrogate pair is no character of a string",
            span,
            "write the character itself, or its code point",
        )
    return Const(value, STRING, span)


def is_bare_phi(expr: Expr) -> bool:
    """Whether an expression is `φ` itself: `x != φ` asks for existence."""
    return isinstance(expr, Phi) and expr.type == PHI


def unary(op: UnaryOp, operand: Expr, span: Span) -> Expr:
    """`-operand` of a number, `!operand` of a bool."""
    if op == "!":
        return Unary(op, _bool(operand, "`!`"), BOOL, span)
    scalar = common_type([operand], span)
    if is_bare_phi(operand):
        return operand
    if isinstance(operand, Const) and is_untyped(scalar):
        return number(-operand.number, span)
    if scalar == DURATION:
        return negated(operand, span)
    _require_number(scalar, operand, "`-`")
    return Unary(op, operand, scalar, span)


def binary(op: BinaryOp, left: Expr, right: Expr, span: Span) -> Expr:
    """`left op right`, with the operands widened to one type."""
    if op in LOGICAL:
        sides = _bool(left, f"`{op}`"), _bool(right, f"`{op}`")
        return Binary(op, *sides, BOOL, span)
    if op in COMPARISON:
        return _comparison(op, *beside_times(left, right), span)
    if is_temporal(left.type) or is_temporal(right.type):
        return ticks_arithmetic(op, left, right, span)
    return _arithmetic(op, left, right, span)


def _comparison(op: BinaryOp, left: Expr, right: Expr, span: Span) -> Expr:
    if op in ("==", "!=") and (is_bare_phi(left) or is_bare_phi(right)):
        found = exists(left if is_bare_phi(right) else right, span)
        return found if op == "!=" else Unary("!", found, BOOL, span)
    if left.type == BOOL != right.type and _is_comparison(left):
        message = f"`a < b {op} c` compares a bool with {article(right.type)}"
        raise QueryError("E0201", message, span, f"write a < b && b {op} c")
    scalar = common_type([left, right], span)
    if is_untyped(scalar):
        if isinstance(left, Const) and isinstance(right, Const):
            sides = left.number, right.number
            return Const(fold_comparison(op, *sides), BOOL, span)
        return _comparison(op, *_finish_both(left, right, scalar), span)
    return Binary(op, adapt(left, scalar), adapt(right, scalar), BOOL, span)


def _is_comparison(expr: Expr) -> bool:
    return isinstance(expr, Binary) and expr.op in COMPARISON


def _finish_both(left: Expr, right: Expr, scalar: Scalar) -> tuple[Expr, Expr]:
    """Two untyped operands of which one at least is no plain literal, typed."""
    sides = adapt(left, scalar), adapt(right, scalar)
    return finish(sides[0], "the left side"), finish(sides[1], "the right side")


def _arithmetic(op: BinaryOp, left: Expr, right: Expr, span: Span) -> Expr:
    scalar = common_type([left, right], span)
    if is_bare_phi(left) and is_bare_phi(right):
        return left
    for side in (left, right):
        _require_number(scalar, side, f"`{op}`")
    if is_untyped(scalar) and isinstance(left, Const) and isinstance(right, Const):
        value = fold_arithmetic(op, left.number, right.number, span)
        if value is not None:
            return number(value, span)
    if op == "/" and not scalar.is_float:
        scalar = _float_of(scalar)
    return Binary(op, adapt(left, scalar), adapt(right, scalar), scalar, span)


def _float_of(scalar: Scalar) -> Scalar:
    """What `/` and the functions of floats make of another number."""
    return FLOAT_LITERAL if is_untyped(scalar) else F64


def _require_number(scalar: Scalar, operand: Expr, what: str) -> None:
    if scalar.is_temporal:
        raise no_number(scalar, operand.span, what)
    if not scalar.is_number and scalar != PHI:
        way = "cast it, like i64(...), or use && || ! on bools"
        if scalar == STRING:
            way = "strings are compared, and asked: contains(s, ...), s in (...)"
        raise QueryError(
            "E0201", f"{what} takes numbers, not {operand.type}", operand.span, way
        )


def _bool(operand: Expr, what: str) -> Expr:
    if operand.type == PHI:
        return adapt(operand, BOOL)
    if operand.type != BOOL:
        raise QueryError(
            "E0201",
            f"{what} takes a bool, not {article(operand.type)}",
            operand.span,
            "compare it, like " + _comparison_of(operand.type),
        )
    return operand


def _comparison_of(type: Type) -> str:
    ways = {STRING: '... == "view"', DURATION: "... > 0s", TIME: "... < t"}
    return ways.get(type, "... != 0") if isinstance(type, Scalar) else "... != 0"


def conditional(condition: Expr, then: Expr, otherwise: Expr, span: Span) -> Expr:
    """`condition ? then : otherwise`, with the branches widened to one type."""
    condition = _bool(condition, "the condition of `?`")
    branches = (then, otherwise)
    structs = [b.type for b in branches if isinstance(b.type, Struct)]
    if not structs:
        then, otherwise = beside_times(then, otherwise)
        scalar = common_type([then, otherwise], span)
        return If(condition, adapt(then, scalar), adapt(otherwise, scalar), span)
    target = structs[0]
    for branch in branches:
        if branch.type not in (target, PHI):
            raise QueryError(
                "E0201",
                f"the branches of `?` are {then.type} and {otherwise.type}",
                branch.span,
                "give both the same fields of the same types in the same order",
            )
    return If(condition, adapt(then, target), adapt(otherwise, target), span)


def exists(operand: Expr, span: Span) -> Expr:
    """`operand != φ`."""
    return Exists(finish(operand, "the operand"), BOOL, span)


def cast(operand: Expr, target: Scalar, span: Span) -> Expr:
    """`target(operand)`; a literal or φ takes the type itself."""
    if operand.type == PHI:
        return adapt(operand, target)
    if STRING in (operand.type, target) and operand.type != target:
        raise _no_cast(operand, target, span)
    if target.is_temporal or is_temporal(operand.type):
        return ticks_cast(operand, target, span)
    if isinstance(operand, Const) and is_untyped(operand.type):
        return Const(_saturate(operand.number, target), target, span)
    operand = finish(operand, "the operand")
    scalar = common_type([operand], span)
    return operand if scalar == target else Cast(operand, target, span)


def _no_cast(operand: Expr, target: Scalar, span: Span) -> QueryError:
    """The error that strings are not read as anything else, nor written."""
    found = "a number" if is_untyped(operand.type) else str(operand.type)
    way = "cast the column before it comes in"
    if isinstance(operand, Const) and target == STRING:
        way = f'write it in quotes, like "{operand.value}"'
    return QueryError("E0201", f"no cast makes {target} of {found}", span, way)


def is_in(operand: Expr, options: Sequence[Expr], span: Span) -> Expr:
    """`operand in (options)`, of constants that are widened with it to one type."""
    constants = []
    for option in options:
        if is_bare_phi(option):
            way = "write x == φ || x in (...)"
            raise QueryError("E0201", "nothing equals φ", option.span, way)
        if not isinstance(option, Const):
            way = "literals and parameters; for others write x == ... || x == ..."
            raise QueryError("E0116", "a constant was expected", option.span, way)
        constants.append(option)
    scalar = common_type([operand, *constants], span)
    if is_untyped(scalar):
        return is_in(finish(adapt(operand, scalar), "the operand"), options, span)
    found = dict.fromkeys(typed(option, scalar) for option in constants)
    return In(adapt(operand, scalar), tuple(found), BOOL, span)


def match_string(test: StringTest, operand: Expr, pattern: Expr, span: Span) -> Expr:
    """`test(operand, pattern)`, such as `starts_with(s, "p")`."""
    if operand.type == PHI:
        operand = adapt(operand, STRING)
    for each in (operand, pattern):
        if each.type != STRING:
            message = f"{test}() takes strings, not {each.type}"
            way = f'like {test}(~x[t].name, "view")'
            raise QueryError("E0201", message, each.span, way)
    if not isinstance(pattern, Const):
        message = f"what {test}() looks for is a constant"
        raise QueryError("E0116", message, pattern.span, "a literal or a parameter")
    looked_for = str(pattern.value)
    fault = pattern_fault(looked_for) if test == "matches" else None
    if fault is not None:
        message = f"this regular expression does not compile: {fault}"
        way = "the syntax is RE2's; contains(s, ...) looks for a plain text"
        raise QueryError("E0208", message, pattern.span, way)
    return MatchString(test, operand, looked_for, BOOL, span)


def _saturate(value: float, target: Scalar) -> bool | int | float:
    if target == BOOL:
        return value != 0
    if target.is_float:
        return to_f32(value) if target == F32 else float(value)
    low, high = int_range(target)
    if isnan(value):
        return 0
    return trunc(min(max(value, low), high))


def call(function: str, arguments: Sequence[Expr], span: Span) -> Expr:
    """A math function of `ops.FUNCTIONS`, given as many arguments as it takes."""
    rule = FUNCTIONS[function]
    if rule.arity == 2:
        arguments = beside_times(*arguments)
    scalar = common_type(arguments, span)
    if scalar in TEMPORAL_FUNCTIONS.get(function, ()):
        return Call(function, tuple(adapt(a, scalar) for a in arguments), scalar, span)
    for argument in arguments:
        _require_number(scalar, argument, f"{function}()")
    if rule.result != "same" and not scalar.is_float:
        scalar = _float_of(scalar)
    if rule.result == "bool" and is_untyped(scalar):
        scalar = F64
    adapted = tuple(adapt(argument, scalar) for argument in arguments)
    return Call(function, adapted, BOOL if rule.result == "bool" else scalar, span)


def make_struct(names: Sequence[str], values: Sequence[Expr], span: Span) -> Expr:
    """`{ name = value, ... }` of scalars, and of structs of scalars."""
    fields, types = [], []
    for name, value in zip(names, values, strict=True):
        done = finish(value, f"the field `{name}`")
        if is_nested(done.type):
            raise QueryError(
                "E0201",
                f"the field `{name}` is a struct with a struct in it; structs nest "
                "one level",
                value.span,
                "give each of its fields a name of its own",
            )
        fields.append(done)
        types.append((name, done.type))
    return MakeStruct(tuple(fields), Struct(tuple(types)), span)


def field(operand: Expr, name: str, span: Span, place: Span) -> Expr:
    """`operand.name`; `place` is where the name stands."""
    scalar = operand.type.field(name) if isinstance(operand.type, Struct) else None
    if scalar is None:
        raise no_field(operand, name, place)
    return Field(operand, name, scalar, span)


def no_field(operand: Expr, name: str, place: Span) -> QueryError:
    """The error that an expression has no such field."""
    if not isinstance(operand.type, Struct):
        message = f"`.{name}` of {article(operand.type)}; only structs have fields"
        return QueryError("E0205", message, place, "leave it out")
    known = [n for n, _ in operand.type.fields]
    close = closest(name, known)
    way = f"did you mean {close}?" if close else f"there is {', '.join(known)}"
    return QueryError("E0205", f"no field `{name}` in {operand.type}", place, way)


def with_fields(
    operand: Expr, new: Sequence[tuple[str, Expr, Span]], span: Span
) -> Expr:
    """`operand with { name = value, ... }`: φ where the operand is.

    A literal takes the field's type; another value may change it.
    """
    for name, _, place in new:
        if not isinstance(operand.type, Struct) or operand.type.field(name) is None:
            raise no_field(operand, name, place)
    assert isinstance(operand.type, Struct)
    given = {name: value for name, value, _ in new}
    values: list[Expr] = []
    for name, of in operand.type.fields:
        old = Field(operand, name, of, span)
        value = given.get(name, old)
        if is_bare_phi(value) and isinstance(of, Struct):
            # A bare φ has no type: this is one that prints and reads as a struct.
            value = If(Const(False, BOOL, span), old, Phi(of, span), span)
        elif is_untyped(value.type):
            value = adapt(value, common_type([old, value], value.span))
        values.append(value)
    changed = make_struct([n for n, _ in operand.type.fields], values, span)
    return If(exists(operand, span), changed, Phi(changed.type, span), span)


def reduce(
    reduction: str,
    window: Window,
    element: Expr,
    span: Span,
    ddof: int = 0,
    parameter: float | None = None,
) -> Expr:
    """`⊕(reduction, element for each snapshot of window)`."""
    element = finish(element, "the element")
    result = reduction_type(reduction, element.type, parameter)
    if result is None:
        raise _no_reduction(reduction, element)
    return Reduce(reduction, window, element, result, ddof, parameter, span=span)


def reduce_own(own: UserReduction, window: Window, element: Expr, span: Span) -> Expr:
    """A reduction of the query's own; the element widens to what it takes."""
    if is_bare_phi(element):
        element = adapt(element, own.type)
    fitted = _fit(element, own.type)
    if fitted is None:
        raise QueryError(
            "E0201",
            f"{own.name} takes {own.type}, not {element.type}",
            element.span,
            _way_to_fit(own),
        )
    return Reduce(
        own.name, window, fitted, own.result.type, bounds=own.bounds, span=span
    )


def _way_to_fit(own: UserReduction) -> str:
    if isinstance(own.type, Scalar):
        return f"cast it, like {own.type}(...), or reduce one field of a struct"
    fields = ", ".join(f"{name} = ..." for name, _ in own.type.fields)
    return f"reduce an element with its fields, like {{ {fields} }} for v in ..."


def _fit(element: Expr, wanted: Type) -> Expr | None:
    """The element as a value of a type, if that loses nothing.

    Of a struct the fields are taken that the type has.
    """
    if element.type == wanted:
        return element
    if isinstance(wanted, Scalar):
        if isinstance(element.type, Struct):
            return None
        model = Phi(wanted, element.span)
        try:
            joined = common_type([element, model], element.span)
        except QueryError:
            return None
        return adapt(element, wanted) if joined == wanted else None
    return _fit_struct(element, wanted)


def _fit_struct(element: Expr, wanted: Struct) -> Expr | None:
    match element:
        case Phi():
            return Phi(wanted, element.span)
        case If():
            then = _fit(element.then, wanted)
            otherwise = _fit(element.otherwise, wanted)
            if then is None or otherwise is None:
                return None
            return If(element.condition, then, otherwise, element.span)
        case Element() | MakeStruct():
            values = []
            for name, scalar in wanted.fields:
                found = _field_of(element, name)
                value = None if found is None else _fit(found, scalar)
                if value is None:
                    return None
                values.append(value)
            return MakeStruct(tuple(values), wanted, element.span)
        case _:
            return None


def _field_of(element: Element | MakeStruct, name: str) -> Expr | None:
    if not isinstance(element.type, Struct):
        return None
    scalar = element.type.field(name)
    if scalar is None:
        return None
    if isinstance(element, MakeStruct):
        names = [each for each, _ in element.type.fields]
        return element.fields[names.index(name)]
    return Field(element, name, scalar, element.span)


def _no_reduction(reduction: str, element: Expr) -> QueryError:
    if isinstance(element.type, Struct):
        name = element.type.fields[0][0]
        return QueryError(
            "E0201",
            f"{reduction} of the struct {element.type}; only count takes structs",
            element.span,
            f"reduce one field, like .{name}",
        )
    if element.type.is_temporal:
        return no_ticks_reduction(reduction, element)
    wanted, way = "numbers", "cast it, like i64(...)"
    if REDUCTIONS[reduction].result == "bool":
        wanted, way = "bools", "compare it, like ... > 0"
        if element.type == STRING:
            way = "compare it, like " + _comparison_of(STRING)
    elif element.type == STRING:
        some = ", ".join(r.name for r in REDUCTIONS.values() if r.strings)
        way = f"{some} take strings"
    return QueryError(
        "E0201",
        f"{reduction} takes {wanted}, not {element.type}",
        element.span,
        way,
    )

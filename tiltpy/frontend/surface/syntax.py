"""The surface syntax: a query as it was written, before names, units and types.

`text` makes it of a text and `python` of calls. It knows no types and no ticks;
`elaboration` turns it into the functional IR.
"""

from collections.abc import Iterator
from typing import assert_never

from tiltpy.errors import QueryError
from tiltpy.lean_dataclass import dataclass
from tiltpy.ops import BinaryOp, UnaryOp
from tiltpy.source import Span
from tiltpy.types import Step


@dataclass(frozen=True, slots=True)
class Word:
    """A name where it stands: `text` without a leading `~`."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Number:
    """An integer or a float literal; `∞` is a float."""

    value: int | float
    span: Span


@dataclass(frozen=True, slots=True)
class DurationLiteral:
    """A duration literal in nanoseconds, and the unit that it is fine enough for."""

    nanoseconds: int
    finest: int
    span: Span


@dataclass(frozen=True, slots=True)
class CalendarStep:
    """`1mo`: a step of a calendar, which has no constant length."""

    count: int
    step: Step
    span: Span


@dataclass(frozen=True, slots=True)
class CalendarPrecision:
    """`calendar(1mo, zone)` as the precision of a time domain."""

    step: CalendarStep
    zone: "Expr | None"
    span: Span


@dataclass(frozen=True, slots=True)
class InputCells:
    """`cells of ~object` as the precision of a time domain: its intervals."""

    object: str
    span: Span


@dataclass(frozen=True, slots=True)
class CellCount:
    """`2 cells`, in the earlier bound of a window."""

    count: int
    span: Span


@dataclass(frozen=True, slots=True)
class Moment:
    """A time literal, `time("2013-03-01")`, in nanoseconds since 1970."""

    nanoseconds: int
    span: Span


@dataclass(frozen=True, slots=True)
class Bool:
    """`true` or `false`."""

    value: bool
    span: Span


@dataclass(frozen=True, slots=True)
class PhiLiteral:
    """`φ`."""

    span: Span


@dataclass(frozen=True, slots=True)
class Text:
    """A string literal: what it stands for, without quotes and escapes.

    One that is written in Python may be a duration, if what it meets is one or a time.
    """

    value: str
    span: Span
    in_python: bool = False


@dataclass(frozen=True, slots=True)
class Name:
    """A local name, a parameter, a time variable or a run-time bound."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Ref:
    """`~object`, `~object[start]` or `~object[start : stop within length]`."""

    object: str
    start: "Expr | None"
    stop: "Expr | None"
    span: Span
    within: "Expr | None" = None


@dataclass(frozen=True, slots=True)
class RowsEnd:
    """`last count`, the left end of a window of rows."""

    count: "Expr"
    span: Span


@dataclass(frozen=True, slots=True)
class RestartEnd:
    """`since ~c` or `after ~c`, the left end of a window that restarts."""

    condition: Ref
    after: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Strict:
    """`< time`, a bound of an as-of look that excludes the time itself."""

    time: "Expr"
    span: Span


@dataclass(frozen=True, slots=True)
class RowEnd:
    """`row time`, the right end of a window that ends with the row itself."""

    time: "Expr"
    span: Span


@dataclass(frozen=True, slots=True)
class Nearest:
    """`nearest time`, an as-of look in both directions."""

    time: "Expr"
    span: Span


@dataclass(frozen=True, slots=True)
class Paren:
    """`(operand)`."""

    operand: "Expr"
    span: Span


@dataclass(frozen=True, slots=True)
class PrefixOperation:
    """`-x`, `!x`."""

    op: UnaryOp
    operand: "Expr"
    span: Span


@dataclass(frozen=True, slots=True)
class InfixOperation:
    """`left op right`."""

    op: BinaryOp
    left: "Expr"
    right: "Expr"
    span: Span


@dataclass(frozen=True, slots=True)
class Membership:
    """`operand in (options)`."""

    operand: "Expr"
    options: "tuple[Expr, ...]"
    span: Span


@dataclass(frozen=True, slots=True)
class Conditional:
    """`condition ? then : otherwise`."""

    condition: "Expr"
    then: "Expr"
    otherwise: "Expr"
    span: Span


@dataclass(frozen=True, slots=True)
class NamedValue:
    """`name = value` in a block, a struct, `with { ... }` or a call."""

    name: Word
    value: "Expr"


@dataclass(frozen=True, slots=True)
class CallExpression:
    """`callee(arguments, name = value)`; `reduce` for the form `⊕(callee, ...)`."""

    callee: Word
    arguments: tuple["Expr", ...]
    named: tuple[NamedValue, ...]
    span: Span
    reduce: bool = False


@dataclass(frozen=True, slots=True)
class Comprehension:
    """`element for pattern in window if condition`, inside a reduction.

    `names` pairs each name with the field it stands for, or None for the whole value.
    """

    element: "Expr"
    names: tuple[tuple[Word, Word | None], ...]
    window: "Expr"
    condition: "Expr | None"
    span: Span


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """`[a, b, c]`, an argument of a call."""

    values: tuple["Expr", ...]
    span: Span


@dataclass(frozen=True, slots=True)
class StructValue:
    """`{ a = ..., b = ... }`."""

    fields: tuple[NamedValue, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class With:
    """`operand with { a = ... }`."""

    operand: "Expr"
    fields: tuple[NamedValue, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Member:
    """`operand.name`."""

    operand: "Expr"
    name: Word
    span: Span


Expr = (
    Number
    | DurationLiteral
    | CalendarStep
    | CalendarPrecision
    | InputCells
    | CellCount
    | Moment
    | Bool
    | PhiLiteral
    | Text
    | Name
    | Ref
    | RowsEnd
    | RestartEnd
    | Strict
    | RowEnd
    | Nearest
    | Paren
    | PrefixOperation
    | InfixOperation
    | Membership
    | Conditional
    | CallExpression
    | Comprehension
    | ListLiteral
    | StructValue
    | With
    | Member
)


@dataclass(frozen=True, slots=True)
class BlockBody:
    """`{ name = value ~name[t] = value ... return result }`, a body."""

    bindings: tuple["BlockStatement", ...]
    result: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class TypeName:
    """The name of a scalar type, or a struct of those."""

    name: Word


@dataclass(frozen=True, slots=True)
class StructType:
    """`{ a: f64, b: i64 }`."""

    fields: tuple[tuple[Word, "Type"], ...]
    span: Span


Type = TypeName | StructType


@dataclass(frozen=True, slots=True)
class Lifetime:
    """The rule by which an input's rows become events."""

    kind: str
    """The keyword (`lifetimes.LIFETIMES`)."""
    length: Expr | None
    columns: tuple[Word, Word] | None
    span: Span


@dataclass(frozen=True, slots=True)
class Unit:
    """`unit s`."""

    name: Word


@dataclass(frozen=True, slots=True)
class Param:
    """`param name : type = value`."""

    name: Word
    type: Word
    value: Expr


@dataclass(frozen=True, slots=True)
class InputStatement:
    """`input name by keys : type`, its lifetime, time column and tie order."""

    name: Word
    type: Type
    lifetime: Lifetime | None
    time: Word | None
    order: tuple[Word, ...]
    keys: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True)
class TimeDomain:
    """`name = TDom(arguments)`: start, end, precision and perhaps an offset.

    `left` if the word stands behind them.
    """

    name: Word
    arguments: tuple[Expr, ...]
    span: Span
    left: bool = False


@dataclass(frozen=True, slots=True)
class RowDomain:
    """`name = Rows(~object)`, or `Rows(~object, null)`."""

    name: Word
    rows: Ref
    nulls: bool
    span: Span


Domain = TimeDomain | RowDomain


@dataclass(frozen=True, slots=True)
class ObjectDefinition:
    """`~name[time] = body`; `domain` is given where it has no name (from Python).

    `distinct`: snapshots that touch and have identical values are one.
    """

    name: Word
    time: Word
    body: Expr | BlockBody
    domain: Domain | None = None
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Parameter:
    """`~name`, `name` or `name = default` of a function."""

    name: Word
    object: bool
    default: Expr | None = None


@dataclass(frozen=True, slots=True)
class FunctionDefinition:
    """`def name(parameters) = body`."""

    name: Word
    parameters: tuple[Parameter, ...]
    body: Expr | BlockBody


@dataclass(frozen=True, slots=True)
class OutputStatement:
    """`output ~a, ~b`."""

    names: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class ElementParameter:
    """`name: type`, or `start` and `end` alone, of a user-defined reduction."""

    name: Word
    type: Type | None


@dataclass(frozen=True, slots=True)
class ReductionClause:
    """`name = body` of a user-defined reduction."""

    name: Word
    body: Expr | BlockBody


@dataclass(frozen=True, slots=True)
class ReductionDefinition:
    """`reduction name(parameters) { init = ... acc = ... }`."""

    name: Word
    parameters: tuple[ElementParameter, ...]
    clauses: tuple[ReductionClause, ...]


BlockStatement = NamedValue | Domain | ObjectDefinition
Statement = (
    Unit
    | Param
    | InputStatement
    | Domain
    | ObjectDefinition
    | FunctionDefinition
    | ReductionDefinition
    | OutputStatement
)


@dataclass(frozen=True, slots=True)
class Program:
    """A query as it was written, and what was wrong with its syntax.

    `poisoned` has the names (objects with `~`, functions with `()`) of statements that
    were left out; `span` is where to report that something is missing.
    """

    statements: tuple[Statement, ...]
    span: Span
    errors: tuple[QueryError, ...] = ()
    poisoned: frozenset[str] = frozenset()


def bodies(statement: Statement) -> tuple[Expr | BlockBody, ...]:
    """List the expressions of a statement."""
    match statement:
        case Param():
            return (statement.value,)
        case InputStatement(lifetime=Lifetime(length=length)):
            return () if length is None else (length,)
        case TimeDomain():
            return statement.arguments
        case FunctionDefinition():
            defaults = (p.default for p in statement.parameters if p.default)
            return (statement.body, *defaults)
        case ReductionDefinition():
            return tuple(clause.body for clause in statement.clauses)
        case ObjectDefinition():
            domain = statement.domain
            return (statement.body, *(bodies(domain) if domain else ()))
        case Unit() | InputStatement() | RowDomain() | OutputStatement():
            return ()
        case _:
            assert_never(statement)


def operands(node: Expr) -> tuple[Expr, ...]:
    """List the direct subexpressions of an expression."""
    match node:
        case (
            Number()
            | DurationLiteral()
            | CalendarStep()
            | InputCells()
            | CellCount()
            | Moment()
            | Bool()
            | PhiLiteral()
            | Text()
            | Name()
        ):
            return ()
        case RowsEnd():
            return (node.count,)
        case RestartEnd():
            return (node.condition,)
        case Strict() | RowEnd() | Nearest():
            return (node.time,)
        case CalendarPrecision():
            return () if node.zone is None else (node.zone,)
        case Ref():
            bounds = node.start, node.stop, node.within
            return tuple(bound for bound in bounds if bound is not None)
        case Paren() | PrefixOperation() | Member():
            return (node.operand,)
        case InfixOperation():
            return (node.left, node.right)
        case Membership():
            return (node.operand, *node.options)
        case Conditional():
            return (node.condition, node.then, node.otherwise)
        case CallExpression():
            return (*node.arguments, *(binding.value for binding in node.named))
        case Comprehension():
            condition = () if node.condition is None else (node.condition,)
            return (node.window, node.element, *condition)
        case ListLiteral():
            return node.values
        case StructValue():
            return tuple(field.value for field in node.fields)
        case With():
            return (node.operand, *(field.value for field in node.fields))
        case _:
            assert_never(node)


def children(node: Expr | BlockBody) -> tuple[Expr | BlockBody, ...]:
    """List the direct subexpressions of an expression, or the bodies in a block."""
    if isinstance(node, BlockBody):
        values = (value for b in node.bindings for value in block_values(b))
        return (*values, node.result)
    return operands(node)


def block_values(statement: BlockStatement) -> tuple[Expr | BlockBody, ...]:
    """List the expressions behind the `=` of a statement of a block."""
    match statement:
        case NamedValue():
            return (statement.value,)
        case TimeDomain():
            return statement.arguments
        case RowDomain():
            return ()
        case ObjectDefinition():
            return (statement.body,)
        case _:
            assert_never(statement)


def walk(node: Expr | BlockBody) -> Iterator[Expr | BlockBody]:
    """Go through all nodes, each before its subexpressions."""
    stack: list[Expr | BlockBody] = [node]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))

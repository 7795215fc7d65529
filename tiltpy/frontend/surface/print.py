"""Surface syntax as text of the language, as `repr` shows what Python writes.

    ~stock[t - 10s : t]        mean(~stock[t - 10s : t]) > 3.5        until_next max 1d

Expressions of Python may share parts and grow without bound when written out: a text
ends with `...` where it has as many parts as a reader looks at.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from math import isinf
from typing import assert_never

from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.durations import read_as_duration
from tiltpy.ops import COMPARISON, PRECEDENCE
from tiltpy.types import NANOSECONDS, format_duration
from tiltpy.visible import format_name, quote_string

MOST_PARTS = 80
"""Parts of an expression that are written."""
MORE = "..."
_LOWEST, _UNARY, _POSTFIX = 0, PRECEDENCE["unary"], PRECEDENCE["postfix"]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def format_syntax(node: syntax.Expr) -> str:
    """Format an expression."""
    return _Printer().text(node)


def format_lifetime(lifetime: syntax.Lifetime) -> str:
    """Format a lifetime: `until_next max 1d`."""
    if lifetime.columns is not None:
        columns = ", ".join(format_name(column.text) for column in lifetime.columns)
        return f"{lifetime.kind} ({columns})"
    if lifetime.length is None:
        return lifetime.kind
    limit = "max " if lifetime.kind == "until_next" else ""
    return f"{lifetime.kind} {limit}{format_syntax(lifetime.length)}"


def format_type(type: syntax.Type) -> str:
    """Format the type of a payload."""
    if isinstance(type, syntax.TypeName):
        return type.name.text
    fields = (
        f"{format_name(name.text)}: {format_type(of)}" for name, of in type.fields
    )
    return "{ " + ", ".join(fields) + " }"


def format_declaration(node: syntax.InputStatement | syntax.ObjectDefinition) -> str:
    """Format what declares an object: `input x : f64 point`, `~o[t] = ~x[t] + 1`."""
    if isinstance(node, syntax.InputStatement):
        return format_input(node)
    head = f"{'distinct ' if node.distinct else ''}~{node.name.text}[{node.time.text}]"
    return f"{head} = {_body(node.body)}"


def _body(body: syntax.Expr | syntax.BlockBody) -> str:
    if not isinstance(body, syntax.BlockBody):
        return format_syntax(body)
    lines = map(_block_statement, body.bindings)
    return f"{{ {'; '.join(lines)}  return {format_syntax(body.result)} }}"


def _block_statement(node: syntax.BlockStatement) -> str:
    match node:
        case syntax.NamedValue():
            return f"{node.name.text} = {format_syntax(node.value)}"
        case syntax.ObjectDefinition():
            return format_declaration(node)
        case syntax.TimeDomain() | syntax.RowDomain():
            return f"{node.name.text} = {format_domain(node)}"
        case _:
            assert_never(node)


def format_input(node: syntax.InputStatement) -> str:
    """Format the declaration of an input."""
    words = [f"input {node.name.text}{_columns(' by ', node.keys)} :"]
    words.append(format_type(node.type))
    if node.time is not None:
        words.append(f"time {format_name(node.time.text)}")
    if node.lifetime is not None:
        words.append(format_lifetime(node.lifetime))
    return " ".join(words) + _columns(" order ", node.order)


def format_domain(domain: syntax.Domain) -> str:
    """Format a time domain: `TDom(-∞, ∞, 1s)`, `Rows(~trades)`."""
    if isinstance(domain, syntax.RowDomain):
        return f"Rows(~{domain.rows.object}{', null' if domain.nulls else ''})"
    start, end, precision, *offset = map(format_syntax, domain.arguments)
    shift = [text for text in offset if text != "0"]
    if domain.left:  # behind arguments without names
        return f"TDom({', '.join([start, end, precision, *shift, 'left'])})"
    named = [f"offset={text}" for text in shift]
    return f"TDom({', '.join([start, end, precision, *named])})"


def _columns(words: str, names: Sequence[syntax.Word]) -> str:
    return words + ", ".join(format_name(name.text) for name in names) if names else ""


@dataclass(slots=True)
class _Printer:
    """Formats one expression; `parts` counts what is written."""

    parts: int = 0

    def text(self, node: syntax.Expr, level: int = _LOWEST) -> str:
        """Format an expression, in parentheses if it binds weaker than `level`."""
        self.parts += 1
        if self.parts > MOST_PARTS:
            return MORE
        text, strength = self._format(node)
        return f"({text})" if strength < level else text

    def _format(self, node: syntax.Expr) -> tuple[str, int]:
        match node:
            case syntax.Number(value=value):
                return _number(value), _POSTFIX if value >= 0 else _UNARY
            case syntax.DurationLiteral(nanoseconds=length):
                return format_duration(length), _POSTFIX if length >= 0 else _UNARY
            case syntax.CalendarStep(count=count, step=step):
                return f"{count}{step}", _POSTFIX
            case syntax.CalendarPrecision(step=step, zone=zone):
                parts = [step] if zone is None else [step, zone]
                return f"calendar({self._list(parts)})", _POSTFIX
            case syntax.InputCells(object=name):
                return f"cells of ~{name}", _LOWEST
            case syntax.CellCount(count=count):
                return f"{count} cell{'' if count == 1 else 's'}", _POSTFIX
            case syntax.Moment(nanoseconds=time):
                return f'time("{_stamp(time)}")', _POSTFIX
            case syntax.Bool(value=value):
                return "true" if value else "false", _POSTFIX
            case syntax.PhiLiteral():
                return "φ", _POSTFIX
            case syntax.Text(value=value):
                return quote_string(value), _POSTFIX
            case syntax.Name(text=name):
                return name, _POSTFIX
            case syntax.Ref():
                return self._reference(node), _POSTFIX
            case syntax.RowsEnd(count=count):
                return f"last {self.text(count)}", _LOWEST
            case syntax.RestartEnd(condition=condition, after=after):
                word = "after" if after else "since"
                return f"{word} {self.text(condition)}", _LOWEST
            case syntax.Strict(time=time):
                return f"<{self.text(time)}", _LOWEST
            case syntax.RowEnd(time=time):
                return f"row {self.text(time)}", _LOWEST
            case syntax.Nearest(time=time):
                return f"nearest {self.text(time)}", _LOWEST
            case syntax.Paren(operand=operand):
                return self._format(operand)
            case syntax.PrefixOperation(op=op, operand=operand):
                return op + self.text(operand, _UNARY), _UNARY
            case syntax.InfixOperation():
                return self._infix(node)
            case syntax.Membership(operand=operand, options=options):
                value = self.text(operand, PRECEDENCE["+"])
                return f"{value} in ({self._list(options)})", PRECEDENCE["=="]
            case syntax.Conditional():
                return self._conditional(node), PRECEDENCE["?:"]
            case syntax.CallExpression():
                return self._call(node), _POSTFIX
            case syntax.Comprehension():
                return self._comprehension(node), _LOWEST
            case syntax.ListLiteral(values=values):
                return f"[{self._list(values)}]", _POSTFIX
            case syntax.StructValue(fields=fields):
                return self._fields(fields), _POSTFIX
            case syntax.With(operand=operand, fields=fields):
                value = self.text(operand, _POSTFIX)
                return f"{value} with {self._fields(fields)}", PRECEDENCE["?:"]
            case syntax.Member(operand=operand, name=name):
                value = self.text(operand, _POSTFIX)
                return f"{value}.{format_name(name.text)}", _POSTFIX
            case _:
                assert_never(node)

    def _list(self, nodes: Sequence[syntax.Expr]) -> str:
        return ", ".join(self.text(node) for node in nodes)

    def _fields(self, fields: Sequence[syntax.NamedValue]) -> str:
        if not fields:
            return "{ }"
        pairs = (f"{format_name(f.name.text)} = {self.text(f.value)}" for f in fields)
        return "{ " + ", ".join(pairs) + " }"

    def _reference(self, node: syntax.Ref) -> str:
        if node.start is None:
            return f"~{node.object}"
        bounds = [each for each in (node.start, node.stop) if each is not None]
        text = " : ".join(self.text(bound) for bound in bounds)
        within = "" if node.within is None else f" within {self.text(node.within)}"
        return f"~{node.object}[{text}{within}]"

    def _infix(self, node: syntax.InfixOperation) -> tuple[str, int]:
        strength = PRECEDENCE[node.op]
        if node.op in ("+", "-") and (length := read_as_duration(node.right)):
            node = replace(node, right=length)
        # Comparisons of comparisons read better with brackets.
        plain = PRECEDENCE["+"] if node.op in COMPARISON else strength
        left = self.text(node.left, plain)
        right = self.text(node.right, max(plain, strength + 1))
        if left == right == MORE:
            return MORE, _POSTFIX
        return f"{left} {node.op} {right}", strength

    def _conditional(self, node: syntax.Conditional) -> str:
        strength = PRECEDENCE["?:"]
        condition = self.text(node.condition, strength + 1)
        then = self.text(node.then, strength + 1)
        return f"{condition} ? {then} : {self.text(node.otherwise, strength)}"

    def _call(self, node: syntax.CallExpression) -> str:
        arguments = [self.text(argument) for argument in node.arguments]
        arguments += [f"{n.name.text} = {self.text(n.value)}" for n in node.named]
        return f"{node.callee.text}({', '.join(arguments)})"

    def _comprehension(self, node: syntax.Comprehension) -> str:
        pattern = ", ".join(
            name.text if of is None else f"{format_name(of.text)}: {name.text}"
            for name, of in node.names
        )
        pattern = pattern if node.names[0][1] is None else f"{{{pattern}}}"
        text = f"{self.text(node.element)} for {pattern} in {self.text(node.window)}"
        condition = node.condition
        return text if condition is None else f"{text} if {self.text(condition)}"


def _number(value: float) -> str:
    if isinstance(value, float) and isinf(value):
        return "∞" if value > 0 else "-∞"
    return repr(value)


def _stamp(nanoseconds: int) -> str:
    """Format nanoseconds since 1970 as a stamp of ISO 8601."""
    seconds, rest = divmod(nanoseconds, NANOSECONDS["s"])
    try:
        instant = _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        return f"{nanoseconds}ns"
    fraction = f".{rest:09}".rstrip("0") if rest else ""
    days = instant.strftime("%Y-%m-%d")
    clock = instant.strftime("T%H:%M:%S") + fraction
    return days if clock == "T00:00:00" else days + clock

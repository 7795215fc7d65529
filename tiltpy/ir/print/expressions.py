"""IR expressions as text of the query language.

What is printed parses back to the same expression. The one difficulty is constants: a
bare `1` takes the type of what it meets, so one that meets nothing typed is printed as
`i32(1)`. `bare` says that the surroundings give a constant its type; an expression is
*firm* if it has a type of its own wherever it stands.
"""

from itertools import zip_longest
from typing import assert_never

from tiltpy.ir.nodes import (
    At,
    Binary,
    Call,
    Cast,
    Const,
    Cut,
    CutPoint,
    CutTime,
    CutWindow,
    DateComponent,
    Element,
    ElementStart,
    EventBound,
    Exists,
    Expr,
    Field,
    If,
    In,
    InlinedCut,
    LastRows,
    Let,
    Local,
    MakeStruct,
    MatchString,
    Phi,
    Reduce,
    Since,
    StringCall,
    Time,
    Unary,
    Window,
)
from tiltpy.ir.print.literals import is_firm, literal, settles
from tiltpy.ir.temporal_types import is_temporal
from tiltpy.ir.traversal import names
from tiltpy.lean_dataclass import dataclass
from tiltpy.ops import COMPARISON, LOGICAL, PRECEDENCE
from tiltpy.types import (
    ALL_FUTURE,
    ALL_PAST,
    DURATION,
    I64,
    NANOSECONDS,
    Struct,
    Unit,
    int_range,
)
from tiltpy.visible import format_name, quote_string

_LOWEST, _UNARY, _POSTFIX = 0, PRECEDENCE["unary"], PRECEDENCE["postfix"]


@dataclass(frozen=True, slots=True)
class ExprPrinter:
    """Prints expressions over the time variable `time`, in ticks of `unit`.

    Over a row domain, `same_rows` are the objects that have its rows: `~x[e]` is the
    row itself of these, and `~x[e+0]` what they are at its time.
    """

    unit: Unit | None = None
    time: str = "t"
    element: str = "v"
    same_rows: frozenset[str] = frozenset()

    # -- times --------------------------------------------------------------------

    def ticks(self, count: int) -> str:
        """Format a number of ticks, as a duration if ticks have a length."""
        if self.unit is None or count == 0:
            return str(count)
        length = abs(count) * NANOSECONDS[self.unit]
        unit, size = max(
            ((u, n) for u, n in NANOSECONDS.items() if length % n == 0),
            key=lambda pair: pair[1],
        )
        return f"{'-' if count < 0 else ''}{length // size}{unit}"

    def format_time(self, offset: int) -> str:
        """Format a time: `t`, `t-10s` or `t+10s`."""
        if offset == 0:
            return self.time
        return f"{self.time}{'-' if offset < 0 else '+'}{self.ticks(abs(offset))}"

    def format_point(self, point: CutPoint) -> str:
        """Format a point reference: `~x[t]`, `~x[t-10s]`."""
        time = self.format_time(point.offset)
        if point.object in self.same_rows and point.offset == 0 and not point.row:
            time += "+0"
        return f"~{point.object}[{time}]"

    def window(self, window: Window) -> str:
        """Format a window: `~x[t-10s : t]`."""
        if window.look is not None:
            return self.look(window)
        end = self.format_time(window.end)
        end = f"row {end}" if window.by_row and window.limit is None else end
        past = window.start == ALL_PAST
        within = "" if past else f" within {self.ticks(window.end - window.start)}"
        match window.limit:
            case Since(object=condition):
                word = "after" if window.edge else "since"
                return f"~{window.object}[{word} ~{condition} : {end}{within}]"
            case LastRows(count=count):
                return f"~{window.object}[last {count} : {end}{within}]"
            case None:
                start = "-∞" if past else self.format_time(window.start)
                if window.cells is not None:
                    count = window.cells.count
                    start = f"{self.time} - {count} cell{'s' if count > 1 else ''}"
                return f"~{window.object}[{start} : {end}]"
            case _:
                assert_never(window.limit)

    def look(self, window: Window) -> str:
        """Format an as-of look: `~q[last : t within 5m]`, or `~q[t : next]`."""
        within = ""
        if window.start != ALL_PAST and window.end != ALL_FUTURE:
            within = f" within {self.ticks(window.end - window.start - 1)}"
        if window.look == "nearest":
            if within:
                within = f" within {self.ticks(window.end - window.center)}"
            time = self.format_time(window.center)
            return f"~{window.object}[nearest {time}{within}]"
        if window.look == "last":
            return f"~{window.object}[last : {self.format_time(window.end)}{within}]"
        start = self.format_time(window.start + 1)
        return f"~{window.object}[{start} : next{within}]"

    # -- expressions --------------------------------------------------------------

    def whole(self, expr: Expr) -> str:
        """Format an expression that stands alone: literals in it become i64 or f64."""
        return self.text(expr, _LOWEST, bare=settles(expr))

    def text(self, expr: Expr, level: int, *, bare: bool = False) -> str:
        """Format an expression, in parentheses if it binds weaker than `level`."""
        text, strength = self._text(expr, bare)
        return f"({text})" if strength < level else text

    def _text(self, expr: Expr, bare: bool) -> tuple[str, int]:
        match expr:
            case Const():
                return self._const(expr, bare)
            case Phi():
                typed = not bare and not isinstance(expr.type, Struct)
                return f"{expr.type}(φ)" if typed else "φ", _POSTFIX
            case Time():
                strength = _POSTFIX if expr.offset == 0 else PRECEDENCE["+"]
                offset = str(abs(expr.offset))
                sign = "-" if expr.offset < 0 else "+"
                shift = f" {sign} {offset}" if expr.offset else ""
                text = self.time + shift
                return (
                    (text, strength)
                    if expr.type == I64
                    else (f"time({text})", _POSTFIX)
                )
            case At():
                return self.format_point(expr.point), _POSTFIX
            case EventBound():
                text = f"{expr.which}({self.format_point(expr.point)})"
                return text if expr.type == I64 else f"time({text})", _POSTFIX
            case Element():
                return self.element, _POSTFIX
            case ElementStart():
                text = f"start({self.element})"
                return text if expr.type == I64 else f"time({text})", _POSTFIX
            case Local():
                return expr.name, _POSTFIX
            case Reduce():
                return self._reduce(expr), _POSTFIX
            case Let():
                return "{ " + "; ".join(self.block(expr)) + " }", _POSTFIX
            case Unary(op="!", operand=Exists(operand=tested)):
                return self._exists(tested, "==")
            case Unary():
                return expr.op + self.text(expr.operand, _UNARY), _UNARY
            case Binary():
                return self._binary(expr)
            case If():
                return self._if(expr, bare)
            case Exists():
                return self._exists(expr.operand, "!=")
            case Cast():
                return f"{expr.type}({self.text(expr.operand, _LOWEST)})", _POSTFIX
            case Call():
                return self._call(expr), _POSTFIX
            case In():
                return self._in(expr), PRECEDENCE["=="]
            case MatchString():
                operand = self.text(expr.operand, _LOWEST)
                return f"{expr.test}({operand}, {quote_string(expr.pattern)})", _POSTFIX
            case StringCall():
                return self._string_call(expr), _POSTFIX
            case DateComponent():
                operand = self.text(expr.operand, _LOWEST)
                zone = f", {quote_string(expr.zone)}" if expr.zone else ""
                return f"{expr.component}({operand}{zone})", _POSTFIX
            case MakeStruct():
                return self._struct(expr), _POSTFIX
            case Field():
                operand = self.text(expr.operand, _POSTFIX)
                return f"{operand}.{format_name(expr.name)}", _POSTFIX
            case _:
                assert_never(expr)

    def block(self, block: Let) -> list[str]:
        """Format a block: the lines of its bindings and of what it returns."""
        lines: list[str] = []
        result: Expr = block
        while isinstance(result, Let):
            # A name for a bare literal would be taken for the literal itself.
            bare = settles(result.value) and not isinstance(result.value, Const)
            value = self.text(result.value, _LOWEST, bare=bare)
            lines.append(f"{result.name} = {value}")
            result = result.body
        return [*lines, f"return {self.whole(result)}"]

    def _const(self, expr: Const, bare: bool) -> tuple[str, int]:
        if expr.type == DURATION and self.unit is not None:
            ticks = int(expr.number)
            text = self.ticks(ticks) if ticks else f"0{self.unit}"
            if ticks > int_range(DURATION)[0]:
                return text, _UNARY if ticks < 0 else _POSTFIX
        text = literal(expr)
        if expr.type.is_temporal:
            return f"{expr.type}({text})", _POSTFIX
        if bare or is_firm(expr):
            return text, _UNARY if text.startswith("-") else _POSTFIX
        return f"{expr.type}({text})", _POSTFIX

    def _string_call(self, expr: StringCall) -> str:
        operands = [self.text(operand, _LOWEST) for operand in expr.operands]
        if expr.function == "number":
            return f"{expr.type}({operands[0]})"
        texts = [
            quote_string(constant) if isinstance(constant, str) else str(constant)
            for constant in expr.constants
        ]
        match expr.function, expr.constants:
            case "concat", constants:
                fixed = [
                    text if constant else None
                    for text, constant in zip(texts, constants, strict=True)
                ]
                both = zip_longest(fixed, operands)
                operands = [each for pair in both for each in pair if each]
            case "substr", (int(start), stop):
                operands.append(str(start))
                if stop is not None:
                    operands.append(str(int(stop) - start))
            case _:
                operands += texts
        return f"{expr.function}({', '.join(operands)})"

    def _exists(self, operand: Expr, op: str) -> tuple[str, int]:
        return f"{self.text(operand, PRECEDENCE['+'])} {op} φ", PRECEDENCE[op]

    def _binary(self, expr: Binary) -> tuple[str, int]:
        strength = PRECEDENCE[expr.op]
        left_bare, right_bare = is_firm(expr.right), True
        if expr.op in LOGICAL:
            left_bare = True
        elif is_temporal(expr.left.type) or is_temporal(expr.right.type):
            # A bare φ would not say whether it is a time, a duration or a number.
            left_bare = not isinstance(expr.left, Phi)
            right_bare = not isinstance(expr.right, Phi)
        elif expr.op in ("==", "!="):  # beside a bare φ they ask for existence
            left_bare = left_bare and not isinstance(expr.left, Phi)
            right_bare = not isinstance(expr.right, Phi)
        # Comparisons of comparisons read better with brackets.
        plain = PRECEDENCE["+"] if expr.op in COMPARISON else strength
        left = self.text(expr.left, plain, bare=left_bare)
        right = self.text(expr.right, max(plain, strength + 1), bare=right_bare)
        return f"{left} {expr.op} {right}", strength

    def _if(self, expr: If, bare: bool) -> tuple[str, int]:
        strength = PRECEDENCE["?:"]
        then_bare = bare or is_firm(expr.otherwise)
        condition = self.text(expr.condition, strength + 1, bare=True)
        then = self.text(expr.then, strength + 1, bare=then_bare)
        otherwise = self.text(expr.otherwise, strength, bare=True)
        return f"{condition} ? {then} : {otherwise}", strength

    def _call(self, expr: Call) -> str:
        firm = any(is_firm(argument) for argument in expr.arguments)
        arguments: list[str] = []
        for position, argument in enumerate(expr.arguments):
            # No comprehension: its frames would use up the stack of a deep expression.
            bare = firm or position > 0
            arguments.append(self.text(argument, _LOWEST, bare=bare))
        return f"{expr.function}({', '.join(arguments)})"

    def _in(self, expr: In) -> str:
        operand = self.text(expr.operand, PRECEDENCE["+"])
        options = (self.text(option, _LOWEST, bare=True) for option in expr.options)
        return f"{operand} in ({', '.join(options)})"

    def _struct(self, expr: MakeStruct) -> str:
        pairs = zip(expr.type.fields, expr.fields, strict=True)
        fields = (
            f"{format_name(name)} = {self.whole(value)}" for (name, _), value in pairs
        )
        return "{ " + ", ".join(fields) + " }"

    def _reduce(self, expr: Reduce) -> str:
        if expr.window.look is not None:
            look = self.look(expr.window)
            match expr.element:
                case Element():
                    return look
                case ElementStart():
                    return f"start({look})"
                case _:
                    pass
        extra = f", ddof={expr.ddof}" if expr.ddof else ""
        if expr.parameter is not None:
            extra = f", {expr.parameter!r}"
        if expr.method != "linear":
            extra += f", method={quote_string(expr.method)}"
        return (
            f"{expr.reduction}({self.format_element(expr.window, expr.element)}{extra})"
        )

    def format_element(self, window: Window, element: Expr) -> str:
        """Format a window and its element, as a reduction's argument."""
        where = self.window(window)
        inner = ExprPrinter(self.unit, self.time, _fresh(names(element), self.time))
        match element:
            case Element():
                return where
            case Field(operand=Element(), name=name):
                return f"{where}.{format_name(name)}"
            case If(condition=condition, then=value, otherwise=Phi()):
                test = inner.text(condition, _LOWEST, bare=True)
                return f"{inner.whole(value)} for {inner.element} in {where} if {test}"
            case _:
                return f"{inner.whole(element)} for {inner.element} in {where}"

    # -- cuts ---------------------------------------------------------------------

    def cut(self, cut: Cut) -> str:
        """Format a cut: the reference that cuts."""
        match cut:
            case CutPoint():
                return self.format_point(cut)
            case CutWindow():
                bounds = " and where its snapshots start and end" if cut.bounds else ""
                return self.format_element(cut.window, cut.element) + bounds
            case CutTime():
                return self.time
            case InlinedCut():
                inner = ", ".join(self.cut(c) for c in cut.cuts)
                return f"{{{inner}}} but for gaps of {self.whole(cut.value)}"
            case _:
                assert_never(cut)


def _fresh(reserved: set[str], time: str) -> str:
    """Choose a name for a window's element."""
    candidates = ("v", *(f"v{n}" for n in range(2, len(reserved) + 4)))
    return next(name for name in candidates if name not in reserved and name != time)


def format_expr(
    expr: Expr,
    *,
    unit: Unit | None = None,
    time: str = "t",
    same_rows: frozenset[str] = frozenset(),
) -> str:
    """Format an expression."""
    return ExprPrinter(unit, time, same_rows=same_rows).whole(expr)


def format_cut(cut: Cut, *, unit: Unit | None = None, time: str = "t") -> str:
    """Format a cut: the reference that cuts."""
    return ExprPrinter(unit, time).cut(cut)

"""Parse tree -> surface syntax: expressions and bodies.

One method per rule of `grammar/tilt.lark`; lark calls them bottom-up and without
recursion, so that no nesting of a text can exhaust the stack. What the grammar lets
through and the language does not is collected in `errors`.
"""

import re
from dataclasses import replace
from typing import Any, cast

from lark import Token, v_args
from lark.tree import Meta
from lark.visitors import Transformer_NonRecursive

from tiltpy.errors import QueryError
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.durations import parse_duration
from tiltpy.frontend.surface.escapes import unescape
from tiltpy.frontend.surface.keywords import RESERVED
from tiltpy.frontend.surface.timestamps import read_moment
from tiltpy.limits import MAX_DIGITS
from tiltpy.ops import REDUCTION_SYMBOLS, BinaryOp, UnaryOp
from tiltpy.source import Source, Span

_DATE = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")
_CONSTANTS = {"inf": float("inf"), "∞": float("inf"), "nan": float("nan")}


@v_args(meta=True)
class ExpressionReader(Transformer_NonRecursive[Token, Any]):
    """Reads the parse tree of a stretch of a source that starts at `base`."""

    def __init__(self, source: Source, base: int = 0) -> None:
        super().__init__(visit_tokens=False)
        self.source = source
        self.base = base
        self.errors: list[QueryError] = []

    # -- places and words ---------------------------------------------------------

    def _span(self, place: Meta | Token) -> Span:
        start, end = place.start_pos, place.end_pos
        assert start is not None
        assert end is not None
        return Span(self.source, self.base + start, self.base + end)

    def _fail(self, code: str, message: str, span: Span, hint: str = "") -> None:
        self.errors.append(QueryError(code, message, span, hint))

    def _word(self, token: Token) -> syntax.Word:
        return syntax.Word(str(token).removeprefix("~"), self._span(token))

    def _own_name(self, token: Token) -> syntax.Word:
        """A name that the user chooses: not a reserved word."""
        word = self._word(token)
        self._check_free(word)
        return word

    def _check_free(self, word: syntax.Word) -> None:
        if word.text in RESERVED:
            message = f"`{word.text}` is a reserved word"
            self._fail("E0005", message, word.span, "choose another name")

    def _distinct(self, words: list[syntax.Word], what: str) -> None:
        seen: set[str] = set()
        for word in words:
            if word.text in seen:
                message = f"{what} `{word.text}` stands twice"
                self._fail("E0006", message, word.span, "give it another name")
            seen.add(word.text)

    def word(self, _: Meta, nodes: list[Any]) -> syntax.Word:
        return self._word(nodes[0])

    object_word = word

    def quoted(self, _: Meta, nodes: list[Any]) -> syntax.Word:
        return self._unquote(nodes[0])

    def _unquote(self, token: Token) -> syntax.Word:
        text = self._string(token)
        if not text:
            self._fail("E0004", "an empty name", self._span(token))
        return syntax.Word(text, self._span(token))

    def _string(self, token: Token) -> str:
        """What a string literal stands for."""
        span = self._span(token)
        try:
            return unescape(str(token)[1:-1], span)
        except QueryError as error:
            self.errors.append(error)
            return "?"

    # -- bodies -------------------------------------------------------------------

    def block(self, meta: Meta, nodes: list[Any]) -> syntax.Block:
        parts = [node for node in nodes if not isinstance(node, Token)]
        for part in parts[:-1]:
            if isinstance(part, syntax.Binding):
                self._check_free(part.name)
        own = tuple(self._block_part(part) for part in parts[:-1])
        return syntax.Block(own, parts[-1], self._span(meta))

    def _block_part(self, part: syntax.BlockPart) -> syntax.BlockPart:
        """A local name for a time domain is no local name for a value."""
        match part:
            case syntax.Binding(value=syntax.Call(callee=callee) as call):
                if callee.text == "TDom":
                    arguments = self._domain_arguments(call)
                    return syntax.TimeDomain(part.name, arguments, call.span)
            case _:
                pass
        return part

    def _domain_arguments(self, call: syntax.Call) -> tuple[syntax.Expr, ...]:
        arguments = list(call.arguments)
        for binding in call.named:
            if binding.name.text == "offset" and len(arguments) == 3:
                arguments.append(binding.value)
            else:
                self._fail(
                    "E0206",
                    f"TDom has no place for `{binding.name.text}`",
                    binding.name.span,
                    "write TDom(start, end, precision), without names",
                )
                return ()
        if len(arguments) not in (3, 4):
            self._fail(
                "E0206",
                f"TDom takes a start, an end and a precision, not {len(arguments)} "
                "arguments",
                call.span,
                "write TDom(-∞, ∞, 1), or other bounds and another precision",
            )
        return tuple(arguments)

    def own_object(self, _: Meta, nodes: list[Any]) -> syntax.Definition:
        return self._definition(nodes)

    def _definition(self, nodes: list[Any]) -> syntax.Definition:
        """`~name[time] = body`, in a block or by itself."""
        name, time, body = self._word(nodes[0]), nodes[1], nodes[2]
        match time:
            case syntax.Name(text, span):
                over = syntax.Word(text, span)
            case None:
                over = name
                self._fail(
                    "E0103",
                    f"~{name.text} is a temporal object; say over which time",
                    name.span,
                    f"write ~{name.text}[t] = ...",
                )
            case _:
                over = name
                self._fail(
                    "E0107",
                    "an object is defined at a time variable itself",
                    time.span,
                    f"write ~{name.text}[t] = ... and shift the references instead",
                )
        return syntax.Definition(name, over, body)

    def binding(self, _: Meta, nodes: list[Any]) -> syntax.Binding:
        token = nodes[0]
        quoted = token.type == "STRING"
        name = self._unquote(token) if quoted else self._word(token)
        return syntax.Binding(name, nodes[1])

    def struct(self, meta: Meta, nodes: list[Any]) -> syntax.Expr:
        return syntax.StructValue(self._fields(nodes), self._span(meta))

    def with_fields(self, meta: Meta, nodes: list[Any]) -> syntax.Expr:
        return syntax.With(nodes[0], self._fields(nodes[2:]), self._span(meta))

    def _fields(self, nodes: list[Any]) -> tuple[syntax.Binding, ...]:
        fields = tuple(node for node in nodes if node is not None)
        self._distinct([field.name for field in fields], "the field")
        return fields

    # -- expressions --------------------------------------------------------------

    def conditional(self, meta: Meta, nodes: list[Any]) -> syntax.Expr:
        condition, then, otherwise = nodes
        return syntax.Conditional(condition, then, otherwise, self._span(meta))

    def binary(self, meta: Meta, nodes: list[Any]) -> syntax.Expr:
        left, token, right = nodes
        op = cast(BinaryOp, str(token))
        span = self._span(meta)
        text = self.source.text[span.start : min(span.end, span.start + 11)]
        if _DATE.fullmatch(text):
            message = f"{text} is a difference of numbers"
            way = f'write time("{text}"), or with spaces if it is one'
            self._fail("E0004", message, span, way)
        return syntax.Binary(op, left, right, self._span(meta))

    def unary(self, meta: Meta, nodes: list[Any]) -> syntax.Expr:
        op = cast(UnaryOp, str(nodes[0]))
        return syntax.Unary(op, nodes[1], self._span(meta))

    def member(self, meta: Meta, nodes: list[Any]) -> syntax.Expr:
        return syntax.Member(nodes[0], nodes[1], self._span(meta))

    def paren(self, meta: Meta, nodes: list[Any]) -> syntax.Expr:
        return syntax.Paren(nodes[0], self._span(meta))

    def text(self, meta: Meta, nodes: list[Any]) -> syntax.Expr:
        return syntax.Text(self._string(nodes[0]), self._span(meta))

    def membership(self, meta: Meta, nodes: list[Any]) -> syntax.Expr:
        operand, _, *options = nodes
        given = tuple(option for option in options if option is not None)
        return syntax.In(operand, given, self._span(meta))

    def number(self, _: Meta, nodes: list[Any]) -> syntax.Expr:
        token, span = nodes[0], self._span(nodes[0])
        try:
            if token.type == "DURATION":
                return parse_duration(str(token), span)
            return syntax.Number(_parse_number(str(token), span), span)
        except QueryError as error:
            self.errors.append(error)
            return syntax.Number(1, span)

    def name(self, _: Meta, nodes: list[Any]) -> syntax.Expr:
        text, span = str(nodes[0]), self._span(nodes[0])
        match text:
            case "true" | "false":
                return syntax.Bool(text == "true", span)
            case "φ" | "phi":
                return syntax.Phi(span)
            case "inf" | "∞" | "nan":
                return syntax.Number(_CONSTANTS[text], span)
            case _ if text in RESERVED:
                self._fail(
                    "E0005",
                    f"`{text}` is a reserved word; an expression was expected",
                    span,
                )
        return syntax.Name(text, span)

    def reference(self, meta: Meta, nodes: list[Any]) -> syntax.Expr:
        object_token, last, start, stop = [*nodes, None, None, None][:4]
        span = self._span(meta)
        if last is not None:
            return syntax.LastRows(span)
        return syntax.Ref(str(object_token)[1:], start, stop, span)

    def call(self, meta: Meta, nodes: list[Any]) -> syntax.Expr:
        return self._call(meta, self._word(nodes[0]), nodes[1:], reduce=False)

    def reduction(self, meta: Meta, nodes: list[Any]) -> syntax.Expr:
        return self._call(meta, nodes[1], nodes[2:], reduce=True)

    def _call(
        self, meta: Meta, callee: syntax.Word, nodes: list[Any], *, reduce: bool
    ) -> syntax.Expr:
        arguments = [node for node in nodes if node is not None]
        named = tuple(a for a in arguments if isinstance(a, syntax.Binding))
        plain = tuple(a for a in arguments if not isinstance(a, syntax.Binding))
        self._distinct([binding.name for binding in named], "the argument")
        if callee.text == "time" and len(plain) == 1 and not named and not reduce:
            (argument,) = plain
            if isinstance(argument, syntax.Text):
                return self._moment(argument.span, self._span(meta))
        return syntax.Call(callee, plain, named, self._span(meta), reduce)

    def _moment(self, text: Span, whole: Span) -> syntax.Expr:
        """`time("2013-03-01")`."""
        try:
            written = text.source.text[text.start + 1 : text.end - 1]
            return replace(read_moment(written, text), span=whole)
        except QueryError as error:
            self.errors.append(error)
            return syntax.Moment(0, whole)

    def reducer(self, _: Meta, nodes: list[Any]) -> syntax.Word:
        text = str(nodes[0])
        name = REDUCTION_SYMBOLS.get(text, text)
        return syntax.Word(name, self._span(nodes[0]))

    def comprehension(self, meta: Meta, nodes: list[Any]) -> syntax.Expr:
        element, _, names, _, window, *rest = nodes
        condition = rest[1] if rest and rest[0] is not None else None
        self._distinct([name for name, _ in names], "the name")
        return syntax.Comprehension(element, names, window, condition, self._span(meta))

    def pattern(
        self, _: Meta, nodes: list[Any]
    ) -> tuple[tuple[syntax.Word, syntax.Word | None], ...]:
        if isinstance(nodes[0], Token):
            return ((self._own_name(nodes[0]), None),)
        return tuple(node for node in nodes if node is not None)

    def pattern_field(
        self, _: Meta, nodes: list[Any]
    ) -> tuple[syntax.Word, syntax.Word]:
        return self._own_name(nodes[1]), nodes[0]


def _parse_number(text: str, span: Span) -> int | float:
    """The value of a number literal; what no type holds is an error."""
    if text.isdecimal():
        digits = text.lstrip("0") or "0"
        if len(digits) > MAX_DIGITS or int(digits) > 2**64 - 1:
            raise QueryError(
                "E0203",
                "this integer is beyond the range of every integer type",
                span,
                "the greatest is 18446744073709551615 (u64); write a float, like 1e30",
            )
        return int(digits)
    value = float(text)
    if value == float("inf"):
        way = "write ∞, or a smaller number"
        raise QueryError("E0203", "this float is beyond the range of f64", span, way)
    return value

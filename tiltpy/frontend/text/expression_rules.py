"""Parse tree -> surface syntax: the rules of expressions."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from lark import Token
from lark.tree import Meta

from tiltpy.errors import QueryError
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.durations import parse_duration
from tiltpy.frontend.surface.names import RESERVED
from tiltpy.frontend.surface.timestamps import read_moment
from tiltpy.frontend.text.literals import parse_number
from tiltpy.frontend.text.tree_reader import Rule, TreeReader
from tiltpy.limits import MAX_DIGITS
from tiltpy.ops import REDUCTION_SYMBOLS, BinaryOp, UnaryOp
from tiltpy.source import Span
from tiltpy.types import STEPS

_DATE = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")
_CONSTANTS = {"inf": float("inf"), "∞": float("inf"), "nan": float("nan")}


def _read_conditional(reader: TreeReader, meta: Meta, nodes: list[Any]) -> syntax.Expr:
    condition, then, otherwise = nodes
    return syntax.Conditional(condition, then, otherwise, reader.span(meta))


def _read_binary(reader: TreeReader, meta: Meta, nodes: list[Any]) -> syntax.Expr:
    left, token, right = nodes
    op = cast(BinaryOp, str(token))
    span = reader.span(meta)
    text = reader.source.text[span.start : min(span.end, span.start + 11)]
    if _DATE.fullmatch(text):
        message = f"{text} is a difference of numbers"
        hint = f'write time("{text}"), or with spaces if it is one'
        reader.fail("E0004", message, span, hint)
    return syntax.InfixOperation(op, left, right, reader.span(meta))


def _read_unary(reader: TreeReader, meta: Meta, nodes: list[Any]) -> syntax.Expr:
    op = cast(UnaryOp, str(nodes[0]))
    return syntax.PrefixOperation(op, nodes[1], reader.span(meta))


def _read_member(reader: TreeReader, meta: Meta, nodes: list[Any]) -> syntax.Expr:
    return syntax.Member(nodes[0], nodes[1], reader.span(meta))


def _read_paren(reader: TreeReader, meta: Meta, nodes: list[Any]) -> syntax.Expr:
    return syntax.Paren(nodes[0], reader.span(meta))


def _read_text(reader: TreeReader, meta: Meta, nodes: list[Any]) -> syntax.Expr:
    return syntax.Text(reader.string(nodes[0]), reader.span(meta))


def _read_membership(reader: TreeReader, meta: Meta, nodes: list[Any]) -> syntax.Expr:
    operand, _, *options = nodes
    constants = tuple(option for option in options if option is not None)
    return syntax.Membership(operand, constants, reader.span(meta))


def _read_number(reader: TreeReader, _: Meta, nodes: list[Any]) -> syntax.Expr:
    token, span = nodes[0], reader.span(nodes[0])
    try:
        if token.type == "DURATION":
            return parse_duration(str(token), span)
        if token.type == "CELLS":
            count = parse_number(str(token).split()[0], span)
            assert isinstance(count, int)
            return syntax.CellCount(count, span)
        return syntax.Number(parse_number(str(token), span), span)
    except QueryError as error:
        reader.errors.append(error)
        return syntax.Number(1, span)


def _read_step(reader: TreeReader, _: Meta, nodes: list[Any]) -> syntax.Expr:
    text = str(nodes[0])
    digits = text.rstrip("moqwy")
    step = next(each for each in STEPS if each == text[len(digits) :])
    if len(digits) > MAX_DIGITS:
        digits = "0"
    return syntax.CalendarStep(int(digits), step, reader.span(nodes[0]))


def _read_cells_of(reader: TreeReader, meta: Meta, nodes: list[Any]) -> syntax.Expr:
    return syntax.InputCells(reader.word(nodes[1]).text, reader.span(meta))


def _read_name(reader: TreeReader, _: Meta, nodes: list[Any]) -> syntax.Expr:
    text, span = str(nodes[0]), reader.span(nodes[0])
    match text:
        case "true" | "false":
            return syntax.Bool(text == "true", span)
        case "φ" | "phi":
            return syntax.PhiLiteral(span)
        case "inf" | "∞" | "nan":
            return syntax.Number(_CONSTANTS[text], span)
        case _ if text in RESERVED:
            reader.fail(
                "E0005",
                f"`{text}` is a reserved word; an expression was expected",
                span,
            )
    return syntax.Name(text, span)


def _read_reference(reader: TreeReader, meta: Meta, nodes: list[Any]) -> syntax.Expr:
    object_token, start, stop, _, within = [*nodes, *[None] * 4][:5]
    span = reader.span(meta)
    return syntax.Ref(str(object_token)[1:], start, stop, span, within)


def _read_since(reader: TreeReader, meta: Meta, nodes: list[Any]) -> syntax.Expr:
    word, token = nodes
    condition = syntax.Ref(str(token)[1:], None, None, reader.span(token))
    return syntax.RestartEnd(condition, str(word) == "after", reader.span(meta))


def _read_last_rows(reader: TreeReader, meta: Meta, nodes: list[Any]) -> syntax.Expr:
    return syntax.RowsEnd(nodes[1], reader.span(meta))


def _read_strict(reader: TreeReader, meta: Meta, nodes: list[Any]) -> syntax.Expr:
    return syntax.Strict(nodes[1], reader.span(meta))


def _read_row_end(reader: TreeReader, meta: Meta, nodes: list[Any]) -> syntax.Expr:
    return syntax.RowEnd(nodes[1], reader.span(meta))


def _read_nearest(reader: TreeReader, meta: Meta, nodes: list[Any]) -> syntax.Expr:
    return syntax.Nearest(nodes[1], reader.span(meta))


def _read_call(reader: TreeReader, meta: Meta, nodes: list[Any]) -> syntax.Expr:
    return _make_call(reader, meta, reader.word(nodes[0]), nodes[1:], reduce=False)


def _read_reduction(reader: TreeReader, meta: Meta, nodes: list[Any]) -> syntax.Expr:
    return _make_call(reader, meta, nodes[1], nodes[2:], reduce=True)


def _make_call(
    reader: TreeReader,
    meta: Meta,
    callee: syntax.Word,
    nodes: list[Any],
    *,
    reduce: bool,
) -> syntax.Expr:
    """Make a call of its callee and arguments; `reduce` for `⊕(callee, ...)`."""
    arguments = [node for node in nodes if node is not None]
    named = tuple(a for a in arguments if isinstance(a, syntax.NamedValue))
    plain = tuple(a for a in arguments if not isinstance(a, syntax.NamedValue))
    reader.check_distinct([binding.name for binding in named], "the argument")
    if callee.text == "time" and len(plain) == 1 and not named and not reduce:
        (argument,) = plain
        if isinstance(argument, syntax.Text):
            return _make_moment(reader, argument.span, reader.span(meta))
    return syntax.CallExpression(callee, plain, named, reader.span(meta), reduce)


def _make_moment(reader: TreeReader, text: Span, span: Span) -> syntax.Expr:
    """Make the literal `time("2013-03-01")`; `text` is the span of its string."""
    try:
        stamp = text.source.text[text.start + 1 : text.end - 1]
        return replace(read_moment(stamp, text), span=span)
    except QueryError as error:
        reader.errors.append(error)
        return syntax.Moment(0, span)


def _read_reducer(reader: TreeReader, _: Meta, nodes: list[Any]) -> syntax.Word:
    text = str(nodes[0])
    name = REDUCTION_SYMBOLS.get(text, text)
    return syntax.Word(name, reader.span(nodes[0]))


def _read_comprehension(
    reader: TreeReader, meta: Meta, nodes: list[Any]
) -> syntax.Expr:
    element, _, names, _, window, *rest = nodes
    condition = rest[1] if rest and rest[0] is not None else None
    reader.check_distinct([name for name, _ in names], "the name")
    return syntax.Comprehension(element, names, window, condition, reader.span(meta))


def _read_list(reader: TreeReader, meta: Meta, nodes: list[Any]) -> syntax.Expr:
    values = tuple(node for node in nodes if node is not None)
    return syntax.ListLiteral(values, reader.span(meta))


def _read_pattern(
    reader: TreeReader, _: Meta, nodes: list[Any]
) -> tuple[tuple[syntax.Word, syntax.Word | None], ...]:
    if isinstance(nodes[0], Token):
        return ((reader.new_name(nodes[0]), None),)
    return tuple(node for node in nodes if node is not None)


def _read_pattern_field(
    reader: TreeReader, _: Meta, nodes: list[Any]
) -> tuple[syntax.Word, syntax.Word]:
    return reader.new_name(nodes[1]), nodes[0]


EXPRESSION_RULES: Mapping[str, Rule] = {
    "conditional": _read_conditional,
    "binary": _read_binary,
    "membership": _read_membership,
    "unary": _read_unary,
    "member": _read_member,
    "text": _read_text,
    "number": _read_number,
    "step": _read_step,
    "cells_of": _read_cells_of,
    "name": _read_name,
    "paren": _read_paren,
    "reference": _read_reference,
    "since": _read_since,
    "last_rows": _read_last_rows,
    "strict": _read_strict,
    "nearest": _read_nearest,
    "row_end": _read_row_end,
    "call": _read_call,
    "reduction": _read_reduction,
    "reducer": _read_reducer,
    "comprehension": _read_comprehension,
    "list": _read_list,
    "pattern": _read_pattern,
    "pattern_field": _read_pattern_field,
}
"""By the name of the grammar's rule."""

"""Hover texts: what a name is and does, as Markdown."""

import re
from collections.abc import Iterator

from tiltpy.frontend.surface import syntax
from tiltpy.ir.keys import object_keys
from tiltpy.ir.nodes import Input, Query, TemporalExpr
from tiltpy.ir.print.expressions import ExprPrinter
from tiltpy.ir.print.query import statements
from tiltpy.language_server.analysis import Analysis
from tiltpy.language_server.bindings import OBJECTS, Occurrence, Symbol
from tiltpy.language_server.documentation import (
    Documentation,
    comment_above,
    describe_callee,
    describe_word,
    format_signature,
)
from tiltpy.source import Span
from tiltpy.types import Struct, TDom, columns

MOST_LINES = 12
"""Lines of a definition that are shown."""


def hover(
    analysis: Analysis, previous: Analysis | None, offset: int
) -> tuple[Span, str] | None:
    """Describe what stands at a character: the span of the name, and Markdown.

    What has an error now is described as it was in the `previous` analysis.
    """
    occurrence = analysis.name_at(offset)
    if occurrence is not None:
        return occurrence.span, _describe_symbol(analysis, previous, occurrence)
    span = analysis.word_at(offset)
    text = "" if span is None else _describe_word(analysis, span)
    return (span, text) if span is not None and text else None


def format_documentation(documentation: Documentation) -> str:
    """Format the form of a construct and what it does as Markdown."""
    return f"```tilt\n{documentation.form}\n```\n{documentation.text}"


def _describe_word(analysis: Analysis, span: Span) -> str:
    """Describe a word that the text does not define."""
    word = analysis.text_of(span)
    parent = analysis.bindings.parents.get(span.start)
    if isinstance(parent, syntax.Member):
        of = analysis.type_at(parent.span)
        return f"```tilt\n.{word} : {of}\n```" if of else ""
    called = re.match(r"[ \t]*\(", analysis.source.text[span.end :])
    if word == "t" and not called:
        return "The time: every tick, unless the text says `t = TDom(...)`."
    known = (called and describe_callee(word)) or describe_word(word)
    if known is None:
        return ""
    of = analysis.type_at(parent.span) if parent is not None else ""
    return format_documentation(known) + (f"\n\nHere: `{of}`" if of else "")


def _describe_symbol(
    analysis: Analysis, previous: Analysis | None, occurrence: Occurrence
) -> str:
    symbol = occurrence.symbol
    parts = [f"```tilt\n{_definition_text(analysis, symbol)}\n```"]
    comment = comment_above(analysis.source, symbol.definition.start)
    if comment and symbol.kind not in ("argument", "object argument", "element"):
        parts.append(comment)
    facts = list(_object_facts(analysis, symbol))
    if not facts and previous is not None:
        facts = list(_object_facts(previous, symbol))
    facts = facts or list(_value_facts(analysis, occurrence))
    parts.append("\n".join(f"- {fact}" for fact in facts))
    return "\n\n".join(part for part in parts if part)


def _definition_text(analysis: Analysis, symbol: Symbol) -> str:
    """Return the text that defines a symbol."""
    node, start = symbol.node, symbol.definition.start
    match node:
        case syntax.NamedValue(value=value):
            text = analysis.text_of(symbol.definition.join(value.span))
        case syntax.Comprehension():
            text = f"{symbol.name} in {analysis.text_of(node.window.span)}"
        case syntax.Name():
            text = f"{symbol.name}: a bound that a run is given"
        case syntax.Parameter() | syntax.ElementParameter():
            return _format_head(analysis, symbol)
        case syntax.ObjectDefinition() if node is not symbol.statement:
            text = analysis.text_of(node.name.span.join(node.body.span))
        case _:
            fragment = analysis.fragment_at(start)
            text = analysis.source.text[fragment.start : fragment.end]
    lines = text.splitlines()
    return "\n".join(lines[:MOST_LINES] + ["..."] * (len(lines) > MOST_LINES))


def _format_head(analysis: Analysis, symbol: Symbol) -> str:
    """Format the head of the function or the reduction that a parameter is of."""
    if isinstance(symbol.statement, syntax.FunctionDefinition):
        return f"def {format_signature(symbol.statement)}"
    fragment = analysis.fragment_at(symbol.definition.start)
    text = analysis.source.text[fragment.start : fragment.end]
    return text[: text.index(")") + 1] if ")" in text else text


def _value_facts(analysis: Analysis, occurrence: Occurrence) -> Iterator[str]:
    symbol = occurrence.symbol
    of = analysis.type_at(symbol.definition) or analysis.type_at(occurrence.span)
    parent = analysis.bindings.parents.get(occurrence.span.start)
    if isinstance(parent, syntax.CallExpression):
        of = analysis.type_at(parent.span)
    if isinstance(symbol.node, syntax.Param):
        of = symbol.node.type.text
    if of and symbol.kind not in OBJECTS:
        yield f"{symbol.kind}, `{of}`"
    elif symbol.kind in ("input", "object"):
        yield f"{symbol.kind} with an error, or over one: its type is not known"
    else:
        yield symbol.kind


def _object_facts(analysis: Analysis, symbol: Symbol) -> Iterator[str]:
    """Say of an object its type, its layout, and how far it looks."""
    query = analysis.query
    if query is None or symbol.kind not in ("input", "object"):
        return
    declared = query.input(symbol.name)
    if declared is not None and symbol.kind == "input":
        yield from _input_facts(analysis, declared)
        return
    definition = next(
        (
            each
            for each in query.definitions
            if each.span.start <= symbol.definition.start < each.span.end
            or (each.name == symbol.name and symbol.node is symbol.statement)
        ),
        None,
    )
    if definition is not None:
        yield from _definition_facts(analysis, query, definition)


def _input_facts(analysis: Analysis, declared: Input) -> Iterator[str]:
    by = f" for each {', '.join(declared.keys)}" if declared.keys else ""
    yield f"input, `{declared.type}`{by}"
    if declared.lifetime is None:
        yield "lifetime: as it is bound"
    else:
        known = describe_word(declared.lifetime.keyword)
        yield f"lifetime: {'' if known is None else known.text}"
    read = [f"`{declared.time or 'times'}`", *(f"`{key}`" for key in declared.keys)]
    read += [f"`{name or declared.name}`" for name, _ in columns(declared.type)]
    yield f"columns: {', '.join(read)}"
    query = analysis.query
    outputs = query.outputs if query is not None else ()
    for reach in analysis.reaches:
        if reach.input == declared.name and reach.output in outputs:
            yield f"~{reach.output} looks {reach.text}"


def _definition_facts(
    analysis: Analysis, query: Query, definition: TemporalExpr
) -> Iterator[str]:
    keys = object_keys(query.inputs, query.definitions)[definition.name]
    by = f" for each {', '.join(keys)}" if keys else ""
    is_output = definition.name in query.outputs
    yield f"{'output' if is_output else 'object'}, `{definition.type}`{by}"
    yield _describe_domain(query, definition.tdom)
    looks = [r for r in analysis.reaches if r.output == definition.name]
    for reach in looks:
        yield f"looks {reach.text} in ~{reach.input}"
    if not looks:
        yield "looks at no input"
    if is_output:
        payload = definition.type
        fields = [name for name, _ in columns(payload)]
        names = fields if isinstance(payload, Struct) else [definition.name]
        listed = ", ".join(f"`{name}`" for name in (*keys, "start", "end", *names))
        yield f"columns: {listed}"


def _describe_domain(query: Query, domain: TDom) -> str:
    """Say where an object has values: on a grid, at rows, over cells."""
    text = f"`{statements(query)[domain]}`"
    if domain.rows is not None:
        return f"a row for each row of ~{domain.rows}: {text}"
    if domain.cells is not None:
        return f"a cell for each interval of ~{domain.cells}: {text}"
    if domain.calendar is not None:
        return f"a cell for each date of a calendar: {text}"
    ticks = ExprPrinter(query.unit).ticks(domain.precision)
    every = "tick" if ticks == "1" else ticks
    return f"a cell every {every}: {text}"

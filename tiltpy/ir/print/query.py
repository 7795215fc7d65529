"""Queries as `.tilt` text.

A query as it was written (from a text or from Python) prints as text that parses back
to an equal query. One that passes have rewritten prints alike, and with `annotate` its
cuts and boundaries stand beside it as comments.
"""

from collections.abc import Iterator, Sequence

from tiltpy.ir.nodes import Expr, Input, Let, Query, TemporalExpr, UserReduction
from tiltpy.ir.print.expressions import ExprPrinter, format_cut, format_expr
from tiltpy.ir.reductions import clauses
from tiltpy.ir.rows import objects_over_same_rows
from tiltpy.ir.traversal import walk
from tiltpy.types import (
    Bound,
    Boundary,
    Calendar,
    Reach,
    Struct,
    TDom,
    Type,
)
from tiltpy.visible import format_name, quote_string

__all__ = ["by", "format_cut", "format_expr", "format_query", "statements"]


def format_query(query: Query, *, annotate: bool = False) -> str:
    """Format a query; `annotate` adds cuts and boundaries as comments."""
    plain = ExprPrinter(query.unit)
    times = _name_domains(query)
    head = [f"unit {query.unit}"] if query.unit else []
    for declared in query.inputs:
        head += _input_lines(declared, plain, annotate)
    head += [f"{name} = {_domain(tdom, plain)}" for tdom, name in times.items()]
    texts = ["\n".join(head)]
    texts += [_reduction(reduction, plain) for reduction in query.reductions]
    for definition in query.definitions:
        same_rows = objects_over_same_rows(query, definition)
        time = times[definition.tdom]
        printer = ExprPrinter(query.unit, time, same_rows=same_rows)
        lines = list(_boundary_lines(query, definition.name, plain)) if annotate else []
        lines += _cut_lines(definition, printer) if annotate else []
        lines.append(_definition(definition, printer))
        texts.append("\n".join(lines))
    if query.outputs:
        texts.append("output " + ", ".join(f"~{name}" for name in query.outputs))
    return "\n\n".join(text for text in texts if text) + "\n"


def statements(query: Query) -> dict[str | TDom, str]:
    """Format the declaration of each object, by its name, and of each time domain.

    Definitions say `t` for their time variable, whatever the whole text calls it.
    """
    plain = ExprPrinter(query.unit)
    lines_by_name: dict[str | TDom, str] = {}
    for declared in query.inputs:
        lines_by_name[declared.name] = "\n".join(
            _input_lines(declared, plain, annotate=False)
        )
    for definition in query.definitions:
        same_rows = objects_over_same_rows(query, definition)
        printer = ExprPrinter(query.unit, same_rows=same_rows)
        lines_by_name[definition.name] = _definition(definition, printer)
        lines_by_name[definition.tdom] = _domain(definition.tdom, plain)
    return lines_by_name


def _name_domains(query: Query) -> dict[TDom, str]:
    """Choose a time variable for every domain; no local or bound has its name."""
    reserved: set[str] = set()
    domains: dict[TDom, None] = {}
    for definition in query.definitions:
        tdom = definition.tdom
        domains.setdefault(tdom)
        reserved |= {
            bound for bound in (tdom.start, tdom.end) if isinstance(bound, str)
        }
        reserved |= {n.name for n in walk(definition.body) if isinstance(n, Let)}
    times, rows = (
        (name for name in _time_names(stem) if name not in reserved) for stem in "te"
    )
    return {domain: next(times if domain.rows is None else rows) for domain in domains}


def _time_names(stem: str) -> Iterator[str]:
    yield stem
    number = 2
    while True:
        yield f"{stem}{number}"
        number += 1


def _domain(tdom: TDom, printer: ExprPrinter) -> str:
    if tdom.rows is not None:
        words = ", null" * tdom.nulls + ", at their ends" * tdom.at_ends
        return f"Rows(~{tdom.rows}{words})"
    if tdom.cells is not None and tdom.is_infinite:
        return f"TDom(cells of ~{tdom.cells})"
    start, end = _bound(tdom.start, "-∞"), _bound(tdom.end, "∞")
    if tdom.cells is not None:
        return f"TDom({start}, {end}, cells of ~{tdom.cells})"
    if tdom.calendar is not None:
        return f"TDom({start}, {end}, {calendar(tdom.calendar)})"
    offset = (tdom.offset + tdom.left) % tdom.precision
    shift = f", offset={printer.ticks(offset)}" if offset else ""
    if tdom.left:  # behind arguments without names
        shift = shift.replace("offset=", "") + ", left"
    return f"TDom({start}, {end}, {printer.ticks(tdom.precision)}{shift})"


def calendar(cells: Calendar) -> str:
    """Format a calendar as the precision of a time domain."""
    zone = f", {quote_string(cells.zone)}" if cells.zone else ""
    return f"calendar({cells.count}{cells.step}{zone})"


def _bound(bound: Bound, infinite: str) -> str:
    return infinite if bound is None else str(bound)


def _input_lines(
    declared: Input, printer: ExprPrinter, annotate: bool
) -> Iterator[str]:
    if annotate and declared.disjoint:
        yield f"# no two events of ~{declared.name} overlap"
    words = [f"input {declared.name}{by(declared.keys)} : {_payload(declared.type)}"]
    if declared.time is not None:
        words.append(f"time {format_name(declared.time)}")
    if declared.lifetime is not None:
        words.append(declared.lifetime.format(printer.ticks, format_name))
    if declared.order:
        words.append("order " + ", ".join(format_name(name) for name in declared.order))
    yield " ".join(words)


def by(keys: Sequence[str]) -> str:
    """Format the keys behind a name: ` by symbol`, or nothing."""
    return " by " + ", ".join(format_name(name) for name in keys) if keys else ""


def _payload(payload: Type) -> str:
    if not isinstance(payload, Struct):
        return str(payload)
    fields = (f"{format_name(name)}: {_payload(of)}" for name, of in payload.fields)
    return "{ " + ", ".join(fields) + " }"


def _definition(definition: TemporalExpr, printer: ExprPrinter) -> str:
    head = "distinct " if definition.distinct else ""
    head += f"~{definition.name}[{printer.time}] = "
    return head + _body(definition.body, printer)


def _body(body: Expr, printer: ExprPrinter, indent: str = "") -> str:
    if not isinstance(body, Let):
        return printer.whole(body)
    lines = [f"{indent}    {line}\n" for line in printer.block(body)]
    return "{\n" + "".join(lines) + indent + "}"


def _reduction(reduction: UserReduction, printer: ExprPrinter) -> str:
    bounds = ", start, end" if reduction.bounds else ""
    parameter = f"{reduction.parameter}: {_payload(reduction.type)}"
    lines = [f"reduction {reduction.name}({parameter}{bounds}) {{"]
    for name, body in clauses(reduction):
        lines.append(f"    {name} = {_body(body, printer, '    ')}")
    return "\n".join([*lines, "}"])


def _cut_lines(definition: TemporalExpr, printer: ExprPrinter) -> Iterator[str]:
    if definition.cuts:
        cuts = "; ".join(printer.cut(cut) for cut in definition.cuts)
        yield f"# ~{definition.name} is cut by {cuts}"
    else:
        yield f"# nothing cuts ~{definition.name}"


def _boundary_lines(query: Query, output: str, printer: ExprPrinter) -> Iterator[str]:
    for name, boundaries in query.boundaries:
        if name == output:
            for source, boundary in boundaries:
                yield f"# ~{output} over (Ts, Te] needs ~{source} over " + _needs(
                    boundary, printer
                )


def _needs(boundary: Boundary, printer: ExprPrinter) -> str:
    back = _reach(boundary.back, "-", printer)
    ahead = _reach(boundary.ahead, "+", printer)
    return f"(Ts{back}, Te{ahead}]"


def _reach(reach: Reach, sign: str, printer: ExprPrinter) -> str:
    if reach.is_unbounded:
        return f" {sign} ∞"
    return f" {sign} {printer.ticks(reach.ticks)}" if reach.ticks else ""

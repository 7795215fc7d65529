"""The card of a query in a notebook: its text, and how far each output looks."""

from tiltpy.explain.outline import find_reaches
from tiltpy.html import format_paragraph, format_preformatted, format_table
from tiltpy.ir.keys import output_keys
from tiltpy.ir.nodes import Query
from tiltpy.ir.print.query import by, format_query

MOST = 40
"""Lines of a query that are shown."""


def summarize(query: Query, arrow: str) -> str:
    """Describe a query on a line: its inputs and their keys, and its outputs."""
    inputs = ", ".join(f"~{each.name}{by(each.keys)}" for each in query.inputs)
    outputs = ", ".join(f"~{name}" for name in query.outputs)
    return f"{inputs or 'no input'} {arrow} {outputs}"


def query_card(query: Query) -> str:
    """Format a query whose boundaries are resolved, as HTML."""
    title = "query: " + summarize(query, "→")
    lines = format_query(query).splitlines()
    if len(lines) > MOST:
        lines = [*lines[:MOST], f"# and {len(lines) - MOST} lines more"]
    looks: dict[str, list[str]] = {name: [] for name in query.outputs}
    for reach in find_reaches(query):
        looks[reach.output].append(f"~{reach.input}: {reach.text}")
    keys = output_keys(query)
    outputs = (
        (f"~{name}{by(keys[name])}", str(query.type_of(name)), "; ".join(words))
        for name, words in looks.items()
    )
    return (
        format_paragraph(title)
        + format_preformatted("\n".join(lines))
        + format_table(("output", "type", "looks"), outputs)
    )

"""An outline as a graph in the languages of Graphviz (DOT) and Mermaid.

Boxes are inputs (rounded), definitions and outputs (bold); arrows go from what is read
to its reader, dashed where it was fused. A frame is around what one loop computes.
"""

from collections.abc import Iterator

from tiltpy.explain.boxes import (
    break_lines,
    format_box,
    group_by_loop,
    outside_frames,
)
from tiltpy.explain.outline import DefinitionNode, Outline


def format_dot(outline: Outline) -> str:
    """Format the graph for `dot -Tsvg`."""
    return "\n".join(_dot(outline)) + "\n"


def format_mermaid(outline: Outline) -> str:
    """Format the graph for Mermaid, as Markdown on many sites shows it."""
    return "\n".join(_mermaid(outline)) + "\n"


def _assign_ids(outline: Outline) -> dict[str, str]:
    """Give each object a plain name: theirs may have letters of all kinds."""
    names = [declared.name for declared in outline.inputs]
    names += [definition.name for definition in outline.definitions]
    return {name: f"n{number}" for number, name in enumerate(names)}


def _dot(outline: Outline) -> Iterator[str]:
    ids = _assign_ids(outline)

    def box(definition: DefinitionNode, indent: str) -> str:
        style = ' style="bold"' if definition.output else ""
        label = _dot_label(format_box(definition, outline))
        return f"{indent}{ids[definition.name]} [label={label}{style}];"

    yield "digraph query {"
    yield '  graph [fontname="monospace" fontsize=10];'
    yield '  node [shape=box fontname="monospace" fontsize=10];'
    yield '  edge [fontname="monospace" fontsize=9];'
    for source in outline.inputs:
        label = _dot_label(break_lines(source.text))
        yield f'  {ids[source.name]} [label={label} style="rounded"];'
    for name, inside in group_by_loop(outline).items():
        yield f"  subgraph cluster_{ids[name]} {{"
        yield f"    label={_dot_string(f'one loop: ~{name}')};"
        yield from (box(definition, "    ") for definition in inside)
        yield "  }"
    yield from (box(definition, "  ") for definition in outside_frames(outline))
    for reference in outline.references:
        style = ' style="dashed"' if reference.fused else ""
        label = _dot_string(reference.fold_prefix + reference.bounds)
        arrow = f"{ids[reference.object]} -> {ids[reference.reader]}"
        yield f"  {arrow} [label={label}{style}];"
    yield "}"


def _dot_label(lines: list[str]) -> str:
    """Quote lines that all begin at the left."""
    return '"' + "".join(f"{_escape_dot(line)}\\l" for line in lines) + '"'


def _dot_string(text: str) -> str:
    return f'"{_escape_dot(text)}"'


def _escape_dot(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _mermaid(outline: Outline) -> Iterator[str]:
    ids = _assign_ids(outline)

    def box(definition: DefinitionNode, indent: str) -> str:
        label = _mermaid_string(format_box(definition, outline))
        return f"{indent}{ids[definition.name]}[{label}]"

    yield "flowchart TD"
    for source in outline.inputs:
        yield f"  {ids[source.name]}({_mermaid_string(break_lines(source.text))})"
    for name, inside in group_by_loop(outline).items():
        yield f"  subgraph loop_{ids[name]} [{_mermaid_string([f'one loop: ~{name}'])}]"
        yield from (box(definition, "    ") for definition in inside)
        yield "  end"
    yield from (box(definition, "  ") for definition in outside_frames(outline))
    for reference in outline.references:
        arrow = "-.->" if reference.fused else "-->"
        label = _mermaid_string([reference.fold_prefix + reference.bounds])
        yield f"  {ids[reference.object]} {arrow}|{label}| {ids[reference.reader]}"
    outputs = [ids[each.name] for each in outline.definitions if each.output]
    if outputs:
        yield "  classDef output stroke-width:3px"
        yield f"  class {','.join(outputs)} output"


_MERMAID = {"&": "#amp;", "<": "#lt;", ">": "#gt;", '"': "#quot;", "#": "#35;"}
_MERMAID |= {"`": "#96;", "\\": "#92;"}


def _mermaid_string(lines: list[str]) -> str:
    """Quote lines; characters that Mermaid or HTML would read are named."""
    return '"' + "<br/>".join(map(_escape_mermaid, lines)) + '"'


def _escape_mermaid(line: str) -> str:
    text = line.lstrip(" ")
    indent = "#160;" * (len(line) - len(text))
    return indent + "".join(_MERMAID.get(letter, letter) for letter in text)

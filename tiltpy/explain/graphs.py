"""An outline as a graph in the languages of Graphviz (DOT) and Mermaid.

Boxes are inputs (rounded), definitions and outputs (bold); arrows go from what is read
to its reader, dashed where it was fused. A frame is around what one loop computes.
"""

from collections.abc import Iterator

from tiltpy.explain.outline import DefinitionNode, Outline

LONGEST, MOST = 72, 14
"""Characters of a line in a box, and lines."""


def format_dot(outline: Outline) -> str:
    """Format the graph for `dot -Tsvg`."""
    return "\n".join(_dot(outline)) + "\n"


def format_mermaid(outline: Outline) -> str:
    """Format the graph for Mermaid, as Markdown on many sites shows it."""
    return "\n".join(_mermaid(outline)) + "\n"


def _assign_ids(outline: Outline) -> dict[str, str]:
    """Give each object a plain name: theirs may have letters of all kinds."""
    names = [one.name for one in outline.inputs]
    names += [one.name for one in outline.definitions]
    return {name: f"n{number}" for number, name in enumerate(names)}


def _group_by_loop(outline: Outline) -> dict[str, list[DefinitionNode]]:
    """Group what each loop alone computes; what several do, or none, is in no group."""
    frames: dict[str, list[DefinitionNode]] = {}
    for one in outline.definitions:
        if len(one.computed_in) == 1:
            frames.setdefault(one.computed_in[0], []).append(one)
    return {name: inside for name, inside in frames.items() if len(inside) > 1}


def _outside_frames(outline: Outline) -> Iterator[DefinitionNode]:
    framed = {one.name for inside in _group_by_loop(outline).values() for one in inside}
    return (one for one in outline.definitions if one.name not in framed)


def _lines(text: str) -> list[str]:
    """Break a statement into lines of the size of a box."""
    lines = [
        line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
        for line in text.splitlines()
    ]
    return lines if len(lines) <= MOST else [*lines[: MOST - 1], "…"]


def _box(definition: DefinitionNode, outline: Outline) -> list[str]:
    """Write the box of a definition, with what the frames do not show."""
    lines = _lines(definition.text)
    if definition.domain not in ("TDom(-∞, ∞, 1)", f"TDom(-∞, ∞, 1{outline.unit})"):
        lines.append(f"t = {definition.domain}")
    if not definition.computed_in:
        lines.append("(no output needs it)")
    if len(definition.computed_in) > 1:
        lines.append(f"(in {', '.join(f'~{name}' for name in definition.computed_in)})")
    return lines


def _dot(outline: Outline) -> Iterator[str]:
    ids = _assign_ids(outline)

    def box(one: DefinitionNode, indent: str) -> str:
        style = ' style="bold"' if one.output else ""
        label = _dot_label(_box(one, outline))
        return f"{indent}{ids[one.name]} [label={label}{style}];"

    yield "digraph query {"
    yield '  graph [fontname="monospace" fontsize=10];'
    yield '  node [shape=box fontname="monospace" fontsize=10];'
    yield '  edge [fontname="monospace" fontsize=9];'
    for source in outline.inputs:
        label = _dot_label(_lines(source.text))
        yield f'  {ids[source.name]} [label={label} style="rounded"];'
    for name, inside in _group_by_loop(outline).items():
        yield f"  subgraph cluster_{ids[name]} {{"
        yield f"    label={_dot_string(f'one loop: ~{name}')};"
        yield from (box(one, "    ") for one in inside)
        yield "  }"
    yield from (box(one, "  ") for one in _outside_frames(outline))
    for one in outline.references:
        style = ' style="dashed"' if one.fused else ""
        label = _dot_string(one.fold_prefix + one.bounds)
        yield f"  {ids[one.object]} -> {ids[one.reader]} [label={label}{style}];"
    yield "}"


def _dot_label(lines: list[str]) -> str:
    """Lines that all begin at the left."""
    return '"' + "".join(f"{_escape_dot(line)}\\l" for line in lines) + '"'


def _dot_string(text: str) -> str:
    return f'"{_escape_dot(text)}"'


def _escape_dot(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _mermaid(outline: Outline) -> Iterator[str]:
    ids = _assign_ids(outline)

    def box(one: DefinitionNode, indent: str) -> str:
        label = _mermaid_string(_box(one, outline))
        return f"{indent}{ids[one.name]}[{label}]"

    yield "flowchart TD"
    for source in outline.inputs:
        yield f"  {ids[source.name]}({_mermaid_string(_lines(source.text))})"
    for name, inside in _group_by_loop(outline).items():
        yield f"  subgraph loop_{ids[name]} [{_mermaid_string([f'one loop: ~{name}'])}]"
        yield from (box(one, "    ") for one in inside)
        yield "  end"
    yield from (box(one, "  ") for one in _outside_frames(outline))
    for one in outline.references:
        arrow = "-.->" if one.fused else "-->"
        label = _mermaid_string([one.fold_prefix + one.bounds])
        yield f"  {ids[one.object]} {arrow}|{label}| {ids[one.reader]}"
    outputs = [ids[one.name] for one in outline.definitions if one.output]
    if outputs:
        yield "  classDef output stroke-width:3px"
        yield f"  class {','.join(outputs)} output"


_MERMAID = {"&": "#amp;", "<": "#lt;", ">": "#gt;", '"': "#quot;", "#": "#35;"}
_MERMAID |= {"`": "#96;", "\\": "#92;"}


def _mermaid_string(lines: list[str]) -> str:
    """Lines between quotes; letters that Mermaid or HTML would read are named."""
    return '"' + "<br/>".join(map(_escape_mermaid, lines)) + '"'


def _escape_mermaid(line: str) -> str:
    text = line.lstrip(" ")
    indent = "#160;" * (len(line) - len(text))
    return indent + "".join(_MERMAID.get(letter, letter) for letter in text)

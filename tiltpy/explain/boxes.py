"""The boxes of a graph of a query, their texts, and the frames around loops."""

from collections.abc import Iterator

from tiltpy.explain.outline import DefinitionNode, Outline

LONGEST, MOST = 72, 14
"""Characters of a line in a box, and lines."""


def group_by_loop(outline: Outline) -> dict[str, list[DefinitionNode]]:
    """Group what each loop alone computes; what several do, or none, is in no group."""
    frames: dict[str, list[DefinitionNode]] = {}
    for definition in outline.definitions:
        if len(definition.computed_in) == 1:
            frames.setdefault(definition.computed_in[0], []).append(definition)
    return {name: inside for name, inside in frames.items() if len(inside) > 1}


def outside_frames(outline: Outline) -> Iterator[DefinitionNode]:
    """Yield the definitions that are in no group."""
    frames = group_by_loop(outline).values()
    framed = {each.name for inside in frames for each in inside}
    return (each for each in outline.definitions if each.name not in framed)


def break_lines(text: str) -> list[str]:
    """Break a statement into lines of the size of a box."""
    lines = [
        line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
        for line in text.splitlines()
    ]
    return lines if len(lines) <= MOST else [*lines[: MOST - 1], "…"]


def format_box(definition: DefinitionNode, outline: Outline) -> list[str]:
    """Write the box of a definition, with what the frames do not show."""
    lines = break_lines(definition.text)
    if definition.domain not in ("TDom(-∞, ∞, 1)", f"TDom(-∞, ∞, 1{outline.unit})"):
        lines.append(f"t = {definition.domain}")
    if not definition.computed_in:
        lines.append("(no output needs it)")
    if len(definition.computed_in) > 1:
        lines.append(f"(in {', '.join(f'~{name}' for name in definition.computed_in)})")
    return lines

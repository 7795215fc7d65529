"""The forms that an outline can be printed in: a tree, JSON, graphs, a picture."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict

from tiltpy.explain.graphs import format_dot, format_mermaid
from tiltpy.explain.outline import Outline, Reference
from tiltpy.explain.svg import format_svg
from tiltpy.ir.print.query import by
from tiltpy.visible import escape_json


def format_tree(outline: Outline) -> str:
    """Format the outputs, each with what it reads below it, and that once.

    ~trend: f64, output
    ├─ [t] of ~gap: f64, fused
    │  └─ mean of [t-10d : t] of ~stock: f64, input
    """
    return "\n".join(_TreePrinter(outline).lines()) + "\n"


class _TreePrinter:
    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.definitions = {each.name: each for each in outline.definitions}
        self.types = {each.name: each.type for each in outline.inputs}
        self.types |= {each.name: each.type for each in outline.definitions}
        self.keys = {each.name: each.keys for each in outline.inputs}
        self.printed: set[str] = set()

    def lines(self) -> Iterator[str]:
        for definition in self.outline.definitions:
            if definition.output:
                keys = by(definition.keys)
                name = definition.name
                role = f"output{keys}{self._loop(name)}{self._reach(name)}"
                yield f"~{definition.name}: {definition.type}, {role}"
                yield from self._below(name, "")
        for definition in self.outline.definitions:
            if not definition.computed_in:
                yield f"~{definition.name}: {definition.type}, no output needs it"

    def _below(self, name: str, indent: str) -> Iterator[str]:
        if name not in self.definitions:
            return
        self.printed.add(name)
        below = [each for each in self.outline.references if each.reader == name]
        for reference in below:
            last = reference is below[-1]
            again = reference.object in self.printed
            yield f"{indent}{'└─' if last else '├─'} {self._line(reference, again)}"
            if not again:
                deeper = indent + ("   " if last else "│  ")
                yield from self._below(reference.object, deeper)

    def _line(self, reference: Reference, again: bool) -> str:
        name = reference.object
        what = f"{reference.fold_prefix}{reference.text}: {self.types[name]}"
        if name not in self.definitions:
            return f"{what}, input{by(self.keys[name])}"
        role = ", fused" if reference.fused else self._loop(name)
        return f"{what}{role}{', see above' if again else ''}"

    def _loop(self, name: str) -> str:
        definition = self.definitions[name]
        return ", a loop" if name in definition.computed_in else ""

    def _reach(self, output: str) -> str:
        reaches = [reach for reach in self.outline.reach if reach.output == output]
        looks = ", ".join(f"{reach.text} in ~{reach.input}" for reach in reaches)
        return f"; looks {looks}" if looks else ""


def format_json(outline: Outline) -> str:
    """Format the outline as it is, field by field."""
    text = json.dumps(asdict(outline), indent=2, ensure_ascii=False)
    return escape_json(text) + "\n"


FORMS: dict[str, Callable[[Outline], str]] = {
    "tree": format_tree,
    "json": format_json,
    "dot": format_dot,
    "mermaid": format_mermaid,
    "svg": format_svg,
}

"""The forms that an outline can be printed in: a tree of text, JSON, graphs."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict

from tiltpy.explain.graphs import format_dot, format_mermaid
from tiltpy.explain.outline import Outline, Reference
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
        self.definitions = {one.name: one for one in outline.definitions}
        self.types = {one.name: one.type for one in outline.inputs}
        self.types |= {one.name: one.type for one in outline.definitions}
        self.keys = {one.name: one.keys for one in outline.inputs}
        self.printed: set[str] = set()

    def lines(self) -> Iterator[str]:
        for one in self.outline.definitions:
            if one.output:
                keys = by(one.keys)
                how = f"output{keys}{self._loop(one.name)}{self._reach(one.name)}"
                yield f"~{one.name}: {one.type}, {how}"
                yield from self._below(one.name, "")
        for one in self.outline.definitions:
            if not one.computed_in:
                yield f"~{one.name}: {one.type}, no output needs it"

    def _below(self, name: str, indent: str) -> Iterator[str]:
        if name not in self.definitions:
            return
        self.printed.add(name)
        below = [one for one in self.outline.references if one.reader == name]
        for one in below:
            last = one is below[-1]
            again = one.object in self.printed
            yield f"{indent}{'└─' if last else '├─'} {self._line(one, again)}"
            if not again:
                yield from self._below(one.object, indent + ("   " if last else "│  "))

    def _line(self, reference: Reference, again: bool) -> str:
        name = reference.object
        what = f"{reference.fold_prefix}{reference.text}: {self.types[name]}"
        if name not in self.definitions:
            return f"{what}, input{by(self.keys[name])}"
        how = ", fused" if reference.fused else self._loop(name)
        return f"{what}{how}{', see above' if again else ''}"

    def _loop(self, name: str) -> str:
        one = self.definitions[name]
        return ", a loop" if name in one.computed_in else ""

    def _reach(self, output: str) -> str:
        reaches = [one for one in self.outline.reach if one.output == output]
        looks = ", ".join(f"{one.text} in ~{one.input}" for one in reaches)
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
}

"""An outline as a tree of text: each output, what it is made of, down to the inputs."""

from collections.abc import Iterator

from tiltpy.explain.outline import Outline, Reference
from tiltpy.ir.print.query import by


def format_tree(outline: Outline) -> str:
    """The outputs, each with what it reads below it; what was shown is not again.

    ~trend: f64, output
    ├─ [t] of ~gap: f64, fused
    │  └─ mean of [t-10d : t] of ~stock: f64, input
    """
    return "\n".join(_Tree(outline).lines()) + "\n"


class _Tree:
    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.definitions = {one.name: one for one in outline.definitions}
        self.types = {one.name: one.type for one in outline.inputs}
        self.types |= {one.name: one.type for one in outline.definitions}
        self.keys = {one.name: one.keys for one in outline.inputs}
        self.shown: set[str] = set()

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
        self.shown.add(name)
        below = [one for one in self.outline.references if one.reader == name]
        for one in below:
            last = one is below[-1]
            again = one.object in self.shown
            yield f"{indent}{'└─' if last else '├─'} {self._line(one, again)}"
            if not again:
                yield from self._below(one.object, indent + ("   " if last else "│  "))

    def _line(self, reference: Reference, again: bool) -> str:
        name = reference.object
        what = f"{reference.folded}{reference.text}: {self.types[name]}"
        if name not in self.definitions:
            return f"{what}, input{by(self.keys[name])}"
        how = ", fused" if reference.fused else self._loop(name)
        return f"{what}{how}{', see above' if again else ''}"

    def _loop(self, name: str) -> str:
        one = self.definitions[name]
        return ", a loop" if name in one.computed_in else ""

    def _reach(self, output: str) -> str:
        found = [one for one in self.outline.reach if one.output == output]
        looks = ", ".join(f"{one.text} in ~{one.input}" for one in found)
        return f"; looks {looks}" if looks else ""

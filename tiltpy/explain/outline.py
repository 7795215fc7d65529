"""The outline of a query: its objects, how they refer to each other, what was fused.

Plain data, from which every form is printed; it says nothing about kernels.
"""

from collections.abc import Iterator

from tiltpy.engines.live.finality import find_delay
from tiltpy.ir.cuts import reads
from tiltpy.ir.keys import object_keys
from tiltpy.ir.nodes import (
    At,
    CutPoint,
    EventBound,
    Expr,
    Query,
    Reduce,
    TemporalExpr,
    Window,
)
from tiltpy.ir.print.expressions import ExprPrinter
from tiltpy.ir.print.query import format_query, statements
from tiltpy.ir.traversal import drop_unused, walk
from tiltpy.lean_dataclass import dataclass
from tiltpy.types import Boundary


@dataclass(frozen=True, slots=True)
class InputNode:
    """An input and its declaration."""

    name: str
    type: str
    keys: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class DefinitionNode:
    """A temporal expression: its statement, and its time domain.

    `computed_in` names the objects in whose loops it is computed: itself where it has a
    loop, those that it was fused into where it has none, nobody where none needs it.
    """

    name: str
    type: str
    keys: tuple[str, ...]
    text: str
    domain: str
    output: bool
    computed_in: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference of `reader` to `object`: its value at `t + start`, or a window of it.

    `reductions` are those of a window. `fused`: the object's expression stands in the
    reader's loop, and no snapshots of it are made for the reader.
    """

    reader: str
    object: str
    start: int
    end: int
    reductions: tuple[str, ...]
    text: str
    fused: bool

    @property
    def fold_prefix(self) -> str:
        """The reductions of a window, as in `mean, max of `; nothing for a point."""
        return f"{', '.join(self.reductions)} of " if self.reductions else ""

    @property
    def bounds(self) -> str:
        """The time of the reference: `[t-1d]`, `[t-10d : t]`."""
        return self.text.removeprefix(f"~{self.object}")


@dataclass(frozen=True, slots=True)
class OutputReach:
    """The lookback and lookahead of an output in an input: ticks, and in words."""

    output: str
    input: str
    back: int
    ahead: int
    text: str


@dataclass(frozen=True, slots=True)
class Outline:
    """A whole query; `query` is its text, which parses back to it."""

    unit: str | None
    query: str
    inputs: tuple[InputNode, ...]
    definitions: tuple[DefinitionNode, ...]
    references: tuple[Reference, ...]
    reach: tuple[OutputReach, ...]


def make_outline(source: Query, optimized: Query) -> Outline:
    """Make the outline of a source query and its optimized form."""
    texts = statements(source)
    hosts = _find_hosts(source, optimized)
    keys = object_keys(source.inputs, source.definitions)
    inputs = (
        InputNode(i.name, str(i.type), i.keys, texts[i.name]) for i in source.inputs
    )
    definitions = (
        DefinitionNode(
            d.name,
            str(d.type),
            keys[d.name],
            texts[d.name],
            texts[d.tdom],
            d.name in source.outputs,
            hosts[d.name],
        )
        for d in source.definitions
    )
    references = (
        reference
        for definition in source.definitions
        for reference in _collect_references(definition, source, optimized, hosts)
    )
    return Outline(
        source.unit,
        format_query(source),
        tuple(inputs),
        tuple(definitions),
        tuple(references),
        tuple(find_reaches(optimized)),
    )


def find_reaches(query: Query) -> Iterator[OutputReach]:
    """Find how far each output looks, of a query whose boundaries are resolved."""
    printer = ExprPrinter(query.unit)
    for output, inputs in query.boundaries:
        for name, boundary in inputs:
            back, ahead = boundary.back.ticks, boundary.ahead.ticks
            definition = query.definition(output)
            assert definition is not None
            words = " and ".join(_reach_words(definition, boundary, printer))
            text = words or "at its own time"
            yield OutputReach(output, name, back, ahead, text)


def _reach_words(
    output: TemporalExpr, boundary: Boundary, printer: ExprPrinter
) -> Iterator[str]:
    """Say how far an output looks back, and ahead: of itself, or to a cell's end."""
    back, ahead = boundary.back, boundary.ahead
    if back.is_unbounded:
        yield "back without bound"
    elif back.ticks:
        yield f"back {printer.ticks(back.ticks)}"
    if ahead.is_unbounded:
        yield "ahead without bound"
    elif delay := find_delay(output, boundary):
        beyond = " beyond its cell" if delay < ahead.ticks else ""
        yield f"ahead {printer.ticks(delay)}{beyond}"
    elif ahead.ticks:
        yield "ahead within its cell"


def _find_hosts(source: Query, optimized: Query) -> dict[str, tuple[str, ...]]:
    """Find the loops that compute each definition.

    Readers come after what they read.
    """
    remaining = {definition.name for definition in optimized.definitions}
    readers: dict[str, list[str]] = {d.name: [] for d in source.definitions}
    hosts: dict[str, tuple[str, ...]] = {}
    for definition in reversed(source.definitions):
        name = definition.name
        above = (host for reader in readers[name] for host in hosts[reader])
        hosts[name] = (name,) if name in remaining else tuple(dict.fromkeys(above))
        for read in reads(definition):
            if read in readers:
                readers[read].append(name)
    return hosts


def _collect_references(
    reader: TemporalExpr,
    source: Query,
    optimized: Query,
    hosts: dict[str, tuple[str, ...]],
) -> Iterator[Reference]:
    """Collect the references of a definition, each once, in order of occurrence.

    `reader` is a definition of `source`; `optimized` is the query after the passes,
    `hosts` the loops of each definition.
    """
    printer = ExprPrinter(source.unit, "t")
    seen: dict[CutPoint | Window, list[str]] = {}
    for node in walk(drop_unused(reader.body)):
        match node:
            case At() | EventBound():
                seen.setdefault(node.point, [])
            case Reduce(window=window):
                seen.setdefault(window, []).append(_reduction(node))
            case _:
                pass
    for reference, reductions in seen.items():
        name = reference.object
        fused = source.input(name) is None and not any(
            name in reads(reading)
            for host in hosts[reader.name]
            if (reading := optimized.definition(host)) is not None
        )
        match reference:
            case CutPoint(offset=offset):
                start = last = offset
                text = f"~{name}[{printer.format_time(offset)}]"
            case Window():
                start, last = reference.start, reference.end
                text = printer.window(reference)
        names = tuple(dict.fromkeys(reductions))
        yield Reference(reader.name, name, start, last, names, text, fused)


def _reduction(node: Expr) -> str:
    assert isinstance(node, Reduce)
    if node.parameter is None:
        return node.reduction
    return f"{node.reduction}({node.parameter})"

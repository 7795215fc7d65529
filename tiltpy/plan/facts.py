"""Facts about the rows of each object, from which a kernel is chosen."""

from collections.abc import Mapping

from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.elements import element_of
from tiltpy.emit.row_access import input_rows
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Expr, Query, TemporalExpr
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import TRUE, i64
from tiltpy.types import Struct, Type, columns


@dataclass(frozen=True, slots=True)
class ObjectFacts:
    """The layout of one object's rows: of an input, or of snapshots computed before."""

    name: str
    type: Type
    layout: Layout
    is_input: bool

    @property
    def disjoint(self) -> bool:
        """Return whether no two rows overlap."""
        return self.layout.time is not TimeLayout.OVERLAPPING

    @property
    def complete(self) -> bool:
        """Return whether every row is a snapshot: none is a null scalar."""
        return isinstance(self.type, Struct) or not self.layout.nullable[0]

    @property
    def gapless(self) -> bool:
        """Return whether snapshots are gapless from the first row to the last."""
        regular = self.layout.time in (TimeLayout.SAMPLED, TimeLayout.CONTIGUOUS)
        return regular and self.complete

    def filters(self, element: Expr) -> bool:
        """Decide whether an element of windows over it may be φ at some row."""
        return self.element(element).valid != TRUE

    def element(self, element: Expr) -> LoopValue:
        """Evaluate an element of windows over it, on trial."""
        builder = KernelBuilder({self.name: self.layout})
        block = Block(builder)
        rows = input_rows(builder, block, self.name, self.type)
        return element_of(block, rows, i64(0), element)


def computed_layout(definition: TemporalExpr, over: Layout | None) -> Layout:
    """State the layout of computed snapshots, over rows of layout `over` if any."""
    flagged = isinstance(definition.type, Struct) or definition.tdom.nulls
    nullable = tuple(flagged for _ in columns(definition.type))
    if over is None:
        return Layout(TimeLayout.INTERVALS, nullable)
    overlapping = over.time is TimeLayout.OVERLAPPING
    time = TimeLayout.OVERLAPPING if overlapping else TimeLayout.INTERVALS
    return Layout(time, nullable, over.fifo, over.points)


def object_facts(query: Query, layouts: Mapping[str, Layout]) -> dict[str, ObjectFacts]:
    """State the facts of each input and definition of a query, by name.

    The snapshots that a kernel computes lie as intervals, in order and without nulls,
    but for the fields of structs; those of a row object overlap where its input's do.
    """
    facts = {
        declared.name: ObjectFacts(
            declared.name, declared.type, layouts[declared.name], is_input=True
        )
        for declared in query.inputs
        if declared.name in layouts
    }
    for definition in query.definitions:
        over = definition.tdom.rows
        layout = computed_layout(
            definition, None if over is None else facts[over].layout
        )
        facts[definition.name] = ObjectFacts(
            definition.name, definition.type, layout, is_input=False
        )
    return facts

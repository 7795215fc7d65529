"""Fuse operators: substitute definitions into their uses (section 5.2 of the paper).

Before:

    ~sum10[t] = ⊕(+, ~stock[t-10 : t])
    ~avg10[t] = ~sum10[t] / 10
    ~trend[t] = ~stock[t] - ~avg10[t-1]

After:

    ~trend[t] = ~stock[t] - ⊕(+, ~stock[t-11 : t-1]) / 10

Point references are replaced by the body they see, shifted; windows over an object that
maps another snapshot by snapshot become windows over that other (`see_through`). Both
work across windows, joins and shifts alike. What cuts the reader's snapshots is kept to
the snapshot (`inline_cuts`). An object stays, as a temporary of the loop, where its
bounds are finite, where its grid is the coarser, where a gap would be seen in strides,
or where computing it again would cost more than reading it.
"""

from collections import defaultdict
from dataclasses import dataclass, field, replace

from tiltpy.forks import cached_property
from tiltpy.ir.cuts import expressions, leaf_cuts, reads
from tiltpy.ir.nodes import (
    Call,
    CutWindow,
    DateComponent,
    Expr,
    In,
    Input,
    Query,
    Reduce,
    TemporalExpr,
)
from tiltpy.ir.traversal import depth, sees_more, shift, shift_cut, walk
from tiltpy.limits import MAX_DEPTH, MAX_FUSED
from tiltpy.passes.analyses.cuts import (
    InlinedObject,
    inline_cuts,
    points_of,
    survives_stride,
)
from tiltpy.passes.analyses.maps import Map, map_of, see_through
from tiltpy.passes.analyses.strictness import never_phi, strict_in
from tiltpy.passes.analyses.substitution import inline_points
from tiltpy.passes.eliminate_dead import drop_definitions, drop_names
from tiltpy.passes.operation_count import Growth
from tiltpy.types import TDom

MAX_NODES = 400
"""Nodes that a body may grow to."""
MAX_CHEAP_OPTIONS = 8
"""Constants that a value is compared with, one after the other, at no great cost."""
MAX_COPIES = 3
"""Copies of heavy work, over all offsets and outputs."""
CHEAP_FUNCTIONS = frozenset(
    {"abs", "sign", "min", "max", "floor", "ceil", "round", "trunc", "sqrt", "fma"}
    | {"is_nan", "is_inf", "is_finite"}
)


def fuse_operators(query: Query) -> Query:
    """Inline definitions into their readers where that pays off."""
    fusion = _Fusion(query)
    for definition in query.definitions:
        fusion.add(drop_names(definition))
    definitions = tuple(fusion.fused.values())
    return drop_definitions(replace(query, definitions=definitions))


@dataclass
class _Fusion:
    """The definitions fused so far, each after those that it refers to.

    `tried` counts the nodes of all bodies that something was to be fused into.
    """

    query: Query
    fused: dict[str, TemporalExpr] = field(default_factory=dict)
    tried: int = 0

    @cached_property
    def growth(self) -> Growth:
        """The operations of the outputs so far."""
        return Growth(self.query)

    @cached_property
    def window_objects(self) -> frozenset[str]:
        """The objects over which the query has windows."""
        return frozenset(
            name
            for definition in self.query.definitions
            for cut in leaf_cuts(definition.cuts)
            if isinstance(cut, CutWindow)
            for name in cut.window.objects
        )

    @cached_property
    def outputs_over(self) -> dict[str, int]:
        """The outputs that depend on each object, as the bits of a number."""
        over: dict[str, int] = defaultdict(int)
        for bit, name in enumerate(self.query.outputs):
            over[name] = 1 << bit
        for definition in reversed(self.query.definitions):  # readers come first
            for name in reads(definition):
                over[name] |= over[definition.name]
        return over

    def add(self, reader: TemporalExpr) -> None:
        """Fuse into a definition until nothing more can be."""
        changed: TemporalExpr | None = reader
        while changed is not None:
            reader, changed = changed, self.step(changed)
        self.fused[reader.name] = reader
        if reader.name in self.query.outputs:  # others may be in their readers now
            self.growth.add(reader)

    def step(self, reader: TemporalExpr) -> TemporalExpr | None:
        for name in reads(reader):
            source = self.fused.get(name)
            if source is None or source.distinct:  # its reader sees it joined
                continue
            self.tried += _size(reader)
            if self.tried > MAX_FUSED:
                return None
            changed = self.through_windows(reader, source)
            changed = changed or self.through_points(reader, source)
            if changed is not None:
                return changed
        return None

    def through_windows(
        self, reader: TemporalExpr, source: TemporalExpr
    ) -> TemporalExpr | None:
        if not _has_window(reader, source.name):
            return None
        mapped = self.map_of(source)
        return see_through(reader, source.name, mapped) if mapped else None

    def map_of(self, source: TemporalExpr) -> Map | None:
        def objects(name: str) -> Input | TemporalExpr:
            referenced = self.query.input(name) or self.fused.get(name)
            assert referenced is not None, f"no object ~{name}"
            return referenced

        return map_of(source, objects)

    def through_points(
        self, reader: TemporalExpr, source: TemporalExpr
    ) -> TemporalExpr | None:
        strict = strict_in(reader.body)
        points = dict.fromkeys(points_of(reader.cuts, source.name, strict))
        offsets = tuple(dict.fromkeys(offset for offset, _ in points))
        if not points or not self.pays_off(reader, source, len(offsets)):
            return None
        if not _sees_cells(reader.tdom, source, offsets):
            return None
        stride = reader.tdom.longest if source.tdom.calendar is None else 1
        if not source.tdom.is_infinite or reader.tdom.precision % source.tdom.precision:
            return None
        if source.tdom.rows is not None:
            return None  # it may be another row that is on top
        if stride > source.tdom.precision:
            plain = all(s for _, s in points) or never_phi(source.body)
            if not plain or not survives_stride(source.cuts, stride):
                return None
        inlined = {each: _seen_at(source, each, reader) for each in offsets}
        bodies = {offset: source.value for offset, source in inlined.items()}
        body = inline_points(reader.body, source.name, bodies)
        cuts = inline_cuts(reader.cuts, strict, source.name, inlined)
        changed = replace(reader, body=body, cuts=cuts)
        return changed if _fits(changed, _size(reader)) else None

    def pays_off(
        self, reader: TemporalExpr, source: TemporalExpr, offsets: int
    ) -> bool:
        """Tell whether computing an object again beats reading it from a temporary.

        `offsets`: at how many different offsets the reader refers to it.
        """
        if _has_window(reader, source.name):
            return False  # this reader needs the temporary anyway
        if not any(_is_heavy(node) for node in walk(source.body)):
            return True
        if source.name in self.query.outputs:
            return False
        heavy = any(isinstance(node, Reduce) for node in walk(source.body))
        if heavy and source.name in self.window_objects:
            return False
        outputs = self.outputs_over[source.name].bit_count()
        return offsets * outputs <= MAX_COPIES


def _seen_at(source: TemporalExpr, offset: int, reader: TemporalExpr) -> InlinedObject:
    """Shift an object to the reader's time: the grid point of the cell it refers to."""
    grid = source.tdom
    ticks = offset + (grid.offset - reader.tdom.offset - offset) % grid.precision
    cuts = tuple(shift_cut(cut, ticks) for cut in source.cuts)
    return InlinedObject(shift(source.body, ticks), cuts)


def _sees_cells(reader: TDom, source: TemporalExpr, offsets: tuple[int, ...]) -> bool:
    """Tell whether offsets of a reader's grid points are grid points of a source.

    Those of a calendar are its own, and ticks; what sees the present, or where an open
    window cuts, is not evaluated over its cells.
    """
    if source.tdom.calendar is not None:
        return reader.calendar == source.tdom.calendar and offsets == (0,)
    if reader.calendar is None:
        return True
    windows = (cut for cut in leaf_cuts(source.cuts) if isinstance(cut, CutWindow))
    return source.tdom.precision == 1 and not any(map(sees_more, windows))


def _has_window(reader: TemporalExpr, object: str) -> bool:
    return any(
        isinstance(cut, CutWindow) and object in cut.window.objects
        for cut in leaf_cuts(reader.cuts)
    )


def _is_heavy(node: Expr) -> bool:
    match node:
        case Reduce() | DateComponent():
            return True
        case Call():
            return node.function not in CHEAP_FUNCTIONS
        case In():
            return len(node.options) > MAX_CHEAP_OPTIONS
        case _:
            return False


def _size(definition: TemporalExpr) -> int:
    return sum(1 for expr in expressions(definition) for _ in walk(expr))


def _fits(definition: TemporalExpr, before: int) -> bool:
    levels = max(depth(expr) for expr in expressions(definition))
    return levels <= MAX_DEPTH and _size(definition) <= max(MAX_NODES, before)

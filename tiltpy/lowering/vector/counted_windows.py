"""Windows of lanes whose cells are counted by value (`value_counts`).

`nunique` counts the values, `count(v for v in ~x[t-9 : t] if v.k == ~x[t].k)` the cells
whose key equals the present's.
"""

from tiltpy.emit.builder import Block
from tiltpy.emit.elements import FoldedElement
from tiltpy.emit.matches import Match
from tiltpy.emit.order_keys import equality_keys, order_key
from tiltpy.emit.values import Leaf, LoopValue
from tiltpy.ir.nodes import At, Element, Expr, Reduce, Window
from tiltpy.ir.traversal import rewrite
from tiltpy.loops.build import TRUE, conj, i64, lt, select
from tiltpy.loops.nodes import LExpr, Splat
from tiltpy.lowering.vector.operands import LaneView
from tiltpy.lowering.vector.value_counts import Keys, ValueCounts
from tiltpy.types import U64


class CountedWindows:
    """The counted windows of a loop; equal ones share their counts."""

    def __init__(self, view: LaneView, leaf: Leaf) -> None:
        self.view = view
        self.leaf = leaf
        self.counts: list[ValueCounts] = []
        self.results: dict[tuple[str, Reduce], LoopValue] = {}

    def start(self, block: Block) -> None:
        """Set the variables before the loop."""
        for counts in self.counts:
            counts.start(block)

    def structures(self) -> tuple[str, ...]:
        """The structures of windows, as `explain` prints them."""
        nodes = dict.fromkeys(node for _, node in self.results)
        return tuple(
            f"~{node.window.object}: counts by value for {node.reduction}"
            for node in nodes
        )

    def _new(self, node: Reduce, cells: int) -> ValueCounts:
        counts = ValueCounts(self.view.builder, node.window.object, cells)
        self.counts.append(counts)
        return counts

    def count_different(self, node: Reduce, newest: int, cells: int) -> LoopValue:
        """Count the different values of the windows that end at cell `newest`."""
        key = self.view.reader.name, node
        if key not in self.results:
            name, block = node.window.object, self.view.block
            value = self.view.element(block, name, node.element, newest)
            number = order_key(value.scalar, value.scalar.type)
            keys = _in_lanes(block, number, value.valid)
            result = self._new(node, cells).count_different(block, keys)
            valid = lt(i64(0), result) if value.valid != TRUE else TRUE
            valid = block.name("some", valid)
            self.results[key] = LoopValue(node.type, result, valid)
        return self.results[key]

    def count_matches(self, node: Reduce, newest: int, cells: int) -> LoopValue:
        """Count the cells of these windows whose key equals the present's."""
        key = self.view.reader.name, node
        if key not in self.results:
            self.results[key] = self._matches(node, newest, cells)
        return self.results[key]

    def _matches(self, node: Reduce, newest: int, cells: int) -> LoopValue:
        view, name, block = self.view, node.window.object, self.view.block
        folded = FoldedElement.of(node.element)
        match = Match.of(folded)
        (comparison,) = match.comparisons
        names = folded.values(block, self.leaf)
        rows = view.element(block, name, comparison.key, newest)
        keys, exist = equality_keys((rows,))
        contributes = view.element(block, name, match.element, newest).valid
        newest_keys = _in_lanes(block, keys[0], conj(exist, contributes))
        keys, exist = equality_keys((names[comparison.present.name],))
        present: Keys | None = _in_lanes(block, keys[0], exist)
        if isinstance(match.element, Element) and _is_newest(
            node.window, folded, match
        ):
            present = None
        count = self._new(node, cells).count_equal(block, newest_keys, present)
        gates = [names[gate.name] for gate in match.gates]
        open_ = conj(exist, *(t for gate in gates for t in (gate.valid, gate.scalar)))
        return LoopValue(node.type, block.name("n", select(open_, count, i64(0))), TRUE)


def _in_lanes(block: Block, key: LExpr, exists: LExpr) -> Keys:
    return block.name("key", Splat(key, U64)), block.name("exists", exists)


def _is_newest(window: Window, folded: FoldedElement, match: Match) -> bool:
    """Decide whether the present's key is that of the newest cell itself."""
    (comparison,) = match.comparisons

    def at_end(node: Expr) -> Expr:
        if not isinstance(node, Element):
            return node
        return At(window.object, window.end, node.type)

    present = dict(folded.constants)[comparison.present.name]
    return rewrite(comparison.key, at_end) == present

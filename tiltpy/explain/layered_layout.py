"""Layered layout of a directed acyclic graph: positions of boxes, routes of arrows.

After Sugiyama, Tagawa and Toda (1981): each box gets a layer below all that it reads,
each arrow a chain of slots through the layers between, and its label is one of them. So
labels and boxes never overlap. Barycenters order the slots of a layer; their positions
minimize the squared lengths of arrows aside, by isotonic regression.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

GAP, LAYER_GAP = 22.0, 20.0
"""Between neighbours of a layer, and between layers."""
SWEEPS = 8
"""Passes over all layers, downward and upward in turn."""


@dataclass(frozen=True, slots=True)
class Size:
    """A width and a height."""

    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow between two boxes, by their numbers, and the size of its label.

    `exit` and `entry` are where it leaves the one and reaches the other, from their
    left; by default anywhere.
    """

    source: int
    target: int
    label: Size
    exit: float | None = None
    entry: float | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """The route of an arrow: points from top to bottom; its label is right of one."""

    points: tuple[tuple[float, float], ...]
    label: tuple[float, float]


@dataclass(frozen=True, slots=True)
class GraphLayout:
    """The left upper corner of each box, the route of each arrow, the whole size."""

    corners: tuple[tuple[float, float], ...]
    routes: tuple[Route, ...]
    size: Size


@dataclass(slots=True, eq=False)
class _Slot:
    """A box, or a place that an arrow passes: `x` is its left side."""

    size: Size
    layer: int
    rank: float = 0.0
    x: float = 0.0


@dataclass(frozen=True, slots=True)
class _Link:
    """Two slots of neighbouring layers, and where the arrow meets them."""

    above: _Slot
    below: _Slot
    exit: float = 0.0
    entry: float = 0.0


def lay_out(boxes: Sequence[Size], arrows: Sequence[Arrow]) -> GraphLayout:
    """Lay out boxes and arrows.

    Arrows must go from boxes to later ones: the order of `boxes` is topological.
    """
    layers = _assign_layers(len(boxes), arrows)
    slots = [_Slot(size, layer) for size, layer in zip(boxes, layers, strict=True)]
    chains = [_chain(arrow, slots) for arrow in arrows]
    links = [
        link
        for arrow, chain in zip(arrows, chains, strict=True)
        for link in _link(arrow, chain)
    ]
    rows: list[list[_Slot]] = [[] for _ in range(max(layers, default=-1) + 1)]
    for slot in (*slots, *(slot for chain in chains for slot in chain[1:-1])):
        rows[slot.layer].append(slot)
    _order(rows, links)
    _spread(rows, links)
    tops, height = _stack(rows)
    width = max((slot.x + slot.size.width for row in rows for slot in row), default=0.0)
    corners = tuple((slot.x, tops[slot.layer][0]) for slot in slots)
    exits = _spread_ports([(arrow.source, arrow.exit) for arrow in arrows], chains, 0)
    entries = _spread_ports(
        [(arrow.target, arrow.entry) for arrow in arrows], chains, -1
    )
    routes = (_route(*each, tops) for each in zip(chains, exits, entries, strict=True))
    return GraphLayout(corners, tuple(routes), Size(width, height))


def _assign_layers(count: int, arrows: Sequence[Arrow]) -> list[int]:
    """Assign even layers: below all sources, and sources close to their readers."""
    layers = [0] * count
    for arrow in sorted(arrows, key=lambda arrow: arrow.target):
        layers[arrow.target] = max(layers[arrow.target], layers[arrow.source] + 2)
    reached = {arrow.target for arrow in arrows}
    for box in range(count):
        readers = [layers[arrow.target] for arrow in arrows if arrow.source == box]
        if box not in reached and readers:
            layers[box] = min(readers) - 2
    return layers


def _chain(arrow: Arrow, boxes: Sequence[_Slot]) -> list[_Slot]:
    """Make the slots of an arrow, its boxes included; the label is the last but one."""
    source, target = boxes[arrow.source], boxes[arrow.target]
    between = range(source.layer + 1, target.layer - 1)
    passed = [_Slot(Size(0.0, 0.0), layer) for layer in between]
    return [source, *passed, _Slot(arrow.label, target.layer - 1), target]


def _link(arrow: Arrow, chain: Sequence[_Slot]) -> Iterator[_Link]:
    steps = list(pairwise(chain))
    for number, (above, below) in enumerate(steps):
        leaves = _port(arrow.exit, above) if number == 0 else 0.0
        enters = _port(arrow.entry, below) if number == len(steps) - 1 else 0.0
        yield _Link(above, below, leaves, enters)


def _port(port: float | None, slot: _Slot) -> float:
    return slot.size.width / 2 if port is None else port


def _order(rows: Sequence[list[_Slot]], links: Sequence[_Link]) -> None:
    """Order the slots of each layer by the barycenters of their neighbours."""
    best, fewest = [list(row) for row in rows], len(links) ** 2 + 1
    for sweep in range(SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            if sweep:
                _sort_by_neighbours(row, links, downward=sweep % 2 == 0)
            for rank, slot in enumerate(row):
                slot.rank = rank
        crossings = _count_crossings(links)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    for row, ordered in zip(rows, best, strict=True):
        row[:] = ordered


def _sort_by_neighbours(
    row: list[_Slot], links: Sequence[_Link], *, downward: bool
) -> None:
    ranks: dict[int, list[float]] = {id(slot): [] for slot in row}
    for link in links:
        slot, neighbour, at, width = (
            (link.below, link.above, link.exit, link.above.size.width)
            if downward
            else (link.above, link.below, link.entry, link.below.size.width)
        )
        if id(slot) in ranks:
            ranks[id(slot)].append(neighbour.rank + at / (width + 1))
    row.sort(key=lambda slot: _mean(ranks[id(slot)], slot.rank))


def _count_crossings(links: Sequence[_Link]) -> int:
    ends = [
        (
            link.above.layer,
            link.above.rank + link.exit / (link.above.size.width + 1),
            link.below.rank + link.entry / (link.below.size.width + 1),
        )
        for link in links
    ]
    return sum(
        layer == other and (above - above_other) * (below - below_other) < 0
        for number, (layer, above, below) in enumerate(ends)
        for other, above_other, below_other in ends[:number]
    )


def _spread(rows: Sequence[list[_Slot]], links: Sequence[_Link]) -> None:
    """Place the slots of each layer below and above what they are linked with."""
    for row in rows:
        x = 0.0
        for slot in row:
            slot.x, x = x, x + slot.size.width + GAP
    for sweep in range(2 * SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wanted: dict[int, list[float]] = {id(slot): [] for slot in row}
            for link in links:
                if id(link.below) in wanted:
                    aside = link.exit - link.entry
                    wanted[id(link.below)].append(link.above.x + aside)
                if id(link.above) in wanted:
                    aside = link.entry - link.exit
                    wanted[id(link.above)].append(link.below.x + aside)
            _position(row, [_mean(wanted[id(slot)], slot.x) for slot in row])
    left = min((slot.x for row in rows for slot in row), default=0.0)
    for row in rows:
        for slot in row:
            slot.x -= left


def _position(row: Sequence[_Slot], wanted: Sequence[float]) -> None:
    """Place slots as close to where they are wanted as their order and gaps allow."""
    offsets = [0.0]
    for slot in row:
        offsets.append(offsets[-1] + slot.size.width + GAP)
    blocks: list[tuple[float, int]] = []  # of slots side by side: their mean, and count
    for x, offset in zip(wanted, offsets, strict=False):
        mean, count = x - offset, 1
        while blocks and blocks[-1][0] > mean:
            before, others = blocks.pop()
            mean = (mean * count + before * others) / (count + others)
            count += others
        blocks.append((mean, count))
    means = [mean for mean, count in blocks for _ in range(count)]
    for slot, mean, offset in zip(row, means, offsets, strict=False):
        slot.x = mean + offset


def _stack(rows: Sequence[Sequence[_Slot]]) -> tuple[list[tuple[float, float]], float]:
    """Find the top and the bottom of each layer, and the height of all."""
    tops, y = [], 0.0
    for row in rows:
        height = max((slot.size.height for slot in row), default=0.0)
        tops.append((y, y + height))
        y += height + LAYER_GAP
    return tops, max(0.0, y - LAYER_GAP)


def _spread_ports(
    ports: Sequence[tuple[int, float | None]],
    chains: Sequence[Sequence[_Slot]],
    end: int,
) -> list[float]:
    """Spread arrows over the side of a box, in the order in which they come.

    `ports` are the boxes of the arrows at that `end` (0 or -1) of their chains, and
    their ports, if those are fixed.
    """
    neighbour = 1 if end == 0 else -2
    comers: dict[int, list[int]] = {}
    for arrow in sorted(range(len(ports)), key=lambda n: chains[n][neighbour].x):
        if ports[arrow][1] is None:
            comers.setdefault(ports[arrow][0], []).append(arrow)
    spread = [port or 0.0 for _, port in ports]
    for arrows in comers.values():
        width = chains[arrows[0]][end].size.width
        for number, arrow in enumerate(arrows, 1):
            spread[arrow] = width * number / (len(arrows) + 1)
    return spread


def _route(
    chain: Sequence[_Slot],
    exit: float,
    entry: float,
    layers: Sequence[tuple[float, float]],
) -> Route:
    """Make the route of a chain of slots, from an exit to an entry."""
    source, *between, target = chain
    start = source.x + exit, layers[source.layer][0] + source.size.height
    passed = [(slot.x, y) for slot in between for y in layers[slot.layer]]
    end = target.x + entry, layers[target.layer][0]
    label = between[-1]
    return Route((start, *passed, end), (label.x, layers[label.layer][0]))


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise

"""What a vector kernel computes in which order, decided before any code is made.

Objects whose cells move on together are computed in one loop, sixteen cells at a time;
what folds many finer cells into each of its own, and what reads coarser ones, needs
another loop before or behind it. All loops run over a tile of time, then over the next.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import lcm

from tiltpy.abi.layouts import Layout, SamplingGrid, TimeLayout
from tiltpy.abi.signature import LANES
from tiltpy.costs import Costs
from tiltpy.emit.axes import Axis, CellMap, common_low, map_cells, whole_vectors
from tiltpy.emit.references import reductions, references
from tiltpy.ir.nodes import CutPoint, Query, Reduce, TemporalExpr, UserReduction, Window
from tiltpy.plan.nodes import Misfit
from tiltpy.plan.strategies.edge_scan import prefers_edges
from tiltpy.plan.strategies.event_scan import prefers_events
from tiltpy.plan.strategies.tumbling_fold import tumbling_fold


def looks_at_whole(node: Reduce) -> Misfit:
    """The reason where a window's reduction is no fold of its cells."""
    what = f"{node.reduction} of ~{node.window.object}"
    return Misfit(f"{what} looks at a window as a whole")


@dataclass(frozen=True, slots=True)
class Stage:
    """Objects that one loop computes; `panes`: a cell at a time, of many finer ones."""

    level: int
    precision: int
    panes: bool
    definitions: tuple[TemporalExpr, ...]


@dataclass(frozen=True, slots=True)
class WindowCells:
    """How a reader sees an object through a window: its oldest and newest cell."""

    oldest: CellMap
    newest: CellMap

    @property
    def cells(self) -> int:
        """How many cells the window has."""
        return self.newest.plus - self.oldest.plus + 1


class VectorPlan:
    """The objects of a query on their axes, and what each reader sees of them."""

    def __init__(
        self,
        query: Query,
        layouts: Mapping[str, Layout],
        sampling_grids: Mapping[str, SamplingGrid],
        costs: Costs,
        *,
        fused: bool,
    ) -> None:
        self.costs = costs
        low = common_low(query)
        if low is None:
            raise Misfit("the precisions are no multiples of one another")
        self.low = low
        self.query = query
        self.layouts = layouts
        self.definitions = {d.name: d for d in query.definitions}
        self.axes = {
            name: Axis(one.period, one.phase) for name, one in sampling_grids.items()
        }
        self.apart = all(one.apart for one in sampling_grids.values())
        self.references = {d.name: references(d) for d in query.definitions}
        for definition in query.definitions:
            if not definition.tdom.is_infinite:
                raise Misfit(f"the time domain of ~{definition.name} is bounded")
            self.axes[definition.name] = Axis.of(definition.tdom)
            for name in self.objects(definition):
                if name not in self.axes:
                    raise Misfit(f"~{name} is neither regular nor of short rows")
        for own in self._own_reductions():
            if own.bounds:
                raise Misfit(f"{own.name} sees where snapshots start and end")
            if own.merge is None:
                raise Misfit(f"{own.name} has no merge")
        sparse = next(self._sparse(), None)
        if sparse is not None:
            raise Misfit(f"~{sparse} has far fewer rows than there are cells")
        if self.spread() and all(map(self._maps_rows, query.definitions)):
            raise Misfit("a map over rows has fewer visits")
        if all(map(self._takes_rows, query.definitions)):
            raise Misfit("a scan of its rows has fewer visits")
        self.fused = fused
        self.stages = self._stages()
        self.stage_of = {
            d.name: stage for stage in self.stages for d in stage.definitions
        }
        self.lags = dict.fromkeys(self.definitions, 0)
        for stage in self.stages:
            self._find_lags(stage)
        furthest = costs.furthest_densified
        for name in self.spread():
            if max(self.span(name)) > furthest:
                raise Misfit(
                    f"readers look more than {furthest:,} ticks around ~{name}"
                )

    def _own_reductions(self) -> Iterator[UserReduction]:
        used = {n.reduction for d in self.query.definitions for n in reductions(d)}
        return (one for one in self.query.reductions if one.name in used)

    def objects(self, reader: TemporalExpr) -> tuple[str, ...]:
        """The objects that a definition refers to."""
        points, windows = self.references[reader.name]
        names = [p.object for p in points] + [w.object for w in windows]
        return tuple(dict.fromkeys(names))

    def _sparse(self) -> Iterator[str]:
        """Sampled inputs whose rows are so long that to visit each cell is a waste."""
        finest = min(d.tdom.precision for d in self.query.definitions)
        maps = all(map(self._maps_rows, self.query.definitions))
        longest = finest if maps else self.costs.cells_per_row * finest
        for one in self.query.inputs:
            axis = self.axes.get(one.name)
            if axis is not None and axis.period > longest:
                yield one.name

    def _maps_rows(self, definition: TemporalExpr) -> bool:
        """Whether it reads one object, where it is itself."""
        points, windows = self.references[definition.name]
        here = not windows and all(point.offset == 0 for point in points)
        return here and len(points) == 1 and definition.tdom.precision == 1

    def _takes_rows(self, definition: TemporalExpr) -> bool:
        """Whether it is better made of rows as they lie than of those spread out."""
        points, windows = self.references[definition.name]
        if self.apart and (
            prefers_events(definition, self.layouts, self.costs)
            or prefers_edges(definition, self.layouts, self.costs)
        ):
            return True
        if windows:
            return all(self._folds(definition, window) for window in windows)
        merged = all(isinstance(cut, CutPoint) for cut in definition.cuts)
        return (
            definition.tdom.precision == 1
            and merged
            and all(self._merges(point.object) for point in points)
        )

    def _folds(self, reader: TemporalExpr, window: Window) -> bool:
        layout = self.layouts.get(window.object)
        if layout is None:
            return False
        return tumbling_fold(reader, window, layout, self.costs) is None

    def _merges(self, name: str) -> bool:
        layout = self.layouts.get(name)
        return layout is None or (not self.sampled(name) and not any(layout.nullable))

    def sampled(self, name: str) -> bool:
        """Whether it is an input that lies in memory cell by cell."""
        return (
            name in self.layouts
            and name not in self.definitions
            and self.layouts[name].time is TimeLayout.SAMPLED
        )

    def spread(self) -> tuple[str, ...]:
        """The inputs whose rows are to be spread over the ticks."""
        read = {name for d in self.query.definitions for name in self.objects(d)}
        return tuple(
            one.name
            for one in self.query.inputs
            if one.name in read and not self.sampled(one.name)
        )

    def point(self, reader: TemporalExpr, point: CutPoint) -> CellMap:
        """The cell that a point reference sees."""
        return self._step(reader, point.object, point.offset)

    def window(self, reader: TemporalExpr, window: Window) -> WindowCells:
        """The cells that a window sees."""
        oldest = self._step(reader, window.object, window.start + 1)
        return WindowCells(oldest, self._step(reader, window.object, window.end))

    def _step(self, reader: TemporalExpr, name: str, offset: int) -> CellMap:
        return map_cells(self.axes[reader.name], self.axes[name], offset, self.low)

    def is_streamed(self, reader: TemporalExpr, name: str) -> bool:
        """Whether the loop that computes a reader computes the object as well."""
        return (
            name in self.stage_of and self.stage_of[name] is self.stage_of[reader.name]
        )

    def reads_before(self, reader: TemporalExpr, name: str) -> bool:
        """Whether a loop before the reader's reads an object."""
        own = self.stages.index(self.stage_of[reader.name])
        earlier = (d for stage in self.stages[:own] for d in stage.definitions)
        return any(name in self.objects(definition) for definition in earlier)

    def materialised(self, name: str) -> bool:
        """Whether a definition is read by another loop than its own."""
        return any(
            name in self.objects(reader) and not self.is_streamed(reader, name)
            for reader in self.query.definitions
        )

    def sees_only_past(self, reader: TemporalExpr, name: str) -> bool:
        """Whether a cell of the reader looks no further than itself in an object."""
        points, windows = self.references[reader.name]
        seen = [self.point(reader, p) for p in points if p.object == name]
        seen += [self.window(reader, w).newest for w in windows if w.object == name]
        return all(one.plus < one.times for one in seen)

    # Stages

    def _stages(self) -> tuple[Stage, ...]:
        level: dict[str, int] = {}
        groups: dict[tuple[int, int, bool], list[TemporalExpr]] = {}
        for number, definition in enumerate(self.query.definitions):
            panes = self._is_panes(definition)
            own = 0
            for name in self.objects(definition):
                if name in level:
                    together = (
                        self.fused
                        and not panes
                        and self._together(definition, self.definitions[name])
                    )
                    own = max(own, level[name] + (not together))
            if not self.fused:
                own = number
            level[definition.name] = own
            key = own, definition.tdom.precision, panes
            groups.setdefault(key, []).append(definition)
        return tuple(
            Stage(*key, tuple(group))
            for key, group in sorted(groups.items(), key=lambda item: item[0])
        )

    def _together(self, reader: TemporalExpr, seen: TemporalExpr) -> bool:
        same = reader.tdom.precision == seen.tdom.precision
        return same and not self._is_panes(seen)

    def _is_panes(self, definition: TemporalExpr) -> bool:
        _, windows = self.references[definition.name]
        seen = [self.window(definition, window) for window in windows]
        return any(
            one.newest.times > 1 and one.cells >= self.costs.strided_pane
            for one in seen
        )

    def _find_lags(self, stage: Stage) -> None:
        """How far behind the loop's counter each object is, to see what is ahead."""
        apart = LANES if self.is_long_chain(stage) else 0
        for definition in stage.definitions:
            lag = 0
            for name, newest in self._newest(definition):
                if self.is_streamed(definition, name):
                    lag = max(lag, self.lags[name] + newest + apart)
            if definition.name in self.query.outputs:
                lag = whole_vectors(lag)
            self.lags[definition.name] = lag

    def is_long_chain(self, stage: Stage) -> bool:
        """Whether a loop's objects are computed faster in step, none from this round's.

        A processor that waits for one object then goes on with another's vector.
        """
        lengths: dict[str, int] = {}
        for definition in stage.definitions:
            seen = [n for n in self.objects(definition) if n in lengths]
            lengths[definition.name] = 1 + max((lengths[n] for n in seen), default=0)
        kept = any(map(self.materialised, self.definitions))
        return max(lengths.values()) >= self.costs.long_chain and not kept

    def _newest(self, reader: TemporalExpr) -> list[tuple[str, int]]:
        points, windows = self.references[reader.name]
        found = [(p.object, self.point(reader, p).plus) for p in points]
        found += [(w.object, self.window(reader, w).newest.plus) for w in windows]
        return found

    # Sizes, all in ticks

    @property
    def lag(self) -> int:
        """How far the loops go on behind the time range."""
        return max(
            lag * self.definitions[name].tdom.precision
            for name, lag in self.lags.items()
        )

    @property
    def multiple(self) -> int:
        """After how many ticks everything looks the same."""
        return lcm(*(axis.period for axis in self.axes.values()))

    @property
    def unit(self) -> int:
        """What tiles are a multiple of: whole vectors in each loop."""
        wide = [s.precision * LANES for s in self.stages if not s.panes]
        return lcm(self.multiple, *wide)

    @property
    def finest(self) -> int:
        """The shortest cell."""
        return min(axis.period for axis in self.axes.values())

    @property
    def tile(self) -> int | None:
        """The length of a tile; None: all at once, since nothing is put down."""
        if not self.fused:
            return None
        if len(self.stages) == 1 and not self.spread():
            return None
        tile = self.unit * max(1, self.costs.tile * self.finest // self.unit)
        temporaries = self.spread() or any(map(self.materialised, self.definitions))
        if temporaries and tile // self.finest > self.costs.largest_tile:
            raise Misfit(
                f"a tile would have more than {self.costs.largest_tile:,} cells"
            )
        return tile

    def warm_up(self) -> int:
        """How long before the time range the loops must start."""
        needs: dict[str, int] = {}
        for definition in self.query.definitions:
            needs[definition.name] = self._need(definition, needs)
        unit = self.unit
        return -(-max(needs.values()) // unit) * unit

    def _need(self, reader: TemporalExpr, needs: Mapping[str, int]) -> int:
        """How long a loop runs before an object is right."""
        points, windows = self.references[reader.name]
        panes = self.stage_of[reader.name].panes
        precision = reader.tdom.precision
        found = [0]
        for point in points:
            direct = self.sampled(point.object)
            back = 0 if direct else max(0, -point.offset) + precision
            found.append(back + needs.get(point.object, 0))
        for window in windows:
            strided = not self.window(reader, window).newest.is_regular
            direct = self.sampled(window.object) and (panes or strided)
            # Windows are made of what the furthest of them has come to.
            back = max(0, self.reach(window.object)[1] - window.start)
            found.append(back * (not direct) + needs.get(window.object, 0))
        margin = precision * (1 + self.lags[reader.name])
        needs_margin = max(found) > 0 or not panes
        return max(found) + (margin if needs_margin else 0)

    def span(self, name: str) -> tuple[int, int]:
        """How many cells before and behind a tile its readers see of an object.

        Where snapshots begin is seen from the cell before.
        """
        back = ahead = 0
        for reader in self.query.definitions:
            points, windows = self.references[reader.name]
            steps = [self.point(reader, p) for p in points if p.object == name]
            seen = [WindowCells(one, one) for one in steps]
            seen += [self.window(reader, w) for w in windows if w.object == name]
            for one in seen:
                lagging = one.oldest.earlier(self.lags[reader.name])
                back = max(back, -(lagging.plus // lagging.over))
                ahead = max(ahead, one.newest.earlier(1).plus // one.newest.over + 1)
        return back + 3, ahead + 2

    def reach(self, name: str) -> tuple[int, int]:
        """How far before and behind their own time readers look in an object."""
        offsets = [0]
        for reader in self.query.definitions:
            points, windows = self.references[reader.name]
            more = self.axes[name].period + reader.tdom.precision
            for point in points:
                if point.object == name:
                    offsets += [point.offset - more, point.offset + more]
            for window in windows:
                if window.object == name:
                    offsets += [window.start - more, window.end + more]
        return -min(offsets), max(offsets)

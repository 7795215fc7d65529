"""Plan of a vector kernel: its loops, how they lag, and the tiles they take turns over.

All loops run over a tile of time, then over the next.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import lcm

from tiltpy.abi.signature import LANES
from tiltpy.costs import Costs
from tiltpy.emit.axes import whole_vectors
from tiltpy.forks import cached_property
from tiltpy.ir.nodes import CutTime, CutWindow, Query, TemporalExpr
from tiltpy.plan.cell_geometry import CellGeometry, WindowCells
from tiltpy.plan.definedness import cuts_at_each_row
from tiltpy.plan.guarded_inputs import find_empty_starts, find_guarded_inputs
from tiltpy.plan.vector_stages import Stage


@dataclass(frozen=True, eq=False)
class VectorPlan:
    """The loops of a vector kernel over objects of a geometry.

    Without `fused` each object has a loop of its own over the whole time range.
    """

    geometry: CellGeometry
    stages: tuple[Stage, ...]
    costs: Costs
    fused: bool

    @property
    def query(self) -> Query:
        """The query that it computes."""
        return self.geometry.query

    @property
    def outputs(self) -> Iterator[TemporalExpr]:
        """The definitions of the query's outputs."""
        return map(self.geometry.definitions.__getitem__, self.query.outputs)

    @cached_property
    def stage_of(self) -> Mapping[str, Stage]:
        """The stage of each definition."""
        return {d.name: stage for stage in self.stages for d in stage.definitions}

    def is_streamed(self, reader: TemporalExpr, name: str) -> bool:
        """Decide whether the loop of a reader computes the object as well."""
        return (
            name in self.stage_of and self.stage_of[name] is self.stage_of[reader.name]
        )

    def reads_before(self, reader: TemporalExpr, name: str) -> bool:
        """Decide whether a loop before the reader's reads an object."""
        number = self.stages.index(self.stage_of[reader.name])
        earlier = (d for stage in self.stages[:number] for d in stage.definitions)
        return any(name in self.geometry.objects(d) for d in earlier)

    def is_materialised(self, name: str) -> bool:
        """Decide whether a definition is read by another loop than its own."""
        return any(
            name in self.geometry.objects(reader) and not self.is_streamed(reader, name)
            for reader in self.query.definitions
        )

    @cached_property
    def materialises(self) -> bool:
        """Return whether any definition is materialised."""
        return any(map(self.is_materialised, self.geometry.definitions))

    # Lags, in cells

    @cached_property
    def lags(self) -> Mapping[str, int]:
        """The lag of each object behind its loop's counter, to see what is ahead."""
        lags = dict.fromkeys(self.geometry.definitions, 0)
        for stage in self.stages:
            chained = LANES if self.is_long_chain(stage) else 0
            for definition in stage.definitions:
                lag = 0
                for name, seen in self.geometry.ranges(definition):
                    if self.is_streamed(definition, name):
                        lag = max(lag, lags[name] + seen.newest.plus + chained)
                if definition.name in self.query.outputs:
                    lag = whole_vectors(lag)
                lags[definition.name] = lag
        return lags

    def is_long_chain(self, stage: Stage) -> bool:
        """Decide whether a loop is faster if none of its objects waits for another.

        A processor that waits for one object then goes on with another's vector.
        """
        lengths: dict[str, int] = {}
        for definition in stage.definitions:
            seen = [n for n in self.geometry.objects(definition) if n in lengths]
            lengths[definition.name] = 1 + max((lengths[n] for n in seen), default=0)
        return max(lengths.values()) >= self.costs.long_chain and not self.materialises

    # Sizes, in ticks

    @cached_property
    def lag(self) -> int:
        """The ticks for which the loops go on behind the time range."""
        definitions = self.geometry.definitions
        return max(
            lag * definitions[name].tdom.precision for name, lag in self.lags.items()
        )

    @cached_property
    def unit(self) -> int:
        """The ticks that tiles are a multiple of: whole vectors in each loop."""
        vectors = [s.precision * LANES for s in self.stages if not s.panes]
        return lcm(self.geometry.multiple, *vectors)

    @cached_property
    def tile(self) -> int | None:
        """The length of a tile; None: all at once, since nothing is stored."""
        densified = self.geometry.densified_inputs
        if not self.fused or (len(self.stages) == 1 and not densified):
            return None
        finest = self.geometry.finest
        return self.unit * max(1, self.costs.tile * finest // self.unit)

    @cached_property
    def warm_up(self) -> int:
        """The ticks for which the loops run before the time range."""
        return self._find_warm_up(frozenset())

    @cached_property
    def short_warm_up(self) -> int:
        """The warm-up where inputs that start empty have no row before it."""
        return self._find_warm_up(self.empty_starts)

    @cached_property
    def guarded_inputs(self) -> frozenset[str]:
        """The inputs of which the loops may read cells that do not exist."""
        if self.tile is not None or len(self.stages) != 1 or self.stages[0].panes:
            return frozenset()
        return find_guarded_inputs(self.geometry, self.costs)

    @cached_property
    def empty_starts(self) -> frozenset[str]:
        """Those before whose first row a time range may begin."""
        return find_empty_starts(self.geometry, self.guarded_inputs)

    def is_blocked(self, seen: WindowCells) -> bool:
        """Decide whether a window is made of blocks, whatever it folds."""
        longest = max(self.costs.longest_tree, self.costs.longest_narrow_tree)
        return seen.newest.is_regular and seen.cells > longest

    def _find_warm_up(self, empty: frozenset[str]) -> int:
        """Find the warm-up if nothing is before it of some inputs."""
        times: dict[str, int] = {}
        for definition in self.query.definitions:
            times[definition.name] = self._settling_time(definition, times, empty)
        return -(-max(times.values()) // self.unit) * self.unit

    def _settling_time(
        self, reader: TemporalExpr, times: Mapping[str, int], empty: frozenset[str]
    ) -> int:
        """Find the ticks after which the cells of an object are right.

        `times` are those of the objects that it reads. Nothing is before them of inputs
        that are `empty`: of a window made of blocks, only a vector and its rest settle.
        """
        geometry = self.geometry
        points, windows = geometry.references[reader.name]
        panes = self.stage_of[reader.name].panes
        precision = reader.tdom.precision
        longest = 0
        for point in points:
            direct = geometry.sampled(point.object)
            back = 0 if direct else max(0, -point.offset) + precision
            longest = max(longest, back + times.get(point.object, 0))
        for window in windows:
            seen = geometry.window(reader, window)
            strided = not seen.newest.is_regular
            direct = geometry.sampled(window.object) and (panes or strided)
            start = window.start
            if window.object in empty and self.is_blocked(seen):
                start = window.end - 2 * LANES * precision
            # Windows are made of what the furthest of them has come to.
            back = max(0, geometry.reach(window.object)[1] - start)
            back = back * (not direct) + times.get(window.object, 0)
            longest = max(longest, back)
        always_cut = panes and self._changes_for_certain(reader)
        sees_before = longest > 0 or not always_cut or reader.distinct
        return longest + precision * sees_before

    def _changes_for_certain(self, reader: TemporalExpr) -> bool:
        """Decide whether each cell sees other samples than the one before it."""
        return any(
            isinstance(cut, CutTime)
            or (
                isinstance(cut, CutWindow)
                and self.geometry.has_all_cells(cut.window.object)
                and cuts_at_each_row(cut)
            )
            for cut in reader.cuts
        )

    def halo(self, name: str) -> tuple[int, int]:
        """Count the cells before and behind a tile that readers see of an object.

        Where snapshots begin is seen from the cell before.
        """
        back = ahead = 0
        for reader in self.query.definitions:
            for source, seen in self.geometry.ranges(reader):
                if source == name:
                    oldest = seen.oldest.earlier(self.lags[reader.name])
                    newest = seen.newest.earlier(1)
                    back = max(back, -(oldest.plus // oldest.over))
                    ahead = max(ahead, newest.plus // newest.over + 1)
        return back + 3, ahead + 2

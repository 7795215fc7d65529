"""Geometry of cells: which cells of each object the others see."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import gcd, lcm

from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.emit.axes import Axis, CellMap, map_cells
from tiltpy.emit.references import present_folds, references
from tiltpy.forks import cached_property
from tiltpy.ir.nodes import CutPoint, Query, TemporalExpr, Window


@dataclass(frozen=True, slots=True)
class WindowCells:
    """The cells of an object that a reader sees through a window."""

    oldest: CellMap
    newest: CellMap

    @property
    def cells(self) -> int:
        """The number of cells in the window."""
        return self.newest.plus - self.oldest.plus + 1

    @property
    def overlaps(self) -> bool:
        """Return whether it shares cells with the window of the reader's next cell."""
        return self.cells > self.newest.times


@dataclass(frozen=True, eq=False)
class CellGeometry:
    """The objects of a query on their axes.

    `low` is a time at which cells of all definitions begin, `slow_cells` how many cells
    of a reader one of a slow input is, at least.
    """

    query: Query
    layouts: Mapping[str, Layout]
    axes: Mapping[str, Axis]
    low: int
    slow_cells: int

    @cached_property
    def references(self) -> Mapping[str, tuple[list[CutPoint], list[Window]]]:
        """The points and windows of each definition, those that see the present too.

        Not the windows that fold on (`folds`).
        """
        return {d.name: self._references(d) for d in self.query.definitions}

    @staticmethod
    def _references(definition: TemporalExpr) -> tuple[list[CutPoint], list[Window]]:
        points, windows = references(definition)
        bounded = [window for window in windows if not window.folds_on]
        folded = [window for window, _ in present_folds(definition)]
        return points, list(dict.fromkeys((*bounded, *folded)))

    @cached_property
    def folds(self) -> Mapping[str, list[Window]]:
        """The windows of each definition that fold on, in order of the query."""
        return {
            d.name: [window for window in references(d)[1] if window.folds_on]
            for d in self.query.definitions
        }

    @cached_property
    def definitions(self) -> Mapping[str, TemporalExpr]:
        """The definitions by name."""
        return {d.name: d for d in self.query.definitions}

    def objects(self, reader: TemporalExpr) -> tuple[str, ...]:
        """The objects that a definition refers to."""
        points, windows = self.references[reader.name]
        names = [p.object for p in points]
        names += [w.object for w in (*windows, *self.folds[reader.name])]
        return tuple(dict.fromkeys(names))

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The inputs that definitions refer to."""
        read = {name for d in self.query.definitions for name in self.objects(d)}
        return tuple(d.name for d in self.query.inputs if d.name in read)

    def sampled(self, name: str) -> bool:
        """Decide whether it is an input that lies in memory cell by cell."""
        return (
            name in self.layouts
            and name not in self.definitions
            and self.layouts[name].time is TimeLayout.SAMPLED
        )

    def has_all_cells(self, name: str) -> bool:
        """Decide whether it is an input of which no sample, nor any field, is null."""
        return self.sampled(name) and not any(self.layouts[name].nullable)

    @cached_property
    def densified_inputs(self) -> tuple[str, ...]:
        """The inputs whose rows are to be densified."""
        return tuple(name for name in self.inputs if not self.sampled(name))

    @cached_property
    def slow_inputs(self) -> frozenset[str]:
        """The sampled inputs of which a vector of any reader sees few cells.

        Readers look at points of them alone. A time range may begin in one of their
        cells, whatever their period has in common with others.
        """
        slow = set(filter(self.sampled, self.inputs))
        for reader in self.query.definitions:
            points, windows = self.references[reader.name]
            slow -= {w.object for w in (*windows, *self.folds[reader.name])}
            few = self.slow_cells * reader.tdom.precision
            slow -= {p.object for p in points if self.axes[p.object].period < few}
        return frozenset(slow)

    def point(self, reader: TemporalExpr, point: CutPoint) -> CellMap:
        """The cell that a point reference sees."""
        return self._step(reader, point.object, point.offset)

    def window(self, reader: TemporalExpr, window: Window) -> WindowCells:
        """The cells that a window sees."""
        oldest = self._step(reader, window.object, window.start + 1)
        return WindowCells(oldest, self.newest(reader, window))

    def newest(self, reader: TemporalExpr, window: Window) -> CellMap:
        """The last cell that a window sees."""
        return self._step(reader, window.object, window.end)

    def is_aligned(self, reader: TemporalExpr, window: Window) -> bool:
        """Decide whether the edges of a window cut no cell of its object."""
        own, source = self.axes[reader.name], self.axes[window.object]
        edges = (own.phase + edge - source.phase for edge in (window.start, window.end))
        whole = own.period % source.period == 0
        return whole and all(edge % source.period == 0 for edge in edges)

    def _step(self, reader: TemporalExpr, name: str, offset: int) -> CellMap:
        axis, source = self.axes[reader.name], self.axes[name]
        low = self.low
        if name in self.slow_inputs:  # cell 0 is known up to whole counts of the map
            low = source.phase + (low - source.phase) % gcd(axis.period, source.period)
        return map_cells(axis, source, offset, low)

    def ranges(self, reader: TemporalExpr) -> Iterator[tuple[str, WindowCells]]:
        """Find the cells that each reference of a definition sees, by object.

        Windows that fold on take one in for each cell of the reader.
        """
        points, windows = self.references[reader.name]
        for point in points:
            cell = self.point(reader, point)
            yield point.object, WindowCells(cell, cell)
        for window in windows:
            yield window.object, self.window(reader, window)
        for window in self.folds[reader.name]:
            cell = self.newest(reader, window)
            yield window.object, WindowCells(cell, cell)

    def sees_only_past(self, reader: TemporalExpr, name: str) -> bool:
        """Decide whether a reader's cell looks no further than itself in an object."""
        return all(
            seen.newest.plus < seen.newest.times
            for source, seen in self.ranges(reader)
            if source == name
        )

    def reach(
        self,
        name: str,
        unless: Callable[[TemporalExpr, Window], bool] = lambda *_: False,
    ) -> tuple[int, int]:
        """The lookback and lookahead of all readers in an object, in ticks.

        Of windows for which `unless` holds, only their ends count.
        """
        offsets = [0]
        for reader in self.query.definitions:
            points, windows = self.references[reader.name]
            margin = self.axes[name].period + reader.tdom.precision
            for point in points:
                if point.object == name:
                    offsets += [point.offset - margin, point.offset + margin]
            for window in self.folds[reader.name]:
                if window.object == name:
                    offsets += [window.end - margin, window.end + margin]
            for window in windows:
                if window.object == name:
                    first = window.end if unless(reader, window) else window.start
                    offsets += [first - margin, window.end + margin]
        return -min(offsets), max(offsets)

    def offsets(self, name: str) -> tuple[int, int]:
        """The least and the greatest offset of the point references to an object."""
        points = [p for read, _ in self.references.values() for p in read]
        offsets = [point.offset for point in points if point.object == name]
        return min(offsets), max(offsets)

    @cached_property
    def multiple(self) -> int:
        """The ticks after which all axes look the same, but for slow inputs."""
        slow = self.slow_inputs
        return lcm(*(a.period for name, a in self.axes.items() if name not in slow))

    @cached_property
    def finest(self) -> int:
        """The ticks of the shortest cell."""
        return min(axis.period for axis in self.axes.values())

"""Panels of one or more series, their labels, scales and colours."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isqrt

import numpy as np

from tiltpy.errors import TiltError
from tiltpy.lean_dataclass import dataclass
from tiltpy.plot.axis import TimeAxis, make_time_axis, readable_unit
from tiltpy.plot.series import Clock, KeyStyle, Numbers, Series
from tiltpy.plot.thin import ThinnedSeries, thin
from tiltpy.types import NANOSECONDS

COLORS = {False: "#1f6fb4", True: "#707070"}
"""Of outputs, and of inputs."""
PALETTE = (
    "#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2",
    "#7f7f7f", "#bcbd22", "#17becf",
)  # fmt: skip
"""Of keys: `MOST_KEYS` colours."""
LONGEST = 24
"""Letters of a word beside a picture."""
MARGIN = 0.08
"""Room below and above the values of an axis, in their span."""
MOST_COLUMNS = 4
"""Panels side by side."""
MOST = 200
"""Panels of one picture."""
LARGE, SCALE = 1e300, 1e10
"""Values beyond the first are drawn divided by the second, so that spans are finite."""


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """A series, or one for each key, and its labels."""

    drawings: tuple[ThinnedSeries, ...]
    colors: tuple[str, ...]
    label: str
    scale: float = 1.0
    axis: TimeAxis | None = None
    """Where the values are times."""
    legend: bool = False
    """Whether it has a legend of keys: if they differ from the panel above."""
    heading: str | None = None
    """The key of one of several panels of a column, which share its values' axis."""
    limits: tuple[float, float] | None = None
    """The lower and the upper end of that axis, if there are values."""
    summary: str = ""
    """The note on all of them together, at the first."""

    @property
    def series(self) -> Series:
        """The first of its series, whose name and units are those of all."""
        return self.drawings[0].series

    @property
    def curves(self) -> Iterator[tuple[ThinnedSeries, str]]:
        """Each drawing and its colour."""
        return zip(self.drawings, self.colors, strict=True)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of its series, as a legend names them; none of an unkeyed one."""
        keys = (drawing.series.key for drawing in self.drawings)
        return tuple(shorten(key) for key in keys if key is not None)

    @property
    def words(self) -> tuple[str, ...] | None:
        """The labels of values, instead of numbers."""
        words = self.series.words
        return None if words is None else tuple(map(shorten, words))

    @property
    def is_empty(self) -> bool:
        return all(drawing.drawable == 0 for drawing in self.drawings)

    @property
    def empty(self) -> str:
        """The text in place of an empty drawing."""
        count = sum(drawing.snapshots for drawing in self.drawings)
        if count == 0:
            return "no snapshots"
        return f"{count:,} snapshot{'s' * (count > 1)}, none with a value to draw"

    @property
    def margin_note(self) -> str:
        """The note at the panel itself: panels by key have a common summary."""
        return self.note if self.heading is None else ""

    @property
    def note(self) -> str:
        """The share of the series that is not drawn."""
        snapshots = sum(drawing.snapshots for drawing in self.drawings)
        drawable = sum(drawing.drawable for drawing in self.drawings)
        drawn = sum(drawing.drawn for drawing in self.drawings)
        left = snapshots - drawable
        notes = []
        if drawn < drawable:
            notes.append(f"{drawn:,} of {drawable:,} snapshots drawn")
        if left and drawable:
            notes.append(f"{left:,} without a value to draw")
        return ", ".join(notes)

    def heights(self, values: Numbers) -> Numbers:
        """Convert values to heights in the panel."""
        return values / self.scale if self.axis is None else self.axis.heights(values)


def strip_unprintable(text: str) -> str:
    """Make a text one line of printable letters."""
    line = " ".join(text.split())
    return "".join(letter if letter.isprintable() else "�" for letter in line)


def shorten(word: str) -> str:
    """Cut a word to fit beside a picture."""
    line = strip_unprintable(word[: 2 * LONGEST])
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def lay_panels(
    groups: Sequence[Sequence[Series]], clock: Clock, style: KeyStyle = "lines"
) -> tuple[list[list[Panel]], TimeAxis | None]:
    """Make rows of panels, and their axis if there are snapshots.

    A group of series has a panel, or rows of panels, one for each key, if `style` is
    "panels".
    """
    if not groups:
        raise TiltError("there is nothing to draw: no output has a column")
    if style == "panels":
        groups = _align_keys(groups)
    count = len(groups) if style == "lines" else sum(map(len, groups))
    if count > MOST:
        what = "columns" if style == "lines" else "columns and keys"
        raise TiltError(
            f"{count} {what} are too many for one picture, which has {MOST} "
            "at most; draw outputs one by one: result[name].plot()"
        )
    columns = _choose_columns(max(map(len, groups)) if style == "panels" else 1)
    rows: list[list[Panel]] = []
    above: tuple[str, ...] = ()
    for group, colors in zip(groups, _assign_colors(groups), strict=True):
        panel = _make_panel(tuple(thin(series, clock) for series in group), colors)
        if style == "panels" and panel.keys:
            split = _split_by_key(panel)
            rows += [split[i : i + columns] for i in range(0, len(split), columns)]
        else:
            rows.append([replace(panel, legend=panel.keys not in ((), above))])
        above = panel.keys
    nonempty = [series for group in groups for series in group if len(series)]
    starts = [int(series.starts[0]) for series in nonempty]
    ends = [int(series.ends[-1]) for series in nonempty]
    axis = make_time_axis(clock, min(starts), max(ends)) if starts else None
    return rows, axis


def _align_keys(groups: Sequence[Sequence[Series]]) -> list[list[Series]]:
    """Give each keyed group a series for each key of any, empty where it has none.

    So the panels of a key are in the same column.
    """
    keys: dict[tuple[str, str], None] = {}
    for group in sorted(groups, key=len, reverse=True):
        keys |= dict.fromkeys((s.by, s.key) for s in group if s.key is not None)
    aligned = []
    for group in groups:
        first, known = group[0], {series.key: series for series in group}
        none = first.select_rows(slice(0, 0))
        wanted = [key for by, key in keys if first.key is not None and by == first.by]
        series = [known.get(key, replace(none, key=key)) for key in wanted]
        aligned.append(series or list(group))
    return aligned


def _choose_columns(keys: int) -> int:
    """Choose how many panels of keys stand side by side."""
    return min(MOST_COLUMNS, isqrt(max(0, keys - 1)) + 1)


def _split_by_key(panel: Panel) -> list[Panel]:
    """Make a panel for each key, of the same scale and limits."""
    color = COLORS[panel.series.is_input]
    shapes = [shape for d in panel.drawings for shape in (d.steps, d.marks)]
    values = np.concatenate([panel.heights(shape.values) for shape in shapes])
    values = values[np.isfinite(values)]
    limits = _widen(float(values.min()), float(values.max())) if len(values) else None
    summary = f"{panel.label}: {panel.note}" if panel.note else ""
    multiples = [
        replace(panel, drawings=(drawing,), colors=(color,), heading=key, limits=limits)
        for drawing, key in zip(panel.drawings, panel.keys, strict=True)
    ]
    return [replace(multiples[0], summary=summary), *multiples[1:]]


def _widen(low: float, high: float) -> tuple[float, float]:
    """Make room below and above values."""
    margin = MARGIN * (high - low) or MARGIN * abs(high) or 1.0
    return low - margin, high + margin


def collect_notes(rows: Sequence[Sequence[Panel]], notes: Sequence[str]) -> list[str]:
    """Collect what is said below the title: notes, and summaries of panels by key."""
    return [*notes, *(panel.summary for row in rows for panel in row if panel.summary)]


def _assign_colors(groups: Sequence[Sequence[Series]]) -> Iterator[tuple[str, ...]]:
    """Assign colours: a key has one in all panels, if there are enough."""
    keys_by_group = [[s.key for s in group if s.key is not None] for group in groups]
    all_keys = list(dict.fromkeys(key for keys in keys_by_group for key in keys))
    for group, keys in zip(groups, keys_by_group, strict=True):
        order = all_keys if len(all_keys) <= len(PALETTE) else keys
        yield tuple(
            COLORS[s.is_input]
            if s.key is None
            else PALETTE[order.index(s.key) % len(PALETTE)]
            for s in group
        )


def _make_panel(drawings: tuple[ThinnedSeries, ...], colors: tuple[str, ...]) -> Panel:
    """Make a panel, and choose the scale or the axis of its values."""
    series = drawings[0].series
    name = strip_unprintable(series.name)
    panel = Panel(drawings, colors, name)
    shapes = [shape for thinned in drawings for shape in (thinned.steps, thinned.marks)]
    drawn = np.concatenate([shape.values for shape in shapes])
    drawn = drawn[np.isfinite(drawn)]
    if len(drawn) == 0:
        return panel
    if series.clock is not None:
        axis = make_time_axis(series.clock, int(drawn.min()), int(drawn.max()))
        return replace(panel, label=f"{name} {axis.label}".rstrip(), axis=axis)
    largest = float(np.abs(drawn).max())
    if series.unit is not None:
        length = NANOSECONDS[series.unit]
        unit = readable_unit(largest * length)
        label = f"{name} in {unit}"
        return replace(panel, label=label, scale=NANOSECONDS[unit] / length)
    if largest > LARGE:
        return replace(panel, label=f"{name} / {SCALE:.0e}", scale=SCALE)
    return panel

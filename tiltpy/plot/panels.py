"""What all pictures have in common: panels of one series or more, and their words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tiltpy.errors import TiltError
from tiltpy.plot.axis import TimeAxis, make_time_axis, readable_unit
from tiltpy.plot.series import Clock, Numbers, Series
from tiltpy.plot.thin import ThinnedSeries, thin
from tiltpy.types import NANOSECONDS

COLORS = {False: "#1f6fb4", True: "#707070"}
"""Of outputs, and of inputs."""
PALETTE = (
    "#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2",
    "#7f7f7f", "#bcbd22", "#17becf",
)  # fmt: skip
"""Of keys, `MOST_KEYS` of them."""
LONGEST = 24
"""Letters of a word beside a picture."""
MOST = 200
"""Panels of one picture."""
LARGE, SCALE = 1e300, 1e10
"""Values beyond the first are drawn divided by the second, so that spans are finite."""


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """A series, or one for each key, and what is written beside it."""

    drawings: tuple[ThinnedSeries, ...]
    colors: tuple[str, ...]
    label: str
    scale: float = 1.0
    axis: TimeAxis | None = None
    """Where the values are times."""
    legend: bool = False
    """Whether it says which colour is which key: if it is other than above it."""

    @property
    def series(self) -> Series:
        """The first of its series; what they are called and count is that of all."""
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
        """What stands beside the panel instead of numbers."""
        words = self.series.words
        return None if words is None else tuple(map(shorten, words))

    @property
    def is_empty(self) -> bool:
        return all(drawing.drawable == 0 for drawing in self.drawings)

    @property
    def empty(self) -> str:
        """What is said where nothing is drawn."""
        count = sum(drawing.snapshots for drawing in self.drawings)
        if count == 0:
            return "no snapshots"
        return f"{count:,} snapshot{'s' * (count > 1)}, none with a value to draw"

    @property
    def note(self) -> str:
        """How much of the series is not in the picture."""
        snapshots = sum(drawing.snapshots for drawing in self.drawings)
        drawable = sum(drawing.drawable for drawing in self.drawings)
        drawn = sum(drawing.drawn for drawing in self.drawings)
        left = snapshots - drawable
        parts = []
        if drawn < drawable:
            parts.append(f"{drawn:,} of {drawable:,} snapshots drawn")
        if left and drawable:
            parts.append(f"{left:,} without a value to draw")
        return ", ".join(parts)

    def heights(self, values: Numbers) -> Numbers:
        """Convert values to what is drawn."""
        return values / self.scale if self.axis is None else self.axis.heights(values)


def strip_unprintable(text: str) -> str:
    """Make a text one line, without letters that are none on paper (or in an SVG)."""
    line = " ".join(text.split())
    return "".join(letter if letter.isprintable() else "�" for letter in line)


def shorten(word: str) -> str:
    """Cut a word to what fits beside a picture."""
    line = strip_unprintable(word[: 2 * LONGEST])
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def lay_panels(
    groups: Sequence[Sequence[Series]], clock: Clock
) -> tuple[list[Panel], TimeAxis | None]:
    """Make a panel for each group of series, and the axis they share.

    There is none where no series has a snapshot.
    """
    if not groups:
        raise TiltError("there is nothing to draw: no output has a column")
    if len(groups) > MOST:
        raise TiltError(
            f"{len(groups)} columns are too many for one picture, which has {MOST} "
            "at most; draw outputs one by one: result[name].plot()"
        )
    panels: list[Panel] = []
    for group, colors in zip(groups, _assign_colors(groups), strict=True):
        panel = _make_panel(tuple(thin(one, clock) for one in group), colors)
        above = panels[-1].keys if panels else ()
        panels.append(replace(panel, legend=panel.keys not in ((), above)))
    every = [one for group in groups for one in group if len(one)]
    starts = [int(one.starts[0]) for one in every]
    ends = [int(one.ends[-1]) for one in every]
    axis = make_time_axis(clock, min(starts), max(ends)) if starts else None
    return panels, axis


def _assign_colors(groups: Sequence[Sequence[Series]]) -> Iterator[tuple[str, ...]]:
    """Give each group its colours: a key has one in all panels, if they are enough."""
    keys = [[one.key for one in group if one.key is not None] for group in groups]
    every = list(dict.fromkeys(key for own in keys for key in own))
    for group, own in zip(groups, keys, strict=True):
        order = every if len(every) <= len(PALETTE) else own
        yield tuple(
            COLORS[one.is_input] if one.key is None else PALETTE[order.index(one.key)]
            for one in group
        )


def _make_panel(drawings: tuple[ThinnedSeries, ...], colors: tuple[str, ...]) -> Panel:
    """Make the panel, and what its values are divided by or counted from."""
    series = drawings[0].series
    name = strip_unprintable(series.name)
    panel = Panel(drawings, colors, name)
    parts = [part.values for one in drawings for part in (one.steps, one.marks)]
    drawn = np.concatenate(parts)
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

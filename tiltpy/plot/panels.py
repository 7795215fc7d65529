"""What all pictures have in common: a panel for each series, and its words."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tiltpy.errors import TiltError
from tiltpy.plot.axis import Axis, readable_unit, time_axis
from tiltpy.plot.series import Clock, Numbers, Series
from tiltpy.plot.thin import Drawing, thin
from tiltpy.types import NANOSECONDS

LONGEST = 24
"""Letters of a word beside a picture."""
MOST = 200
"""Panels of one picture."""
LARGE, SCALE = 1e300, 1e10
"""Values beyond the first are drawn divided by the second, so that spans are finite."""


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """A series and what is written beside it."""

    drawing: Drawing
    label: str
    scale: float = 1.0
    axis: Axis | None = None
    """Where the values are times."""

    @property
    def words(self) -> tuple[str, ...] | None:
        """What stands beside the panel instead of numbers."""
        words = self.drawing.series.words
        return None if words is None else tuple(map(short, words))

    @property
    def is_empty(self) -> bool:
        return self.drawing.drawable == 0

    @property
    def empty(self) -> str:
        """What is said where nothing is drawn."""
        count = self.drawing.snapshots
        if count == 0:
            return "no snapshots"
        return f"{count:,} snapshot{'s' * (count > 1)}, none with a value to draw"

    @property
    def note(self) -> str:
        """How much of the series is not in the picture."""
        drawing = self.drawing
        left = drawing.snapshots - drawing.drawable
        parts = []
        if drawing.drawn < drawing.drawable:
            parts.append(f"{drawing.drawn:,} of {drawing.drawable:,} snapshots drawn")
        if left and drawing.drawable:
            parts.append(f"{left:,} without a value to draw")
        return ", ".join(parts)

    def heights(self, values: Numbers) -> Numbers:
        """Values as they are drawn."""
        return values / self.scale if self.axis is None else self.axis.heights(values)


def printable(text: str) -> str:
    """A text in one line, without letters that are none on paper (or in an SVG)."""
    line = " ".join(text.split())
    return "".join(letter if letter.isprintable() else "�" for letter in line)


def short(word: str) -> str:
    """A word that fits beside a picture."""
    line = printable(word[: 2 * LONGEST])
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def lay_panels(
    all_series: Sequence[Series], clock: Clock
) -> tuple[list[Panel], Axis | None]:
    """A panel for each series, and the axis they share, if any has a snapshot."""
    if not all_series:
        raise TiltError("there is nothing to draw: no output has a column")
    if len(all_series) > MOST:
        raise TiltError(
            f"{len(all_series)} columns are too many for one picture, which has {MOST} "
            "at most; draw outputs one by one: result[name].plot()"
        )
    panels = [_panel(thin(series, clock)) for series in all_series]
    starts = [int(one.starts[0]) for one in all_series if len(one)]
    ends = [int(one.ends[-1]) for one in all_series if len(one)]
    axis = time_axis(clock, min(starts), max(ends)) if starts else None
    return panels, axis


def _panel(drawing: Drawing) -> Panel:
    """The panel, and what its values are divided by or counted from."""
    series, name = drawing.series, printable(drawing.series.name)
    drawn = np.concatenate([drawing.steps.values, drawing.marks.values])
    drawn = drawn[np.isfinite(drawn)]
    if len(drawn) == 0:
        return Panel(drawing, name)
    if series.clock is not None:
        axis = time_axis(series.clock, int(drawn.min()), int(drawn.max()))
        return Panel(drawing, f"{name} {axis.label}".rstrip(), axis=axis)
    largest = float(np.abs(drawn).max())
    if series.unit is not None:
        length = NANOSECONDS[series.unit]
        unit = readable_unit(largest * length)
        label = f"{name} in {unit}"
        return Panel(drawing, label, NANOSECONDS[unit] / length)
    if largest > LARGE:
        return Panel(drawing, f"{name} / {SCALE:.0e}", SCALE)
    return Panel(drawing, name)

"""What all pictures have in common: a panel for each series, and its words."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tiltpy.errors import TiltError
from tiltpy.plot.axis import Axis, time_axis
from tiltpy.plot.series import Clock, Numbers, Series
from tiltpy.plot.thin import Drawing, thin

MOST = 200
"""Panels of one picture."""
LARGE, SCALE = 1e300, 1e10
"""Values beyond the first are drawn divided by the second, so that spans are finite."""


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """A series and what is written beside it."""

    drawing: Drawing
    scale: float

    @property
    def label(self) -> str:
        """The name, and what its values are divided by."""
        name = self.drawing.series.name
        return name if self.scale == 1.0 else f"{name} / {self.scale:.0e}"

    @property
    def is_empty(self) -> bool:
        return self.drawing.drawable == 0

    @property
    def empty(self) -> str:
        """What is said where nothing is drawn."""
        count = self.drawing.snapshots
        if count == 0:
            return "no snapshots"
        return f"{count:,} snapshot{'s' * (count > 1)}, none with a finite value"

    @property
    def note(self) -> str:
        """How much of the series is not in the picture."""
        drawing = self.drawing
        left = drawing.snapshots - drawing.drawable
        parts = []
        if drawing.drawn < drawing.drawable:
            parts.append(f"{drawing.drawn:,} of {drawing.drawable:,} snapshots drawn")
        if left and drawing.drawable:
            parts.append(f"{left:,} without a finite value")
        return ", ".join(parts)

    def scaled(self, values: Numbers) -> Numbers:
        """Values as they are drawn."""
        return values / self.scale


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
    values = np.concatenate([drawing.steps.values, drawing.marks.values])
    values = values[np.isfinite(values)]
    large = len(values) > 0 and float(np.abs(values).max()) > LARGE
    return Panel(drawing, SCALE if large else 1.0)

"""Pictures by Bokeh: HTML pages to zoom and to pan in."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
from bokeh.embed import file_html
from bokeh.layouts import gridplot
from bokeh.models import (
    ColumnDataSource,
    FixedTicker,
    GridPlot,
    HoverTool,
    Range1d,
)
from bokeh.models.annotations import Label, Legend, LegendItem
from bokeh.models.renderers import DataRenderer
from bokeh.plotting import figure
from bokeh.resources import INLINE
from numpy.typing import NDArray

from tiltpy.plot.axis import TimeAxis, offset_at
from tiltpy.plot.panels import Panel, shorten, strip_unprintable
from tiltpy.plot.series import Series, Times
from tiltpy.plot.thin import ThinnedSeries

FIRST_HEIGHT, HEIGHT, BELOW = 320, 150, 45
"""Pixels: of a single panel, of each of several, and of the times below the last."""
LEGEND = 40
"""Pixels of the keys above a panel."""
MOST_TICKS = 12
LOOKS = 1000
"""Times at which a zone's offset is compared."""
MILLISECONDS = 86_400_000


def draw_page(
    panels: Sequence[Panel], axis: TimeAxis | None, title: str | None
) -> GridPlot:
    """Draw panels below each other that zoom and pan together."""
    offset, label = _wall_clock(axis)
    rows: list[figure] = []
    x_range = Range1d() if axis is None else _range(axis, offset)
    for panel in panels:
        row = figure(
            height=FIRST_HEIGHT if len(panels) == 1 else HEIGHT,
            sizing_mode="stretch_width",
            x_axis_type="datetime" if axis is not None and axis.is_dates else "linear",
            y_axis_type="datetime" if _has_dates(panel) else "linear",
            y_axis_label=panel.label,
            tools="xpan,xwheel_zoom,box_zoom,reset,save",
            active_scroll="xwheel_zoom",
            title=panel.note or None,
        )
        row.x_range = x_range
        _draw_panel(row, panel, axis, offset)
        rows.append(row)
        row.xaxis.visible = panel is panels[-1]
    rows[-1].xaxis.axis_label = label
    rows[-1].height = (rows[-1].height or 0) + BELOW
    grid = gridplot([[row] for row in rows], sizing_mode="stretch_width")
    assert isinstance(grid, GridPlot)
    grid.name = strip_unprintable(title or "tilt")
    return grid


def save_page(page: GridPlot, path: Path) -> None:
    """Write the page, with all scripts that it needs."""
    path.write_text(file_html(page, INLINE, title=page.name), encoding="utf-8")


def _draw_panel(
    row: figure, panel: Panel, axis: TimeAxis | None, offset: timedelta
) -> None:
    if axis is None or panel.is_empty:
        row.add_layout(
            Label(text=panel.empty, x=20, y=20, x_units="screen", y_units="screen")
        )
        return
    curves: list[list[Any]] = []
    for drawing, color in panel.curves:
        shown = list(_draw_curve(row, panel, drawing, color, axis, offset))
        row.add_tools(_tip(panel, drawing.series, shown, axis))
        curves.append(shown)
    if panel.legend:
        _draw_legend(row, panel, curves)
    if panel.words is not None:
        _draw_words(row, panel.words)


def _draw_curve(
    row: figure,
    panel: Panel,
    drawing: ThinnedSeries,
    color: str,
    axis: TimeAxis,
    offset: timedelta,
) -> Iterator[DataRenderer]:
    steps, marks = drawing.steps, drawing.marks
    if len(steps.times):
        source = _source(axis, offset, steps.times, _heights(panel, steps.values))
        line = row.step("time", "value", source=source, mode="after", color=color)
        line.glyph.line_width, line.glyph.line_cap = 1.5, "square"
        line.name = "held"
        yield line
    if len(marks.times):
        source = _source(axis, offset, marks.times, _heights(panel, marks.values))
        dots = row.scatter("time", "value", source=source, size=4, color=color)
        dots.name = "points"
        yield dots


def _tip(
    panel: Panel, series: Series, shown: Sequence[DataRenderer], axis: TimeAxis
) -> HoverTool:
    """Make the tooltip of a curve."""
    value = "@value{%F %T}" if _has_dates(panel) else "@value{0.[000000]}"
    time = "@time{%F %T}" if axis.is_dates else "@time{0.[000000]}"
    keys = [] if series.key is None else [(series.by, strip_unprintable(series.key))]
    return HoverTool(
        renderers=list(shown),
        tooltips=[*keys, (series.name, value), ("", time)],
        formatters={
            "@time": "datetime" if axis.is_dates else "numeral",
            "@value": "datetime" if _has_dates(panel) else "numeral",
        },
        visible=series.key is None,
    )


def _draw_legend(row: figure, panel: Panel, curves: Sequence[list[Any]]) -> None:
    """Draw the colours of keys above the panel; a click hides one."""
    items = [
        LegendItem(label={"value": key}, renderers=shown)
        for key, shown in zip(panel.keys, curves, strict=True)
    ]
    legend = Legend(
        items=items,
        title=shorten(panel.series.by),
        orientation="horizontal",
        click_policy="hide",
        label_text_font_size="8pt",
        border_line_color=None,
    )
    row.add_layout(legend, "above")
    row.height = (row.height or 0) + LEGEND


def _has_dates(panel: Panel) -> bool:
    return panel.axis is not None and panel.axis.is_dates


def _heights(panel: Panel, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Convert values to heights: dates in milliseconds, on their zone's clock."""
    heights = panel.heights(values)
    if panel.axis is None:
        return heights
    offset, _ = _wall_clock(panel.axis)
    return _on_page(panel.axis, offset, heights)


def _draw_words(row: figure, words: Sequence[str]) -> None:
    """Label the axis with the words of values, instead of numbers."""
    stride = -(-len(words) // MOST_TICKS)
    ticks = list(range(0, len(words), stride))
    row.y_range = Range1d(start=-0.3, end=len(words) - 0.7)
    row.yaxis.ticker = FixedTicker(ticks=ticks)
    row.yaxis.major_label_overrides = {number: words[number] for number in ticks}


def _source(
    axis: TimeAxis, offset: timedelta, times: Times, values: NDArray[np.float64]
) -> ColumnDataSource:
    return ColumnDataSource(
        {"time": _on_page(axis, offset, axis.positions(times)), "value": values}
    )


def _range(axis: TimeAxis, offset: timedelta) -> Range1d:
    low, high = _on_page(axis, offset, np.array(axis.limits())).tolist()
    return Range1d(start=low, end=high)


def _on_page(
    axis: TimeAxis, offset: timedelta, positions: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Convert days to the milliseconds of a browser, on the zone's wall clock."""
    if not axis.is_dates:
        return positions
    return positions * MILLISECONDS + offset / timedelta(milliseconds=1)


def _wall_clock(axis: TimeAxis | None) -> tuple[timedelta, str]:
    """Find the offset to the zone's wall clock, and the axis's label.

    Browsers know only UTC and their own zone. So where the offset changes between the
    first time and the last, times are in UTC, and the label says so.
    """
    if axis is None or not axis.is_dates or axis.clock.tz is None:
        return timedelta(), "" if axis is None else axis.label
    first, last = axis.first, axis.last
    step = max(1, (last - first) // LOOKS)
    times = *range(first, last, step), last
    offsets = {offset_at(axis.clock, time) for time in times}
    if len(offsets) == 1 and (offset := offsets.pop()) is not None:
        return offset, axis.label
    return timedelta(), f"UTC ({axis.label} changes its offset)"

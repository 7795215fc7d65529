"""Pictures by Bokeh: HTML pages to zoom and to pan in."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from html import escape
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
from bokeh.models.widgets.markups import Div
from bokeh.plotting import figure
from bokeh.resources import INLINE
from numpy.typing import NDArray

from tiltpy.plot.axis import TimeAxis, offset_at
from tiltpy.plot.panels import Panel, collect_notes, shorten, strip_unprintable
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
    rows: Sequence[Sequence[Panel]],
    axis: TimeAxis | None,
    title: str | None,
    notes: Sequence[str] = (),
) -> GridPlot:
    """Draw rows of panels below each other that zoom and pan together.

    A row of a single panel without a heading has the whole width.
    """
    offset, label = _wall_clock(axis)
    x_range = Range1d() if axis is None else _range(axis, offset)
    height = FIRST_HEIGHT if len(rows) == 1 else HEIGHT
    figures = [
        [
            _make_figure(panel, axis, x_range, height, column)
            for column, panel in enumerate(row)
        ]
        for row in rows
    ]
    shared: dict[tuple[float, float], Range1d] = {}
    for drawn, panels in zip(figures, rows, strict=True):
        for row, panel in zip(drawn, panels, strict=True):
            _draw_panel(row, panel, axis, offset)
            if panel.limits is not None and panel.words is None:
                low, high = _on_clock(panel, np.array(panel.limits)).tolist()
                row.y_range = shared.setdefault((low, high), Range1d(low, high))
    columns = max(map(len, rows))
    grid = gridplot(
        [[*row, *[None] * (columns - len(row))] for row in figures],
        sizing_mode="stretch_width",
    )
    assert isinstance(grid, GridPlot)
    children = [
        (row, number, column, 1, 1 if panel.heading is not None else columns)
        for number, (drawn, panels) in enumerate(zip(figures, rows, strict=True))
        for column, (row, panel) in enumerate(zip(drawn, panels, strict=True))
    ]
    for row in _find_lowest(children):
        row.xaxis.visible = True
        row.xaxis.axis_label = label
    for row in figures[-1]:
        row.height = (row.height or 0) + BELOW
    grid.children = [*children]
    lines = [escape(strip_unprintable(line)) for line in collect_notes(rows, notes)]
    if lines:
        moved = [
            (row, n + 1, column, 1, width) for row, n, column, _, width in children
        ]
        grid.children = [(Div(text="<br>".join(lines)), 0, 0, 1, columns), *moved]
    grid.name = strip_unprintable(title or "tilt")
    return grid


def _make_figure(
    panel: Panel, axis: TimeAxis | None, x_range: Range1d, height: int, column: int
) -> figure:
    """Make the figure of a panel, without times below it."""
    row = figure(
        height=height,
        sizing_mode="stretch_width",
        x_axis_type="datetime" if axis is not None and axis.is_dates else "linear",
        y_axis_type="datetime" if _has_dates(panel) else "linear",
        y_axis_label=panel.label if column == 0 else None,
        tools="xpan,xwheel_zoom,box_zoom,reset,save",
        active_scroll="xwheel_zoom",
        title=panel.heading or panel.margin_note or None,
    )
    row.x_range = x_range
    row.xaxis.visible = False
    return row


def _find_lowest(
    children: Sequence[tuple[figure, int, int, int, int]],
) -> list[figure]:
    """Find the figures with none below them, in a grid from top to bottom."""
    lowest: dict[int, figure] = {}
    for row, _, column, _, width in children:
        lowest |= dict.fromkeys(range(column, column + width), row)
    return list(dict.fromkeys(lowest.values()))


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
    return _on_clock(panel, panel.heights(values))


def _on_clock(panel: Panel, heights: NDArray[np.float64]) -> NDArray[np.float64]:
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

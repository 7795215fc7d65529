"""Pictures by matplotlib: PNG, SVG, and figures for notebooks."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from textwrap import fill
from warnings import catch_warnings, filterwarnings

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.axis import Axis as LineOfTicks
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from tiltpy.plot.axis import TimeAxis
from tiltpy.plot.panels import (
    MARGIN,
    Panel,
    collect_notes,
    shorten,
    strip_unprintable,
)
from tiltpy.plot.thin import ThinnedSeries

WIDTH, HEIGHT, EACH, DPI = 10.0, 3.6, 1.7, 150
"""Inches: of a figure, of one with a single panel, of each further panel."""
MOST_TICKS, LEAST_TICKS = 12, 5
"""Times below a panel: with fewer there are spans that no locator has an interval for.
"""
LABEL = 24
"""Letters beside a panel, before the next line."""
MARKER_SIZES = ((60, 9.0), (400, 6.0))
"""Markers are this large where a curve has no more of them: few must be seen, too."""
LEAST_MARKER = 4.0


class Picture(Figure):
    """A figure of matplotlib that notebooks show, whatever their backend."""

    def _repr_png_(self) -> bytes:
        content = BytesIO()
        save_figure(self, content, "png")
        return content.getvalue()


def draw_figure(
    rows: Sequence[Sequence[Panel]],
    axis: TimeAxis | None,
    title: str | None,
    notes: Sequence[str] = (),
) -> Picture:
    """Draw rows of panels below each other over one time axis.

    Without times there is no axis. A row of a single panel without a heading has the
    whole width.
    """
    height = HEIGHT + EACH * (len(rows) - 1)
    figure = Picture(figsize=(WIDTH, height), dpi=DPI, layout="constrained")
    columns = max(map(len, rows))
    grid = figure.add_gridspec(len(rows), columns)
    drawn: list[Axes] = []
    bottom: dict[int, Axes] = {}  # the lowest panel of each column
    for number, row in enumerate(rows):
        for column, panel in enumerate(row):
            whole = panel.heading is None
            cell = grid[number, :] if whole else grid[number, column]
            axes = figure.add_subplot(cell, sharex=drawn[0] if drawn else None)
            _draw_panel(axes, panel, axis)
            if panel.heading is not None:
                _label_multiple(axes, panel, first=column == 0)
            axes.tick_params(labelbottom=False)
            drawn.append(axes)
            bottom |= dict.fromkeys(range(columns) if whole else (column,), axes)
    for axes in dict.fromkeys(bottom.values()):
        axes.tick_params(labelbottom=True)
        if axis is not None:
            _draw_times(axes, axis, columns)
        else:
            axes.set_xticks([])
    figure.align_ylabels()
    below = collect_notes(rows, notes)
    lines = [*([] if title is None else [title]), *below]
    if lines:
        text = "\n".join(_literal(strip_unprintable(line)) for line in lines)
        figure.suptitle(text, fontsize="medium" if below else None)
    return figure


def _label_multiple(axes: Axes, panel: Panel, *, first: bool) -> None:
    """Label one of several panels by key; the values only at the `first` of a row."""
    axes.set_title(_literal(panel.heading or ""), loc="left", fontsize="small")
    if panel.limits is not None and panel.words is None:
        axes.set_ylim(*panel.limits)
    if not first:
        axes.tick_params(labelleft=False)
        axes.set_ylabel("")


def save_figure(figure: Figure, path: Path | BytesIO, form: str) -> None:
    """Write a figure as `png` or `svg`; the same figure gives the same bytes."""
    metadata = {"Date": None} if form == "svg" else None
    with (
        rc_context({"svg.hashsalt": "tilt", "svg.fonttype": "none"}),
        catch_warnings(),
    ):
        # strings may have letters that the font has not: those are boxes
        filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(path, format=form, metadata=metadata)


def _draw_panel(axes: Axes, panel: Panel, axis: TimeAxis | None) -> None:
    axes.set_ylabel(_literal(fill(panel.label, LABEL)))
    axes.margins(y=MARGIN)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, alpha=0.25)
    if panel.margin_note:
        axes.set_title(
            panel.margin_note, loc="right", fontsize="small", color="#707070"
        )
    if axis is None or panel.is_empty:
        axes.text(0.5, 0.5, panel.empty, transform=axes.transAxes, ha="center")
        axes.set_yticks([])
        return
    for drawing, color in panel.curves:
        _draw_curve(axes, panel, drawing, color, axis)
    if panel.legend:
        _draw_legend(axes, panel)
    if panel.words is not None:
        _draw_words(axes, [_literal(word) for word in panel.words])
    elif panel.axis is not None:
        _draw_dates(axes.yaxis, panel.axis)
    elif panel.series.values.dtype.kind in "iu":
        axes.yaxis.set_major_locator(MaxNLocator("auto", integer=True))


def _draw_curve(
    axes: Axes, panel: Panel, drawing: ThinnedSeries, color: str, axis: TimeAxis
) -> None:
    # markers first, for a step that ends at one to be seen
    marks, steps = drawing.marks, drawing.steps
    if len(marks.times):
        at = axis.positions(marks.times)
        values = panel.heights(marks.values)
        size = _marker_size(len(values))
        axes.plot(at, values, ".", color=color, markersize=size, label="points")
    if len(steps.times):
        at = axis.positions(steps.times)
        values = panel.heights(steps.values)
        axes.plot(
            at,
            values,
            drawstyle="steps-post",
            color=color,
            linewidth=1.2,
            solid_joinstyle="miter",
            label="held",
        )


def _marker_size(count: int) -> float:
    """Choose the size of a curve's markers by their number."""
    return next((size for most, size in MARKER_SIZES if count <= most), LEAST_MARKER)


def _draw_legend(axes: Axes, panel: Panel) -> None:
    """Draw the colours of keys beside the panel."""
    axes.legend(
        [Line2D([], [], color=color) for color in panel.colors],
        [_literal(key) for key in panel.keys],
        title=_literal(shorten(panel.series.by)),
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        frameon=False,
        fontsize="small",
        title_fontsize="small",
    )


def _literal(text: str) -> str:
    """Escape dollars, which would begin a formula."""
    return text.replace("$", r"\$")


def _draw_words(axes: Axes, words: Sequence[str]) -> None:
    """Label the axis with the words of values, instead of numbers."""

    def word(value: float, _position: int | None = None) -> str:
        number = round(value)
        return words[number] if number == value and 0 <= number < len(words) else ""

    axes.set_ylim(-0.3, len(words) - 0.7)
    if len(words) <= MOST_TICKS:
        axes.set_yticks(range(len(words)), words)
    else:
        axes.yaxis.set_major_locator(MaxNLocator(MOST_TICKS, integer=True))
        axes.yaxis.set_major_formatter(FuncFormatter(word))


def _draw_times(axes: Axes, axis: TimeAxis, columns: int) -> None:
    most = MOST_TICKS if columns == 1 else max(LEAST_TICKS, MOST_TICKS // columns)
    _draw_dates(axes.xaxis, axis, None if columns == 1 else most)
    if axis.clock.unit is None:
        axes.xaxis.set_major_locator(MaxNLocator(most, integer=True))
    axes.set_xlim(*axis.limits())
    axes.set_xlabel(axis.label)


def _draw_dates(line: LineOfTicks, axis: TimeAxis, most: int | None = None) -> None:
    if axis.is_dates:
        locator = AutoDateLocator(
            tz=axis.clock.tz, minticks=5 if most is None else 2, maxticks=most
        )
        line.set_major_locator(locator)
        line.set_major_formatter(ConciseDateFormatter(locator, tz=axis.clock.tz))

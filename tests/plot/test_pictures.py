"""Pictures: what the figures hold, for outputs of all kinds. Nobody compares pixels."""

import datetime as dt
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from bokeh.models import FixedTicker, HoverTool
from matplotlib.axes import Axes
from matplotlib.dates import num2date
from matplotlib.figure import Figure

import tiltpy as tilt
from tiltpy.plot.series import Clock
from tiltpy.runtime.results.plot_series import Form, draw, form_of, series_of, write

COPY = "{unit}\ninput x : {type} interval (s, e)\n~y[t] = ~x[t]\n"
UTC = dt.UTC
START = 1_709_200_800  # 2024-02-29 10:00 UTC


def run(
    spans: list[tuple[int, int]],
    values: list[Any],
    type: str = "f64",
    times: pa.DataType | None = None,
    unit: str = "",
) -> tilt.Result:
    """An object with these snapshots, as a query gives it."""
    starts, ends = (
        pa.array([span[i] for span in spans], pa.int64()).cast(times or pa.int64())
        for i in range(2)
    )
    query = tilt.parse(COPY.format(unit=unit and f"unit {unit}", type=type))
    arrow = {"f64": pa.float64(), "bool": pa.bool_(), "i64": pa.int64()}[type]
    column = pa.array(values, arrow)
    return query.run(x=pa.table({"s": starts, "e": ends, "x": column}))


def lines(place: Axes) -> dict[str, Any]:
    """The lines and the markers of a panel."""
    return {str(line.get_label()): line for line in place.lines}


def corners(place: Axes) -> list[tuple[float, float | None]]:
    """The corners of a panel's steps; None where a line has ended."""
    line = lines(place)["held"]
    assert line.get_drawstyle() == "steps-post"
    pairs = zip(line.get_xdata(), line.get_ydata(), strict=True)
    return [(float(x), None if np.isnan(y) else float(y)) for x, y in pairs]


def notes(place: Axes) -> str:
    return place.get_title(loc="right")


def test_held_values_are_steps_and_gaps_are_gaps() -> None:
    figure = run([(0, 2), (2, 5), (7, 9)], [1.0, 3.0, 2.0]).plot()
    assert isinstance(figure, Figure)
    (place,) = figure.axes
    first = [(0, 1), (2, 3), (5, 3), (5, None)]
    assert corners(place) == [*first, (7, 2), (9, 2), (9, None)]
    assert set(lines(place)) == {"held"}
    assert (place.get_ylabel(), place.get_xlabel()) == ("~y", "ticks")
    assert place.get_xlim() == (-0.09, 9.09)
    assert notes(place) == ""


def test_points_are_markers_at_their_stamps() -> None:
    spans = [(0, 1), (4, 5), (5, 6), (9, 10)]
    (place,) = run(spans, [1.0, 2.0, 3.0, 4.0]).plot().axes
    marks = lines(place)["points"]
    assert (marks.get_marker(), marks.get_linestyle()) == (".", "None")
    assert marks.get_xdata().tolist() == [1, 10]
    assert marks.get_ydata().tolist() == [1, 4]
    assert corners(place) == [(4, 2), (5, 3), (6, 3), (6, None)]


def test_a_point_is_a_tick_long_whatever_the_unit_of_the_stamps() -> None:
    minute = 60 * 10**6
    spans = [(0, minute), (5 * minute, 6 * minute), (9 * minute, 11 * minute)]
    result = run(spans, [1.0, 2.0, 3.0], times=pa.timestamp("us"), unit="m")
    (place,) = result.plot().axes
    assert lines(place)["points"].get_ydata().tolist() == [1, 2]
    assert [y for _, y in corners(place)] == [3, 3, None]


def test_what_is_held_too_shortly_to_be_seen_is_marked() -> None:
    spans = [(0, 10_000), (20_000, 20_004), (20_004, 20_006), (30_000, 40_000)]
    (place,) = run(spans, [1.0, 2.0, 3.0, 4.0]).plot().axes
    assert lines(place)["points"].get_xdata().tolist() == [20_004, 20_006]
    assert [y for _, y in corners(place)] == [1, 1, None, 4, 4, None]


def test_nan_and_infinities_are_gaps_and_are_counted() -> None:
    nan, inf = float("nan"), float("inf")
    spans = [(0, 2), (2, 4), (4, 6), (6, 8)]
    (place,) = run(spans, [1.0, nan, 2.0, inf]).plot().axes
    line = [(0, 1), (2, 1), (2, None), (4, 2), (6, 2), (6, None)]
    assert corners(place) == line
    assert notes(place) == "2 without a value to draw"
    assert place.get_xlim() == (-0.08, 8.08)
    (place,) = run(spans[:2], [nan, -inf]).plot().axes
    assert not place.lines
    assert place.texts[0].get_text() == "2 snapshots, none with a value to draw"


def test_an_empty_result_says_so() -> None:
    (place,) = run([], []).plot().axes
    assert not place.lines
    assert place.texts[0].get_text() == "no snapshots"


@pytest.mark.parametrize("values", [[1.7e308, -1.7e308], [5e-324, 0.0], [2.0**63, 1.0]])
def test_values_of_any_size_are_drawn(values: list[float], tmp_path: Path) -> None:
    (place,) = run([(0, 2), (2, 4)], values).plot(tmp_path / "x.png").axes
    scale = 1e10 if values[0] > 1e300 else 1.0
    assert place.get_ylabel() == ("~y / 1e+10" if scale > 1 else "~y")
    assert [y for _, y in corners(place)][:2] == [v / scale for v in values]
    assert np.isfinite(place.get_ylim()).all()


def test_bools_are_false_and_true() -> None:
    (place,) = run([(0, 2), (2, 4), (4, 6)], [True, False, None], "bool").plot().axes
    assert [label.get_text() for label in place.get_yticklabels()] == ["false", "true"]
    assert corners(place) == [(0, 1), (2, 0), (4, 0), (4, None)]


def drawn(column: pa.Array, form: Form = "png") -> Any:
    """A picture of a column, each of whose values holds for ten ticks."""
    starts = pa.array(range(0, 10 * len(column), 10), pa.int64())
    ends = pa.array(range(10, 10 * len(column) + 10, 10), pa.int64())
    table = pa.table({"start": starts, "end": ends, "o": column})
    return draw(series_of("o", table), Clock(), form, None)


def test_strings_are_words_in_their_order() -> None:
    query = tilt.parse("unit s\ninput e : string time ts until_next\n~s[t] = ~e[t]")
    stamps = pa.array([0, 5, 9], pa.timestamp("s"))
    frame = pa.table({"ts": stamps, "e": ["run", "idle", "run"]})
    (place,) = query.run(e=frame).plot().axes
    assert [label.get_text() for label in place.get_yticklabels()] == ["idle", "run"]
    assert [y for _, y in corners(place)] == [1, 0, 1, 1, None]
    many = pa.array([f"w{number:03}" for number in range(200)])
    (place,) = drawn(many).axes
    place.figure.draw_without_rendering()
    texts = [label.get_text() for label in place.get_yticklabels()]
    assert 3 <= len(texts) <= 14
    assert {"w000", "w100"} <= set(texts)


@pytest.mark.parametrize("suffix", ["png", "svg", "html"])
def test_texts_of_all_kinds_are_drawn_as_they_stand(
    suffix: str, tmp_path: Path
) -> None:
    words = ["$x_{", "a $b$ c", "\x1b\x00 <b>&", "\u4ef7\u683c", "x" * 99, "", r"\$"]
    column = pa.array(words)
    times = pa.array(range(len(words)), pa.int64())
    table = pa.table({"start": times, "end": pc.add(times, 1), "$^": column})
    path = tmp_path / f"x.{suffix}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = draw(series_of("o", table), Clock(), form_of(path), "$\\frac$ \x07")
        write(figure, path)
    if suffix == "svg":
        root = ElementTree.fromstring(path.read_bytes())  # noqa: S314 - our own
        texts = {text.strip() for text in root.itertext()}
        shown = {"$x_{", "a $b$ c", "�� <b>&", "x" * 23 + "…", "\u4ef7\u683c"}
        assert {*shown, "~o.$^", "$\\frac$ �"} <= texts


def test_values_that_are_durations_have_a_unit() -> None:
    hours = pa.array([3_600_000, None, 36_000_000], pa.duration("ms"))
    (place,) = drawn(hours).axes
    assert place.get_ylabel() == "~o in h"
    assert [y for _, y in corners(place)] == [1, 1, None, 10, 10, None]
    (place,) = drawn(pa.array([0, 3], pa.duration("us"))).axes
    assert place.get_ylabel() == "~o in ns"
    assert [y for _, y in corners(place)][:2] == [0, 3000]


def test_values_that_are_times_are_dates() -> None:
    stamps = pa.array([START, START + 3600, START + 7200], pa.int64())
    column = stamps.cast(pa.timestamp("s", "Asia/Kolkata"))
    (place,) = drawn(column).axes
    assert place.get_ylabel() == "~o Asia/Kolkata"
    heights = [y for _, y in corners(place)][:3]
    seconds = [num2date(y).timestamp() - START for y in heights if y is not None]
    assert seconds == pytest.approx([0, 3600, 7200], abs=1e-3)
    place.figure.draw_without_rendering()
    assert "16:30" in [label.get_text() for label in place.get_yticklabels()]
    (row,) = rows_of(drawn(column, "html"))
    values = renderers(row)["held"].data_source.data["value"][:3] / 1e3 - START
    assert values == pytest.approx([19_800, 23_400, 27_000], abs=1e-3)
    (place,) = drawn(pa.array([0, 900], pa.timestamp("ns"))).axes
    assert place.get_ylabel() == "~o ns after 1970-01-01\n00:00:00.000000000"
    assert [y for _, y in corners(place)][:2] == [0, 900]
    (place,) = drawn(pa.array([dt.date(2024, 2, 1), dt.date(2024, 2, 3)])).axes
    assert num2date(corners(place)[1][1] or 0).date() == dt.date(2024, 2, 3)


THREE = """
unit s
input x : f64 interval (s, e)
~a[t] = ~x[t]
~b[t] = { low = ~x[t] - 1, high = ~x[t] > 1 ? ~x[t] : φ, up = ~x[t] > 1 }
output ~a, ~b
"""


def table(spans: list[tuple[int, int]], values: list[float], kind: Any) -> pa.Table:
    starts, ends = (pa.array([s[i] for s in spans], pa.int64()) for i in range(2))
    return pa.table({"s": starts.cast(kind), "e": ends.cast(kind), "x": values})


def test_outputs_and_fields_are_stacked_on_one_time_axis() -> None:
    query = tilt.parse(THREE)
    zone = pa.timestamp("s", "America/New_York")
    spans = [(START + a, START + b) for a, b in ((0, 600), (600, 900), (900, 1500))]
    frame = table(spans, [1.0, 2.0, 1.0], zone)
    inputs = query.read_inputs(x=frame)
    figure = query.run(x=frame).plot(inputs=inputs, title="three")
    labels = [place.get_ylabel() for place in figure.axes]
    assert labels == ["~x", "~a", "~b.low", "~b.high", "~b.up"]
    assert figure.get_suptitle() == "three"
    first, *others = figure.axes
    assert all(first.get_shared_x_axes().joined(first, other) for other in others)
    colors = [place.lines[0].get_color() for place in figure.axes]
    assert colors[0] != colors[1]
    assert len(set(colors[1:])) == 1
    # the field is φ but over the second snapshot: a gap before, and one behind
    assert [y for _, y in corners(figure.axes[3])] == [2, 2, None]
    last = figure.axes[-1]
    assert last.get_xlabel() == "America/New_York"
    seconds = [num2date(x).timestamp() - START for x, _ in corners(figure.axes[1])]
    assert seconds == pytest.approx([0, 600, 900, 1500, 1500], abs=1e-3)
    figure.canvas.draw()
    texts = [label.get_text() for label in last.get_xticklabels()]
    assert "05:05" in texts  # 10:05 UTC
    alone = query.run(x=frame)["b"].plot()
    assert len(alone.axes) == 3


def test_dates_far_off_or_close_together_are_counted_from_a_stamp() -> None:
    def label(times: pa.DataType, unit: str, first: int, last: int) -> str:
        (place,) = run([(first, last)], [1.0], times=times, unit=unit).plot().axes
        drawn = [x for x, _ in corners(place)]
        assert drawn[0] == 0
        assert drawn[1] > 1
        return str(place.get_xlabel())

    nanos = START * 10**9 + 123_456_789
    zone = pa.timestamp("ns", "Asia/Kolkata")
    assert label(pa.timestamp("ns"), "ns", nanos, nanos + 900) == (
        "ns after 2024-02-29 10:00:00.123456789"
    )
    assert label(zone, "ns", nanos, nanos + 9_000_000) == (
        "ms after 2024-02-29 15:30:00.123456789 Asia/Kolkata"
    )
    far = 10**12
    assert label(pa.timestamp("s", "UTC"), "s", far, far + 10**9) == (
        "d after 33658-09-27 01:46:40 UTC"
    )


def test_plain_ticks_beyond_what_floats_tell_apart() -> None:
    low = 2**61
    spans = [(low, low + 3), (low + 3, low + 5)]
    (place,) = run(spans, [1.0, 2.0]).plot().axes
    assert place.get_xlabel() == f"ticks after {low}"
    assert [x for x, _ in corners(place)] == [0, 3, 5, 5]
    spans = [(-(2**62), -(2**62) + 1), (2**62 - 1, 2**62)]
    (place,) = run(spans, [1.0, 2.0]).plot().axes
    assert lines(place)["points"].get_xdata().tolist() == [1, 2.0**63]


LONG = """
unit ms
input x : f64 sampled 1ms
~y[t] = ~x[t]
~up[t] = ~x[t] > 1000 ? ~x[t] : φ
"""


def test_a_million_samples_keep_their_extremes_and_their_gaps() -> None:
    values = np.random.default_rng(7).normal(size=1_000_000)
    values[123_456], values[876_543] = 2e3, -3e3
    values[400_000:402_000] = np.nan
    nulls = pa.array(values, from_pandas=True)
    samples = tilt.sampled(nulls, "2024-03-30", "1ms")
    figure = tilt.parse(LONG).run(x=samples).plot()
    place, rare = figure.axes
    drawn = corners(place)
    shown = [y for _, y in drawn if y is not None]
    assert (min(shown), max(shown)) == (-3e3, 2e3)
    assert len(drawn) < 10_000
    assert set(shown) <= set(values.tolist())
    ends = [x for x, y in drawn if y is None]
    day = (dt.datetime(2024, 3, 30) - dt.datetime(1970, 1, 1)).days
    gap, last = ((x - day) * 86_400_000 for x in ends)
    assert (gap, last) == pytest.approx((400_000, 1_000_000), abs=1)
    assert notes(place).endswith(" of 998,000 snapshots drawn")
    assert lines(rare)["points"].get_ydata().tolist() == [2e3]


def test_a_picture_has_a_bounded_number_of_panels() -> None:
    fields = ", ".join(f"f{i} = ~x[t]" for i in range(201))
    query = tilt.parse(f"input x : f64 point\n~y[t] = {{ {fields} }}")
    result = query.run(x=pa.table({"t": [1], "x": [1.0]}))
    with pytest.raises(tilt.TiltError, match="201 columns are too many"):
        result.plot()


@pytest.mark.parametrize("suffix", ["png", "svg", "html"])
def test_pictures_go_to_files(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{suffix}"
    result = run([(0, 2), (2, 5)], [1.0, 3.0])
    result.plot(path, title="a & b")
    first = path.read_bytes()
    match suffix:
        case "png":
            assert first.startswith(b"\x89PNG\r\n")
        case "svg":
            root = ElementTree.fromstring(first)  # noqa: S314 - our own
            texts = {text.strip() for text in root.itertext()}
            assert {"~y", "a & b", "ticks"} <= texts
        case _:
            text = first.decode()
            assert "<title>a &amp; b</title>" in text
            assert "src=" not in text.partition("<body>")[0]
            assert "cdn.bokeh" not in text.partition("<body>")[0]
    result.plot(path, title="a & b")
    assert suffix == "html" or path.read_bytes() == first  # ids of Bokeh are counted
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_files_are_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run([(0, 2)], [1.0])
    path = tmp_path / "x.png"
    path.write_bytes(b"before")

    def fail(_figure: Figure, place: Path, **_: object) -> None:
        Path(place).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(tilt.TiltError, match="not written: no space left"):
        result.plot(path)
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(
        tilt.TiltError, match=r"the suffix '\.pdf' says no kind of pict"
    ):
        result.plot(tmp_path / "x.pdf")
    with pytest.raises(tilt.TiltError, match="there is no directory"):
        result.plot(tmp_path / "none" / "x.svg")
    with pytest.raises(tilt.TiltError, match=r"interactive pictures are \.html"):
        result.plot(path, interactive=True)


def rows_of(page: Any) -> list[Any]:
    return [row for row, *_ in page.children]


def renderers(row: Any) -> dict[str, Any]:
    return {one.name: one for one in row.renderers}


def test_pages_hold_the_same() -> None:
    query = tilt.parse(THREE)
    spans = [(START + a, START + b) for a, b in ((0, 600), (600, 601), (900, 901))]
    frame = table(spans, [1.0, 2.0, 3.0], pa.timestamp("s", "Asia/Kolkata"))
    page = query.run(x=frame).plot(interactive=True, title="<page>")
    assert page.name == "<page>"
    assert [row.yaxis[0].axis_label for row in rows_of(page)] == [
        "~a", "~b.low", "~b.high", "~b.up"
    ]  # fmt: skip
    assert len({id(row.x_range) for row in rows_of(page)}) == 1
    first, *_, last = rows_of(page)
    assert last.xaxis[0].axis_label == "Asia/Kolkata"
    held, points = (renderers(first)[name] for name in ("held", "points"))
    assert held.glyph.mode == "after"
    shift = 5.5 * 3600  # on the wall clock there
    times = held.data_source.data["time"] / 1e3 - START - shift
    assert times == pytest.approx([0, 600, 601, 601], abs=1e-3)
    values = held.data_source.data["value"]
    assert values[:-1].tolist() == [1, 2, 2]
    assert np.isnan(values[-1])
    assert points.data_source.data["value"].tolist() == [3]
    ticks = last.yaxis[0]
    assert isinstance(ticks.ticker, FixedTicker)
    assert ticks.major_label_overrides == {0: "false", 1: "true"}


def test_pages_are_in_utc_where_a_zone_changes_its_offset() -> None:
    query = tilt.parse(THREE)
    kind = pa.timestamp("s", "Europe/Berlin")
    frame = table([(START, START + 86_400 * 60)], [1.0], kind)
    page = query.run(x=frame).plot(interactive=True)
    label = rows_of(page)[-1].xaxis[0].axis_label
    assert label == "UTC (Europe/Berlin changes its offset)"
    held = renderers(rows_of(page)[0])["held"].data_source.data["time"]
    assert held[0] / 1e3 == pytest.approx(START, abs=1e-3)


def test_empty_pages_say_so(tmp_path: Path) -> None:
    page = run([], []).plot(tmp_path / "x.html")
    (row,) = rows_of(page)
    assert not row.renderers
    assert row.center[-1].text == "no snapshots"


def test_notebooks_show_figures() -> None:
    figure = run([(0, 2)], [1.0]).plot()
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_a_missing_extra_is_named() -> None:
    modules = ("matplotlib", "bokeh", "tsdownsample")
    code = f"""
import sys
import pyarrow as pa
import tiltpy as tilt
query = tilt.parse("input x : f64 point\\n~y[t] = ~x[t]")
result = query.run(x=pa.table({{"t": [1], "x": [1.0]}}))
for module in {modules}:
    sys.modules[module] = None
    try:
        result.plot("x.html" if module == "bokeh" else "x.png")
    except tilt.TiltError as error:
        print(error)
    del sys.modules[module]
"""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, check=False, timeout=60
    )
    said = done.stdout.decode()
    named = (f"a picture needs {one}: pip install 'tiltpy[plot]'\n" for one in modules)
    assert said == "".join(named), done


def test_what_draws_is_imported_when_it_is_needed() -> None:
    code = "import sys, tiltpy, tiltpy.cli.main; print(*sys.modules)"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, check=True, timeout=60
    )
    loaded = set(done.stdout.decode().split())
    assert not loaded & {"matplotlib", "bokeh", "tsdownsample"}


# Keys


KEYED = """unit s
input x by k, l : f64 interval (s, e)
input r : f64 interval (s, e)
~y[t] = ~x[t] * ~r[t]
~up[t] = ~x[t] > 1
~r2[t] = 2 * ~r[t]
output ~y, ~up, ~r2
"""
ROWS = pa.table(
    {
        "k": ["b", "a$", None, "b", "a$"],
        "l": [1, 2, 1, 1, 2],
        "s": [0, 1, 2, 4, 5],
        "e": [3, 4, 3, 6, 6],
        "x": [1.0, 2.0, 3.0, 4.0, float("inf")],
    }
)
RATES = pa.table({"s": [0], "e": [10], "r": [10.0]})


def keyed(**options: Any) -> tilt.Result:
    return tilt.parse(KEYED).run(x=ROWS, r=RATES, **options)


@pytest.mark.parametrize("order", ["key", "time"])
def test_each_key_is_a_line_in_one_panel(order: str) -> None:
    values, ups, rates = keyed(order=order).plot().axes
    found = [
        (line.get_label(), [float(x) for x in line.get_xdata()], line.get_ydata()[0])
        for line in values.lines
    ]
    assert found == [
        ("points", [3], 30),
        ("held", [1, 4, 4], 20),
        ("held", [0, 3, 3, 4, 6, 6], 10),
    ]
    assert notes(values) == "1 without a value to draw"
    colors = [line.get_color() for line in values.lines]
    assert len(set(colors)) == 3
    assert list(dict.fromkeys(line.get_color() for line in ups.lines)) == colors
    assert [str(line.get_label()) for line in rates.lines] == ["held"]
    (rate,) = rates.lines
    assert rate.get_color() not in colors


def test_a_legend_names_the_keys_once() -> None:
    values, ups, rates = keyed().plot().axes
    legend = values.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == [
        "φ, 1",
        r"a\$, 2",
        "b, 1",
    ]
    assert legend.get_title().get_text() == "k, l"
    shown = [line.get_color() for line in legend.get_lines()]
    assert shown == [line.get_color() for line in values.lines]
    assert ups.get_legend() is None  # as above it
    assert rates.get_legend() is None


def test_keys_can_be_chosen() -> None:
    result = keyed()
    for keys in ([("b", 1)], [("b", "1"), ("b", 1)]):
        values, ups, _ = result.plot(keys=keys).axes
        assert len(values.lines) == len({line.get_color() for line in ups.lines}) == 1
    values, _, _ = result.plot(keys=[(None, 1), ("a$", 2)]).axes
    assert len(values.lines) == 2
    assert len(result["y"].plot(keys=[]).axes[0].lines) == 0
    for wrong in ("b", ("b", 2), ("b", 1, 1), ("c", 1), ("b", "one")):
        with pytest.raises(tilt.TiltError, match="no output has the key"):
            result.plot(keys=[("b", 1), wrong])


def test_keys_of_other_types_are_chosen_by_value() -> None:
    query = tilt.parse("input x by k : f64 interval (s, e)\n~y[t] = ~x[t]")
    rows = {"s": [0, 1, 2], "e": [1, 2, 3], "x": [1.0, 2.0, 3.0]}
    day = dt.date(2024, 2, 29)
    for column, key in (
        (pa.array([day, None, day], pa.date32()), day),
        (pa.array([0.5, float("nan"), -0.0]), float("nan")),
        (pa.array([True, False, True]), False),
        (pa.array(["a", "b", "a"]).dictionary_encode(), "b"),
        (pa.array([START, 0, 0], pa.timestamp("s", "UTC")), "1970-01-01 00:00:00Z"),
    ):
        result = query.run(x=pa.table({"k": column} | rows))
        (place,) = result.plot(keys=[key]).axes
        assert len(place.lines) == 1


def test_too_many_keys_are_counted_and_a_way_out_is_said() -> None:
    query = tilt.parse("input x by k : f64 interval (s, e)\n~y[t] = ~x[t]")
    count = list(range(12))
    rows = {"s": [0] * 12, "e": [2] * 12, "x": [1.0] * 12}
    result = query.run(x=pa.table({"k": count} | rows))
    with pytest.raises(tilt.TiltError) as caught:
        result.plot(by_key="lines")
    assert str(caught.value) == (
        "output 'y' has snapshots of 12 keys, and a panel shows 10 lines at most; "
        "choose some: plot(keys=['0', '1', ...]), or --key on the command line, or "
        "draw them with by_key='panels'"
    )
    (place,) = result.plot(keys=count[:10], by_key="lines").axes
    assert len({line.get_color() for line in place.lines}) == 10


def by_keys(count: int, words: bool = False) -> tilt.Result:
    """A result of keys `0`, `1`, ... whose values are ten times the key, then 5."""
    kind = "string" if words else "f64"
    query = tilt.parse(f"input x by k : {kind} interval (s, e)\n~y[t] = ~x[t]")
    keys = [key for key in range(count) for _ in range(2)]
    values = [value for key in range(count) for value in (10.0 * key, 5.0)]
    rows = {"k": keys, "s": [0, 2] * count, "e": [2, 4] * count}
    column = [str(value) for value in values] if words else values
    return query.run(x=pa.table({**rows, "x": column}))


def headings(figure: Figure) -> list[str]:
    return [axes.get_title("left") for axes in figure.axes]


@pytest.mark.parametrize(("count", "columns"), [(1, 1), (2, 2), (6, 3), (24, 4)])
def test_keys_have_panels_of_their_own(count: int, columns: int) -> None:
    figure = by_keys(count).plot(by_key="panels")
    assert headings(figure) == [str(key) for key in range(count)]
    grid = figure.axes[0].get_gridspec()
    assert (grid.nrows, grid.ncols) == (-(-count // columns), columns)
    for key, axes in enumerate(figure.axes):
        assert corners(axes)[:3] == [(0, 10 * key), (2, 5), (4, 5)]
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    assert len({axes.get_xlim() for axes in figure.axes}) == 1
    assert len({line.get_color() for axes in figure.axes for line in axes.lines}) == 1
    labelled = [axes.get_ylabel() != "" for axes in figure.axes]
    assert labelled == [key % columns == 0 for key in range(count)]
    with_times = [axes.xaxis.get_tick_params()["labelbottom"] for axes in figure.axes]
    assert with_times == [key + columns >= count for key in range(count)]
    assert figure.get_suptitle() == ""


def test_lines_become_panels_where_they_are_more_than_five() -> None:
    assert len(by_keys(5).plot().axes) == 1
    assert len(by_keys(6).plot().axes) == 6
    assert len(by_keys(6).plot(by_key="lines").axes) == 1
    with pytest.raises(tilt.TiltError) as caught:
        by_keys(2).plot(by_key="rows")  # type: ignore[arg-type]
    assert str(caught.value) == "by_key='rows': expected 'lines' or 'panels'"


def test_panels_of_many_keys_are_the_first_and_say_so() -> None:
    figure = by_keys(30).plot(title="Keys")
    assert headings(figure) == [str(key) for key in range(24)]
    assert figure.get_suptitle() == (
        "Keys\n~y: the first 24 of 30 keys; choose with keys=['0', ...] or --key"
    )
    chosen = by_keys(30).plot(keys=list(range(3, 30)))
    assert headings(chosen) == [str(key) for key in range(3, 30)]
    assert chosen.get_suptitle() == ""
    with pytest.raises(tilt.TiltError, match="250 columns and keys are too many"):
        by_keys(250).plot(keys=list(range(250)))


def test_a_key_is_in_the_same_column_of_every_output() -> None:
    figure = keyed().plot(by_key="panels")
    assert headings(figure) == ["φ, 1", r"a\$, 2", "b, 1"] * 2 + [""]
    query = tilt.parse(
        "input x by k : f64 interval (s, e)\n~y[t] = ~x[t]\n"
        "~z[t] = ~x[t] > 7 ? ~x[t] : φ\noutput ~z, ~y"
    )
    rows = {"k": [0, 1, 2], "s": [0] * 3, "e": [2] * 3, "x": [1.0, 8.0, 9.0]}
    figure = query.run(x=pa.table(rows)).plot(by_key="panels")
    assert headings(figure) == ["0", "1", "2"] * 2
    shown = [[text.get_text() for text in axes.texts] for axes in figure.axes]
    assert shown == [["no snapshots"], *[[]] * 5]


def test_panels_of_words_have_all_words() -> None:
    figure = by_keys(2, words=True).plot(by_key="panels")
    words = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert words == ["0.0", "10.0", "5.0"]
    assert len({axes.get_ylim() for axes in figure.axes}) == 1


def test_pages_have_panels_by_key() -> None:
    page = by_keys(30).plot(interactive=True)
    note, *rows = rows_of(page)
    assert note.text == (
        "~y: the first 24 of 30 keys; choose with keys=[&#x27;0&#x27;, ...] or --key"
    )
    assert [row.title.text for row in rows] == [str(key) for key in range(24)]
    assert len({id(row.y_range) for row in rows}) == 1
    assert [row.xaxis[0].visible for row in rows] == [False] * 20 + [True] * 4
    places = [(row, column) for _, row, column, *_ in page.children[1:6]]
    assert places == [(1, 0), (1, 1), (1, 2), (1, 3), (2, 0)]


@pytest.mark.few(3)
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seconds", [2, 47, 119, 7100, 90_000, 5_000_000, 60_000_000])
def test_times_below_panels_have_intervals(seconds: int, tmp_path: Path) -> None:
    query = tilt.parse("unit s\ninput x by k : f64 interval (s, e)\n~y[t] = ~x[t]")
    count = 12
    times = pa.array([START] * count), pa.array([START + seconds] * count)
    starts, ends = (each.cast(pa.timestamp("s", "UTC")) for each in times)
    rows = {"k": list(range(count)), "s": starts, "e": ends, "x": [1.0] * count}
    query.run(x=pa.table(rows)).plot(tmp_path / "x.png")


def test_no_keys_are_an_empty_panel() -> None:
    query = tilt.parse("input x by k : f64 interval (s, e)\n~y[t] = ~x[t]")
    none = pa.table({n: pa.array([], pa.int64()) for n in "kse"} | {"x": [0.5][:0]})
    (place,) = query.run(x=none).plot().axes
    assert [text.get_text() for text in place.texts] == ["no snapshots"]


def hover_tools(row: Any) -> list[Any]:
    return [tool for tool in row.toolbar.tools if isinstance(tool, HoverTool)]


def test_pages_name_the_keys() -> None:
    query = tilt.parse(KEYED)
    seen = query.read_inputs(x=ROWS, r=RATES)
    page = keyed().plot(inputs=seen, interactive=True)
    rows = rows_of(page)
    labels = [
        [i.label.value for i in row.legend[0].items] for row in rows if row.legend
    ]
    assert labels == [["φ, 1", "a$, 2", "b, 1"]] * 2
    tips = [next(iter(tool.tooltips)) for tool in hover_tools(rows[0])]
    assert tips == [("k, l", "φ, 1"), ("k, l", "a$, 2"), ("k, l", "b, 1")]
    colors = [one.glyph.line_color for one in rows[2].renderers]
    assert len(set(colors)) == 3
    assert [one.glyph.line_color for one in rows[0].renderers] == colors


def test_inputs_are_seen_as_the_query_sees_them() -> None:
    text = "input x : f64 duration 4\ninput y' : i64 until_next\ninput y : i64 point\n"
    query = tilt.parse(text + "~o[t] = ~x[t] + ~y[t] + ~y'[t]")
    x = pa.table({"t": [1, 3], "x": [1.0, 2.0]})
    y = pa.table({"t": [2, 5], "y": [7, 8]})
    held = pa.table({"t": [2, 5], "v": [7, 8]})
    seen = query.read_inputs(x=x, y=y, end=9, **{"y'": held})
    assert [tuple(row.values()) for row in seen["x"].to_arrow().to_pylist()] == [
        (0, 2, 1.0), (2, 6, 2.0)
    ]  # fmt: skip
    assert seen["y"].to_arrow()["end"].to_pylist() == [2, 5]
    assert seen["y'"].to_arrow()["end"].to_pylist() == [4, 9]
    with pytest.raises(tilt.DataError, match="nothing is bound"):
        query.read_inputs(x=x)

"""Queries as pictures: well-formed SVG that holds the outline, and nothing overlaps."""

import json
import re
from itertools import combinations
from xml.etree import ElementTree as ET

import pytest

import tiltpy as tilt
from tests.explain.test_outline import FUSED, KEYED, TREND, WILD
from tests.random.queries import random_case
from tiltpy.api import CompiledQuery
from tiltpy.explain.layered_layout import Arrow, Size, lay_out

NAMESPACE = "{http://www.w3.org/2000/svg}"
Rectangle = tuple[float, float, float, float]
AVERAGES = "input x : f64 sampled 1\n" + "".join(
    f"~m{i}[t] = mean(~x[t-{i + 1} : t])\n" for i in range(12)
)
SEVERAL = f"{AVERAGES}~all[t] = {' + '.join(f'~m{i}[t]' for i in range(12))}"


def parse_svg(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 - our own


def rectangles(picture: ET.Element, *classes: str) -> list[Rectangle]:
    """The left, top, right and bottom sides of the rectangles of some classes."""
    found = []
    for each in picture.iter(f"{NAMESPACE}rect"):
        if each.get("class") in classes:
            x, y, width, height = (
                float(each.get(name, "nan")) for name in ("x", "y", "width", "height")
            )
            found.append((x, y, x + width, y + height))
    return found


def texts(picture: ET.Element) -> list[str]:
    found = picture.iter(f"{NAMESPACE}text")
    lines = ("\n".join(span.text or "" for span in each) for each in found)
    return [text.replace("\xa0", " ") for text in lines]


def ends(picture: ET.Element) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """The points at which each arrow begins and ends."""
    points = []
    for path in picture.iter(f"{NAMESPACE}path"):
        if path.get("class") == "arrow":
            numbers = [float(n) for n in re.findall(r"-?[\d.]+", path.get("d", ""))]
            points.append(((numbers[0], numbers[1]), (numbers[-2], numbers[-1])))
    return points


def check(query: CompiledQuery) -> None:
    """Check a picture against the outline."""
    picture = parse_svg(query.explain(format="svg"))
    outline = json.loads(query.explain(format="json"))
    boxes = rectangles(picture, "input", "definition", "output")
    objects = [*outline["inputs"], *outline["definitions"]]
    assert len(boxes) == len(objects)
    shown = texts(picture)
    for each in objects:
        begins = each["text"].splitlines()[0][:50]
        assert any(text.startswith(begins) for text in shown), begins
    for a, b in combinations(boxes, 2):
        assert not overlap(a, b)
    frames = rectangles(picture, "frame")
    for frame in frames:
        for box in boxes:
            assert not overlap(frame, box) or contains(frame, box)
    for a, b in combinations(frames, 2):
        assert not overlap(a, b)
    arrows = {(r["object"], r["reader"], r["fused"]) for r in outline["references"]}
    assert len(ends(picture)) == len(arrows)
    for (x, y), (to_x, to_y) in ends(picture):
        assert any(b[0] <= x <= b[2] and abs(b[3] - y) < 0.2 for b in boxes)
        assert any(b[0] <= to_x <= b[2] and abs(b[1] - to_y) < 0.2 for b in boxes)
        assert y < to_y
    whole = (0.0, 0.0, float(picture.get("width", 0)), float(picture.get("height", 0)))
    assert all(contains(whole, box) for box in (*boxes, *frames))


def overlap(a: Rectangle, b: Rectangle) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def contains(a: Rectangle, b: Rectangle) -> bool:
    return a[0] <= b[0] and a[1] <= b[1] and b[2] <= a[2] and b[3] <= a[3]


@pytest.mark.parametrize(
    "text",
    [TREND, FUSED, WILD, KEYED, SEVERAL, "~tick[t] = 1"],
    ids=["trend", "fused", "wild", "keyed", "several", "no input"],
)
def test_pictures_hold_the_outline(text: str) -> None:
    check(tilt.parse(text))


@pytest.mark.few(20)
@pytest.mark.parametrize("seed", range(60))
def test_random_queries_have_pictures(seed: int) -> None:
    check(CompiledQuery(random_case(seed, exact=True).query))


def test_a_picture_has_frames_labels_and_dashes() -> None:
    shown = tilt.parse(TREND).explain(format="svg")
    picture = parse_svg(shown)
    assert len(rectangles(picture, "frame")) == 1
    assert len(rectangles(picture, "output")) == 1
    assert {"one loop: ~trend", "mean of [t-10d : t]", "[t]"} <= set(texts(picture))
    paths = list(picture.iter(f"{NAMESPACE}path"))
    dashed = [path for path in paths if path.get("stroke-dasharray")]
    assert len(dashed) == 3


def test_references_of_one_reader_share_an_arrow() -> None:
    picture = parse_svg(tilt.parse(FUSED).explain(format="svg"))
    assert "[t]\n[t-1s]" in texts(picture)


def test_notebooks_show_the_picture() -> None:
    shown = tilt.parse(TREND).explain(format="svg")
    assert isinstance(shown, str)
    assert getattr(shown, "_repr_svg_")() == shown  # noqa: B009 - as notebooks do
    assert not hasattr(tilt.parse(TREND).explain(format="dot"), "_repr_svg_")


def test_what_xml_has_no_letters_for_is_replaced() -> None:
    query = tilt.parse('input x : { "v\ufffe\x1b": f64 } point\n~o[t] = ~x[t]')
    check(query)


def test_labels_have_room() -> None:
    box, label = Size(50.0, 20.0), Size(200.0, 10.0)
    arrows = [Arrow(0, reader, label) for reader in (1, 2, 3)]
    layout = lay_out([box] * 4, [*arrows, Arrow(1, 3, label)])
    labels = [(*route.label, *route.label) for route in layout.routes]
    sides = [(x, y, x + 200.0, y + 10.0) for x, y, _, _ in labels]
    assert not any(overlap(a, b) for a, b in combinations(sides, 2))
    tops = [y for _, y in layout.corners]
    assert tops[0] < tops[1] < tops[3]
    assert layout.size.width >= 2 * 200.0


def test_nothing_has_no_size() -> None:
    assert lay_out([], []).size == Size(0.0, 0.0)

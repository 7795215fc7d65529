"""An outline as a picture in SVG, as notebooks show it: boxes, arrows, frames.

What boxes, arrows and frames mean is said in `graphs.py`. Lines and labels are of a
grey that reads on white and on black; boxes bring their own ground.
"""

import re
from collections.abc import Iterator, Sequence
from html import escape

from tiltpy.explain.graph_drawing import (
    LINE,
    PADDING,
    SMALL,
    GraphDrawing,
    draw_outline,
)
from tiltpy.explain.outline import Outline
from tiltpy.html import TextPrinter
from tiltpy.visible import escape_lines

MARGIN, HEAD = 6.0, 7.0
"""Around the picture, and the length of an arrow's head."""
GRAY = "#808080"
STYLES = {
    "input": 'rx="10" fill="#e3eef9" stroke="#5b8db8"',
    "definition": 'fill="#f7f7f7" stroke="#808080"',
    "output": 'fill="#fdf0d5" stroke="#c07a10" stroke-width="2.5"',
}
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class SvgText(str):
    """The text of a picture; notebooks show the picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)

    def _repr_pretty_(self, printer: TextPrinter, _cycle: bool) -> None:
        printer.text("<a picture in SVG>")


def format_svg(outline: Outline) -> SvgText:
    """Draw the graph."""
    return SvgText("\n".join(_svg(draw_outline(outline))) + "\n")


def _svg(drawing: GraphDrawing) -> Iterator[str]:
    width, height = (
        side + 2 * MARGIN for side in (drawing.size.width, drawing.size.height)
    )
    names = ", ".join(f"~{box.name}" for box in drawing.boxes)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="{-MARGIN:.0f} {-MARGIN:.0f} {width:.0f} '
        f'{height:.0f}" font-family="monospace" font-size="12" role="img" '
        f'aria-label="{_xml(f"what refers to what: {names}")}">'
    )
    yield (
        f'<defs><marker id="tilt-arrow" orient="auto" refX="{HEAD:g}" refY="3" '
        f'markerWidth="{HEAD:g}" markerHeight="6" markerUnits="userSpaceOnUse">'
        f'<path d="M0,0 L{HEAD:g},3 L0,6 z" fill="{GRAY}"/></marker></defs>'
    )
    for frame in drawing.frames:
        yield (
            f'<rect class="frame" x="{frame.x:.1f}" y="{frame.y:.1f}" '
            f'width="{frame.size.width:.1f}" height="{frame.size.height:.1f}" rx="4" '
            f'fill="{GRAY}" fill-opacity="0.12" stroke="{GRAY}"/>'
        )
        yield _text([frame.title], frame.x + PADDING, frame.y + 3, GRAY, SMALL)
    for curve in drawing.curves:
        dashes = ' stroke-dasharray="5 4"' if curve.fused else ""
        yield (
            f'<path class="arrow" d="{_path(curve.points)}" fill="none" '
            f'stroke="{GRAY}" stroke-width="1.2"{dashes} '
            'marker-end="url(#tilt-arrow)"/>'
        )
    for box in drawing.boxes:
        yield (
            f'<rect class="{box.style}" x="{box.x:.1f}" y="{box.y:.1f}" '
            f'width="{box.size.width:.1f}" height="{box.size.height:.1f}" '
            f"{STYLES[box.style]}/>"
        )
        yield _text(box.lines, box.x + PADDING, box.y + PADDING, "#1a1a1a", 1.0)
    for curve in drawing.curves:
        x, y = curve.label
        yield _text(curve.lines, x + PADDING / 2, y, GRAY, SMALL)
    yield "</svg>"


def _text(lines: Sequence[str], x: float, y: float, color: str, size: float) -> str:
    """Format lines of text below `y`; spaces at their beginning stay."""
    spans = "".join(
        f'<tspan x="{x:.1f}" y="{y + size * (LINE * n + 12):.1f}">{_xml(line)}</tspan>'
        for n, line in enumerate(lines)
    )
    return f'<text fill="{color}" font-size="{12 * size:g}">{spans}</text>'


def _path(points: Sequence[tuple[float, float]]) -> str:
    """Format a smooth curve that is upright in each point."""
    (x, y), *rest = points
    steps = [f"M{x:.1f},{y:.1f}"]
    for next_x, next_y in rest:
        middle = (y + next_y) / 2
        if abs(next_x - x) < 0.05:
            steps.append(f"L{next_x:.1f},{next_y:.1f}")
        else:
            steps.append(
                f"C{x:.1f},{middle:.1f} {next_x:.1f},{middle:.1f} "
                f"{next_x:.1f},{next_y:.1f}"
            )
        x, y = next_x, next_y
    return " ".join(steps)


def _xml(text: str) -> str:
    """Escape a text for XML, which has no letters for some characters."""
    shown = _NO_XML.sub("\ufffd", escape_lines(text).replace("\t", "    "))
    return escape(shown).replace(" ", "\u00a0")

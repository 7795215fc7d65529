"""The forms that an outline can be printed in."""

import json
from collections.abc import Callable
from dataclasses import asdict

from tiltpy.explain.graphs import format_dot, format_mermaid
from tiltpy.explain.outline import Outline
from tiltpy.explain.tree import format_tree
from tiltpy.visible import visible_json


def format_json(outline: Outline) -> str:
    """The outline as it is, field by field."""
    text = json.dumps(asdict(outline), indent=2, ensure_ascii=False)
    return visible_json(text) + "\n"


FORMS: dict[str, Callable[[Outline], str]] = {
    "tree": format_tree,
    "json": format_json,
    "dot": format_dot,
    "mermaid": format_mermaid,
}

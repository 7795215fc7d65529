"""Settings of Sphinx for the site: `make docs`."""

import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

project = "tiltpy"
author = "the tiltpy authors"
release = version = metadata.version("tiltpy")
html_title = "tiltpy"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build"]
default_role = "literal"  # docstrings are written as Markdown
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 3
copybutton_prompt_text = "$ "
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["tiltpy.css"]
html_theme_options = {"navigation_with_keys": True}
html_show_copyright = False
html_copy_source = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
maximum_signature_line_length = 60

_QUERY = re.compile(r"^ *(~|(input|unit|def|reduction|distinct) [~\w])", re.MULTILINE)
"""The words and marks with which a line of a query begins."""


def _mark_code(
    _app: Sphinx,
    _what: str,
    _name: str,
    _object: object,
    _options: object,
    lines: list[str],
) -> None:
    """Make code blocks of the indented paragraphs of a docstring."""
    text = "\n".join(lines)
    block = re.compile(r"(?:(?<=\n\n)|\A)((?: {4}.*\n|\n)* {4}.*)")
    lines[:] = block.sub(_code_block, text).split("\n")


def _code_block(found: re.Match[str]) -> str:
    language = "tilt" if _QUERY.search(found[1]) else "python"
    return f".. code-block:: {language}\n\n{found[1]}"


def _colour_queries(_app: Sphinx, page: Any) -> None:
    """Colour the indented queries of a page, which Markdown gives no language."""
    for node in page.findall():
        is_plain = node.tagname == "literal_block" and node.get("language") == "none"
        if is_plain and _QUERY.search(node.astext()):
            node["language"] = "tilt"


def setup(app: Sphinx) -> None:
    """Connect the hooks."""
    app.connect("doctree-read", _colour_queries)
    app.connect("autodoc-process-docstring", _mark_code)

"""Every public name has its place in the reference of the API."""

import re

import tiltpy as tilt
from tests.docs.listing import DOCS
from tiltpy.frontend.python import functions, reductions


def test_every_public_name_is_documented() -> None:
    text = "".join(page.read_text() for page in sorted((DOCS / "api").glob("*.md")))
    words = set(
        re.findall(
            r"^\.\. auto(?:function|class|exception):: (\w+)", text, re.MULTILINE
        )
    )
    words |= set(re.findall(r"`tilt\.(\w+)`", text))
    by_module = {*functions.__all__, *reductions.__all__}
    public = {name for name in dir(tilt) if not name.startswith("_")}
    assert public - by_module - words == set()
    assert words <= public

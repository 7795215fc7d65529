"""Build the package, with the README as a package index can show it.

Links that are relative to the repository lead nowhere there: they keep their text, and
relative pictures are dropped.
"""

import re
from pathlib import Path

from setuptools import setup

RELATIVE = r"\((?![a-z]+:|#)[^)\s]+\)"


def strip_relative_links(text: str) -> str:
    """Leave of relative links their text, and of relative pictures nothing."""
    without_pictures = re.sub(rf"!\[[^\]]*\]{RELATIVE}\n*", "", text)
    return re.sub(rf"\[((?:[^\[\]]|\n)+)\]{RELATIVE}", r"\1", without_pictures)


setup(
    long_description=strip_relative_links(
        (Path(__file__).parent / "README.md").read_text(encoding="utf-8")
    ),
    long_description_content_type="text/markdown",
)

"""Read the links of the project's Markdown: `python -m tests.docs.links` lists those
to other sites, which no test follows.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests import ROOT

_EXTERNAL = re.compile(r"[a-z][a-z0-9+.-]*:")
_SKIPPED = {"_build", "egg-info", "node_modules"}


@dataclass(frozen=True, slots=True)
class Link:
    """A link or a picture: where it stands, and where it leads."""

    page: Path
    line: int
    """Of the paragraph or the table row that it is in, from 1."""
    target: str

    @property
    def external(self) -> bool:
        """Leads to another site."""
        return _EXTERNAL.match(self.target) is not None

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}: {self.target}"


def markdown_pages() -> list[Path]:
    """List the Markdown files of the project, without what is built or installed."""
    return sorted(
        path
        for path in ROOT.rglob("*.md")
        if not any(
            part.startswith(".") or part in _SKIPPED
            for part in path.relative_to(ROOT).parts
        )
    )


def read_links(page: Path) -> Iterator[Link]:
    """Read the links and pictures of a page, in order; code has none."""
    for token in MarkdownIt().enable("table").parse(page.read_text()):
        for child in token.children or ():
            target = child.attrGet("href") or child.attrGet("src")
            if target:
                line = token.map[0] + 1 if token.map else 1
                yield Link(page, line, unquote(str(target)))


def find_fault(link: Link) -> str | None:
    """Find out what is wrong with a link within the project; None for nothing."""
    path, _, anchor = link.target.partition("#")
    file = link.page.parent / path if path else link.page
    if not file.exists():
        return f"{link}: there is no such file"
    if not file.resolve().is_relative_to(ROOT):
        return f"{link}: leads out of the repository"
    if anchor and file.suffix == ".md" and anchor not in read_anchors(file.resolve()):
        near = ", ".join(sorted(read_anchors(file.resolve())))
        return f"{link}: {file.name} has no such heading, but {near}"
    return None


@cache
def read_anchors(page: Path) -> frozenset[str]:
    """Read the anchors of a page's headings, as GitHub and MyST make them."""
    anchors: list[str] = []
    tokens = MarkdownIt().parse(page.read_text())
    for opening, heading in pairwise(tokens):
        if opening.type == "heading_open":
            slug = _slug("".join(map(_text, heading.children or ())))
            count = sum(re.fullmatch(rf"{slug}(-\d+)?", each) is not None
                        for each in anchors)  # fmt: skip
            anchors.append(f"{slug}-{count}" if count else slug)
    return frozenset(anchors)


def _text(token: Token) -> str:
    return token.content if token.type in ("text", "code_inline") else ""


def _slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


if __name__ == "__main__":
    for each in (link for page in markdown_pages() for link in read_links(page)):
        if each.external:
            print(each)

"""The pages of the documentation."""

from tests import ROOT

DOCS = ROOT / "docs"
PAGES = tuple(
    sorted(
        str(path.relative_to(DOCS))
        for path in DOCS.rglob("*.md")
        if "_build" not in path.parts
    )
)

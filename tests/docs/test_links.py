"""Links within the project lead somewhere; no test follows those to other sites.

`make docs` checks the links of the site once more, as warnings of Sphinx.
"""

from pathlib import Path

import pytest

from tests import ROOT
from tests.docs.links import Link, find_fault, markdown_pages, read_anchors, read_links


@pytest.mark.parametrize(
    "page", markdown_pages(), ids=lambda page: str(page.relative_to(ROOT))
)
def test_links_lead_somewhere(page: Path) -> None:
    links = [link for link in read_links(page) if not link.external]
    assert [fault for link in links if (fault := find_fault(link))] == []


def test_links_to_other_sites_are_safe() -> None:
    links = [link for page in markdown_pages() for link in read_links(page)]
    external = [link for link in links if link.external]
    assert external
    assert len(links) - len(external) > 150
    assert [
        str(link) for link in external if not link.target.startswith("https:")
    ] == []


def test_a_page_without_a_file_or_a_heading_is_found(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(
        "# One\n\n## `two` & three\n\n## One\n\n[a](x.md) ![b](y.svg) [c](#four)\n\n"
        "| [d](page.md#one-1) | `[no](link.md)` |\n|---|---|\n"
    )
    page = tmp_path / "page.md"
    assert read_anchors(page) == {"one", "two--three", "one-1"}
    assert [link.target for link in read_links(page)] == [
        "x.md", "y.svg", "#four", "page.md#one-1",
    ]  # fmt: skip


def test_what_is_wrong_is_named() -> None:
    page = ROOT / "README.md"
    faults = {
        "x.md": "no such file",
        "#nowhere": "README.md has no such heading, but",
        "docs/index.md#nowhere": "index.md has no such heading",
        "../../../../../../etc": "out of the repository",
        "#speed": None,
        "docs/concepts/time.md#why-the-stamp-is-the-end": None,
    }
    for target, part in faults.items():
        fault = find_fault(Link(page, 7, target))
        if part is None:
            assert fault is None
        else:
            assert fault is not None
            assert part in fault
            assert fault.startswith(f"README.md:7: {target}: ")

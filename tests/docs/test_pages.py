"""Every snippet of the documentation runs, and prints what its page says."""

import shutil
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.costs import USERS_RUN, default_costs
from tests.docs import page as pages
from tests.docs.listing import DOCS, PAGES

RUN = [
    n
    for n in PAGES
    if not n.startswith("language/") and not n.endswith(("-spark.md", "notebooks.md"))
]
"""The others have examples of their own kind, which other tests run."""


@pytest.mark.parametrize("name", RUN)
def test_page(name: str, tmp_path: Path, update_golden: bool) -> None:
    check_page(DOCS / name, tmp_path, update_golden)


def check_page(page: Path, folder: Path, update: bool) -> None:
    """Run a page, compare or rewrite what it says, and draw its pictures."""
    with default_costs(**asdict(USERS_RUN)):
        differences = pages.run_page(page, folder)
    shown = [page.parent / picture for picture in pages.pictures(page)]
    drawn = [(path, folder / path.name) for path in shown]
    if update:
        pages.rewrite(page, differences)
        for path, new in drawn:
            if new.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(new, path)
    else:
        assert [(each.shown, each.printed) for each in differences] == []
    assert [path for path, _ in drawn if not path.exists()] == []

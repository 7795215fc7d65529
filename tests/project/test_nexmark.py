"""Nexmark's queries give the rows of DuckDB's SQL, and a page lists all of them."""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT

EXAMPLES = ROOT / "examples"
FOLDER = EXAMPLES / "queries" / "nexmark"
QUERIES = sorted(FOLDER.glob("*.tilt"), key=lambda path: int(path.stem[1:]))


@pytest.fixture(scope="module")
def program() -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLES)
        return runpy.run_path(str(EXAMPLES / "28_nexmark.py"))


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_a_query_gives_the_rows_of_sql(path: Path, program: dict[str, Any]) -> None:
    found, expected = program["by_both"](
        path.stem, program["tables"](bids=1000, seed=7)
    )
    assert expected.num_rows > 0
    assert found.to_pylist() == expected.to_pylist()


def test_the_page_accounts_for_each_of_the_benchmark() -> None:
    page = (FOLDER / "README.md").read_text()
    assert {f"q{number}" for number in range(23)} <= set(re.findall(r"`(q\d+)`", page))
    assert {path.stem for path in QUERIES} == set(
        re.findall(r"\]\((q\d+)\.tilt\)", page)
    )

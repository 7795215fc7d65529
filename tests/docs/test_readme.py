"""Every snippet of the README runs, and three languages give the same rows."""

import re
from pathlib import Path
from typing import Any

import polars
import pytest

from tests import ROOT
from tests.docs.page import read_fences
from tests.docs.test_pages import check_page
from tiltpy.cli.main import main

README = ROOT / "README.md"
pytestmark = pytest.mark.filterwarnings("ignore:Sortedness of columns:UserWarning")
LONGEST = 180
"""Lines of the README: what is longer goes to a page of the site."""


def test_every_snippet_runs(tmp_path: Path, update_golden: bool) -> None:
    check_page(README, tmp_path, update_golden)


def test_the_query_is_the_example() -> None:
    example = (ROOT / "examples" / "queries" / "late.tilt").read_text()
    (query,) = (each.text for each in read_fences(README) if each.language == "tilt")
    assert query == example[example.index("unit m") :]


def test_polars_and_sql_give_the_rows_of_the_query(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {}
    for fence in read_fences(README):
        if fence.language == "python":
            exec(compile(fence.text, README, "exec"), names)  # noqa: S102
    columns = ["origin", "scheduled", "delay"]
    late = names["late"].select("origin", scheduled="end", delay="late").sort(columns)
    stated = re.search(r"All three have the same (\d+) rows", README.read_text())
    assert stated is not None
    assert len(late) == int(stated[1])
    for other in (names["in_polars"], names["in_sql"]):
        rows = other.select(columns).sort(columns)
        assert isinstance(rows, polars.DataFrame)
        assert rows.to_dicts() == late.to_dicts()


def test_it_is_short() -> None:
    assert len(README.read_text().splitlines()) <= LONGEST


def test_the_pictures_are_small_and_those_of_the_makefile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    (picture,) = re.findall(r"!\[[^]]+\]\(([^)]+)\)", README.read_text())
    kept = Path(picture).read_text()
    assert len(kept) < 60_000
    makefile = Path("Makefile").read_text().replace("\\\n", "")
    pattern = rf"(plot .*) --output {picture}\n".replace(" ", r"\s+")
    (command,) = re.findall(pattern, makefile)
    assert main([*command.split(), "--output", str(tmp_path / "x.svg")]) == 0
    words = re.compile(r">([^<>]+)</text>")
    made = (tmp_path / "x.svg").read_text()
    assert words.findall(made) == words.findall(kept)
    assert {"~delay", "~wind", "~late", "EWR"} <= set(words.findall(kept))

"""The page about notebooks: a kernel runs its cells, which show what it says."""

import re
import shutil
from pathlib import Path

from tests import ROOT
from tests.docs.page import Difference, pictures, read_fences, rewrite
from tests.notebook.cells import run_cells

PAGE = ROOT / "docs" / "notebooks.md"
_CELL = re.compile(r"[ \t]+$", re.MULTILINE)
_SHORT = re.compile(r"^<Picture.*>\n?|^<IPython.*>\n?", re.MULTILINE)


def test_the_page_shows_what_its_cells_do(tmp_path: Path, update_golden: bool) -> None:
    fences = read_fences(PAGE)
    cells = [fence for fence in fences if fence.language == "ipython"]
    shown = run_cells([cell.text for cell in cells], tmp_path)
    differences = []
    for cell, output in zip(cells, shown, strict=True):
        text = _SHORT.sub("", _CELL.sub("", output.text)).rstrip("\n")
        following = next((each for each in fences if each.first > cell.end), None)
        if following is not None and following.language == "text":
            if following.text.rstrip("\n") != text:
                first, end = following.first, following.end
                differences.append(Difference(first, end, following.text, text))
        elif text:
            below = cell.end + 1
            differences.append(Difference(below, below, "", text))
    drawn = [PAGE.parent / picture for picture in pictures(PAGE)]
    if update_golden:
        rewrite(PAGE, differences)
        for path in drawn:
            shutil.copy(tmp_path / path.name, path)
    else:
        assert [(each.shown, each.printed) for each in differences] == []
    assert [path for path in drawn if not (tmp_path / path.name).exists()] == []
    assert [path for path in drawn if not path.exists()] == []

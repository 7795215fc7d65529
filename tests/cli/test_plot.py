"""`tilt plot`: the picture it writes, and how it says what is wrong."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.in_process import Tilt

QUERY = """\
unit s
input m : f64 time ts until_next
param k : f64 = 1
t = TDom(low, ∞, 1)
~up[t] = ~m[t] + k
~top[t] = ~m[t] > 15
output ~up, ~top
"""
ROWS = "ts,m\n2024-01-01 00:00:01,10\n2024-01-01 00:00:02,20\n2024-01-01 00:00:50,50\n"
GIVEN = ("plot", "q.tilt", "--input", "m.csv", "--bound", "low=2024-01-01")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.tilt").write_text(QUERY)
    Path("m.csv").write_text(ROWS)


def texts(path: str) -> set[str]:
    """All that is written in an SVG."""
    root = ElementTree.fromstring(Path(path).read_bytes())  # noqa: S314 - our own
    return {text.strip() for text in root.itertext()}


def test_the_outputs_are_drawn(tilt: Tilt) -> None:
    assert tilt(*GIVEN, "--output", "x.svg") == (0, "", "")
    assert {"~up", "~top", "true", "false"} <= texts("x.svg")
    assert "~m" not in texts("x.svg")


def test_the_inputs_are_drawn_above(tilt: Tilt) -> None:
    words = ("--with-inputs", "--title", "ups & downs", "-p", "k=2")
    assert tilt(*GIVEN, "--output", "x.svg", *words) == (0, "", "")
    assert {"~m", "~up", "ups & downs"} <= texts("x.svg")


@pytest.mark.parametrize(
    ("name", "head"), [("x.PNG", b"\x89PNG"), ("x.html", b"<!DOCTYPE html>")]
)
def test_each_form(tilt: Tilt, name: str, head: bytes) -> None:
    assert tilt(*GIVEN, "--output", name) == (0, "", "")
    assert Path(name).read_bytes().startswith(head)


def test_what_a_run_can_be_told(tilt: Tilt) -> None:
    words = ("--start", "2024-01-01T00:00:30", "--end", "2024-01-01T00:00:40")
    options = ("--workers", "1", "--chunk", "5s")
    assert tilt(*GIVEN, "--output", "x.svg", *words, *options) == (0, "", "")
    assert {"30", "40"} <= texts("x.svg")  # seconds
    assert "41" not in texts("x.svg")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ((), 2, "required: --output (see tilt plot --help)"),
        (("--output", "x.pdf"), 2, "--output x.pdf: the suffix '.pdf' says no kind"),
        (("--output", "x"), 2, "use .png, .svg, .html"),
        (("--output", "none/x.png"), 2, "there is no directory none; make it first"),
        (("--output", "d.png"), 2, "is a directory; name a file in it"),
        (("--output", "q.svg"), 2, "--output q.svg: that file is in use already"),
        (("--output", "x.png", "--start", "soon"), 2, "--start soon"),
        (
            ("--output", "x.png", "--column", "none"),
            1,
            "column 'none': there is no such column",
        ),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    tilt: Tilt, words: tuple[str, ...], code: int, message: str
) -> None:
    Path("d.png").mkdir()
    Path("q.svg").symlink_to("q.tilt")
    before = sorted(Path().iterdir())
    found, out, err = tilt(*GIVEN, *words)
    assert (found, out) == (code, "")
    assert message in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert sorted(Path().iterdir()) == before
    assert Path("q.tilt").read_text() == QUERY


def test_a_dataset_is_refused(tilt: Tilt) -> None:
    Path("all").mkdir()
    pq.write_table(pa.table({"ts": [1], "m": [1.0]}), "all/one.parquet")
    words = ("plot", "q.tilt", "--input", "all", "--output", "x.png")
    code, out, err = tilt(*words)
    assert (code, out) == (2, "")
    assert "inputs of one file each" in err


def test_a_missing_extra_is_named_before_the_data_is_read(
    tilt: Tilt, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [n for n in sys.modules if n.startswith("tiltpy.plot.")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("page", "figure"):
        monkeypatch.delattr(f"tiltpy.plot.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "bokeh.embed", None)
    Path("m.csv").write_text("")
    said = "error: a picture needs bokeh: pip install 'tiltpy[plot]'\n"
    assert tilt(*GIVEN, "--output", "x.html") == (1, "", said)
    assert not Path("x.html").exists()


KEYED = """\
unit s
input m by {keys} : f64 time ts until_next
~up[t] = ~m[t] + 1
"""


@pytest.fixture
def _keyed() -> None:
    Path("q.tilt").write_text(KEYED.format(keys="k"))
    pairs = [f"{k},x,2024-01-01 00:00:0{k},{k}.5\n" for k in range(1, 5)]
    Path("m.csv").write_text("k,l,ts,m\n" + "".join(pairs))


@pytest.mark.usefixtures("_keyed")
def test_keys_are_drawn_or_chosen(tilt: Tilt) -> None:
    words = ["plot", "q.tilt", "--input", "m.csv", "--output", "x.svg"]
    words += ["--column", "m"]
    assert tilt(*words) == (0, "", "")
    assert {"k", "1", "4"} <= texts("x.svg")
    assert tilt(*words, "--with-inputs", "--key", "2", "--key", "3") == (0, "", "")
    assert "4" not in texts("x.svg")
    code, _, err = tilt(*words, "--key", "7")
    assert (code, err[:33]) == (1, "error: no output has the key '7';")
    Path("q.tilt").write_text(KEYED.format(keys="k, l"))
    assert tilt(*words, "--key", "2,x") == (0, "", "")
    assert "2, x" in texts("x.svg")


def test_keys_of_a_query_without_keys(tilt: Tilt) -> None:
    code, _, err = tilt(*GIVEN, "--output", "x.svg", "--key", "a")
    said = "error: --key: the query has no input by key; leave it out\n"
    assert (code, err) == (2, said)

"""The magic `%%tilt` in a real kernel: results, pictures, errors without tracebacks."""

import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

from tests.notebook.cells import Cell, run_cells

DATA = """\
%load_ext tiltpy
import pyarrow as pa
prices = pa.table({"time": [1, 2, 3, 4, 6], "price": [1.0, 2.0, 4.0, 3.0, 9.0]})
twice = pa.table({"time": [1, 1], "x": [1.0, 2.0]})
width = 2
"""
QUERY = """
input prices : f64 time time until_next
param w : duration = 3
~m[t] = mean(~prices[t-w : t])
"""
TWO = QUERY + "input volumes : f64 point\n~v[t] = ~volumes[t]\noutput ~m\n"
CELLS = {
    "data": DATA,
    "result": f"%%tilt mean --query query{QUERY}",
    "variables": "print(mean.num_rows, list(query.inputs), len(query.params))",
    "domain": f"%%tilt --start 2 --end 4{QUERY}",
    "parameter": "%%tilt -p w={width}" + QUERY,
    "other variable": "%%tilt --input quotes=prices"
    + QUERY.replace("prices :", "quotes :").replace("~prices", "~quotes"),
    "quiet": f"%%tilt quiet --quiet{QUERY}",
    "quietly": "quiet == 3, quiet.num_rows",
    "unneeded": f"%%tilt{TWO}",
    "plot": f"%%tilt --plot{QUERY}",
    "explain": "%%tilt --explain" + QUERY.replace("prices", "absent"),
    "wrong query": "%%tilt\n" + QUERY.replace("mean(", "meen(").lstrip(),
    "missing": "%%tilt" + QUERY.replace("prices", "prizes"),
    "wrong data": "%%tilt" + QUERY.replace("f64", "i8"),
    "wrong option": f"%%tilt --plod{QUERY}",
    "wrong parameter": f"%%tilt -p ww=3{QUERY}",
    "wrong name": f"%%tilt 3x{QUERY}",
    "unknown input": f"%%tilt --input price=prices{QUERY}",
    "warning": "%%tilt\ninput twice : f64 time time point\n~y[t] = ~twice[t] + 1\n",
    "help": "print(get_ipython().magics_manager.magics['cell']['tilt'].__doc__)",
    "progress": "from tiltpy.progress import notebook_bar, progress_bar\n"
    "progress_bar.PATIENCE = notebook_bar.INTERVAL = 0.0\n"
    "shown = []\n"
    "publish = notebook_bar.publish_display_data\n"
    "def record(data, **options):\n"
    "    shown.append((data['text/plain'], options['update']))\n"
    "    publish(data, **options)\n"
    "notebook_bar.publish_display_data = record\n"
    "query.run(prices=prices, chunk=2, progress=True).num_rows",
    "bar": "shown[0], shown[-1], all(update for _, update in shown[1:])",
    "magic progress": "shown.clear()\n"
    f"get_ipython().run_cell_magic('tilt', '', {QUERY!r})\n"
    "len(shown) > 1",
}


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Cell]:
    folder = tmp_path_factory.mktemp("notebook")
    shown = run_cells(list(CELLS.values()), folder)
    return dict(zip(CELLS, shown, strict=True))


def test_a_cell_shows_a_table_and_sets_variables(cells: dict[str, Cell]) -> None:
    assert cells["data"] == Cell("", (), "", 1)
    (data,) = cells["result"].data
    assert "<th>m: double</th>" in data["text/html"]
    assert data["text/plain"].startswith("~m\nstart  end")
    assert cells["variables"].text == "6 ['prices'] 1"


def test_a_cell_has_a_domain_and_parameters(cells: dict[str, Cell]) -> None:
    assert cells["domain"].text == "~m\nstart  end                   m\n" + (
        "    2    3  2.3333333333333335\n    3    4                   3\n2 snapshots"
    )
    assert "<td>2</td><td>3</td><td>3</td>" in cells["parameter"].data[0]["text/html"]


def test_inputs_are_variables(cells: dict[str, Cell]) -> None:
    for name in ("other variable", "unneeded"):
        assert cells[name].error == ""
        assert cells[name].data[0]["text/html"] == cells["result"].data[0]["text/html"]
    assert cells["quiet"].data == ()
    assert cells["quietly"].text == "(False, 6)"


def test_a_cell_draws_its_outputs(cells: dict[str, Cell]) -> None:
    (data,) = cells["plot"].data
    assert len(data["image/png"]) > 1000


def test_a_cell_draws_its_query_without_data(cells: dict[str, Cell]) -> None:
    (data,) = cells["explain"].data
    picture = ET.fromstring(data["image/svg+xml"])  # noqa: S314 - our own
    assert "mean\xa0of\xa0[t-3\xa0:\xa0t]" in set(picture.itertext())


def test_errors_have_carets_at_the_lines_of_the_cell(cells: dict[str, Cell]) -> None:
    cell = cells["wrong query"]
    assert cell.text == (
        "error[E0207]: unknown function `meen`\n"
        f" --> In[{cell.number}]:4:9\n"
        "   |\n"
        " 4 | ~m[t] = meen(~prices[t-w : t])\n"
        "   |         ^^^^ did you mean mean?"
    )
    assert "\x1b[1m^^^^\x1b[0m did you mean" in cell.error


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "missing",
            "error: input ~prizes: there is no variable 'prizes'; did you mean prices? "
            "assign a frame to it, or name another: %%tilt --input prizes=prices",
        ),
        (
            "wrong data",
            "error: input 'prices', column 'price': found double, expected i8; "
            "declare it as f64, or cast it",
        ),
        (
            "wrong option",
            "error: %%tilt has no option --plod; did you mean --plot? (see %%tilt?)",
        ),
        (
            "wrong parameter",
            "error: no parameter 'ww' in this query; its parameters: w; did you mean "
            "'w'?",
        ),
        (
            "wrong name",
            "error: %%tilt: expected the name of a variable, found '3x' (see %%tilt?)",
        ),
        (
            "unknown input",
            "error: --input price=prices: the query has no such input; it has prices; "
            "did you mean prices?",
        ),
    ],
)
def test_wrong_use_is_told_in_a_line(
    cells: dict[str, Cell], name: str, expected: str
) -> None:
    assert cells[name].text == expected


def test_warnings_are_a_line(cells: dict[str, Cell]) -> None:
    cell = cells["warning"]
    first, *_ = cell.text.splitlines()
    assert first.startswith("warning: 1 row of input 'twice' hidden behind another")
    assert cell.data[0]["text/html"].startswith("<p>y: ")


def test_the_magic_explains_itself(cells: dict[str, Cell]) -> None:
    shown = cells["help"].text
    assert shown.startswith("usage: %%tilt [NAME] [options]")
    for option in ("--start", "--end", "--param", "--input", "--explain", "--plot"):
        assert option in shown


def test_progress_is_shown_in_place(cells: dict[str, Cell]) -> None:
    assert "running" not in cells["progress"].text  # emptied at the end
    assert cells["bar"].text.startswith("(('running: ")
    assert cells["bar"].text.endswith("('', True), True)")
    assert cells["magic progress"].data[-1]["text/plain"] == "True"


def test_importing_tiltpy_imports_no_ipython() -> None:
    code = "import sys, tiltpy; print('IPython' in sys.modules)"
    shown = subprocess.check_output([sys.executable, "-c", code], text=True)  # noqa: S603
    assert shown == "False\n"

"""Claims of the reference pages beside their examples: Python, refusals of streams."""

import re
from textwrap import dedent
from typing import Any

import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.semantics.reference_pages import FOLDER

PYTHON = re.findall(
    r"^\| `(.+?)` \| `(.+?)` \|$",
    (FOLDER / "windows.md").read_text().partition("## In Python")[2],
    re.MULTILINE,
)
_BLOCK = re.compile(r"((?:^ {4}.*\n)+)\n## Recipes", re.MULTILINE)
BODY = dedent(_BLOCK.findall((FOLDER / "keys.md").read_text())[0]).partition("output")[
    0
]
DEFINED = list(re.finditer(r"^~(\w+)\[t\] = .*", BODY, re.MULTILINE))
TABLE = pa.table(
    {
        "time": pa.array([1, 2, 5], pa.timestamp("s")),
        "symbol": ["a", "b", "a"],
        "bid": [1.0, 2.0, 3.0],
        "rate": [1.0, 2.0, 3.0],
    }
)


@pytest.mark.parametrize(("text", "python"), PYTHON)
def test_python_says_what_the_text_beside_it_says(text: str, python: str) -> None:
    x, t = tilt.source("x", tilt.f64, tilt.point()), tilt.TDom(precision="1s")
    c = tilt.define("c", t, x[t] > 5)
    value = eval(python, {"tilt": tilt, "x": x, "t": t, "c": c})  # noqa: S307
    made = tilt.compile(tilt.define("o", t, value), unit="s").query
    parsed = tilt.parse(
        f"unit s\ninput x : f64 point\n~c[t] = ~x[t] > 5\n~o[t] = {text}\noutput ~o"
    ).query
    definition = next(d for d in parsed.definitions if d.name == "o")
    assert definition in made.definitions


def test_the_table_of_windows_in_python_is_read() -> None:
    assert len(PYTHON) >= 9


@pytest.mark.parametrize("name", [match[1] for match in DEFINED])
def test_a_stream_by_key_refuses_what_the_page_says(name: str) -> None:
    query = tilt.parse(f"{BODY}output ~{name}")
    frames: dict[str, Any] = {each.name: iter([TABLE]) for each in query.query.inputs}
    (definition,) = (match[0] for match in DEFINED if match[1] == name)
    if "# run only" in definition:
        with pytest.raises(tilt.QueryError) as caught:
            list(query.stream(**frames))
        assert caught.value.code == "E0305"
    else:
        assert list(query.stream(**frames))


def test_the_outputs_of_the_page_are_read() -> None:
    assert len(DEFINED) == 8

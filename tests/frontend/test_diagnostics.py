"""Every error a text can have: its code, its place and its words, as golden texts.

    pytest tests/frontend/test_diagnostics.py --update-golden

rewrites them. Each file is a query, and after `#=== errors` what is said about it.
"""

import re
from pathlib import Path

import pytest

from tests import GOLDEN, ROOT
from tiltpy.errors import QueryErrors, TiltError
from tiltpy.frontend.parse import parse, parse_file
from tiltpy.frontend.surface.error_codes import CODES
from tiltpy.frontend.surface.names import RESERVED

TEXTS = GOLDEN / "diagnostics"
CASES = sorted(TEXTS.glob("*.tilt"))
MISTAKES = sorted((GOLDEN / "mistakes").glob("in_*.txt"))
MARK = "#=== errors\n"
REFERENCE = ROOT / "docs" / "language"


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_errors_are_said_like_this(path: Path, update_golden: bool) -> None:
    text, mark, expected = path.read_text().partition(MARK)
    assert mark
    with pytest.raises(QueryErrors) as caught:
        parse(text, name=path.name)
    found = str(caught.value) + "\n"
    if update_golden:
        path.write_text(text + MARK + found)
        expected = found
    assert found == expected


def test_every_code_has_an_example() -> None:
    texts = [path.read_text() for path in (*CASES, *MISTAKES)]
    said = set(re.findall(r"error\[(E\d+)\]", "".join(texts)))
    assert said == set(CODES)


def test_every_code_stands_in_the_reference() -> None:
    rows = re.findall(
        r"^\| (E\d{4}) \| (.*) \|$", (REFERENCE / "errors.md").read_text(), re.MULTILINE
    )
    assert dict(rows) == CODES


def test_the_reference_names_every_reserved_word() -> None:
    reference = (REFERENCE / "index.md").read_text()
    listed = re.search(r"\*\*Reserved words\*\*[^`]*`([^`]*)`", reference)
    assert listed is not None
    assert listed[1].split() == list(RESERVED)


def test_errors_come_in_the_order_of_the_text() -> None:
    with pytest.raises(QueryErrors) as caught:
        parse("input m : i64\n~b[t] = ~c[t]\n~a[t] = )\n~d[t] = ~m[t] + true\n")
    places = [error.span.start for error in caught.value.errors]
    assert places == sorted(places)
    assert len(places) == 3


def test_the_first_error_is_the_errors_own() -> None:
    with pytest.raises(QueryErrors) as caught:
        parse("~a[t] = ~x[t]", name="my.tilt")
    error = caught.value
    assert (error.code, error.hint) == ("E0101", "declare it, like input x : f64")
    assert str(error.span) == "my.tilt:1:9"


def test_what_uses_something_broken_is_not_blamed() -> None:
    with pytest.raises(QueryErrors) as caught:
        parse(
            "input m : int\nparam w : duration = 1.5\nu = TDom(-∞, ∞, 0)\n"
            "~a[u] = ~m[u-w] + 1\n~b[t] = { x = ~a[t] + true; return x * ~a[t] }\n"
            "~c[t] = ~b[t] * ~d[t]\n~d[t] = 3 + + \noutput ~c, ~d"
        )
    assert [e.code for e in caught.value.errors] == ["E0202", "E0107", "E0111", "E0001"]


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(TiltError, match=r"gone\.tilt: not readable: no such file"):
        parse_file(tmp_path / "gone.tilt")
    (tmp_path / "bytes.tilt").write_bytes(b"unit s\xff")
    with pytest.raises(TiltError, match=r"bytes\.tilt: not UTF-8 at byte 6"):
        parse_file(tmp_path / "bytes.tilt")
    (tmp_path / "good.tilt").write_bytes(b"\xef\xbb\xbf~a[t] = 1")
    assert parse_file(tmp_path / "good.tilt").outputs == ("a",)
    (tmp_path / "bad.tilt").write_text("~a[t] = ")
    with pytest.raises(TiltError, match=r"--> .*bad\.tilt:1:7"):
        parse_file(tmp_path / "bad.tilt")


def caret(text: str) -> list[str]:
    """The line of the first error, and what stands below it."""
    with pytest.raises(QueryErrors) as caught:
        parse(text)
    return str(caught.value).split("\n")[3:5]


@pytest.mark.parametrize(
    ("before", "below"),
    [
        ('"Zürich" == ', "            "),
        ('"東京" == ', "          "),  # each takes two columns
        ('"ＡＢ" == ', "          "),
        ('"e\u0301" == ', "       "),  # a mark takes none
        ("\t1 +\t", "\t   \t"),
    ],
)
def test_carets_stand_below_what_they_mark(before: str, below: str) -> None:
    shown, marks = caret(f"input x : string\n~o[t] = {before}~夏[t]")
    assert shown == f" 2 | ~o[t] = {before}~夏[t]"
    assert marks.startswith(f"   | {' ' * 8}{below}^^^ ")


def test_a_line_of_windows_ends_before_its_end() -> None:
    text = "input x : f64\r\n~o[t] = ~y[t]\r\n"
    assert caret(text)[0] == " 2 | ~o[t] = ~y[t]"
    assert parse(text.replace("~y", "~x")) == parse("input x : f64\n~o[t] = ~x[t]")


def test_one_argument_is_one() -> None:
    with pytest.raises(QueryErrors, match="f takes 1 argument, not 2"):
        parse("def f(v) = v\ninput x : f64\n~o[t] = f(~x[t], 1)")

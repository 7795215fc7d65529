"""`tilt lsp` without what it needs: an editor, and pygls."""

import io
import sys

import pytest

from tests.cli.in_process import Tilt


def test_a_terminal_is_no_editor(tilt: Tilt, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    assert tilt("lsp") == (
        2,
        "",
        "error: tilt lsp talks to an editor over stdin and stdout, and stdin is a "
        "terminal; name it as the language server of *.tilt files in your editor\n",
    )


def test_a_package_is_missing(tilt: Tilt, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("tiltpy.language_")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    assert tilt("lsp") == (
        1,
        "",
        "error: tilt lsp needs lsprotocol, which is not installed; "
        "pip install 'tiltpy[lsp]'\n",
    )


def test_a_word_too_many(tilt: Tilt) -> None:
    code, _, err = tilt("lsp", "query.tilt")
    assert code == 2
    assert err.startswith("error: query.tilt: one argument too many")


def test_shells_complete_it(tilt: Tilt) -> None:
    assert tilt("--complete", "l")[1] == "live\nlsp\n"
    assert tilt("--complete", "lsp", "--s")[1] == "--stdio\n"

"""Run the pages of the documentation: a page is a program, its fences the statements.

| fence | what happens |
|---|---|
| `python` | runs; names live as long as the page, and a last expression is printed |
| `console` | lines after `$ ` run, the lines below are what they print |
| `text` below a `python` fence | is what that printed |
| any with a `:caption:` | is written to a file of this name |
| `tilt` | is a query without errors |
| `ipython` | is a cell of a notebook: `tests/notebook` runs it |
| `sh`, `mermaid`, ... | is shown only |

Pages run in an empty folder, with `examples/` of this repository in it. A line `...` of
expected output stands for any lines.
"""

import ast
import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from pathlib import Path

from markdown_it import MarkdownIt

import tiltpy as tilt
from tests import ROOT
from tiltpy.cli.main import main

SHOWN_ONLY = frozenset(
    {"sh", "ipython", "mermaid", "sql", "toml", "yaml", "json", "lua", "elisp", "c"}
)
_CAPTION = re.compile(r":caption: (\S+)\n+")
_DIRECTIVE = re.compile(r"\{code-block\} (\w+)")
_PICTURE = re.compile(r"!\[[^\]]*\]\(([^)\s]+\.(?:svg|png))\)")
_SHELL = re.compile(r"[|<>&;$`*]")
_CELL = re.compile(r"[ \t]+$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block: its language, its caption, its text, its lines in the page."""

    language: str
    name: str | None
    text: str
    first: int
    """The line after the opening one, from 0."""
    end: int
    """The closing line."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Lines of a page that are not what a fence prints."""

    first: int
    end: int
    """The lines `[first, end)` of the page, from 0; none where output is missing."""
    shown: str
    printed: str


def read_fences(page: Path) -> list[Fence]:
    """Read the fences of a page, in order.

    Raises `AssertionError` for a language that is neither run nor shown.
    """
    return list(_fences(page.read_text()))


def _fences(text: str) -> Iterator[Fence]:
    for token in MarkdownIt().parse(text):
        if token.type != "fence":
            continue
        assert token.map is not None
        info = token.info.strip()
        directive = _DIRECTIVE.fullmatch(info)
        if info.startswith("{") and directive is None:
            continue  # another directive: a note, a card, a table
        caption = _CAPTION.match(token.content)
        yield Fence(
            directive[1] if directive else info,
            caption[1] if caption else None,
            token.content[caption.end() if caption else 0 :],
            token.map[0] + 1,
            token.map[1] - 1,
        )


def pictures(page: Path) -> list[str]:
    """List the pictures of a page, as paths beside it."""
    return _PICTURE.findall(page.read_text())


def run_page(page: Path, folder: Path) -> list[Difference]:
    """Run a page in an empty folder, and compare what it prints with what it says.

    Raises what a `python` fence raises, and `AssertionError` for a query with errors.
    """
    (folder / "examples").symlink_to(ROOT / "examples")
    session: dict[str, object] = {"__name__": "__main__"}
    differences = []
    fences = read_fences(page)
    with contextlib.chdir(folder):
        for fence, following in zip_longest(fences, fences[1:]):
            if fence.name is not None:
                _write(fence)
            if fence.language == "python":
                printed = _run_python(fence, page, session)
                differences += _compare_below(fence, following, printed)
            elif fence.language == "console":
                printed = _run_console(fence.text)
                differences += _compare(fence, printed)
            elif fence.language == "tilt":
                tilt.parse(fence.text)
            else:
                known = (
                    {*SHOWN_ONLY, "text"} if fence.name is None else {fence.language}
                )
                assert fence.language in known, f"{page.name}:{fence.first}: {fence}"
    return differences


def rewrite(page: Path, differences: list[Difference]) -> None:
    """Write what fences print into a page."""
    lines = page.read_text().split("\n")
    for each in reversed(differences):
        printed = each.printed.rstrip("\n").split("\n")
        if each.first == each.end:
            printed = ["", "```text", *printed, "```"]
        lines[each.first : each.end] = printed
    page.write_text("\n".join(lines))


def _write(fence: Fence) -> None:
    assert fence.name is not None
    path = Path(fence.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(fence.text)


def _run_python(fence: Fence, page: Path, session: dict[str, object]) -> str:
    """Run statements; give what they print, and the value of a last expression."""
    tree = ast.parse(fence.text)
    ast.increment_lineno(tree, fence.first)
    last = tree.body[-1] if tree.body else None
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        if isinstance(last, ast.Expr):
            tree.body.pop()
        exec(compile(tree, page, "exec"), session)  # noqa: S102 - our own pages
        if isinstance(last, ast.Expr):
            code = compile(ast.Expression(last.value), page, "eval")
            value = eval(code, session)  # noqa: S307 - our own pages
            if value is not None:
                print(value if isinstance(value, str) else repr(value))
    return output.getvalue()


def _run_console(text: str) -> str:
    """Run the commands of a session; give the session with what they print now."""
    lines = text.split("\n")
    starts = [at for at, line in enumerate(lines) if line.startswith("$ ")]
    parts = []
    for at, _ in pairwise([*starts, len(lines)]):
        end = at
        while lines[end].endswith("\\"):
            end += 1
        command = "\n".join(lines[at : end + 1])
        parts.append(command + "\n" + _CELL.sub("", _run_command(command[2:])))
    return "".join(parts)


def _run_command(command: str) -> str:
    joined = command.replace("\\\n", " ")
    words = shlex.split(joined)
    if words[0] == "tilt" and not _SHELL.search(joined):
        output = io.StringIO()
        with (
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(output),
            contextlib.suppress(SystemExit),
        ):
            main(words[1:])
        return output.getvalue()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(  # noqa: S603 - our own pages
        ["/bin/bash", "-c", command],
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    ).stdout


def _compare_below(
    fence: Fence, following: Fence | None, printed: str
) -> list[Difference]:
    """Compare what a fence prints with the output below it."""
    shows = following is not None and following.language == "text"
    if shows and following is not None and following.name is None:
        return _compare(following, printed)
    below = fence.end + 1
    return [Difference(below, below, "", printed)] if printed.strip() else []


def _compare(fence: Fence, printed: str) -> list[Difference]:
    if _agree(fence.text, printed):
        return []
    return [Difference(fence.first, fence.end, fence.text, printed)]


def _agree(expected: str, printed: str) -> bool:
    """Compare lines; one that is `...` stands for any number of them."""
    pieces = [
        re.escape(line.rstrip()) if line.strip() != "..." else "(?:.*\n)*?.*"
        for line in expected.rstrip("\n").split("\n")
    ]
    return (
        re.fullmatch("\n".join(pieces), _CELL.sub("", printed).rstrip("\n")) is not None
    )

"""The tables of idioms: what another tool says, and what a query says."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.docs.page import read_fences

_ROW = re.compile(r"^\| (`+)(.+?)\1 \| (.+?) \|$", re.MULTILINE)
_CODE = re.compile(r"`([^`]+)`")
_DOMAIN = re.compile(r"^([a-z]\w*) = (?:TDom|Rows)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Idiom:
    """A row of a table: the other tool's words, and expressions over a domain."""

    page: str
    theirs: str
    ours: str
    """An expression of the language."""
    domain: str
    """The time variable that it is over."""

    def __str__(self) -> str:
        return f"{self.page}: {self.theirs}"


def header(page: Path) -> str:
    """Read the query that a page's expressions continue: its first one."""
    return next(each.text for each in read_fences(page) if each.language == "tilt")


def session(page: Path) -> dict[str, Any]:
    """Run a page's first `python` fence, and give its names."""
    names: dict[str, Any] = {}
    code = next(each.text for each in read_fences(page) if each.language == "python")
    exec(code, names)  # noqa: S102 - our own pages
    return names


def idioms(page: Path) -> Iterator[Idiom]:
    """Read the tables of a page, but for cells that are no expressions."""
    domains = _DOMAIN.findall(header(page))
    for found in _ROW.finditer(page.read_text()):
        for code in _CODE.findall(found[3]):
            if "~" not in code or re.match(r"input |\w+ = |since ", code):
                continue
            ours = code.replace("\\|", "|")
            used = [d for d in domains if re.search(rf"\[(?:[^]]*\W)?{d}\b", ours)]
            domain = used[0] if used else domains[0]
            yield Idiom(page.name, found[2].replace("\\|", "|"), ours, domain)


def query_of(page: Path, idiom: Idiom) -> str:
    """Complete an idiom to the text of a query with the one output `~o`."""
    return f"{header(page)}\n~o[{idiom.domain}] = {idiom.ours}\noutput ~o\n"

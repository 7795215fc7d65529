"""Reads GLOSSARY.md: a heading for each group, a paragraph for each term.

**cell**: the interval `(g-p, g]` that ends at the grid point `g`. In `ir`, `plan`.
"""

import re
from dataclasses import dataclass

from tests import ROOT

GLOSSARY = ROOT / "GLOSSARY.md"

_ENTRY = re.compile(r"\*\*(.+?)\*\*: (.+) In ((?:`[\w/.]+`(?:, | and )?)+)\.$")


@dataclass(frozen=True, slots=True)
class Term:
    name: str
    meaning: str
    group: str
    packages: tuple[str, ...]


def read_glossary() -> list[Term]:
    """Read all terms in order; every paragraph that begins in bold is an entry."""
    terms = []
    group = ""
    for paragraph in re.split(r"\n\n+", GLOSSARY.read_text().strip()):
        text = paragraph.replace("\n", " ")
        if text.startswith("## "):
            group = text.removeprefix("## ")
        elif text.startswith("**"):
            entry = _ENTRY.match(text)
            assert entry, f"write `**term**: what it is. In `package`.`: {text}"
            packages = tuple(re.findall(r"`([\w/.]+)`", entry[3]))
            terms.append(Term(entry[1], entry[2], group, packages))
    return terms

"""The examples of the language reference: how they are written, and how they are found.

In a sentence or a table, over the objects that `docs/language/index.md` states once:

    `sum(~m[t-2 : t])` at 5 is `30` (`i64`), at 4 `φ`
    `sin(~x[t])` at 1 is about `0.997`
    `~m[t] + true` is E0201

and as an indented block, which is a complete text: `# rows: 10 at 1, 20 at 3` gives an
input its rows, `# is 10 over (0, 1], 20 over (2, 3]` says what an object is (rows and
snapshots by key say whose they are, `10 at 1 of "a"`),
`# is E0104` that its line is an error, and a line `# over (0, 8]` is the domain. Lists
run on over the next comment lines after a comma. Objects and the `unit` that a block
does not declare are the stated ones.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from textwrap import dedent

from tests import ROOT
from tests.semantics.reference_values import Row, read_rows

FOLDER = ROOT / "docs" / "language"
PAGES = tuple(sorted(FOLDER.glob("*.md")))
ENTRY = FOLDER / "index.md"
UNIT = "unit s\n"

_CLAIM = r" at -?\d+(?: is)?(?: about)? `[^`\n]+`(?: \(`[^`\n]+`\))?"
_INLINE = re.compile(rf"`([^`\n]+)`(?: is (E\d{{4}})\b|({_CLAIM}(?:,{_CLAIM})*))")
_ONE = re.compile(r" at (-?\d+)(?: is)?( about)? `([^`]+)`(?: \(`([^`]+)`\))?")
_LOOKS_LIKE_ONE = re.compile(
    r"`\s+(?:at\s+-?\d|is\s+E\d|is\s+about)|\bat\s+-?\d+\s+(?:is\s+)?(?:about\s+)?`"
)
_BLOCK = re.compile(r"(?:^\n)?((?:^ {4}.*\n(?:^\n)*)+)", re.MULTILINE)
_INPUT = re.compile(r"^input\s+~?(\w+)", re.MULTILINE)
_ROWS = re.compile(r"# rows: (.*)")
_IS = re.compile(r"^(?:distinct )?~([\w']+).*# is (.*)")
_ERROR = re.compile(r"# is (E\d{4})$")
_OVER = re.compile(r"# over \((-?\d+), (-?\d+)\]$")


@dataclass(frozen=True, slots=True)
class Claim:
    """The claimed value of an expression at a time: its text, perhaps its type's."""

    time: int
    value: str
    type: str
    about: bool


@dataclass(frozen=True, slots=True)
class Example:
    """A text with the rows of its inputs, and what the page says about it."""

    place: str
    text: str
    claims: tuple[Claim, ...] = ()
    """About the one output of a text that is made around an expression."""
    rows: dict[str, list[Row]] = field(default_factory=dict)
    expected: dict[str, list[Row]] = field(default_factory=dict)
    """Snapshots by object."""
    errors: tuple[tuple[int, str], ...] = ()
    """Lines of the text and their codes."""
    domain: tuple[int | None, int | None] = (None, None)

    def __str__(self) -> str:
        return self.place


@cache
def examples() -> tuple[Example, ...]:
    """All examples of all pages."""
    found: list[Example] = []
    for page in PAGES:
        text = page.read_text()
        found += _blocks(page.name, text)
        found += _inline(page.name, text)
    return tuple(found)


@cache
def stated() -> dict[str, tuple[str, list[Row]]]:
    """The declaration and the rows of each object that examples may use."""
    page = ENTRY.read_text()
    first = next(b for b in _BLOCK.findall(page) if "# rows:" in b)
    text = dedent(first)
    rows = _rows_of(text)
    return {
        name: (_declaration(text, name), rows[name]) for name in _INPUT.findall(text)
    }


def lost(page: Path) -> list[str]:
    """Return what looks like an example on a page and is none."""
    prose = _prose(page.read_text())
    rest = _INLINE.sub("", prose)
    return [
        rest[max(0, found.start() - 40) : found.end() + 40]
        for found in _LOOKS_LIKE_ONE.finditer(rest)
    ]


def _declaration(text: str, name: str) -> str:
    found = re.search(rf"^input {name} .*?(?=\s*#|$)", text, re.MULTILINE)
    assert found is not None
    return found[0] + "\n"


def _inline(page: str, text: str) -> Iterator[Example]:
    prose = _prose(text)
    for found in _INLINE.finditer(prose):
        expression = found[1].replace("\\|", "|")
        query, rows = _completed(f"~example[t] = {expression}\noutput ~example\n")
        place = f"{page}:{_line(prose, found.start())}"
        if found[2]:
            error = (_line(query, query.index("~example")), found[2])
            yield Example(place, query, rows=rows, errors=(error,))
        else:
            claims = tuple(
                Claim(int(one[1]), one[3], one[4] or "", bool(one[2]))
                for one in _ONE.finditer(found[3])
            )
            times = [claim.time for claim in claims]
            domain = min(*times, 0) - 1, max(*times, 8)
            yield Example(place, query, claims, rows, domain=domain)


def _blocks(page: str, text: str) -> Iterator[Example]:
    for found in _BLOCK.finditer(_without_fences(text)):
        block = dedent(found[1])
        if "~" not in block:
            continue  # the stated objects
        query, rows = _completed(block)
        domain = next(map(_domain, filter(_OVER.search, query.split("\n"))), None)
        yield Example(
            f"{page}:{_line(text, found.start(1))}",
            query,
            rows=rows | _rows_of(block),
            expected={
                is_[1]: read_rows(is_[2])
                for line in _joined(block)
                if (is_ := _IS.search(line)) and not _ERROR.search(line)
            },
            errors=tuple(
                (number, error[1])
                for number, line in enumerate(query.split("\n"), 1)
                if (error := _ERROR.search(line))
            ),
            domain=domain or (None, None),
        )


def _domain(line: str) -> tuple[int, int]:
    found = _OVER.search(line)
    assert found is not None
    return int(found[1]), int(found[2])


def _completed(text: str) -> tuple[str, dict[str, list[Row]]]:
    """A text with the stated objects that it uses, and their rows."""
    own = {
        *_INPUT.findall(text),
        *re.findall(r"^(?:distinct )?~([\w']+)\[", text, re.MULTILINE),
    }
    used = [
        name
        for name in stated()
        if name not in own and re.search(rf"~{name}(?![\w'])", text)
    ]
    unit = "" if re.search(r"^unit ", text, re.MULTILINE) else UNIT
    head = unit + "".join(stated()[name][0] for name in used)
    return head + text, {name: stated()[name][1] for name in used}


def _rows_of(block: str) -> dict[str, list[Row]]:
    found = {}
    for line in _joined(block):
        rows = _ROWS.search(line)
        if rows:
            name = _INPUT.search(line)
            assert name is not None, line
            found[name[1]] = read_rows(rows[1])
    return found


def _joined(block: str) -> list[str]:
    """The lines of a block, each with the list that is beside or below it."""
    block = re.sub(r"\n\s+(?=# (?:rows:|is ))", " ", block)
    return re.sub(r",\n\s*#", ",", block).split("\n")


def _prose(text: str) -> str:
    """A page with empty lines for its blocks."""
    return re.sub(r"^ {4}.*$", "", _without_fences(text), flags=re.MULTILINE)


def _without_fences(text: str) -> str:
    return re.sub(
        r"^```.*?^```$",
        lambda found: "\n" * found[0].count("\n"),
        text,
        flags=re.MULTILINE | re.DOTALL,
    )


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1

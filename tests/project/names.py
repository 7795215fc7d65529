"""Names and docstrings of the package that the house rules refuse, found by `ast`.

The docstrings of tests follow the same rule.

`python -m tests.project.names` prints how many there are, and how often docstrings and
comments use each term of GLOSSARY.md. The lists in `tests/golden/names/` tolerate those
that were there before the rules, with their number; `--shrink` lowers the numbers to
what is left. Nothing adds to the lists.
"""

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

from tests import GOLDEN, ROOT
from tests.project.glossary import read_glossary

PACKAGE = ROOT / "tiltpy"
LISTS = GOLDEN / "names"

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
NameNode: TypeAlias = ast.Module | ast.ClassDef | FunctionNode | ast.arg
"""A node with a name or a docstring; a module has that of its file."""
Occurrences: TypeAlias = dict[str, list[str]]
"""Entries of a list (`function found`), and each `path:line` where one is defined."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BANNED = _words("""
    few found given kept many more near one own part piece place some stretch thing way
""")
"""Words that say nothing of what they name, or several things at once."""

IRREGULAR = _words("""
    begun bent bitten blown bought bred broken brought built caught chosen dealt done
    drawn driven eaten fallen fed felt flown forbidden forgotten found frozen given gone
    gotten grown hidden held kept known laid led lent lost made meant met mistaken
    overridden paid proven risen said seen sent shaken shown sold spent spoken stolen
    stuck struck sunk swept sworn taken taught thought thrown told torn understood
    unknown unseen won worn wound written
""")
"""Participles without `-ed`. Those that are also the base form of a verb or a noun are
left out: `bound`, `cut`, `left`, `read`, `set`, `split`, `spread`."""

FIELD_ADJECTIVES = _words("""
    hopping keyed nested sampled signed sliding tumbling unsigned
""")

NO_PARTICIPLES = _words("""
    anything beginning binding building drawing embed encoding everything exceed feed
    heading indeed listing lowering mapping meaning need nothing ordering padding
    ranking reading ring seed setting shed spacing speed string succeed timing warning
    wiring
""")
"""Nouns and verbs that merely end like participles."""

INTERROGATIVES = (
    "How ", "The way ", "What ", "When ", "Where ", "Whether ", "Which ", "Who ",
    "Whose ",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Guard:
    """A rule for names, the list of what still breaks it, and what to do instead."""

    file: str
    advice: str
    find: Callable[[], Occurrences]

    @property
    def path(self) -> Path:
        return LISTS / self.file

    def read_allowed(self) -> dict[str, int]:
        """Return how many of each entry the list allows."""
        lines = self.path.read_text().splitlines()
        entries = [line.rsplit(" ", 1) for line in lines if line]
        allowed = {entry: int(count) for entry, count in entries}
        assert len(allowed) == len(entries), f"{self.path} has an entry twice"
        return allowed

    def shrink(self) -> None:
        """Lower the counts of the list to those of the code."""
        counts = {entry: len(places) for entry, places in self.find().items()}
        remaining = {
            entry: min(allowed, counts[entry])
            for entry, allowed in self.read_allowed().items()
            if entry in counts
        }
        lines = [f"{entry} {count}\n" for entry, count in sorted(remaining.items())]
        self.path.write_text("".join(lines))


def find_duplicate_classes() -> Occurrences:
    """Class names that several files define."""
    files: dict[str, dict[Path, str]] = {}
    for path, nodes in _names():
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                files.setdefault(node.name, {})[path] = _position(path, node)
    return {
        name: list(places.values()) for name, places in files.items() if len(places) > 1
    }


def find_participles() -> Occurrences:
    """Functions of one word and classes whose last word is a participle."""
    entries: Occurrences = {}
    for path, node in _definitions():
        word = node.name.strip("_")
        if isinstance(node, ast.ClassDef):
            kind, word = "class", re.split(r"(?<=[a-z0-9])(?=[A-Z])", word)[-1].lower()
        elif node.name.startswith("__") or "_" in word:
            continue
        else:
            kind = "function"
        if is_participle(word):
            entries.setdefault(f"{kind} {node.name}", []).append(_position(path, node))
    return entries


def is_participle(word: str) -> bool:
    if word in FIELD_ADJECTIVES or word in NO_PARTICIPLES:
        return False
    return word in IRREGULAR or word.endswith(("ed", "ing"))


def find_banned_names() -> Occurrences:
    """Modules, classes, functions and parameters called by a banned word."""
    entries: Occurrences = {}

    def add(kind: str, name: str, position: str) -> None:
        if name.strip("_").lower() in BANNED:
            entries.setdefault(f"{kind} {name}", []).append(position)

    for path, nodes in _names():
        add("module", path.stem, str(path.relative_to(ROOT)))
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                add("class", node.name, _position(path, node))
            elif isinstance(node, FunctionNode):
                add("function", node.name, _position(path, node))
            elif isinstance(node, ast.arg):
                add("parameter", node.arg, _position(path, node))
    return entries


def find_docstrings() -> Occurrences:
    """Docstrings that lean on their neighbour, or begin like a question; tests too."""
    entries: Occurrences = {}
    for path, nodes in (*_names(), *_names(ROOT / "tests")):
        for node in nodes:
            match node:
                case ast.Module():
                    kind, name, line = "module", path.stem, 1
                case ast.ClassDef():
                    kind, name, line = "class", node.name, node.lineno
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    kind, name, line = "function", node.name, node.lineno
                case _:
                    continue
            text = ast.get_docstring(node) or ""
            if text.startswith(("The same", *INTERROGATIVES)):
                position = f"{path.relative_to(ROOT)}:{line}"
                entries.setdefault(f"{kind} {name}", []).append(position)
    return entries


GUARDS = (
    Guard(
        "duplicate_classes.txt",
        "a class name is unique in the package: say in the name which one it is",
        find_duplicate_classes,
    ),
    Guard(
        "participles.txt",
        "functions are called by verbs (or by the noun they give), classes by nouns, "
        "none by a bare participle: `join_rows`, not `joined`",
        find_participles,
    ),
    Guard(
        "banned_names.txt",
        "say what it is in a word of GLOSSARY.md",
        find_banned_names,
    ),
    Guard(
        "docstrings.txt",
        "a docstring begins with a verb or a noun: `Return whether`, `Count`, "
        "`The number of`, not `Whether`, `How many` or `The same`",
        find_docstrings,
    ),
)


def read_prose() -> str:
    """All docstrings and comments of the package."""
    texts: list[str] = []
    for path, tree in _modules():
        for node in ast.walk(tree):
            match node:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    texts.append(text)
        tokens = tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
        texts += [token.string for token in tokens if token.type == tokenize.COMMENT]
    return re.sub(r"\s+", " ", "\n".join(texts))


def count_term(term: str, prose: str) -> int:
    """Return how often the prose has a term, in any of its forms."""
    *head, last = re.split(r"[\s-]+", term.removesuffix(" φ"))
    stem = re.sub(r"(?<=\w\w)[ey]$", "", last)
    double = re.escape(stem[-1])
    ending = rf"(?:e|y|{double})?(?:s|es|ies|ed|d|ing|r|er|ation)?"
    pattern = r"[\s-]".join([*map(re.escape, head), re.escape(stem) + ending])
    return len(re.findall(rf"(?<!\w){pattern}(?!\w)", prose, re.IGNORECASE))


def count_identifiers() -> Counter[str]:
    """Count how often each banned word is an identifier of any kind, locals too."""
    counts: Counter[str] = Counter()
    for _, tree in _modules():
        for node in ast.walk(tree):
            match node:
                case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
                    counts[name.strip("_")] += 1
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    counts[name.strip("_")] += 1
    return Counter({name: counts[name] for name in BANNED})


def print_report() -> None:
    for guard in GUARDS:
        entries = guard.find()
        total = sum(map(len, entries.values()))
        print(f"{guard.file:24} {len(entries):4} names, {total:4} definitions")
        kinds = Counter(entry.partition(" ")[0] for entry in entries if " " in entry)
        if len(kinds) > 1:
            print(
                "    " + ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items()))
            )
    print("\nbanned words as identifiers of any kind, locals included:")
    uses = count_identifiers()
    print("    " + ", ".join(f"{name} {n}" for name, n in uses.most_common()))
    print(f"    {uses.total()} in all")
    prose = read_prose()
    counts = {term.name: count_term(term.name, prose) for term in read_glossary()}
    unused = sorted(name for name, n in counts.items() if n == 0)
    print(f"\nterms of the glossary in {len(prose.split()):,} words of prose:")
    print(f"    {len(counts) - len(unused)} of {len(counts)} are used, ", end="")
    print(f"{sum(counts.values()):,} times in all")
    for name, n in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"{n:7} {name}")


def _modules(folder: Path = PACKAGE) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(folder.rglob("*.py")):
        yield path, ast.parse(path.read_text())


@cache
def _names(folder: Path = PACKAGE) -> tuple[tuple[Path, tuple[NameNode, ...]], ...]:
    return tuple(
        (path, tuple(one for one in ast.walk(tree) if isinstance(one, NameNode)))
        for path, tree in _modules(folder)
    )


def forget_modules() -> None:
    """Free the syntax trees: a million objects, which every collection would visit."""
    _names.cache_clear()


def _definitions() -> Iterator[tuple[Path, FunctionNode | ast.ClassDef]]:
    for path, nodes in _names():
        for node in nodes:
            if isinstance(node, FunctionNode | ast.ClassDef):
                yield path, node


def _position(path: Path, node: FunctionNode | ast.ClassDef | ast.arg) -> str:
    return f"{path.relative_to(ROOT)}:{node.lineno}"


if __name__ == "__main__":
    if "--shrink" in sys.argv[1:]:
        for each in GUARDS:
            each.shrink()
    else:
        print_report()

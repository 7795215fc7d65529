"""Names and docstrings keep the house rules, and GLOSSARY.md what it promises."""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby

import pytest

from tests import ROOT
from tests.project.glossary import GLOSSARY, read_glossary
from tests.project.names import (
    GUARDS,
    Guard,
    count_term,
    forget_modules,
    is_participle,
)


@pytest.fixture(scope="module", autouse=True)
def _syntax_trees() -> Iterator[None]:
    """Share the trees of all modules within this file, and no longer."""
    yield
    forget_modules()


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.file)
def test_nothing_new_breaks_a_rule_for_names(guard: Guard) -> None:
    allowed, found = guard.read_allowed(), guard.find()
    wrong = []
    for entry, places in sorted(found.items()):
        if len(places) > allowed.get(entry, 0):
            where = "\n    ".join(places)
            had = allowed.get(entry, "none")
            wrong.append(f"{entry}: {len(places)}, {had} allowed, in\n    {where}")
    assert not wrong, f"{guard.advice}\n" + "\n".join(wrong)
    gone = sorted(allowed.keys() - found.keys())
    path = guard.path.relative_to(ROOT)
    assert not gone, (
        f"these are gone; remove them from {path}, or run "
        "`python -m tests.project.names --shrink`:\n" + "\n".join(gone)
    )


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.file)
def test_the_list_of_a_rule_is_in_order(guard: Guard) -> None:
    entries = list(guard.read_allowed())
    assert entries == sorted(entries)


def test_participles_are_told_from_other_words() -> None:
    for word in ("found", "kept", "joined", "coded", "following", "sorted"):
        assert is_participle(word)
    for word in ("find", "nested", "keyed", "string", "binding", "bound", "split"):
        assert not is_participle(word)


def test_terms_are_counted_in_all_their_forms() -> None:
    prose = "Materialised windows: evicting, planned; two stacks, a key and keywords."
    assert count_term("materialise", prose) == 1
    assert count_term("window", prose) == 1
    assert count_term("evict", prose) == 1
    assert count_term("plan", prose) == 1
    assert count_term("two-stack", prose) == 1
    assert count_term("key", prose) == 1
    assert count_term("state", prose) == 0


def test_each_term_is_defined_once_in_its_order() -> None:
    terms = read_glossary()
    names = Counter(term.name.lower() for term in terms)
    assert [name for name, count in names.items() if count > 1] == []
    for group, members in groupby(terms, key=lambda term: term.group):
        order = [term.name.lower() for term in members]
        assert order == sorted(order), group


def test_the_packages_of_the_glossary_are_there() -> None:
    for term in read_glossary():
        for name in term.packages:
            path = ROOT / "tiltpy" / name
            there = path.is_dir() or path.with_suffix(".py").is_file()
            there = there or (ROOT / name).exists()
            assert there, f"{term.name}: no package `{name}`"


def test_the_glossary_is_short_and_linked() -> None:
    for term in read_glossary():
        assert len(term.meaning) <= 300, f"{term.name}: say it shorter"
    pages = (ROOT / "README.md").read_text() + (ROOT / "CONTRIBUTING.md").read_text()
    assert f"({GLOSSARY.name})" in pages

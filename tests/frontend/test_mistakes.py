"""A catalogue of wrong queries that people write: what is said, and what is right.

    pytest tests/frontend/test_mistakes.py --update-golden

rewrites what is said. In the files of `golden/mistakes` each mistake stands after the
declarations at the file's top, with one error, which has a way out, and what is right.
Without that the way out itself is right, when it takes the place of the carets.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import GOLDEN
from tiltpy.errors import QueryError, QueryErrors
from tiltpy.frontend.parse import parse

FOLDER = GOLDEN / "mistakes"
FILES = sorted(FOLDER.glob("*.tilt"))
SAYS, RIGHT = "#--- says\n", "#--- right\n"


@dataclass(frozen=True, slots=True)
class Mistake:
    """A wrong text, what is said about it, and a right one if it is stated."""

    path: Path
    title: str
    declarations: str
    wrong: str
    said: str
    right: str

    def __str__(self) -> str:
        return f"{self.path.stem}: {self.title}"


def mistakes(path: Path) -> list[Mistake]:
    declarations, *cases = path.read_text().split("\n#=== ")
    found = []
    for case in cases:
        title, _, rest = case.partition("\n")
        wrong, _, rest = rest.partition(SAYS)
        said, _, right = rest.partition(RIGHT)
        found.append(Mistake(path, title, declarations, wrong, said, right))
    return found


ALL = [mistake for path in FILES for mistake in mistakes(path)]


@pytest.mark.parametrize("mistake", ALL, ids=str)
def test_a_mistake_is_one_error_with_a_way_out(
    mistake: Mistake, update_golden: bool
) -> None:
    with pytest.raises(QueryErrors) as caught:
        parse(mistake.declarations + mistake.wrong, name="query.tilt")
    said = str(caught.value) + "\n"
    if update_golden:
        rewrite(mistake, said)
    else:
        assert said == mistake.said
    (error,) = caught.value.errors
    assert error.hint
    parse(mistake.declarations + (mistake.right or pasted(error, mistake)))


def pasted(error: QueryError, mistake: Mistake) -> str:
    """The text with what the hint says in the place of the carets."""
    found = re.match(r"(?:write|did you mean) (.*?)\??(?:; .*|, or .*)?$", error.hint)
    assert found is not None, "state what is right"
    text, span = error.span.source.text, error.span
    whole = text[: span.start] + found[1] + text[span.end :]
    return whole.removeprefix(mistake.declarations)


def rewrite(mistake: Mistake, said: str) -> None:
    text = mistake.path.read_text()
    old = f"\n#=== {mistake.title}\n{mistake.wrong}{SAYS}{mistake.said}"
    new = f"\n#=== {mistake.title}\n{mistake.wrong}{SAYS}{said}"
    assert text.count(old) == 1
    mistake.path.write_text(text.replace(old, new))


def test_the_catalogue_is_large_and_says_nothing_twice() -> None:
    wrong = [mistake.wrong for mistake in ALL]
    assert len(set(wrong)) == len(wrong) >= 60

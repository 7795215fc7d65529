"""The catalogue of mistakes in Python, and of data that does not fit a query.

    pytest tests/frontend/test_mistakes_in_python.py --update-golden

rewrites what is said. Each snippet stands after the lines at its file's top.
"""

import linecache
from contextlib import chdir
from pathlib import Path

import pytest

from tests.frontend.test_mistakes import FOLDER, Mistake, mistakes, rewrite
from tiltpy.errors import QueryError, QueryErrors, TiltError

FILES = sorted(FOLDER.glob("*.txt"))
ALL = [mistake for path in FILES for mistake in mistakes(path)]


@pytest.mark.parametrize("mistake", ALL, ids=str)
def test_a_mistake_is_one_error_with_a_way_out(
    mistake: Mistake, tmp_path: Path, update_golden: bool
) -> None:
    with chdir(tmp_path):
        with pytest.raises(TiltError) as caught:
            execute(mistake.declarations + mistake.wrong)
        if mistake.right:
            execute(mistake.declarations + mistake.right)
    said = str(caught.value) + "\n"
    if update_golden:
        rewrite(mistake, said)
    else:
        assert said == mistake.said
    match caught.value:
        case QueryErrors(errors=errors):
            assert [bool(error.hint) for error in errors] == [True]
        case QueryError(hint=hint):
            assert hint
        case _:
            pass  # a message of one line, which says the way out itself


def execute(text: str) -> None:
    """Run a text as if it were a file, whose lines errors can show."""
    name = "query.py"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), {"__name__": "query"})  # noqa: S102

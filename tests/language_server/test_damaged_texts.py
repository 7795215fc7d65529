"""No text crashes the server, and it says what the compiler says."""

from random import Random

import pytest

from tests.frontend.test_mutations import mutate
from tests.query_texts import ALL
from tiltpy.errors import QueryErrors
from tiltpy.frontend.parse import parse
from tiltpy.language_server.analysis import Analysis, analyse
from tiltpy.language_server.complete import complete
from tiltpy.language_server.hover import hover
from tiltpy.language_server.rename import RenameError, rename

COUNT = 48
BATCHES = 4


def messages(text: str) -> list[str]:
    """The errors that the compiler finds in a text."""
    try:
        parse(text)
    except QueryErrors as error:
        return [each.message for each in error.errors]
    return []


def ask(analysis: Analysis, previous: Analysis, random: Random) -> None:
    """Ask all questions, somewhere in the text and at its end."""
    length = len(analysis.source.text)
    for offset in (random.randrange(length + 1), length):
        hover(analysis, previous, offset)
        complete(analysis, previous, offset)
        reason = ""
        try:
            rename(analysis, offset, random.choice(["x", "t", "state", "zq"]))
        except RenameError as refused:
            reason = str(refused)
        assert "\n" not in reason


@pytest.mark.parametrize("batch", range(BATCHES))
def test_damaged_texts(batch: int) -> None:
    random = Random(batch)  # noqa: S311
    for _ in range(COUNT // BATCHES):
        text = random.choice(ALL)
        previous = analyse(text, "<query>")
        damaged = mutate(text, random)
        analysis = analyse(damaged, "<query>")
        if said := messages(damaged):
            assert [each.message for each in analysis.errors] == said
        ask(analysis, previous, random)

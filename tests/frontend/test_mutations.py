"""No text crashes the frontend: thousands of damaged queries, none a traceback."""

from random import Random

import pytest

from tests.query_texts import ALL, ascii_of
from tiltpy.errors import QueryError, QueryErrors
from tiltpy.frontend.parse import parse
from tiltpy.frontend.text.format import format_source
from tiltpy.ir.print.query import format_query
from tiltpy.ir.verify.invariants import verify_source

COUNT = 600
BATCHES = 10
JUNK = (
    *"~[](){}:;,.=+-*/%<>!&|?#'\"\\ \n\t",
    *("φ", "∞", "⊕(", "\0", "é", "∂", "💥", "0", "9" * 400, "1e999", "." + "7" * 400),
    *("t", "t'", "x", "phi", "inf", "nan", "10s", "1d", "5sec", "-1", "1e5", "2m30s"),
    *("unit", "input", "param", "output", "def f(x) = x", "reduction r(v) {", "return"),
    *("for", "in", "if", "with", "by key", "TDom(", "reduce(", "last 3 :", "median("),
    *("~m", "~m[t]", "~m[t-10:t]", "~stock[t]", "sum(", "min(", "exists(", "start("),
    *("i64", "f32(", "u64(", "string", "true", "{ a = 1 }", "== φ", "!= φ", "&&", "||"),
    *(
        "(" * 300,
        "-" * 300,
        "1 + " * 300,
        "~a[t] ? 1 : " * 150,
        "unit s\n",
        "99999999999d",
    ),
)


def mutate(text: str, random: Random) -> str:
    """The text with a few things deleted, put in, moved or doubled."""
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        start = random.randrange(len(text) + 1)
        end = min(len(text), start + random.choice((0, 1, 1, 3, 10, 40)))
        other = random.randrange(len(text) + 1)
        match random.randrange(6):
            case 0:
                text = text[:start] + text[end:]
            case 1:
                text = text[:start] + random.choice(JUNK) + text[end:]
            case 2:
                text = text[:start] + random.choice(JUNK) + text[start:]
            case 3:
                text = text[:other] + text[start:end] + text[other:]
            case 4:
                lines = text.splitlines(keepends=True) or [""]
                random.shuffle(lines) if random.random() < 0.2 else lines.pop(
                    random.randrange(len(lines))
                )
                text = "".join(lines)
            case _:
                text = text[:start] if random.random() < 0.5 else text + text[start:]
    return text


def check(text: str) -> bool:
    """Return whether a text is a query; whatever is wrong lies inside of it."""
    try:
        query = parse(text)
    except QueryErrors as errors:
        for error in errors.errors:
            _check_error(error, text)
        return False
    verify_source(query)
    assert parse(format_query(query)) == query
    assert parse(format_source(text)) == query
    return True


def _check_error(error: QueryError, text: str) -> None:
    assert error.span.source.text == text
    assert 0 <= error.span.start <= error.span.end <= len(text)
    assert str(error)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_damaged_texts_are_queries_or_errors(batch: int) -> None:
    random = Random(batch)  # noqa: S311
    texts = [*ALL, *map(ascii_of, ALL)]
    good = 0
    for _ in range(COUNT // BATCHES):
        good += check(mutate(random.choice(texts), random))
    assert 0 < good < COUNT // BATCHES

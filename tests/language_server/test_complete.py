"""Completion at all kinds of places, in texts that do not read."""

import pytest

from tests.language_server.marks import marked
from tiltpy.language_server.analysis import analyse
from tiltpy.language_server.complete import complete

HEAD = """\
unit s
param width : duration = 1m
input trades by symbol : { price: f64, size: i64 } time ts until_next
input quote : f64
# Twice a thing.
def twice(~x, k = 2) = mean(~x[t-10 : t]) * k
w = TDom(-∞, ∞, 1s)
~vwap[w] = {
    value = sum(p * s for {price: p, size: s} in ~trades[w-width : w])
    n = sum(~trades[w-width : w].size)
    return value / n
}
"""
OBJECTS = ["~trades", "~quote", "~vwap"]


def labels(text: str) -> list[str]:
    analysis, offset = marked(HEAD + text)
    previous = analyse(HEAD, "query.tilt")
    assert previous.reads
    return [each.label for each in complete(analysis, previous, offset).proposals]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("~o[t] = ~|", OBJECTS),
        ("~o[t] = mean(~tr|", OBJECTS),
        ("~o[t] = ~trades[t-5s : ~|\n~p[t] = 1", [*OBJECTS, "~p"]),
        ("~o[t] = { ~a[t] = 1; return ~| }", [*OBJECTS, "~a"]),
        ("def g(~y, k) = ~|", [*OBJECTS, "~y"]),
        ("~o[t] = ~trades[t].|", ["price", "size"]),
        ("~o[t] = ~trades[t].pr| + 1", ["price", "size"]),
        ("~o[t] = max(~trades[t-5s : t].|", ["price", "size"]),
        ("~o[t] = { a = ~trades[t]; b = a.|", ["price", "size"]),
        ("~o[t] = { a = { b = 1, c = { d = 2 } } return a.|", ["b", "c"]),
        ("~o[t] = last(~trades[t-5s : t]).|", ["price", "size"]),
        ("~o[t] = sum(x.| for x in ~trades[t-5s : t])", ["price", "size"]),
        ("~o[t] = (~trades[t] with { size = 1 }).|", ["price", "size"]),
        ("reduction r(v: { a: f64 }) { init = 0.0 acc = v.|", ["a"]),
        ("~o[t] = 1.|", []),
        ("~o[t] = ~quote[t].|", []),
        ("output |", ["~vwap"]),
        ("~o[t] = 1\noutput ~o, ~|", [*OBJECTS, "~o"]),
        ("unit |", ["ns", "us", "ms", "s", "m", "h", "d"]),
        ("~o[|", ["t", "w"]),
        ("# a comment ~|", []),
        ('~o[t] = "a string ~|', []),
    ],
)
def test_exactly_these_fit(text: str, expected: list[str]) -> None:
    assert labels(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("~o[t] = |", ["t", "width", "w", *OBJECTS, "twice"]),
        ("~o[w] = mean(~trades[w - |", ["w", "width", *OBJECTS, "twice"]),
        ("~o[t] =\n    |", ["t", "width", "w", *OBJECTS, "twice"]),
        ("~o[w] = { a = 1\n b = |\n return b }", ["w", "width", "a", *OBJECTS]),
        ("~o[w] = { a = 1\n b = 2\n |", ["w", "width", "a", "b", *OBJECTS]),
        ("~o[t] = sum(| for x in ~trades[t-5s : t])", ["t", "width", "x", "w"]),
        ("def g(~y, k = 2) = |", ["t", "width", "k", "w", *OBJECTS, "~y"]),
        ("input z : |", ["bool", "i8"]),
        ("param z : |", ["bool", "i8"]),
        ("reduction r(v: |", ["bool", "i8"]),
        ("reduction r(v: f64) { init = 0.0 acc = |", ["init = ", "acc = "]),
        ("input z : f64 |", ["point", "duration"]),
        ("|", ["unit", "param", "input", "output", "def"]),
        ("in|", ["unit", "param", "input", "output", "def"]),
    ],
)
def test_these_come_first(text: str, expected: list[str]) -> None:
    assert labels(text)[: len(expected)] == expected


def test_the_names_of_the_last_text_that_read_stay() -> None:
    broken = HEAD.replace("value / n", "(value / ) |").replace("(-∞", "(-∞ |"[:-2])
    analysis, offset = marked(broken)
    previous = analyse(HEAD, "query.tilt")
    found = [e.label for e in complete(analysis, previous, offset).proposals]
    assert {"value", "n", "w", "width", "~trades", "sum"} <= set(found)


def test_what_a_proposal_says() -> None:
    analysis, offset = marked(HEAD + "~o[t] = tw|")
    completion = complete(analysis, None, offset)
    assert (completion.start, completion.end) == (offset - 2, offset)
    by_label = {each.label: each for each in completion.proposals}
    twice = by_label["twice"]
    assert twice.detail == "twice(~x, k = 2)"
    assert twice.documentation is not None
    assert twice.documentation.text == "Twice a thing."
    assert by_label["~vwap"].detail == "f64"
    assert by_label["φ"].word == "phi"
    assert "sqrt" in by_label


@pytest.mark.parametrize("cut", range(0, len(HEAD), 7))
def test_a_text_that_is_being_typed(cut: int) -> None:
    analysis = analyse(HEAD[:cut], "query.tilt")
    complete(analysis, None, cut)
    assert analysis.bindings is not None

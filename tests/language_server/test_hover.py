"""Hover texts, whole, and how they stay while a text is broken."""

from textwrap import dedent

import pytest

from tests import ROOT
from tests.docs.page import read_fences
from tests.language_server.marks import marked
from tiltpy.editors.rules import BUILT_IN, CONSTANTS, keywords
from tiltpy.language_server.analysis import Analysis, analyse
from tiltpy.language_server.documentation import (
    callees,
    describe_callee,
    describe_word,
)
from tiltpy.language_server.hover import hover
from tiltpy.types import NAMED

HEAD = """\
unit s
param width : duration = 1m
input trades by symbol : { price: f64, size: i64 } time ts until_next max 1d
input quote : f32
w = TDom(opening, ∞, 1s)
# Twice the mean.
# Of the last 10 seconds.
def twice(~x, k = 2) = mean(~x[t-10s : t]) * k
"""


def shown(text: str, previous: Analysis | None = None) -> str:
    analysis, offset = marked(HEAD + text)
    answer = hover(analysis, previous, offset)
    return "" if answer is None else answer[1]


def test_a_windowed_object() -> None:
    text = dedent("""
        # The high and low of a minute.
        ~range[w] = {
            ~recent[w] = ~trades[w+2s].price
            return { high = max(~recent[w-width : w]), low = min(~recent[w-1h : w]) }
        }
        output ~range|
    """)
    assert shown(text) == dedent("""\
        ```tilt
        ~range[w] = {
            ~recent[w] = ~trades[w+2s].price
            return { high = max(~recent[w-width : w]), low = min(~recent[w-1h : w]) }
        }
        ```

        The high and low of a minute.

        - output, `{ high: f64, low: f64 }` for each symbol
        - a cell every 1s: `TDom(opening, ∞, 1s)`
        - looks back 1h and ahead 2s in ~trades
        - columns: `symbol`, `start`, `end`, `high`, `low`""")
    local = shown(
        text.replace("output ~range|", "").replace("~recent[w] =", "~rec|ent[w] =")
    )
    assert "- object, `f64` for each symbol" in local
    assert "- looks ahead 2s in ~trades" in local


def test_the_page_about_editors_shows_a_hover() -> None:
    query, answer = (
        each
        for each in read_fences(ROOT / "docs" / "editors.md")
        if each.name == "vwap.tilt" or each.language == "text"
    )
    analysis = analyse(query.text, "vwap.tilt")
    found = hover(analysis, None, query.text.index("~vwap"))
    assert found is not None
    assert found[1].endswith("```\n\n" + answer.text.rstrip("\n"))


def test_an_input() -> None:
    text = "~o[w] = ~tra|des[w-1s].size\n"
    assert shown(text) == dedent("""\
        ```tilt
        input trades by symbol : { price: f64, size: i64 } time ts until_next max 1d
        ```

        - input, `{ price: f64, size: i64 }` for each symbol
        - lifetime: A row is valid until the next strictly greater stamp, at most \
`max` ticks.
        - columns: `ts`, `symbol`, `price`, `size`
        - ~o looks back 1s""")
    assert "- lifetime: as it is bound" in shown("~o[t] = ~quo|te[t]")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("~o[t] = wid|th + t", "parameter, `duration`"),
        ("~o[w|] = 1", "w = TDom(opening, ∞, 1s)"),
        ("~o[t] = { a = ~quote[t] + 1; return |a }", "- local name, `f32`"),
        ("~o[t] = { a = ~quote[t] + 1; return |a }", "a = ~quote[t] + 1"),
        ("~o[t] = sum(p * 2 for {price: p} in ~trades[t-5s : t] if |p > 0)", "`f64`"),
        ("~o[t] = sum(p for {price: |p} in ~trades[t-5s : t])", "p in ~trades[t-5s"),
        ("~o[t] = twi|ce(~quote)", "Twice the mean.\nOf the last 10 seconds."),
        ("~o[t] = twice(~quote, k| = 3)", "def twice(~x, k = 2)"),
        ("~o[t] = ~trades[t].si|ze", ".size : i64"),
        ("~o[t] = me|an(~quote[t-5s : t])", "The mean: f32 for f32, else f64."),
        ("~o[t] = me|an(~quote[t-5s : t])", "Here: `f32`"),
        ("~o[t] = sm|a(~quote, 5s)", "a simple moving average."),
        ("~o[t|] = 1", "The time: every tick"),
        ("~o[t] = 1 > 2 ? φ| : 1", "No value"),
        ("reduction r(v: f64) { init = 0.0 acc = |v + state result = state }", "r(v: "),
        ("~o[t] = 1 # me|an", ""),
        ('~o[t] = "me|an" == "a"', ""),
        ("~o[t] = 1 |+ 2", ""),
    ],
)
def test_other_names(text: str, expected: str) -> None:
    found = shown(text + ("\n~p[t] = 1" if text.startswith("red") else ""))
    assert expected in found
    assert bool(found) == bool(expected)


def test_a_broken_text_keeps_what_was_known() -> None:
    good = "~a[t] = mean(~quote[t-5s : t])\n~b[t] = ~a[t] > 1\n"
    previous = analyse(HEAD + good, "query.tilt")
    broken = good.replace("> 1", "> ").replace("~b[t] = ~a", "~b[t] = ~|a")
    assert "- looks back 5s in ~quote" in shown(broken, previous)
    broken = good.replace("5s : t]", "5s : ").replace("~b[t] = ~a", "~b[t] = ~|a")
    assert "- looks back 5s in ~quote" in shown(broken, previous)
    never_read = shown(broken)
    assert "mean(~quote" in never_read
    assert "- object with an error, or over one: its type is not known" in never_read


def test_every_word_of_the_language_is_documented() -> None:
    for word in (*keywords(), *CONSTANTS, *NAMED):
        assert describe_word(word), word
    for name in (*BUILT_IN, *callees(), "count_active", "reduce", "⊕"):
        known = describe_callee(name)
        assert known is not None, name
        assert known.text.strip(), name
        assert known.form.startswith((name, "⊕")), name
    assert describe_word("nothing") is describe_callee("nothing") is None

"""Renaming agrees with the compiler: a text with new names is the same query."""

import re
from collections import Counter

import pytest

from tests import ROOT, query_texts
from tests.language_server.marks import marked
from tiltpy.frontend.parse import parse
from tiltpy.ir.print.query import format_query
from tiltpy.language_server.analysis import Analysis, analyse
from tiltpy.language_server.bindings import Symbol
from tiltpy.language_server.rename import RenameError, rename

FILES = sorted((ROOT / "examples" / "queries").glob("**/*.tilt"))
TEXTS = [*query_texts.ALL, *(path.read_text() for path in FILES)]
MARK = "zq_"
REDUCTION = """
param k : i64 = 2
reduction grow(v: f64, start, end) {
    init = { k = 0.0 }
    acc = { f = k * v + start; return { k = state.k + f + k } }
    result = state.k + k
}
input x : f64
~o[t] = { k = grow(v + k for v in ~x[t-k : t]); v = k; k = v + k; return k }
~p[t] = argmax(b, a for {a: a, b: b} in ~q[t-2 : t] if a > ~x[t]) + k
input q : { a: f64, b: f64 }
def f(~x, k = k) = { k = k + ~x[t]; ~y[t] = ~x[t] + k; w = TDom(-∞, ∞, 2)
    ~x[w] = sum(~y[w-2 : w]); return ~x[t] + k }
~y[t] = f(~x, k = ~q[t].a)
c = TDom(cells of ~z)
input z : bool interval
~cells[c] = count(~x[since ~z : c])
e = Rows(~x)
~rows[e] = ~x[e]
"""
"""Names that hide each other, of all kinds."""


def printed(text: str) -> str:
    return " ".join(format_query(parse(text)).split())


def put_names(analysis: Analysis, symbols: list[Symbol]) -> str:
    """The text with a mark before the names of some symbols, wherever these stand."""
    text = analysis.source.text
    for each in reversed(analysis.bindings.occurrences):
        if each.symbol in symbols:
            text = text[: each.span.start] + MARK + text[each.span.start :]
    return text


@pytest.mark.parametrize("text", [REDUCTION, *TEXTS])
def test_a_text_with_other_names_is_the_same_query(text: str) -> None:
    analysis = analyse(text, "query")
    assert analysis.errors == ()
    symbols = list(analysis.bindings.symbols)
    plain = printed(text)
    assert printed(put_names(analysis, symbols)).replace(MARK, "") == plain
    names = Counter(symbol.name for symbol in symbols)
    for symbol in symbols:
        if names[symbol.name] > 1:  # one of several, alone
            changed = printed(put_names(analysis, [symbol]))
            numbered = rf"{MARK}{re.escape(symbol.name)}(_\d+)?(?!\w)"
            unnumbered = rf"(?<!\w){re.escape(symbol.name)}_\d+(?!\w)"
            changed = re.sub(numbered, symbol.name, changed).replace(MARK, "")
            assert re.sub(unnumbered, symbol.name, changed) == re.sub(
                unnumbered, symbol.name, plain
            )


def renamed(text: str, name: str) -> str:
    """The text after the name at its mark is changed."""
    analysis, offset = marked(text)
    changed = analysis.source.text
    for span in reversed(rename(analysis, offset, name)):
        changed = changed[: span.start] + name.removeprefix("~") + changed[span.end :]
    return changed


def test_all_uses_of_a_name_change() -> None:
    assert renamed("input x : f64\n~o[t] = ~|x[t] + ~x[t-1]", "price") == (
        "input price : f64\n~o[t] = ~price[t] + ~price[t-1]"
    )
    assert renamed("input x : f64\n~o[t] = |~x[t]\noutput ~o", "~in") == (
        "input in : f64\n~o[t] = ~in[t]\noutput ~o"
    )
    text = "def f(v, k|=2) = v * k\ninput x : f64\n~o[t] = f(~x[t], k = 3)"
    assert renamed(text, "factor") == (
        "def f(v, factor=2) = v * factor\ninput x : f64\n~o[t] = f(~x[t], factor = 3)"
    )
    text = (
        "w = TDom(stop, stop|, 1)\nd = TDom(stop, ∞, 2)\ninput x : f64\n~o[w] = ~x[w]"
    )
    assert renamed(text, "ende").count("ende") == 3
    text = "input x : { a: f64 }\n~o[t] = { a = ~x[t].a return { a = a| } }"
    assert renamed(text, "b").endswith("{ b = ~x[t].a return { a = b } }")


HEAD = "input x : { f: f64 }\nparam k : i64 = 2\ndef f(v) = v * k\n"


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        ("~o[t] = { a| = 1 return a }", "2a", "`2a` is no name; a name is letters"),
        ("~o[t] = { a| = 1 return a }", "", "`` is no name"),
        ("~o[t] = { a| = 1 return a }", "a b\n", "`a b` is no name"),
        ("~o[t] = { a| = 1 return a }", "~b", "`~b` is no name"),
        ("~o[t] = { a| = 1 return a }", "return", "`return` is a reserved word"),
        ("~o[t] = { a| = 1 return a }", "t", "a cannot be called `t`: `t` is this"),
        ("~o[t] = { a| = k return a + k }", "k", "k is a parameter already (line 2)"),
        ("~o[t] = { a| = 1; b = 2 return a + b }", "b", "b is a local name already"),
        ("~o|[t] = ~x[t].f", "x", "~o cannot be called `x`: a second ~x (line 4)"),
        ("~o|[t] = ~x[t].f", "start", "~o cannot be called `start`: ~start would"),
        ("~o[t] = f|(2)", "sqrt", "f cannot be called `sqrt`: `sqrt` is built in"),
        ("~o[t] = f|(2) + log2(4)", "log2", "f cannot be called `log2`"),
        (
            "def g(~z, w) = ~z[t]\n~o[t] = g|(~x.f, 2) + sma(~x.f, 2)",
            "sma",
            "`sma` has a meaning of its own where g stands",
        ),
        ("w| = TDom(-∞, ∞, 1)\n~o[w] = 1\n~p[t] = 2", "t", "`t` has a meaning of"),
        ("~o[t|] = 1", "s", "`t` is every tick, and nothing declares it"),
        ("~o[t] = ~x[t].f|", "g", "`f` is no name of an object, a parameter,"),
        ("~o[t] = sq|rt(2)", "g", "`sqrt` is a word of the language"),
        ("~o[t] = | 2", "g", "there is no name here; put the cursor on one"),
        ("~o[t] = 2 +\n~p|[t] = 1", "g", "line 4 does not read: "),
        ("# only f| is here\n~o[t] = 1", "g", "there is no name here"),
        (
            "reduction r(v: f64) { init = 0.0 acc = v| + state result = state }\n"
            "~o[t] = r(~x[t-1 : t].f)",
            "state",
            "v cannot be called `state`: `state` has a meaning of its own",
        ),
    ],
)
def test_a_name_that_would_change_more_is_refused(
    text: str, name: str, reason: str
) -> None:
    with pytest.raises(RenameError) as refused:
        renamed(HEAD + text, name)
    message = str(refused.value)
    assert message.startswith(reason)
    assert "\n" not in message

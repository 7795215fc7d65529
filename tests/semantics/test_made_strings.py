"""Strings that queries make, and numbers of strings.

Each function against Python's own, over every way to run; random queries against the
interpreter.
"""

import unicodedata
from collections.abc import Callable, Iterator
from itertools import product
from random import Random

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compiled import random_setting
from tests.random.made_strings import random_text_case
from tests.run_everywhere import run_everywhere
from tests.semantics.test_properties import check
from tests.semantics.test_strings import ask, at, words
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event
from tiltpy.interpreter.strings import call_string as interpret_call
from tiltpy.ir.find_string_uses import find_string_uses
from tiltpy.ir.nodes import StringCall
from tiltpy.ir.print.query import format_query
from tiltpy.ops import StringFunction
from tiltpy.runtime.arrow import make_strings
from tiltpy.string_functions import call_strings
from tiltpy.types import STRING

RANDOM, BATCH, DEEPER = 4, 4, 810
TEXTS = ["view", None, "", " a/b//c ", "Éa\U0001f600", "e\u0301", "/", "\u2003x\t", "é"]
NUMBERS = ["12", " 12", "", None, "-5", "+7", "1.5", "1e3", ".5", "5.", ".", "1_0", "٣"]
NUMBERS += [
    "nan",
    "-Inf",
    "INFINITY",
    "infinit",
    "1e999",
    "-1e-999",
    "0x1",
    "--1",
    "e5",
]
NUMBERS += ["300", "-129", "9223372036854775807", "9223372036854775808", "9" * 30]
NUMBERS += ["-" + "9" * 30, "18446744073709551616", "+", "1 2", "00" * 30 + "1", "-0"]


def part(text: str, number: int) -> str | None:
    parts = text.split("/")
    return parts[number] if -len(parts) <= number < len(parts) else None


CALLS: dict[str, Callable[[str], object]] = {
    "lower(~s[t])": str.lower,
    "upper(~s[t])": str.upper,
    "trim(~s[t])": str.strip,
    "len(~s[t])": len,
    "substr(~s[t], 0, 0)": lambda _: "",
    "substr(~s[t], 1)": lambda s: s[1:],
    "substr(~s[t], 1, 2)": lambda s: s[1:3],
    "substr(~s[t], 100, 2)": lambda _: "",
    "substr(~s[t], -3)": lambda s: s[-3:],
    "substr(~s[t], -3, 2)": lambda s: s[-3:-1],
    "substr(~s[t], -3, 3)": lambda s: s[-3:],
    "substr(~s[t], -3, 9)": lambda s: s[-3:],
    'split(~s[t], "/", 0)': lambda s: part(s, 0),
    'split(~s[t], "/", 2)': lambda s: part(s, 2),
    'split(~s[t], "/", 3)': lambda s: part(s, 3),
    'split(~s[t], "/", -1)': lambda s: part(s, -1),
    'split(~s[t], "/", -2)': lambda s: part(s, -2),
    'concat(~s[t], "-", ~s[t])': lambda s: f"{s}-{s}",
    'concat("<", upper(~s[t]), ">", trim(~s[t]), ".")': (
        lambda s: f"<{s.upper()}>{s.strip()}."
    ),
    'lower(~s[t]) == "view" ? "seen" : concat("no ", ~s[t])': (
        lambda s: "seen" if s == "view" else f"no {s}"
    ),
    'upper(~s[t]) < "b"': lambda s: s.upper().encode() < b"b",
    'len(concat(~s[t], "é")) > 2': lambda s: len(s) > 1,
    'starts_with(lower(trim(~s[t])), "a")': lambda s: s.strip().lower().startswith("a"),
    'upper(~s[t]) in ("VIEW", "ÉA\U0001f600")': (
        lambda s: s.upper() in ("VIEW", "ÉA\U0001f600")
    ),
}


@pytest.mark.parametrize("expression", CALLS)
def test_a_function_of_each_string(expression: str) -> None:
    expected = [None if text is None else CALLS[expression](text) for text in TEXTS]
    assert ask(expression, words(TEXTS)) == expected
    assert ask(expression, words(TEXTS), chunk=2, workers=2) == expected
    query = parse(f"input s : string\n~o[t] = {expression}")
    assert parse(format_query(query)) == query
    events = [Event(n, n + 1, s) for n, s in enumerate(TEXTS) if s is not None]
    (snapshots,) = run_everywhere(query, {"s": events}).values()
    assert [s.value for s in snapshots] == [e for e in expected if e is not None]


def saturated(low: int, high: int) -> Callable[[str], int | None]:
    def read(text: str) -> int | None:
        digits = text[1:] if text[:1] in ("+", "-") else text
        whole = digits.isascii() and digits.isdigit()
        return min(max(int(text), low), high) if whole else None

    return read


def float_of(text: str) -> float | None:
    if text != text.strip() or "_" in text or not text.isascii():
        return None
    try:
        return float(text)
    except ValueError:
        return None


@pytest.mark.parametrize(
    ("type_name", "read"),
    [
        ("f64", float_of),
        ("i64", saturated(-(2**63), 2**63 - 1)),
        ("u64", saturated(0, 2**64 - 1)),
        ("i8", saturated(-128, 127)),
        ("u16", saturated(0, 2**16 - 1)),
    ],
)
def test_numbers_of_strings(type_name: str, read: Callable[[str], object]) -> None:
    expected = [None if text is None else read(text) for text in NUMBERS]
    assert repr(ask(f"{type_name}(~s[t])", words(NUMBERS))) == repr(expected)
    query = parse(f"input s : string\n~o[t] = {type_name}(~s[t])")
    events = [Event(n, n + 1, s) for n, s in enumerate(NUMBERS) if s is not None]
    (snapshots,) = run_everywhere(query, {"s": events}).values()
    values = [snapshot.value for snapshot in snapshots]
    assert repr(values) == repr([value for value in expected if value is not None])
    literals = [text for text in NUMBERS if text is not None]
    lines = (
        f'~o{n}[t] = ~s[t] == "x" ? {type_name}("{text}") : φ'
        for n, text in enumerate(literals)
    )
    result = tilt.parse("\n".join(("input s : string point", *lines))).run(
        s=words(["x"])
    )
    for n, text in enumerate(literals):
        assert repr(at(result[f"o{n}"], range(1, 2))) == f"[{read(text)!r}]", text


def test_letters_are_mapped_as_the_interpreter_does() -> None:
    """All of the Unicode of this Python; Arrow may know a later one."""
    points = (chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    letters = [letter for letter in points if unicodedata.category(letter) != "Cn"]
    array = pa.array(letters, pa.large_string())
    functions: tuple[StringFunction, ...] = ("lower", "upper", "trim", "len")
    for function in functions:
        call = StringCall(function, (), (), STRING)
        made = call_strings(function, (), [array], STRING).to_pylist()
        for letter, value in zip(letters, made, strict=True):
            known = function == "len" or all(
                unicodedata.category(each) != "Cn" for each in value
            )
            assert not known or value == interpret_call(call, [letter]), letter


@pytest.mark.parametrize("batch", range(RANDOM // BATCH))
def test_random_strings_are_those_of_the_interpreter(batch: int, *, deep: bool) -> None:
    for first in range(batch * BATCH, RANDOM * (DEEPER if deep else 1), RANDOM):
        for seed in range(first, first + BATCH):
            exact = seed % 5 != 0
            specials = exact and seed % 3 == 0
            case = random_text_case(seed, exact=exact, specials=specials)
            if not find_string_uses(case.query).calls:
                continue
            assert parse(format_query(case.query)) == case.query, f"seed {seed}"
            setting = random_setting(Random(seed), span=80)  # noqa: S311
            difference = check(case, setting, exact=exact)
            assert difference is None, f"seed {seed}, {setting}\n{difference}"


# -- what may meet --------------------------------------------------------------------


def both(first: list[str | None], second: list[str | None]) -> pa.Table:
    """Rows with two strings at 1, 2, ..."""
    times = range(1, len(first) + 1)
    return pa.table({"time": times, "a": first, "b": second})


PAIR = "input x : { a: string, b: string } point\n"


def test_fields_of_one_row_are_joined_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make_strings, "MOST_PAIRS", 10)
    names = [f"user {n}" for n in range(30)]
    pages: list[str | None] = [None if n % 7 == 3 else f"/{n % 5}" for n in range(30)]
    table = both(list(names), pages)
    expected = [p and f"{n.upper()}{p}" for n, p in zip(names, pages, strict=True)]
    for text in (
        "~o[t] = concat(upper(~x[t].a), ~x[t].b)",
        "~o[t] = { y = ~x[t]; return concat(upper(y.a), y.b) }",
        "~p[t] = { a = upper(~x[t].a), b = ~x[t].b }\n~o[t] = concat(~p[t].a, ~p[t].b)",
        "~o[t] = last(concat(upper(v.a), v.b) for v in ~x[t-1 : t])",
        "e = Rows(~x)\n~o[e] = concat(upper(~x[e].a), ~x[e].b)",
    ):
        query = tilt.parse(f"{PAIR}{text}\noutput ~o")
        assert at(query.run(x=table)["o"], range(1, 31)) == expected, text


def test_other_strings_are_joined_each_with_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = both(["a", "b", "c"], ["1", "2", "3"])
    query = tilt.parse(f"{PAIR}~o[t] = concat(~x[t].a, ~x[t-1].b, ~x[t-2].a)")
    assert at(query.run(x=table)["o"], range(1, 4)) == [None, None, "c2a"]
    monkeypatch.setattr(make_strings, "MOST_PAIRS", 5)
    with pytest.raises(tilt.QueryError) as caught:
        query.run(x=table)
    assert caught.value.code == "E0304"
    assert caught.value.message == (
        "concat() of 3 strings and 3, whose pairs are too many"
    )
    text = caught.value.span.source.text
    assert text[caught.value.span.start : caught.value.span.end].startswith("concat(")


def test_strings_that_double_are_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    doubled = "".join(f"~s{n + 1}[t] = concat(~s{n}[t], ~s{n}[t])\n" for n in range(40))
    query = tilt.parse(f"input s0 : string point\n{doubled}output ~s40")
    monkeypatch.setattr(make_strings, "MOST_TEXT", 1 << 22)
    with pytest.raises(tilt.QueryError, match="E0304") as caught:
        query.run(s0=pa.table({"time": [1], "s0": ["ab"]}))
    assert caught.value.message == "concat() of 8.39 MB of strings"


def test_long_chains_of_objects() -> None:
    """As many statements as a text may have, without a stack as deep."""
    chain = "".join(f"~x{n + 1}[t] = ~x{n}[t]\n" for n in range(990))
    query = tilt.parse(
        f"input x0 : {{ a: string, n: i64 }} point\n{chain}"
        "~o[t] = upper(~x990[t].a)\n~p[t] = concat(~x990[t].a, ~x989[t].a)\n"
        "output ~o, ~p"
    )
    found = query.run(x0=pa.table({"time": [1], "a": ["x"], "n": [1]}))
    assert at(found["o"], range(1, 2)) == ["X"]
    assert at(found["p"], range(1, 2)) == ["xx"]


def test_many_strings_are_joined_at_once() -> None:
    pieces = ", ".join(f'"{n}", ~s[t]' for n in range(300))
    query = tilt.parse(f"input s : string point\n~o[t] = concat({pieces})")
    assert tilt.parse(str(query)).query == query.query
    expected = "".join(f"{n}x" for n in range(300))
    assert at(query.run(s=words(["x"]))["o"], range(1, 2)) == [expected]


def test_strings_of_inputs_choices_and_folds_reach_a_call() -> None:
    text = (
        "input s : string point\ninput r : string point\n"
        'reduction pair(v: string) { init = { a = "?", b = "" } '
        'acc = { a = state.b, b = lower(v) } result = concat(state.a, "+", state.b) }\n'
        '~c[t] = ~s[t] == "B" ? ~r[t] : "const"\n'
        "~o[t] = { c = upper(~c[t]), f = upper(pair(~s[t-2 : t])), "
        "g = upper(pair(~o2[t-2 : t])), m = upper(max(~s[t-2 : t])), "
        "k = upper(topk(~s[t-2 : t], 2).top2), "
        "d = lower(modes(~s[t-2 : t], 2).mode2), "
        "e = max(upper(v) for v in ~s[-∞ : t]) }\n"
        '~o2[t] = concat(~s[t], "2")\noutput ~o'
    )
    query = tilt.parse(text)
    found = query.run(s=words(["a", "B", "c"]), r=words(["x", "y", "z"])).to_arrow()
    assert found.drop(["start", "end"]).to_pylist() == [
        {"c": "CONST", "f": "+A", "g": "+A2", "m": "A", "k": None, "d": None, "e": "A"},
        {"c": "Y", "f": "A+B", "g": "A2+B2", "m": "A", "k": "B", "d": "b", "e": "B"},
        {
            "c": "CONST",
            "f": "B+C",
            "g": "B2+C2",
            "m": "C",
            "k": "B",
            "d": "c",
            "e": "C",
        },
    ]


def test_a_fold_over_its_own_results_is_no_growth() -> None:
    text = (
        "input s : string point\nreduction pair(v: string) { "
        'init = { a = "", b = "" } acc = { a = state.b, b = v } '
        "result = concat(state.a, state.b) }\n"
        "~o[t] = pair(~s[t-2 : t])\n~p[t] = pair(~o[t-2 : t])\noutput ~p"
    )
    found = tilt.parse(text).run(s=words(["a", "b", "c"]))["p"]
    assert at(found, range(1, 4)) == ["a", "aab", "abbc"]


def test_constants_that_passes_find() -> None:
    text = (
        'input s : string point\nparam k : string = "p"\n~a[t] = concat(k, "q")\n'
        '~o[t] = concat(~a[t], ~s[t], ~a[t])\n~n[t] = upper(~a[t]) == "PQ"\noutput ~o'
    )
    assert at(tilt.parse(text).run(s=words(["x"]))["o"], range(1, 2)) == ["pqxpq"]


# -- every way to run -----------------------------------------------------------------

MADE = (
    "~o[t] = { low = lower(~x[t].a), both = concat(~x[t].a, ~x[t].b), "
    "most = max(upper(v.a) for v in ~x[t-9 : t]), n = i64(~x[t].b), "
    'far = concat(~x[t].a, "|", ~x[t-20].a), '
    "some = nunique(substr(v.a, 0, 2) for v in ~x[t-5 : t]) }\n"
    "~h[t] = first(concat(v.b, v.a) for v in ~x[t-30 : t])\noutput ~o, ~h"
)


def rows(count: int) -> pa.Table:
    """Rows of two keys, whose strings change from batch to batch."""
    random = np.random.default_rng(3)
    drawn = random.integers(0, 30, count) + np.arange(count) // 40
    return pa.table(
        {
            "time": range(1, count + 1),
            "k": [f"key {n % 2}" for n in range(count)],
            "a": [None if n % 11 == 7 else f"Word {n}" for n in drawn.tolist()],
            "b": [None if n % 13 == 5 else f"{n % 9}" for n in drawn.tolist()],
        }
    )


def batches(table: pa.Table, size: int) -> Iterator[pa.Table]:
    return (table.slice(n, size) for n in range(0, table.num_rows, size))


@pytest.mark.parametrize("size", [70, 600])
def test_streams_end_as_runs_do(size: int) -> None:
    query, table = tilt.parse(PAIR + MADE), rows(4000).drop(["k"])
    whole = query.run(x=table)
    pieces = list(query.stream(x=batches(table, size), memory="64KB"))
    assert len(pieces) > 2
    for name in ("o", "h"):
        found = pa.concat_tables([piece[name].to_arrow() for piece in pieces])
        assert found.combine_chunks().equals(whole[name].to_arrow().combine_chunks())


def test_by_key_as_in_runs_of_each_key() -> None:
    table = rows(240)
    head = "input x by k : { a: string, b: string } point\n"
    keyed, alone = tilt.parse(head + MADE), tilt.parse(PAIR + MADE)
    found = keyed.run(x=table)
    for key, name in product(("key 0", "key 1"), ("o", "h")):
        mask = pa.array(np.array(table["k"]) == key)
        of_key = alone.run(x=table.filter(mask).drop(["k"]))[name].to_arrow()
        all_keys = found[name].to_arrow()
        mask = pa.array(np.array(all_keys["k"]) == key)
        assert all_keys.filter(mask).drop(["k"]).to_pylist() == of_key.to_pylist()


def test_a_stream_by_key_makes_strings_batch_by_batch() -> None:
    query = tilt.parse(
        "input x by k : { a: string, b: string } point\n"
        '~o[t] = { low = lower(~x[t].a), both = concat(~x[t].a, "|", ~x[t-20].b), '
        "most = max(upper(v.a) for v in ~x[t-9 : t]) }"
    )
    table = rows(8000)
    pieces = query.stream(x=batches(table, 500), memory="64KB")
    streamed = [piece.to_arrow() for piece in pieces]
    order = [("k", "ascending"), ("start", "ascending")]
    tables = pa.concat_tables(streamed), query.run(x=table).to_arrow()
    assert len(streamed) > 1
    found, expected = (each.sort_by(order).to_pylist() for each in tables)
    assert found == expected


def test_panes_of_made_strings_by_key() -> None:
    query = tilt.parse(
        "input x by k : { a: string, b: string } point\nh = TDom(-∞, ∞, 10)\n"
        "~o[h] = max(lower(v.a) for v in ~x[h-10 : h])\n"
        '~n[h] = count(v for v in ~x[h-10 : h] if split(v.a, " ", 1) == "12")\n'
        "~z[h] = sum(len(v.a) for v in ~x[h-10 : h])"
    )
    table = rows(2000)
    found = query.run(x=table)
    for name, value in (
        ("o", lambda words: max(word.lower() for word in words)),
        ("n", lambda words: sum(word == "Word 12" for word in words)),
        ("z", lambda words: sum(map(len, words))),
    ):
        for row in found[name].to_arrow().to_pylist()[:50]:
            words_of = [
                a
                for time, k, a in zip(
                    *(table[c].to_pylist() for c in ("time", "k", "a")), strict=True
                )
                if k == row["k"] and row["end"] - 10 < time <= row["end"]
            ]
            known = [word for word in words_of if word is not None]
            assert row[name] == value(known), row


def test_a_vector_kernel_looks_made_strings_up() -> None:
    query = tilt.parse(
        "input s : string sampled 1\n~o[t] = { n = count(v for v in ~s[t-20 : t] if "
        'lower(v) == "w3"), c = upper(~s[t]) > "W4" ? concat("+", ~s[t]) : "small" }'
    )
    values = [None if n % 11 == 0 else f"w{n * 7919 % 10}" for n in range(10_000)]
    given = tilt.sampled(pa.array(values), 0, 1)
    text = query.explain(inputs={"s": given})
    assert "stencil" in text.split("== vector kernel ==")[1].split("\n")[1]
    found = query.run(s=given)["o"].to_arrow().to_pylist()
    for n in (1, 10, 11, 19, 20, 4321, 9997, 9998):
        row = next(r for r in found if r["start"] < n + 1 <= r["end"])
        past = [v for v in values[max(0, n - 19) : n + 1] if v is not None]
        assert row["n"] == past.count("w3")
        now = values[n]
        longer = None if now is None else f"+{now}" if now > "w4" else "small"
        assert row["c"] == longer


def test_a_bound_table_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted(function: str, *given: object) -> object:
        calls.append(function)
        return call_strings(function, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(make_strings, "call_strings", counted)
    bound = tilt.bind(words(["a", "b", "a"]))
    query = tilt.parse('input s : string point\n~o[t] = upper(~s[t]) < "B"')
    for _ in range(3):
        assert at(query.run(s=bound)["o"], range(1, 4)) == [True, False, True]
    assert calls == ["upper"]


def test_explain_says_what_is_computed_before() -> None:
    query = tilt.parse(
        PAIR + 'input s : string point\nreduction end_of(v: string) { init = "" '
        "acc = lower(v) result = upper(state) }\n"
        "~o[t] = { a = concat(upper(~x[t].a), ~x[t].b), b = i64(~x[t-1].b), "
        'c = len(~s[t] == "k" ? "K" : ~s[t]), d = concat(~s[t], ~x[t].a), '
        "e = end_of(~s[t-3 : t]) }"
    )
    section = query.explain().split("== strings ==\n")[1].split("\n\n")[0]
    assert {*section.split("\n")} == {
        "upper() of each string of ~x.a",
        "concat() of what stands in a row of upper() and ~x.b",
        "i64() of each string of ~x.b",
        'len() of each string of "K", ~s',
        "concat() of each pair of strings of ~s and ~x.a",
        "lower() of each string of ~s",
        "upper() of each string of the state of end_of()",
    }


def test_in_python() -> None:
    x = tilt.source("x", {"a": "string", "b": "string"}, tilt.point())
    t = tilt.TDom()
    made = tilt.struct(
        p=tilt.split(tilt.lower(x[t].a), "/", 1),
        q=tilt.concat(tilt.trim(x[t].a), "-", tilt.upper(x[t].b)),
        n=tilt.len(x[t].a) + tilt.cast(tilt.substr(x[t].b, 1), "i64"),
        r=tilt.substr(x[t].a, -3, 2),
    )
    query = tilt.compile(tilt.define("o", t, made))
    assert str(query).splitlines()[-3] == (
        '~o[t] = { p = split(lower(~x[t].a), "/", 1), '
        'q = concat(trim(~x[t].a), "-", upper(~x[t].b)), '
        "n = len(~x[t].a) + i64(substr(~x[t].b, 1)), r = substr(~x[t].a, -3, 2) }"
    )
    found = query.run(x=both(["A/Bc "], ["é7"])).to_arrow().to_pylist()
    assert found == [
        {"start": 0, "end": 1, "p": "bc ", "q": "A/Bc-É7", "n": 12, "r": "Bc"}
    ]

"""The grammar: no conflict, the paper's listings, and the traps of a language without
terminators."""

import logging
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from lark import Lark, logger

from tests.query_texts import (
    ALL,
    FIGURE_4,
    FIGURE_4_QUERY,
    SECTION_5_2,
    SECTION_5_2_QUERY,
    ascii_of,
)
from tiltpy.disk_store import DiskStore
from tiltpy.errors import QueryErrors
from tiltpy.frontend.parse import parse
from tiltpy.frontend.surface.names import RESERVED
from tiltpy.frontend.text.grammar import (
    STARTS,
    build_parser,
    grammar_text,
    load_tables,
    parser,
    save_tables,
    stored_parser,
)
from tiltpy.ir.nodes import (
    At,
    Binary,
    Cast,
    Const,
    Field,
    If,
    MakeStruct,
    Phi,
    Query,
    Reduce,
    Window,
)
from tiltpy.ir.print.query import format_expr
from tiltpy.lifetimes import Point
from tiltpy.types import BOOL, F64, I64, TDom


def body(text: str, head: str = "input m : i64\ninput x : f64\n") -> str:
    """Return how the last definition of a text reads, printed."""
    query = parse(head + text)
    return format_expr(query.definitions[-1].body, unit=query.unit)


def test_no_conflict_in_the_grammar(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger=logger.name)
    Lark(grammar_text(), parser="lalr", lexer="contextual", start=STARTS)
    assert not [r for r in caplog.records if "conflict" in r.getMessage().lower()]


def test_the_conflict_test_sees_conflicts(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger=logger.name)
    dangling = 'start: "x" | "if" start | "if" start "else" start'
    Lark(dangling, parser="lalr")
    assert [r for r in caplog.records if "conflict" in r.getMessage().lower()]


def test_the_parser_is_built_once() -> None:
    assert parser() is parser()


@pytest.mark.parametrize("write", [str, ascii_of])
def test_figure_4_as_printed(write: Callable[[str], str]) -> None:
    assert write(FIGURE_4) in write(FIGURE_4_QUERY)
    query = parse(write(FIGURE_4_QUERY))
    m, n, one = At("m", 0, I64), At("n", 0, I64), Const(1, I64)
    select, where, join, wsum = query.definitions
    assert (select.tdom, wsum.tdom) == (TDom(), TDom(precision=5))
    assert select.body == Binary("+", m, one, I64)
    even = Binary("%", m, Const(2, I64), I64)
    assert where.body == If(Binary("==", even, Const(0, I64), BOOL), m, Phi(I64))
    assert isinstance(join.body, If)
    assert join.body.then == Binary("+", m, n, I64)
    assert isinstance(wsum.body, Reduce)
    assert wsum.body.window == Window("m", -10, 0)
    assert query.outputs == ("select", "where", "join", "wsum")


@pytest.mark.parametrize("write", [str, ascii_of])
def test_section_5_2_as_printed(write: Callable[[str], str]) -> None:
    assert write(SECTION_5_2) in write(SECTION_5_2_QUERY)
    query = parse(write(SECTION_5_2_QUERY))
    assert query.unit == "d"
    (found,) = query.definitions
    assert found.type == F64
    assert format_expr(found.body, unit="d") == (
        "{ s10 = sum(~stock[t-10d : t]); s20 = sum(~stock[t-20d : t]); "
        "a10 = s10 / 10.0; a20 = s20 / 20.0; "
        "j = a10 != φ && a20 != φ ? a10 - a20 : φ; return j > 0.0 ? j : φ }"
    )


def test_unicode_and_ascii_are_the_same_query() -> None:
    for text in (FIGURE_4_QUERY, SECTION_5_2_QUERY):
        assert parse(text) == parse(ascii_of(text))


def test_keywords_match_whole_words() -> None:
    text = """
        inflow = TDom(-inf, inf, 2)
        ~phi2[inflow] = { phi2 = ~m[inflow]; infinite = phi2; reduced = infinite
                          return_ = reduced; iff = return_ return iff }
    """
    assert parse("input m : i64" + text).definitions[0].tdom == TDom(precision=2)


def test_names_may_end_in_primes() -> None:
    assert body("t'' = TDom(-∞, ∞, 3) ~m'[t''] = ~m[t''-1] - 1") == "~m[t-1] - 1"


@pytest.mark.parametrize(
    "word", sorted({"point", "time", "order", "duration", "max", "sampled", "by"})
)
def test_a_lifetime_keyword_does_not_eat_the_next_statement(word: str) -> None:
    query = parse(f"input m : i64\n{word} = TDom(-∞, ∞, 4)\n~o[{word}] = ~m[{word}]")
    assert query.inputs[0].lifetime is None
    assert query.definitions[0].tdom == TDom(precision=4)
    query = parse(
        f"input m : i64 time ts point # that was all\n{word} # a name\n"
        f"= TDom(-∞, ∞, 4)\n~o[{word}] = ~m[{word}]"
    )
    assert query.inputs[0].lifetime == Point()


@pytest.mark.parametrize("word", [*RESERVED, "point", "time", "start", "unit", "max"])
def test_reserved_words_are_legal_fields_columns_and_objects(word: str) -> None:
    query = parse(
        f"input {word} : {{ {word}: f64, b: i64 }} time {word} order {word}, b\n"
        f"~{word}'[t] = ~{word}[t].{word}\n"
        f"~s[t] = {{ {word} = ~{word}[t] with {{ {word} = 2 }} == φ, c = 1 }}.{word}\n"
    )
    assert query.inputs[0].time == query.inputs[0].order[0] == word
    first = query.definitions[0].body
    assert isinstance(first, Field)
    assert first.name == word


@pytest.mark.parametrize("word", RESERVED)
def test_reserved_words_are_no_names(word: str) -> None:
    for text in (
        f"{word} = TDom(-∞, ∞, 1)",
        f"param {word} : i64 = 1",
        f"~o[t] = {{ {word} = 1 return ~m[t] }}",
        f"~o[t] = sum(1 for {word} in ~m[t-1:t])",
    ):
        with pytest.raises(QueryErrors) as caught:
            parse("input m : i64\n" + text)
        assert caught.value.code == "E0005"


def test_blocks_and_structs_begin_alike() -> None:
    assert isinstance(parse("~s[t] = { a = t }").definitions[0].body, MakeStruct)
    assert body("~s[t] = { a = ~m[t] return a }") == "{ a = ~m[t]; return a }"
    assert body("~s[t] = { return ~m[t] }") == "~m[t]"
    assert body("~s[t] = { ; a = ~m[t];; return a ; }") == "{ a = ~m[t]; return a }"
    assert body("~s[t] = { a = ~m[t], b = 1, }") == "{ a = ~m[t], b = 1 }"


def test_statements_need_no_terminators() -> None:
    one = "unit s input m : i64 t = TDom(-∞,∞,1s) ~a[t] = ~m[t] ~b[t] = ~a[t] output ~b"
    more = one.replace(" ~b[t]", ";\n~b[t]").replace(" output", " ; ; output")
    assert parse(one) == parse(more)
    assert [d.name for d in parse(one).definitions] == ["a", "b"]


def test_an_expression_ends_where_the_next_definition_begins() -> None:
    query = parse("input m : i64\n~a[t] = ~m[t]\n~b[t] = ~m[t] -\n~m[t]\n~c[t]=1")
    assert len(query.definitions) == 3


def test_nested_conditionals_associate_to_the_right() -> None:
    assert body("~o[t] = ~m[t] > 0 ? 1 : ~m[t] > 1 ? 2 : 3") == (
        "~m[t] > 0 ? 1 : ~m[t] > 1 ? 2 : 3"
    )
    assert body("~o[t] = ~m[t] > 0 ? ~m[t] > 1 ? 2 : 3 : 1") == (
        "~m[t] > 0 ? (~m[t] > 1 ? 2 : 3) : 1"
    )


def test_precedence() -> None:
    assert body("~o[t] = -~m[t] + 2 * ~m[t] % 3 == 4 || !(~m[t] < 3) && true") == (
        "-~m[t] + 2 * ~m[t] % 3 == 4 || !(~m[t] < 3) && true"
    )
    assert body("~o[t] = (~m[t] - (2 - ~m[t])) - 3") == "~m[t] - (2 - ~m[t]) - 3"


def test_comprehensions() -> None:
    head = "input q : { price: f64, size: i64 }\n"
    text = "~o[t] = max(p * s for {price: p, size: s} in ~q[t-1:t] if s > 0)"
    assert body(text, head) == (
        "max(v.price * f64(v.size) for v in ~q[t-1 : t] if v.size > 0)"
    )
    assert body("~o[t] = sum(v + 1 for v in (~m[t-10:t]) if v > 0)") == (
        "sum(v + 1 for v in ~m[t-10 : t] if v > 0)"
    )
    text = "~o[t] = ⊕(max, ~q[t-1:t].price * f64(~q[t-1:t].size))"
    assert body(text, head) == "max(v.price * f64(v.size) for v in ~q[t-1 : t])"


@pytest.mark.parametrize(
    ("symbol", "name"),
    [("+", "sum"), ("*", "product"), ("<", "min"), (">", "max"), ("std", "std")],
)
def test_reductions_by_symbol_and_by_name(symbol: str, name: str) -> None:
    same = f"{name}(~m[t-2 : t])"
    assert body(f"~o[t] = ⊕({symbol}, ~m[t-2:t])") == same
    assert body(f"~o[t] = reduce ( {symbol} , ~m[t-2:t] )") == same
    assert body(f"~o[t] = {same}") == same


def test_the_bracket_of_a_call_stands_on_its_callees_line() -> None:
    assert body("~o[t] = sqrt (~x[t])") == "sqrt(~x[t])"
    with pytest.raises(QueryErrors, match="unexpected `\\(`"):
        parse("input x : f64\n~o[t] = sqrt\n(~x[t])")


def test_slice_bounds_hold_no_conditional() -> None:
    with pytest.raises(QueryErrors, match="unexpected `>`; expected `\\]`"):
        parse("input m : i64\n~o[t] = sum(~m[t > 1 ? t : t-1 : t])")


@pytest.mark.parametrize(
    ("text", "value"),
    [(".5", 0.5), ("1.", 1.0), ("1e3", 1e3), ("2.5E-3", 2.5e-3), ("007", 7)],
)
def test_number_literals(text: str, value: float) -> None:
    assert parse(f"~o[t] = {text}").definitions[0].body == Const(
        value, I64 if isinstance(value, int) else F64
    )


@pytest.mark.parametrize(
    ("text", "unit", "ticks"),
    [
        ("10s", "s", 10),
        ("0.1s", "ms", 100),
        (".5d", "h", 12),
        ("1h30m", "m", 90),
        ("1.5us", "ns", 1500),
        ("250ms", "ms", 250),
        ("1d", "d", 1),
        ("1d1ns", "ns", 86_400 * 10**9 + 1),
    ],
)
def test_duration_literals(text: str, unit: str, ticks: int) -> None:
    query = parse(f"input m : i64\n~o[t] = ~m[t-{text}]")
    assert query.unit == unit
    assert query.definitions[0].body == At("m", -ticks, I64)


def test_comments_and_quoted_names() -> None:
    query = parse(
        'input m : { "Adj Close": f64, "a\\"b\\\\": i64 } time "Trade Date" # and\n'
        '~o[t] = ~m[t]."Adj Close" # + 1\n~p[t] = { "x y" = 1 }\n'
    )
    assert query.inputs[0].time == "Trade Date"
    assert format_expr(query.definitions[0].body) == '~m[t]."Adj Close"'
    assert format_expr(query.definitions[1].body) == '{ "x y" = 1 }'


def test_a_cast_of_a_literal_is_a_typed_literal() -> None:
    for text, value in (("300", 127), ("-300", -128), ("nan", 0), ("-∞", -128)):
        query = parse(f"~o[t] = i8({text})")
        (const,) = (d.body for d in query.definitions)
        assert isinstance(const, Const)
        assert const.value == value
    assert isinstance(parse("input m:i64 ~o[t]=i8(~m[t])").definitions[0].body, Cast)


def test_every_word_of_the_grammar_is_reserved_or_soft() -> None:
    words = set(re.findall(r"^[A-Z_]+\.\d: /([a-z_]+)\(", grammar_text(), re.MULTILINE))
    soft = {"by", "time", "order", "point", "duration", "until_next", "max"}
    soft |= {"distinct", "since", "after", "within", "nearest", "row"}
    assert words - soft - {"sampled", "interval", "last"} <= set(RESERVED)


def test_objects_may_have_any_name() -> None:
    query: Query = parse("input ~output : i64\n~input[t] = ~output[t]\noutput input")
    assert query.outputs == ("input",)


def test_tables_are_kept_for_one_grammar(tmp_path: Path) -> None:
    small, store = (
        'start: "x"+\nexpr: "y"\nlifetime: "z"\n',
        DiskStore(tmp_path / "tables"),
    )
    for grammar, kept in ((small, 1), (small, 1), (small + "// another\n", 2)):
        parser = stored_parser(grammar, store)
        assert parser.parse("xx", start="start").data == "start"
        assert len(list(store.folder.iterdir())) == kept
    for entry in store.folder.iterdir():
        entry.write_bytes(entry.read_bytes()[:-1])
    assert stored_parser(small, store).parse("xx", start="start").data == "start"
    assert stored_parser(small, None).parse("xx", start="start").data == "start"


def test_kept_tables_parse_alike() -> None:
    grammar = grammar_text()
    kept = load_tables(save_tables(build_parser(grammar)))
    assert kept is not None
    built = build_parser(grammar)
    for text in ALL:
        tree = kept.parse(text, start="start")
        same = built.parse(text, start="start")
        assert tree == same
        assert [node.meta.end_pos for node in tree.iter_subtrees()] == [
            node.meta.end_pos for node in same.iter_subtrees()
        ]

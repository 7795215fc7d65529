"""The language reference: its examples are right, and everything there is has one."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest
from lark import Token, Tree

import tiltpy as tilt
from tests import ROOT
from tests.compare import assert_same
from tests.compiled import ARROW, snapshots
from tests.run_everywhere import SETTINGS, run_everywhere
from tests.semantics.reference_pages import PAGES, Claim, Example, examples, lost
from tests.semantics.reference_values import Row, by_key, events_of, write_value
from tiltpy.errors import QueryError, QueryErrors
from tiltpy.frontend.parse import parse
from tiltpy.frontend.surface.names import RESERVED
from tiltpy.frontend.text.grammar import parser
from tiltpy.inputs import BoundFrame
from tiltpy.interpreter.evaluate import Snapshot
from tiltpy.interpreter.keys import Key, interpret_by_key
from tiltpy.ir.nodes import (
    Call,
    DateComponent,
    Expr,
    Input,
    MatchString,
    Query,
    Reduce,
    StringCall,
)
from tiltpy.ir.print.query import format_query
from tiltpy.ir.traversal import walk
from tiltpy.ops import (
    DATE_COMPONENTS,
    FUNCTIONS,
    PRECEDENCE,
    REDUCTION_SYMBOLS,
    REDUCTIONS,
    STRING_FUNCTIONS,
    STRING_TESTS,
)
from tiltpy.runtime.results.output_table import OutputTable
from tiltpy.types import NANOSECONDS, SCALARS, Type, columns

RIGHT = [example for example in examples() if not example.errors]
WRONG = [example for example in examples() if example.errors]
OPERATORS = PRECEDENCE.keys() - {"?:", "unary", "postfix"} | REDUCTION_SYMBOLS.keys()
WORDS = {*RESERVED, *SCALARS, *NANOSECONDS, "∞", "⊕", "start", "end", "exists", "ddof"}
BY_RULES = {"def", "reduction"}
"""Words whose examples the rules of the grammar ask for, where it has them."""


# Every example is right


@pytest.mark.parametrize("example", RIGHT, ids=str)
def test_an_example_is_right(example: Example, *, deep: bool) -> None:
    """In one of the settings, or as a user's run: by turns, and deep in all."""
    query = parse(example.text)
    assert parse(format_query(query)) == query
    if not example.claims and not example.expected:
        return  # a text that only shows how it is written
    if any(declared.keys for declared in query.inputs):
        check_keys(example, query)
        return
    events = {
        declared.name: events_of(example.rows[declared.name], declared)
        for declared in query.inputs
    }
    start, end = example.domain
    turn = len(example.text) % 3
    settings = SETTINGS if deep else SETTINGS[turn : turn + 1]
    found = run_everywhere(query, events, start=start, end=end, settings=settings)
    for claim in example.claims:
        check_claim(claim, found["example"], query.type_of("example"))
    for name, rows in example.expected.items():
        payload = query.type_of(name)
        assert shown(found[name], payload) == shown(rows, payload), name
    if settings and not deep:
        return
    frames = {i.name: bound(i, example.rows[i.name]) for i in query.inputs}
    text = tilt.parse(example.text, options=tilt.CompileOptions(optimize=deep))
    result = text.run(start=start, end=end, **frames)  # type: ignore[arg-type]
    given = {name: snapshots(result[name]) for name in query.outputs}
    assert_same(given, found, query, exact=True)


@pytest.mark.parametrize("example", WRONG, ids=str)
def test_an_example_is_an_error(example: Example) -> None:
    with pytest.raises(QueryErrors) as caught:
        parse(example.text)
    found = [(line_of(error), error.code) for error in caught.value.errors]
    assert found == list(example.errors)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_example_is_overlooked(page: Path) -> None:
    assert lost(page) == []


def line_of(error: QueryError) -> int:
    return error.span.source.position(error.span.start)[0]


def check_claim(claim: Claim, found: Sequence[Snapshot], type: Type) -> None:
    value = next((s.value for s in found if s.start < claim.time <= s.end), None)
    if claim.about:
        digits = len(claim.value.partition(".")[2])
        assert isinstance(value, float)
        assert f"{value:.{digits}f}" == claim.value
    else:
        assert write_value(value, type) == claim.value
    assert claim.type in ("", str(type))


def check_keys(example: Example, query: Query) -> None:
    """An example with inputs by key: what it means, and what a run gives."""
    start, end = example.domain
    events = {
        declared.name: {
            key: events_of(rows, declared)
            for key, rows in by_key(example.rows[declared.name]).items()
        }
        for declared in query.inputs
    }
    meant = interpret_by_key(query, events, start=start, end=end)
    frames = {i.name: bound(i, example.rows[i.name]) for i in query.inputs}
    result = tilt.parse(example.text).run(start=start, end=end, **frames)  # type: ignore[arg-type]
    for name, rows in example.expected.items():
        payload = query.type_of(name)
        said = {key: shown(one, payload) for key, one in by_key(rows).items()}
        found = {key: shown(one, payload) for key, one in meant[name].items() if one}
        assert found == said
        given: dict[Key, list[Snapshot]] = {}
        for key, snapshot in zip(
            keys_of_rows(result[name]), snapshots(result[name]), strict=True
        ):
            given.setdefault(key, []).append(snapshot)
        assert {key: shown(one, payload) for key, one in given.items()} == said
        assert list(given) == list(said)


def keys_of_rows(output: OutputTable) -> list[Key]:
    """The key of each row of an output."""
    table = output.to_arrow()
    columns = [table[name].to_pylist() for name in output.keys]
    return [tuple(column[row] for column in columns) for row in range(len(table))]


def shown(found: Sequence[Snapshot] | Sequence[Row], type: Type) -> list[str]:
    return [f"{write_value(s.value, type)} over ({s.start}, {s.end}]" for s in found]


def bound(declared: Input, rows: Sequence[Row]) -> BoundFrame:
    """The rows of an input as a table whose columns are found without being told."""
    times = {declared.time or "time": pa.array([row.end for row in rows], pa.int64())}
    lifetime = None
    if all(row.start is not None for row in rows):
        starts = pa.array([row.start for row in rows], pa.int64())
        times = {"start": starts, "end": times.popitem()[1]}
        lifetime = tilt.interval("start", "end")
    values = {}
    for name, scalar in columns(declared.type):
        cells = [
            row.value[name] if isinstance(row.value, Mapping) else row.value
            for row in rows
        ]
        values[name or declared.name] = pa.array(cells, ARROW[scalar.name])
    for place, name in enumerate(declared.keys):
        values[name] = pa.array([row.key[place] for row in rows])
    return tilt.bind(pa.table(times | values), lifetime=lifetime)


# Everything has an example


def test_every_rule_of_the_grammar_has_an_example() -> None:
    rules = {
        rule.alias or rule.origin.name
        for rule in parser().rules
        if rule.alias or not (rule.options.expand1 or rule.origin.name.startswith("_"))
    }
    assert rules - used_rules() == set()


def test_every_word_has_an_example() -> None:
    assert (WORDS | OPERATORS) - BY_RULES - used_tokens() == set()


def test_every_function_has_an_example() -> None:
    used = {expr.function for expr in expressions() if isinstance(expr, Call)}
    assert FUNCTIONS.keys() - used == set()


def test_every_question_about_strings_has_an_example() -> None:
    used = {expr.test for expr in expressions() if isinstance(expr, MatchString)}
    assert set(STRING_TESTS) - used == set()


def test_every_function_of_strings_has_an_example() -> None:
    used = {expr.function for expr in expressions() if isinstance(expr, StringCall)}
    assert STRING_FUNCTIONS.keys() - used == set()


def test_every_component_of_a_date_has_an_example() -> None:
    used = {expr.component for expr in expressions() if isinstance(expr, DateComponent)}
    assert DATE_COMPONENTS.keys() - used == set()


def test_every_function_of_the_library_has_an_example() -> None:
    library = (ROOT / "grammar" / "std.tilt").read_text()
    assert (
        set(re.findall(r"^def (\w+)", library, re.MULTILINE)) - used_tokens() == set()
    )


def test_every_reduction_has_an_example() -> None:
    used = {expr.reduction for expr in expressions() if isinstance(expr, Reduce)}
    assert REDUCTIONS.keys() - used == set()


@cache
def expressions() -> tuple[Expr, ...]:
    definitions = (one for e in RIGHT for one in parse(e.text).definitions)
    return tuple(expr for one in definitions for expr in walk(one.body))


@cache
def used_rules() -> frozenset[str]:
    return frozenset(str(one.data) for tree in trees() for one in tree.iter_subtrees())


@cache
def used_tokens() -> frozenset[str]:
    found: set[str] = set()
    for tree in trees():
        for token in tree.scan_values(lambda value: isinstance(value, Token)):
            found.add(str(token))
            if token.type == "DURATION":
                found.add(token.lstrip("0123456789."))
    return frozenset(found)


@cache
def trees() -> tuple[Tree[Token], ...]:
    texts = (example.text for example in examples())
    return tuple(parser().parse(text, start="start") for text in texts)

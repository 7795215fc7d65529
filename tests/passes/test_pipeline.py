"""The passes together: golden texts, boundaries, and no snapshot that changes."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import GOLDEN
from tests.passes.cases import FUSED, defined, written
from tests.random.queries import Case, random_case
from tiltpy.errors import QueryError, TiltError
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import interpret
from tiltpy.ir.cuts import reads
from tiltpy.ir.nodes import (
    At,
    Expr,
    Query,
    TemporalExpr,
    Unary,
)
from tiltpy.ir.print.query import format_query
from tiltpy.ir.traversal import source_cuts
from tiltpy.limits import MAX_DEPTH
from tiltpy.passes.operation_count import count_least, count_operations
from tiltpy.passes.pipeline import PASS_NAMES, optimize
from tiltpy.passes.resolve_boundaries import boundary_of, inputs_of
from tiltpy.types import F64, Boundary, Reach, TDom

# Boundaries


def reach(back: int, ahead: int) -> Boundary:
    return Boundary(Reach(back), Reach(ahead))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("~o[t] = ~m[t]", {"m": (0, 0)}),
        ("~o[t] = ~m[t-3] + ~n[t+2]", {"m": (3, 0), "n": (0, 2)}),
        ("~o[t] = ~m[t-3] + ~m[t+2]", {"m": (3, 2)}),
        ("~o[t] = sum(~m[t-20:t])", {"m": (20, 0)}),
        ("~o[t] = sum(~m[t-20:t-5])", {"m": (20, 0)}),
        ("~o[t] = sum(~m[t+5:t+9])", {"m": (0, 9)}),
        ("~a[t] = sum(~m[t-20:t])  ~o[t] = ~a[t-1] + ~a[t+4]", {"m": (21, 4)}),
        ("u = TDom(-∞, ∞, 5)  ~o[u] = ~m[u]", {"m": (0, 4)}),
        ("u = TDom(-∞, ∞, 5)  ~o[u] = sum(~m[u-10:u-2])", {"m": (10, 2)}),
        ("u = TDom(-∞, ∞, 5)  ~a[u] = ~m[u+1]  ~o[t] = ~a[t-2]", {"m": (2, 3)}),
        ("~o[t] = 1 > 0 ? ~m[t] : ~m[t-9]", {"m": (9, 0)}),
        ("~o[t] = start(~s[t-4]) + t", {"s": (4, 0)}),
        ("~o[t] = t", {}),
    ],
)
def test_boundaries(text: str, expected: Mapping[str, tuple[int, int]]) -> None:
    query = replace(written(text), outputs=("o",))
    found = tuple((name, reach(*each)) for name, each in expected.items())
    assert boundary_of(query, "o") == found
    assert inputs_of(query, "o") == tuple(expected)
    unfused = frozenset(PASS_NAMES)
    assert optimize(query, unfused)[-1][1].boundaries == (("o", found),)


def test_fusion_tightens_boundaries() -> None:
    query = written("~a[t] = ~m[t+3]  ~o[t] = ~a[t-3]")
    assert boundary_of(query, "o") == (("m", reach(3, 0)),)
    assert optimize(query)[-1][1].boundaries == (("o", (("m", reach(0, 0)),)),)


@pytest.mark.parametrize("disabled", [frozenset[str](), frozenset(PASS_NAMES)])
def test_a_lookback_out_of_range_is_an_error(disabled: frozenset[str]) -> None:
    far = 2**58
    text = "\n".join(
        f"~a{i}[t] = ~{'m' if i == 0 else f'a{i - 1}'}[t{-far:+}]" for i in range(3)
    )
    with pytest.raises(QueryError) as raised:
        optimize(written(text), disabled)
    assert raised.value.code == "E0302"
    assert "looks back" in raised.value.message
    assert "~a2" in str(raised.value)


# All of them


def test_unknown_passes_cannot_be_disabled() -> None:
    with pytest.raises(TiltError, match="no pass inline"):
        optimize(written("~o[t] = ~m[t]"), frozenset({"inline"}))


def test_an_optimized_query_reads_only_what_it_has() -> None:
    for case in FUSED:
        query = optimize(written(case.text, disjoint=case.disjoint))[-1][1]
        known = {each.name for each in query.inputs} | set(defined(query))
        for definition in query.definitions:
            assert known.issuperset(reads(definition))


@pytest.mark.parametrize("disabled", [set(), {"fold_constants"}, set(PASS_NAMES)])
def test_bodies_do_not_shrink_below_what_is_counted(
    disabled: set[str], *, deep: bool
) -> None:
    disabled = disabled - {"fuse_operators"}
    for seed in range(2000 if deep else 24):
        random = Random(seed)  # noqa: S311 - tests, not secrets
        query = random_case(seed, exact=True).query
        if seed % 2:
            query = fusible(query, random)
        stages = dict(optimize(query, frozenset(disabled)))
        fused, made = stages["fuse_operators"], stages["resolve_boundaries"]
        for output in query.outputs:
            before, after = fused.definition(output), made.definition(output)
            assert before is not None
            assert after is not None
            assert count_least(fused, before) <= count_operations(after)


def test_deep_towers_of_names_do_not_exhaust_the_stack() -> None:
    value: Expr = At("n", 0, F64)
    for _ in range(MAX_DEPTH - 1):
        value = Unary("-", value, F64)
    definition = TemporalExpr("o", TDom(), value, source_cuts(value))
    query = replace(written("~o[t] = ~n[t]"), definitions=(definition,))
    assert optimize(query)[-1][1].definitions[0].type == F64


def disjoint_where_so(case: Case) -> Query:
    """The query with the facts about its streams that a kernel may rely on."""
    inputs = tuple(
        replace(
            each,
            disjoint=all(a.end <= b.start for a, b in pairwise(case.events[each.name])),
        )
        for each in case.query.inputs
    )
    return replace(case.query, inputs=inputs)


def fusible(query: Query, random: Random) -> Query:
    """The query over infinite domains on nested grids, with its last output alone."""
    precision, definitions = random.choice((1, 1, 2, 3)), []
    for definition in query.definitions:
        tdom = TDom(None, None, precision, random.randrange(precision))
        definitions.append(replace(definition, tdom=tdom))
        precision *= random.choice((1, 1, 1, 2)) if precision < 6 else 1
    outputs = query.outputs[-1:]
    return replace(query, definitions=tuple(definitions), outputs=outputs)


@given(st.integers(0, 2**32 - 1))
def test_passes_change_no_snapshot(seed: int) -> None:
    random = Random(seed)  # noqa: S311 - tests, not secrets
    case = random_case(
        seed, exact=random.random() < 0.5, specials=random.random() < 0.2
    )
    query = disjoint_where_so(case) if random.random() < 0.6 else case.query
    if random.random() < 0.6:
        query = fusible(query, random)
    disabled = frozenset(name for name in PASS_NAMES if random.random() < 0.2)
    domain = {"start": case.start, "end": case.end}
    expected = interpret(query, case.events, **domain, bounds=case.bounds)
    stages, text = optimize(query, disabled), repr(query)
    for name, stage in stages:
        if text == (text := repr(stage)):
            continue  # the pass changed nothing, not even the sign of a zero
        found = interpret(stage, case.events, **domain, bounds=case.bounds)
        assert {o: list(map(repr, rows)) for o, rows in found.items()} == {
            o: list(map(repr, rows)) for o, rows in expected.items()
        }, name
    for output in query.outputs:
        assert inputs_of(stages[-1][1], output) == inputs_of(query, output)


# Golden texts

CASES = sorted((GOLDEN / "passes").glob("*.tilt"))
SECTION = "#=== "
DISJOINT = "# no two events overlap"
"""A line of a golden query that says so of all its inputs."""


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_golden(path: Path, update_golden: bool) -> None:
    text = path.read_text("utf-8").split(SECTION)[0]
    query = parse(text)
    disjoint = DISJOINT in text.splitlines()
    inputs = tuple(replace(each, disjoint=disjoint) for each in query.inputs)
    found = text + "".join(_sections(replace(query, inputs=inputs)))
    if update_golden:
        path.write_text(found, "utf-8")
    assert path.read_text("utf-8") == found


def _sections(query: Query) -> Iterator[str]:
    """The query after each pass that changed it."""
    before = query
    for name, stage in optimize(query):
        if stage != before:
            yield f"{SECTION}{name}\n{format_query(stage, annotate=True)}"
        before = stage


def test_there_are_golden_texts() -> None:
    assert len(CASES) >= 8

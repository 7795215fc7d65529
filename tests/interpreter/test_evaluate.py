"""The interpreter held against itself: what must be true of every random query."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import get_args

import pytest

from tests.compare import assert_same, differences
from tests.random.queries import Case, random_case
from tiltpy.interpreter import scalars as numbers
from tiltpy.interpreter.evaluate import Event, Snapshot, interpret
from tiltpy.interpreter.scalars import Number
from tiltpy.ir.nodes import (
    At,
    Binary,
    Const,
    CutPoint,
    Exists,
    Expr,
    If,
    InlinedCut,
    Input,
    Phi,
    Query,
    TemporalExpr,
)
from tiltpy.ir.traversal import walk
from tiltpy.ir.verify.invariants import verify_source
from tiltpy.passes.pipeline import PASS_NAMES, optimize
from tiltpy.types import BOOL, F64, I64, Scalar, TDom

SEEDS = range(100)
WIDE = 40
"""Ticks by which a domain is widened to see what a narrower one cuts away."""


def meaning(
    case: Case, query: Query, start: int | None, end: int | None
) -> dict[str, list[Snapshot]]:
    return interpret(query, case.events, start=start, end=end, bounds=case.bounds)


def domain(case: Case) -> tuple[int, int]:
    """A domain for a case: the one it names, else about where its events are."""
    events = [e for rows in case.events.values() for e in rows]
    start = min((e.start for e in events), default=0)
    end = max((e.end for e in events), default=10)
    return (
        start if case.start is None else case.start,
        max(case.start or start, end if case.end is None else case.end),
    )


def cut(rows: list[Snapshot], start: int, end: int) -> list[Snapshot]:
    clipped = (Snapshot(max(s, start), min(e, end), value) for s, e, value in rows)
    return [snapshot for snapshot in clipped if snapshot.start < snapshot.end]


def test_random_queries_are_well_formed_and_the_same_for_a_seed() -> None:
    kinds = set()
    for seed in SEEDS:
        case = random_case(seed, exact=seed % 2 == 0, specials=seed % 3 == 0)
        verify_source(case.query)
        again = random_case(seed, exact=seed % 2 == 0, specials=seed % 3 == 0)
        assert repr(case) == repr(again)
        bodies = [node for d in case.query.definitions for node in walk(d.body)]
        kinds |= {type(node).__name__ for node in bodies}
    # Others draw these: random_open_case, random_calendar_cases, and TextWriter.
    elsewhere = {"ElementStart", "DateComponent", "StringCall"}
    never = {kind.__name__ for kind in get_args(Expr)} - kinds - elsewhere
    assert not never, f"some kinds of node never occur: {sorted(never)}"


@pytest.mark.parametrize("exact", [True, False])
def test_a_domain_only_cuts(exact: bool) -> None:
    for seed in SEEDS:
        case = random_case(seed, exact=exact, specials=True)
        start, end = domain(case)
        narrow = meaning(case, case.query, start, end)
        wide = meaning(case, case.query, start - WIDE, end + WIDE)
        expected = {name: cut(rows, start, end) for name, rows in wide.items()}
        assert_same(narrow, expected, case.query, exact=exact)


def test_reading_an_object_through_another_changes_nothing() -> None:
    for seed in SEEDS:
        case = random_case(seed, exact=True)
        start, end = domain(case)
        name = case.query.outputs[-1]
        body = At(name, 0, case.query.type_of(name))
        reader = TemporalExpr("same", TDom(), body, (CutPoint(name, 0),))
        definitions = (*case.query.definitions, reader)
        query = replace(case.query, definitions=definitions, outputs=("same",))
        expected = {"same": meaning(case, case.query, start, end)[name]}
        assert_same(meaning(case, query, start, end), expected, query, exact=True)


def test_what_was_read_through_has_one_gap() -> None:
    """`~w[t] = ~n[t] > 0 ? ~n[t] : φ` inlined into `~w[t] != φ ? ~w[t] : 0`."""
    seen = At("n", 0, I64)
    positive = Binary(">", seen, Const(0, I64), BOOL)
    inlined = If(positive, seen, Phi(I64))
    body = If(Exists(inlined, BOOL), inlined, Const(0, I64))
    cuts = (InlinedCut(inlined, (CutPoint("n", 0),)),)
    definition = TemporalExpr("z", TDom(), body, cuts)
    query = Query(None, (Input("n", I64),), (definition,), ("z",))
    events = [Event(i, i + 1, value) for i, value in enumerate((1, -1, -2, 3, 3))]
    found = interpret(query, {"n": events})["z"]
    assert found == [(0, 1, 1), (1, 3, 0), (3, 4, 3), (4, 5, 3)]


def careless(
    name: str, values: Sequence[Number], scalar: Scalar, ddof: int
) -> Number | None:
    """Reductions from the last element to the first, rounded at every step."""
    if not scalar.is_float or name in ("first", "last", "min", "max"):
        return EXACTLY(name, values, scalar, ddof)
    if name == "product":
        return reduce(lambda a, b: numbers.fit(a * b, scalar), reversed(values), 1.0)
    count = len(values)
    if name in ("sum", "mean"):
        total = reduce(lambda a, b: numbers.fit(a + b, scalar), reversed(values), 0.0)
        return numbers.fit(total / (count if name == "mean" else 1), scalar)
    if count <= ddof or len({repr(value) for value in values}) == 1:
        return EXACTLY(name, values, scalar, ddof)
    floats = [float(value) for value in values]
    if not all(map(math.isfinite, floats)):
        return EXACTLY(name, values, scalar, ddof)
    if name == "rms":
        return numbers.fit(math.sqrt(sum(x * x for x in floats) / count), scalar)
    mean = sum(floats) / count
    second, third, fourth = (
        sum((x - mean) ** order for x in floats) / count for order in (2, 3, 4)
    )
    variance = second * count / (count - ddof)
    results = {
        "var": variance,
        "std": math.sqrt(variance),
        "skew": third / second**1.5,
        "kurtosis": fourth / second**2 - 3,
    }
    return numbers.fit(results[name], scalar)


EXACTLY = numbers.reduce


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("specials", [True, False])
def test_no_case_depends_on_the_order_of_a_reduction(
    exact: bool, specials: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in SEEDS:
        case = random_case(seed, exact=exact, specials=specials)
        expected = meaning(case, case.query, case.start, case.end)
        with monkeypatch.context() as patch:
            patch.setattr(numbers, "reduce", careless)
            found = meaning(case, case.query, case.start, case.end)
        difference = differences(found, expected, case.query, exact=exact)
        assert not difference, f"seed {seed}: {difference}"


@pytest.mark.parametrize("exact", [True, False])
def test_passes_change_nothing(exact: bool) -> None:
    for seed in SEEDS:
        case = random_case(seed, exact=exact, specials=seed % 4 == 0)
        disabled = frozenset(n for i, n in enumerate(PASS_NAMES) if seed >> i & 5 == 5)
        expected = meaning(case, case.query, case.start, case.end)
        text = repr(case.query)
        for name, query in optimize(case.query, disabled):
            if text == (text := repr(query)):
                continue  # the pass changed nothing, not even the sign of a zero
            found = meaning(case, query, case.start, case.end)
            difference = differences(found, expected, case.query, exact=exact)
            assert not difference, f"seed {seed}, after {name}: {difference}"


def test_sums_beyond_all_doubles_are_infinite() -> None:
    most = 1.7e308
    assert numbers.reduce("sum", [-most, -most], F64, 0) == -math.inf
    assert numbers.reduce("sum", [most, most, -most], F64, 0) == most
    assert numbers.reduce("var", [most, -most, -most], F64, 0) == math.inf

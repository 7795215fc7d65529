"""Tests of what keys mean: worked by hand, and what holds for any query."""

import math
from dataclasses import replace
from random import Random

import pytest

from tests.random.queries import Case, random_case
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event, interpret
from tiltpy.interpreter.keys import Key, interpret_by_key, key_order, same_key
from tiltpy.ir.cuts import reads
from tiltpy.ir.identity import identity
from tiltpy.ir.keys import keys_of, output_keys
from tiltpy.ir.nodes import Input, Query
from tiltpy.ir.print.query import format_query
from tiltpy.ir.verify.invariants import verify_source
from tiltpy.passes.pipeline import PASS_NAMES, optimize

Rows = dict[Key, list[Event]]
A: Key = ("a",)
B: Key = ("b",)
C: Key = ("c",)
D: Key = ("d",)

QUERY = parse("""
    input x by k : i64
    input y by k : i64
    input r : i64
    ~sum[t] = sum(~x[t-2 : t])
    ~both[t] = ~x[t] + ~y[t]
    ~rated[t] = ~x[t] * ~r[t]
    ~else[t] = ~x[t] != φ ? 1 : ~r[t]
    ~plain[t] = -~r[t]
    output ~sum, ~both, ~rated, ~else, ~plain
""")
X: Rows = {
    B: [Event(0, 1, 7)],
    A: [Event(0, 1, 10), Event(2, 4, 20)],
    C: [],
}
Y: Rows = {A: [Event(0, 3, 1)], D: [Event(5, 6, 2)]}
R = [Event(0, 2, 2), Event(6, 7, 3)]


def test_each_key_has_an_object_of_its_own() -> None:
    found = interpret_by_key(QUERY, {"x": X, "y": Y, "r": R})
    assert found == {
        "sum": {
            A: [(0, 2, 10), (2, 4, 20)],
            B: [(0, 1, 7)],
        },
        "both": {A: [(0, 1, 11), (2, 3, 21)], B: [], D: []},
        "rated": {A: [(0, 1, 20)], B: [(0, 1, 14)]},
        "else": {
            A: [(0, 1, 1), (1, 2, 2), (2, 4, 1), (6, 7, 3)],
            B: [(0, 1, 1), (1, 2, 2), (6, 7, 3)],
        },
        "plain": {(): [(0, 2, -2), (6, 7, -3)]},
    }
    assert list(found["both"]) == [A, B, D]


def test_the_domain_is_that_of_the_key() -> None:
    query = parse("input x by k : i64\n~o[t] = count(~x[t-1 : t])")
    rows: Rows = {A: [Event(3, 5, 1)], B: [Event(0, 1, 1), Event(2, 3, 1)]}
    found = interpret_by_key(query, {"x": rows})
    assert found == {"o": {A: [(3, 5, 1)], B: [(0, 1, 1), (1, 2, 0), (2, 3, 1)]}}
    found = interpret_by_key(query, {"x": rows}, start=0, end=4)
    assert found["o"][A] == [(0, 3, 0), (3, 4, 1)]


def test_no_rows_no_keys() -> None:
    found = interpret_by_key(QUERY, {"x": {}, "y": {A: []}, "r": R}, start=0, end=9)
    assert found == {name: {} for name in QUERY.outputs} | {
        "plain": {(): [(0, 2, -2), (6, 7, -3)]}
    }


def test_keys_stand_in_order() -> None:
    values = [None, -math.inf, -1, 0.5, 2, math.nan]
    keys: list[Key] = [(one, other) for one in values for other in values]
    backwards = list(reversed(keys))
    assert sorted(backwards, key=key_order) == keys
    words: list[Key] = [(None,), ("",), ("Z",), ("a",), ("é",), ("\uffff",), ("😀",)]
    backwards = list(reversed(words))
    assert sorted(backwards, key=key_order) == words


def test_equal_keys_are_one() -> None:
    nan = float("nan")
    assert same_key((nan, -0.0, "a")) == same_key((-nan, 0.0, "a"))
    assert str(same_key((-0.0, True, 3, None))) == "(0.0, True, 3, None)"
    query = parse("input x by k : i64\n~o[t] = ~x[t]")
    found = interpret_by_key(query, {"x": {(nan,): [Event(0, 1, 5)]}})
    assert found == {"o": {(math.nan,): [(0, 1, 5)]}}


def test_objects_have_the_keys_of_what_they_refer_to() -> None:
    query = parse(
        "input a by k, l : i64\ninput b by m : i64\ninput c : i64\n"
        "~x[t] = { ~own[t] = ~a[t] return ~own[t-1] + ~c[t] }\n~y[t] = max(~b[t-2 : t])"
        "\n~z[t] = ~x[t] == φ ? 1 : t\n~u[t] = { v = ~a[t] return ~c[t] }\n"
        "output ~x, ~y, ~z, ~u"
    )
    keyed = {"x": ("k", "l"), "y": ("m",), "z": ("k", "l"), "u": ()}
    assert output_keys(query) == keyed
    assert keys_of(query, "a") == keys_of(query, "x_own") == ("k", "l")
    assert keys_of(query, "c") == ()
    for _, after in optimize(query, frozenset()):
        assert output_keys(after) == keyed


# Over random queries


def split(case: Case, random: Random) -> tuple[Query, dict[str, Rows]]:
    """Some inputs of a case split by key at random, the others with the one key."""
    inputs: list[Input] = []
    events: dict[str, Rows] = {}
    for one in case.query.inputs:
        keyed = random.random() < 0.7
        inputs.append(replace(one, keys=("k",) if keyed else ()))
        rows: Rows = {}
        for event in case.events[one.name]:
            key: Key = (random.choice((None, 1, 2)),) if keyed else ()
            rows.setdefault(key, []).append(event)
        events[one.name] = rows
    return replace(case.query, inputs=tuple(inputs)), events


@pytest.mark.few(25)
@pytest.mark.parametrize("seed", range(60))
def test_a_key_is_what_its_rows_are_alone(seed: int) -> None:
    """Removing the other keys' rows changes nothing, and neither does any pass."""
    case, random = random_case(seed, exact=True), Random(seed)  # noqa: S311
    query, events = split(case, random)
    given = {"start": case.start, "end": case.end, "bounds": case.bounds}
    found = interpret_by_key(query, events, **given)  # type: ignore[arg-type]
    disabled = frozenset(name for name in PASS_NAMES if random.random() < 0.3)
    _, after = optimize(query, disabled)[-1]
    assert repr(interpret_by_key(after, events, **given)) == repr(found)  # type: ignore[arg-type]
    for name, by_key in found.items():
        seen = inputs_of(query, name)
        for key, snapshots in by_key.items():
            alone = {
                one.name: events[one.name].get(key if one.keys else (), [])
                for one in query.inputs
            }
            meant = interpret(case.query, alone, **given)  # type: ignore[arg-type]
            assert repr(meant[name]) == repr(snapshots)
            keyed = [one.name for one in query.inputs if one.keys]
            assert key == () or any(alone[one] for one in keyed if one in seen)


def inputs_of(query: Query, name: str) -> set[str]:
    definition = query.definition(name)
    if definition is None:
        return {name}
    return {one for other in reads(definition) for one in inputs_of(query, other)}


# The query that gives back its inputs


def test_inputs_keep_their_keys() -> None:
    query = identity(
        parse(
            "input a by k : { k: i64, k': f64, s: { k: i64 } }\n"
            "input b by k : f64\ninput c : { k: i64 }\n~o[t] = ~a[t].k' + ~b[t]"
        )
    )
    verify_source(query)
    assert parse(format_query(query)) == query
    assert output_keys(query) == {"a'": ("k",), "b'": ("k",), "c'": ()}
    columns = {one.name: one.columns for one in query.definitions}
    assert columns == {"a'": ("k''", "k'", "s"), "b'": ("b'",), "c'": ("k",)}
    value = {"k": 1, "k'": None, "s": {"k": 5}}
    rows: Rows = {A: [Event(0, 2, value), Event(1, 3, value)]}
    seen = {"k''": 1, "k'": None, "s": {"k": 5}}
    assert interpret_by_key(query, {"a": rows, "b": {}, "c": []}) == {
        "a'": {A: [(0, 1, seen), (1, 3, seen)]},
        "b'": {},
        "c'": {(): []},
    }

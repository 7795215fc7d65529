"""Dataclasses as bytes: what was encoded is decoded, and whatever was done to the bytes
gives a value of the type or none."""

import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from random import Random
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

from tests.random.payloads import random_payload_case
from tests.random.queries import random_case
from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.abi.signature import Signature
from tiltpy.codegen.cache.codec import MalformedError, classes, codec
from tiltpy.codegen.machine_code import Effort, ObjectCode
from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.query_kernels import QueryKernels
from tiltpy.frontend.parse import parse
from tiltpy.frontend.text.grammar import build_parser, load_tables, save_tables
from tiltpy.ir.nodes import Const, Query
from tiltpy.ir.traversal import walk
from tiltpy.source import UNKNOWN
from tiltpy.types import BOOL, F64, I64, STRING, columns

QUERIES = 30
MUTATIONS = 2000
DEEPER = 200
OFF = CompileOptions(cache=False)


def random_values(count: int) -> Iterator[tuple[Any, object]]:
    """Return what compiling random queries keeps, and its types."""
    for seed in range(count):
        make = random_payload_case if seed % 3 == 0 else random_case
        query = make(seed, exact=True, specials=seed % 2 == 0).query
        layouts = {
            one.name: Layout(TimeLayout.OVERLAPPING, (True,) * len(columns(one.type)))
            for one in query.inputs
        }
        made = QueryKernels(query, layouts, OFF)
        yield query, Query
        yield made.query, Query
        yield made.sweep_code.signature, Signature | None


def test_what_was_encoded_is_decoded(*, deep: bool) -> None:
    for value, kind in random_values(QUERIES * (DEEPER if deep else 1)):
        decoded = codec(kind).decode(codec(kind).encode(value))
        assert decoded == value
        assert repr(decoded) == repr(value)  # of numbers the type and the sign, too


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, Signature | None),
        (b"", bytes),
        (bytes(range(256)), bytes),
        (ObjectCode(b"\0\xff code", Effort.LANES, {"optimize": 0.25}), ObjectCode),
        (Const(float("nan"), F64), Const),
        (Const(float("-inf"), F64), Const),
        (Const(-0.0, F64), Const),
        (Const(5e-324, F64), Const),
        (Const(2**64, I64), Const),
        (Const(1, I64), Const),
        (Const(True, BOOL), Const),
        (Const('"\0\n\ud800 φ 𝄞', STRING), Const),
    ],
)
def test_values_at_the_edges_are_decoded(value: object, kind: object) -> None:
    decoded = codec(kind).decode(codec(kind).encode(value))
    assert decoded == value
    assert repr(decoded) == repr(value)


def test_spans_are_left_out_and_shared_parts_stay_shared() -> None:
    query = parse("input x : f64\n~o[t] = ~x[t] + 1 > 2\n")
    assert query.definitions[0].span != UNKNOWN
    decoded = codec(Query).decode(codec(Query).encode(query))
    assert decoded.definitions[0].span == UNKNOWN
    twice = codec(tuple[Const, Const])
    first, second = twice.decode(twice.encode((Const(1, I64),) * 2))
    assert first is second


def test_spans_are_kept_where_they_are_asked_for() -> None:
    text = "input x : f64\n~o[t] = ~x[t] + 1 > 2\noutput ~o\n"
    query = parse(text, name="q.tilt")
    decoded = codec(Query).decode(codec(Query).encode(query, spans=True))
    assert decoded == query
    found, made = (
        [node.span for definition in each.definitions for node in walk(definition.body)]
        for each in (decoded, query)
    )
    assert found == made
    assert made[0].source.name == "q.tilt"
    assert decoded.definitions[0].span.render("here") == (
        query.definitions[0].span.render("here")
    )
    assert decoded.inputs[0].span == query.inputs[0].span != UNKNOWN


def fits(value: object, kind: Any) -> bool:
    """Return whether a value has a type, to the last field."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(fits(value, one) for one in parts)
    if origin is Literal:
        return value in parts
    if origin is dict:
        return type(value) is dict and all(fits(v, parts[1]) for v in value.values())
    if origin is tuple:
        if type(value) is not tuple:
            return False
        if parts[-1] is Ellipsis:
            return all(fits(one, parts[0]) for one in value)
        return len(value) == len(parts) and all(map(fits, value, parts))
    if type(value) is not (NoneType if kind is None else kind):
        return False
    if not is_dataclass(value):
        return True
    hints = get_type_hints(type(value))
    return all(fits(getattr(value, one.name), hints[one.name]) for one in fields(value))


def places(plain: Any) -> Iterator[tuple[Any, Any]]:
    """Each place in lists and dicts, with what holds it."""
    inside = (
        enumerate(plain)
        if isinstance(plain, list)
        else plain.items()
        if isinstance(plain, dict)
        else ()
    )
    for place, one in list(inside):
        yield plain, place
        yield from places(one)


ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, 7, -1, 10**30, 0.5, float("nan"), "", "f64", "Scalar", "φ",
    [], [0], [[0]], ["Scalar", "f64", "float", 64], ["Query"], {}, {"0": 0}, {"a": []},
)  # fmt: skip


def mutated(content: bytes, random: Random) -> bytes:
    """Make the same with a few bytes or values that are others."""
    if random.random() < 0.5:
        changed = bytearray(content)
        for _ in range(random.randint(1, 4)):
            place = random.randrange(len(changed) + 1)
            match random.randrange(3):
                case 0:
                    changed[place : place + 1] = random.randbytes(1)
                case 1:
                    changed[place : place + random.randint(1, 20)] = b""
                case _:
                    changed[place:place] = random.choice(
                        b'[]{},:"0123456789-.eN'
                    ).to_bytes()
        return bytes(changed)
    plain = json.loads(content)
    every = list(places(plain))
    for _ in range(random.randint(1, 3)):
        holder, place = random.choice(every)
        other, elsewhere = random.choice(every)
        holder[place] = random.choice((random.choice(ODD), other[elsewhere]))
    try:
        return json.dumps(plain).encode()
    except (ValueError, RecursionError):  # it holds itself
        return b"[" * 100_000


def test_mutations_are_malformed_or_of_the_type(*, deep: bool) -> None:
    random = Random(10)  # noqa: S311
    values = [*random_values(QUERIES // 3), (b"some code", bytes)]
    values.append((ObjectCode(b"code", Effort.FULL, {"optimize": 1.5}), ObjectCode))
    encoded = [
        (codec(kind).encode(value, spans=number % 2 == 0), kind)
        for number, (value, kind) in enumerate(values)
    ]
    accepted = 0
    for _ in range(MUTATIONS * (DEEPER if deep else 1)):
        content, kind = random.choice(encoded)
        try:
            decoded = codec(kind).decode(mutated(content, random))
        except MalformedError:
            continue
        accepted += 1
        assert fits(decoded, kind)
        repr(decoded)
    assert accepted


def test_the_classes_are_ours_and_frozen() -> None:
    for kind in (Query, Signature | None, ObjectCode):
        for one in classes(kind):
            assert one.__module__.startswith("tiltpy.")
            assert one.__dataclass_params__.frozen
            assert not issubclass(one, Enum)


def test_tables_that_are_none_make_no_parser(*, deep: bool) -> None:
    random = Random(11)  # noqa: S311
    tables = save_tables(
        build_parser('start: ("x" | A)+\nA: /a+/\nexpr: "y"\nlifetime: "z"\n')
    )
    loaded = load_tables(tables)
    assert loaded is not None
    assert loaded.parse("xaax", start="start").data == "start"
    assert load_tables(tables.replace(b'"regex":false', b'"regex":true')) is None
    for _ in range(MUTATIONS // 4 * (DEEPER if deep else 1)):
        load_tables(mutated(tables, random))

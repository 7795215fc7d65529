"""The query that returns its inputs."""

from collections.abc import Collection
from dataclasses import replace

from tiltpy.ir.nodes import (
    At,
    CutPoint,
    Exists,
    Expr,
    Field,
    If,
    Input,
    MakeStruct,
    Phi,
    Query,
    TemporalExpr,
)
from tiltpy.types import BOOL, Struct, TDom


def identity(query: Query) -> Query:
    """Make a query whose outputs are the inputs, each under its name and a prime.

    input stock by symbol : { symbol: string, price: f64 } until_next
    ~stock'[t] = ~stock[t] != φ ? { symbol' = ~stock[t].symbol, price = ... } : φ
    output ~stock'

    A field gets a prime only if it is called like a key.
    """
    taken = {declared.name for declared in query.inputs}
    definitions = []
    for declared in query.inputs:
        name = _add_prime(declared.name, taken)
        taken.add(name)
        cuts = (CutPoint(declared.name, 0),)
        definitions.append(TemporalExpr(name, TDom(), _payload(declared), cuts))
    return replace(
        query,
        definitions=tuple(definitions),
        outputs=tuple(definition.name for definition in definitions),
        boundaries=(),
    )


def _payload(declared: Input) -> Expr:
    """Read the payload of an input, with fields that are not called like its keys."""
    whole = At(declared.name, 0, declared.type)
    if not isinstance(declared.type, Struct):
        return whole
    names = [name for name, _ in declared.type.fields]
    if not set(names).intersection(declared.keys):
        return whole
    fields = tuple(Field(whole, name, of) for name, of in declared.type.fields)
    others = {*names, *declared.keys}
    shown = [_add_prime(n, others) if n in declared.keys else n for n in names]
    payload = Struct(tuple((n, f.type) for n, f in zip(shown, fields, strict=True)))
    return If(Exists(whole, BOOL), MakeStruct(fields, payload), Phi(payload))


def _add_prime(name: str, taken: Collection[str]) -> str:
    name += "'"
    while name in taken:
        name += "'"
    return name

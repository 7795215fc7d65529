"""The query that gives back its inputs."""

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
    """The inputs of a query, each under its name and a prime, are the outputs.

    input stock by symbol : { symbol: string, price: f64 } until_next
    ~stock'[t] = ~stock[t] != φ ? { symbol' = ~stock[t].symbol, price = ... } : φ
    output ~stock'

    A field gets a prime only if it is called like a key.
    """
    taken = {one.name for one in query.inputs}
    definitions = []
    for one in query.inputs:
        name = _primed(one.name, taken)
        taken.add(name)
        cuts = (CutPoint(one.name, 0),)
        definitions.append(TemporalExpr(name, TDom(), _seen(one), cuts))
    return replace(
        query,
        definitions=tuple(definitions),
        outputs=tuple(definition.name for definition in definitions),
        boundaries=(),
    )


def _seen(declared: Input) -> Expr:
    """The payload of an input, whose fields are not called like its keys."""
    whole = At(declared.name, 0, declared.type)
    if not isinstance(declared.type, Struct):
        return whole
    names = [name for name, _ in declared.type.fields]
    if not set(names).intersection(declared.keys):
        return whole
    fields = tuple(Field(whole, name, of) for name, of in declared.type.fields)
    others = {*names, *declared.keys}
    shown = [_primed(n, others) if n in declared.keys else n for n in names]
    payload = Struct(tuple((n, f.type) for n, f in zip(shown, fields, strict=True)))
    return If(Exists(whole, BOOL), MakeStruct(fields, payload), Phi(payload))


def _primed(name: str, taken: Collection[str]) -> str:
    name += "'"
    while name in taken:
        name += "'"
    return name

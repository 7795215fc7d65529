"""Dead store elimination: statements that write arrays which nobody reads."""

from collections.abc import Collection, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace

from tiltpy.loops.accesses import find_accesses, walk_statements
from tiltpy.loops.nodes import (
    Array,
    Branch,
    Choose,
    For,
    Pack,
    Pour,
    Prefetch,
    Stmt,
    Store,
    While,
)

Body = tuple[Stmt, ...]


def drop_dead_stores(body: Body, private: Collection[Array]) -> Body:
    """Drop all that writes those of the `private` arrays which no statement reads.

    Nothing outside of the body may read the private ones.
    """
    chosen = {
        array
        for each in walk_statements(body)
        if isinstance(each, Choose)
        for array in (each.then, each.otherwise)
    }
    dead = frozenset(private) - find_accesses(body).reads - chosen
    return tuple(_without(body, dead)) if dead else body


def _without(body: Body, dead: AbstractSet[Array]) -> Iterator[Stmt]:
    """Yield what does not write the arrays, and branches and loops that do more."""
    for each in body:
        match each:
            case Store() | Pack() | Pour() | Prefetch():
                if each.array not in dead:
                    yield each
            case While(head=head, body=inner):
                parts = tuple(_without(inner, dead)), tuple(_without(head, dead))
                yield replace(each, body=parts[0], head=parts[1])
            case For(body=inner):
                inner = tuple(_without(inner, dead))
                if inner:
                    yield replace(each, body=inner)
            case Branch(then=then, otherwise=otherwise):
                then, otherwise = (
                    tuple(_without(then, dead)),
                    tuple(_without(otherwise, dead)),
                )
                if then or otherwise:
                    yield replace(each, then=then, otherwise=otherwise)
            case _:
                yield each

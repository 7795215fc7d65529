"""Drop what no output needs: unused names, definitions and reductions.

Before:

    ~spare[t] = ~m[t] * 2
    ~o[t] = { unused = ~m[t] + 1
              return ~m[t] }
    output ~o

After:

    ~o[t] = ~m[t]
    output ~o

What cuts an output's snapshots is needed, even where its values are not. Inputs stay:
they are the query's signature.
"""

from dataclasses import replace

from tiltpy.ir.cuts import expressions, map_definition, reads
from tiltpy.ir.nodes import Query, Reduce, TemporalExpr, UserReduction
from tiltpy.ir.traversal import drop_unused, walk


def eliminate_dead(query: Query) -> Query:
    """The query without unused names and definitions."""
    definitions = tuple(drop_names(each) for each in query.definitions)
    return drop_definitions(replace(query, definitions=definitions))


def drop_names(definition: TemporalExpr) -> TemporalExpr:
    """A definition without the names that its result and its cuts do not use."""
    return map_definition(definition, drop_unused)


def drop_definitions(query: Query) -> Query:
    """The query without the definitions that no output reads, through others too."""
    needed = set(query.outputs)
    for definition in reversed(query.definitions):
        if definition.name in needed:
            needed.update(reads(definition))
    kept = tuple(each for each in query.definitions if each.name in needed)
    return replace(query, definitions=kept, reductions=_used(query.reductions, kept))


def _used(
    reductions: tuple[UserReduction, ...], definitions: tuple[TemporalExpr, ...]
) -> tuple[UserReduction, ...]:
    """The query's own reductions that some definition reduces with."""
    used = {
        node.reduction
        for definition in definitions
        for expr in expressions(definition)
        for node in walk(expr)
        if isinstance(node, Reduce)
    }
    return tuple(each for each in reductions if each.name in used)

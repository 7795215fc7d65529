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
    """Drop unused names and definitions."""
    definitions = tuple(drop_names(each) for each in query.definitions)
    return drop_definitions(replace(query, definitions=definitions))


def drop_names(definition: TemporalExpr) -> TemporalExpr:
    """Drop the names that a definition's result and cuts do not use."""
    return map_definition(definition, drop_unused)


def drop_definitions(query: Query) -> Query:
    """Drop the definitions that no output reads, directly or through others."""
    needed = set(query.outputs)
    for definition in reversed(query.definitions):
        if definition.name in needed:
            needed.update(reads(definition))
    live = tuple(each for each in query.definitions if each.name in needed)
    reductions = _live_reductions(query.reductions, live)
    return replace(query, definitions=live, reductions=reductions)


def _live_reductions(
    reductions: tuple[UserReduction, ...], definitions: tuple[TemporalExpr, ...]
) -> tuple[UserReduction, ...]:
    """Select the user-defined reductions that some definition uses."""
    used = {
        node.reduction
        for definition in definitions
        for expr in expressions(definition)
        for node in walk(expr)
        if isinstance(node, Reduce)
    }
    return tuple(each for each in reductions if each.name in used)

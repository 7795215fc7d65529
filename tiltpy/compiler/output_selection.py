"""Queries of some of a query's outputs."""

from dataclasses import replace

from tiltpy.ir.cuts import reads
from tiltpy.ir.keys import output_keys
from tiltpy.ir.nodes import Query
from tiltpy.passes.eliminate_dead import drop_definitions


def split_by_keys(query: Query) -> tuple[Query, ...]:
    """Make a query for each set of key columns of outputs, in order of the outputs.

    Where keys differ, no loop can compute the outputs together.
    """
    if not any(declared.keys for declared in query.inputs):
        return (query,)
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, keys in output_keys(query).items():
        groups.setdefault(keys, []).append(name)
    return tuple(select_outputs(query, tuple(names)) for names in groups.values())


def select_outputs(query: Query, outputs: tuple[str, ...]) -> Query:
    """Drop the other outputs, and the definitions and inputs that only they need."""
    selected = drop_definitions(replace(query, outputs=outputs))
    read = {name for definition in selected.definitions for name in reads(definition)}
    inputs = tuple(declared for declared in selected.inputs if declared.name in read)
    return replace(selected, inputs=inputs)


def drop_unused_inputs(query: Query) -> Query:
    """Drop the inputs that no output needs, and the definitions that only read them.

    Where no output needs any, all stay: when there are rows says where results are.
    """
    needed = select_outputs(query, query.outputs)
    return needed if 0 < len(needed.inputs) < len(query.inputs) else query

"""Keys: which columns split an object's rows into one temporal object for each key.

An input declares its key columns. An object derived from it has the same, since keyed
objects meet only those of the same keys, key by key, and unkeyed ones, which every key
sees. What an object refers to is what cuts its snapshots, so no pass changes its keys.
"""

from collections.abc import Iterable, Mapping, Sequence

from tiltpy.ir.cuts import reads
from tiltpy.ir.nodes import Input, Query, TemporalExpr

Keys = tuple[str, ...]
"""The key columns of an object, in order; none for an unkeyed one."""

KEY_STARTS = "key.starts"
"""The input that has a true row before the rows of each key; no query can name it."""


def keys_of(query: Query, name: str) -> Keys:
    """Return the key columns of an input or a definition."""
    return object_keys(query.inputs, query.definitions)[name]


def output_keys(query: Query) -> dict[str, Keys]:
    """Return the key columns of each output, in the order of the outputs."""
    known = object_keys(query.inputs, query.definitions)
    return {name: known[name] for name in query.outputs}


def object_keys(
    inputs: Iterable[Input], definitions: Sequence[TemporalExpr]
) -> dict[str, Keys]:
    """Derive the keys of every object; definitions stand after those they refer to."""
    known = {declared.name: declared.keys for declared in inputs}
    for definition in definitions:
        known[definition.name] = definition_keys(definition, known)
    return known


def definition_keys(definition: TemporalExpr, known: Mapping[str, Keys]) -> Keys:
    """Derive the key columns of a definition over objects whose keys are known."""
    joined = {keys for name in reads(definition) if (keys := known[name])}
    assert len(joined) < 2, f"~{definition.name} joins the keys {sorted(joined)}"
    return joined.pop() if joined else ()


def format_keys(keys: Keys) -> str:
    """Format key columns as messages name them."""
    return ", ".join(f"`{key}`" for key in keys)

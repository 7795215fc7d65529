"""The meaning of a query over inputs by key: for each key, that of its rows.

Added here are the keys that an output has, and their order: the rest is `interpret`,
called once for every key.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tiltpy.interpreter.evaluate import Event, Snapshot, interpret
from tiltpy.ir.cuts import reads
from tiltpy.ir.keys import keys_of
from tiltpy.ir.nodes import Query

Key = tuple[object, ...]
"""A value for each key column; `()` is the one key of what has no key columns."""
ByKey = Mapping[Key, Sequence[Event]]


def interpret_by_key(
    query: Query,
    events: Mapping[str, ByKey | Sequence[Event]],
    *,
    start: int | None = None,
    end: int | None = None,
    bounds: Mapping[str, int] | None = None,
) -> dict[str, dict[Key, list[Snapshot]]]:
    """Compute the snapshots of every output for each of its keys, in order of key.

    An input has its events by key, or just its events if it has no key columns; so has
    an output without key columns the one key `()`. The keys of another are those with
    an event in one of the inputs by key that it refers to. Each sees that key's rows
    and all rows of inputs without key; its domain is theirs too.
    """
    by_key = {name: _by_key(rows) for name, rows in events.items()}
    snapshots: dict[str, dict[Key, list[Snapshot]]] = {}
    for name in query.outputs:
        alone = replace(query, outputs=(name,))
        snapshots[name] = {}
        for key in _keys_of_output(query, name, by_key):
            rows = {
                each.name: by_key[each.name].get(key if each.keys else (), ())
                for each in query.inputs
                if each.name in by_key
            }
            meant = interpret(alone, rows, start=start, end=end, bounds=bounds)
            snapshots[name][key] = meant[name]
    return snapshots


def _keys_of_output(
    query: Query, name: str, events: Mapping[str, ByKey]
) -> Sequence[Key]:
    if not keys_of(query, name):
        return [()]
    keyed = {each.name for each in query.inputs if each.keys}.intersection(events)
    keys = {
        key
        for input_name in keyed.intersection(_inputs_of(query, name))
        for key, rows in events[input_name].items()
        if rows
    }
    return sorted(keys, key=key_order)


def _inputs_of(query: Query, name: str) -> Iterator[str]:
    """Collect the inputs that an object refers to, through others too."""
    definition = query.definition(name)
    if definition is None:
        yield name
        return
    for other in reads(definition):
        yield from _inputs_of(query, other)


def key_order(key: Key) -> tuple[object, ...]:
    """Make the sort key of a key: nulls first, strings by UTF-8 bytes, NaN last."""
    return tuple(_sort_key(value) for value in key)


def same_key(key: Key) -> Key:
    """Return the key, or the one that stands for all that are equal to it.

    All NaNs are one key, and both zeros are one.
    """
    return tuple(_normalize(value) for value in key)


def _sort_key(value: object) -> tuple[bool, bool, object]:
    if value is None:
        return False, False, 0
    if isinstance(value, float) and math.isnan(value):
        return True, True, 0
    return True, False, value.encode() if isinstance(value, str) else value


def _normalize(value: object) -> object:
    if isinstance(value, float):
        return math.nan if math.isnan(value) else value + 0.0
    return value


def _by_key(events: ByKey | Sequence[Event]) -> ByKey:
    if not isinstance(events, Mapping):
        return {(): events}
    canonical = {same_key(key): rows for key, rows in events.items()}
    assert len(canonical) == len(events), "rows of one key are given under two"
    return canonical

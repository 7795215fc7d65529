"""Objects whose snapshots depend on where others are joined by value.

Neighbours of a distinct object are one snapshot if their values are alike. So whether
one goes on is open until the next value is known, and so it is of all that reads it.
"""

from tiltpy.ir.cuts import reads
from tiltpy.ir.nodes import Query


def joined_by_value(query: Query) -> frozenset[str]:
    """Find the distinct objects, and those that depend on any."""
    names: set[str] = set()
    for definition in query.definitions:
        if definition.distinct or names.intersection(reads(definition)):
            names.add(definition.name)
    return frozenset(names)

"""Comparing what an engine found with what a query means, snapshot by snapshot."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from tiltpy.interpreter.evaluate import Snapshot, Value
from tiltpy.interpreter.scalars import Atom
from tiltpy.ir.nodes import At, Call, Query, Reduce
from tiltpy.ir.print.query import format_query
from tiltpy.ir.reductions import clauses
from tiltpy.ir.traversal import walk
from tiltpy.ops import FUNCTIONS, REDUCTIONS
from tiltpy.types import F32, Scalar, columns

ROUGH_REDUCTIONS = frozenset(r.name for r in REDUCTIONS.values() if not r.exact)
"""Reductions that round on the way, even over small multiples of 1/8."""
LIBRARY_FUNCTIONS = frozenset(f.name for f in FUNCTIONS.values() if not f.exact)
"""Functions whose last bit is the library's."""

TOLERANCE = {True: 1e-4, False: 1e-9}
"""By whether the type is `f32`; of the greatest magnitude in the column."""


def assert_same(
    found: Mapping[str, Sequence[Snapshot]],
    expected: Mapping[str, Sequence[Snapshot]],
    query: Query,
    *,
    exact: bool,
) -> None:
    """Check that outputs, snapshots and values are the same.

    With `exact`, values agree to the bit (NaN is NaN, -0.0 is not 0.0) but where an
    output depends on something that rounds (`is_rough`); else floats agree to a
    tolerance.
    """
    text = differences(found, expected, query, exact=exact)
    assert not text, f"{text}\n{format_query(query)}"


def differences(
    found: Mapping[str, Sequence[Snapshot]],
    expected: Mapping[str, Sequence[Snapshot]],
    query: Query,
    *,
    exact: bool,
) -> str:
    """The first difference of each output, a line each; empty if there is none."""
    assert set(found) == set(expected) == set(query.outputs)
    lines = {
        name: first_difference(found[name], expected[name], query, name, exact=exact)
        for name in query.outputs
    }
    return "\n".join(f"~{name}: {line}" for name, line in lines.items() if line)


def first_difference(
    found: Sequence[Snapshot],
    expected: Sequence[Snapshot],
    query: Query,
    name: str,
    *,
    exact: bool,
) -> str | None:
    """Return what differs first between two lists of snapshots, or None."""
    for i, (one, other) in enumerate(zip(found, expected, strict=False)):
        if one[:2] != other[:2]:
            return f"snapshot {i} is {one}, expected {other}"
    if len(found) != len(expected):
        more, which = (found, "a") if len(found) > len(expected) else (expected, "no")
        extra = more[min(len(found), len(expected))]
        counts = f"{len(found)} snapshots, expected {len(expected)}"
        return f"{counts}: {which} snapshot {extra}"
    by_bits = exact and not is_rough(query, name)
    for column, scalar in columns(query.type_of(name)):
        ours = [payload_column(s.value, column) for s in found]
        theirs = [payload_column(s.value, column) for s in expected]
        within = 0.0 if by_bits or not scalar.is_float else tolerance(scalar, theirs)
        for i, (x, y) in enumerate(zip(ours, theirs, strict=True)):
            if not same_number(x, y, within):
                what = f"{found[i]}, expected {expected[i]}"
                return f"snapshot {i} is {what} (tolerance {within:g})"
    return None


def payload_column(value: Value | None, name: str) -> Atom | None:
    if not isinstance(value, Mapping):
        return value
    if name in value:  # of a struct in a struct: whether it is there
        found: Value | None = value[name]
        return True if isinstance(found, Mapping) else found
    outer, _, inner = name.partition(".")
    return None if value[outer] is None else payload_column(value[outer], inner)


def tolerance(scalar: Scalar, values: Sequence[Atom | None]) -> float:
    """Return the tolerance of a column: relative to its greatest magnitude, or 10."""
    finite = [abs(v) for v in values if isinstance(v, float) and math.isfinite(v)]
    return TOLERANCE[scalar == F32] * max([10.0, *finite])


def same_number(one: Atom | None, other: Atom | None, within: float) -> bool:
    """Equal to the bit, or both floats and near."""
    if one is None or other is None or type(one) is not type(other):
        return one is other
    if not isinstance(one, float) or not isinstance(other, float):
        return one == other
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    if one == other:
        return within > 0 or math.copysign(1, one) == math.copysign(1, other)
    return abs(one - other) <= within


def _divides(node: Reduce) -> bool:
    """Test whether the elements that are added up are rounded, as they see a mean."""
    seen = (inner for inner in walk(node.element) if isinstance(inner, Reduce))
    return any(inner.reduction == "mean" for inner in seen)


def is_rough(query: Query, name: str) -> bool:
    """Tell whether an object depends on what rounds differently by engine."""
    definition = query.definition(name)
    if definition is None:
        return False
    nodes = list(walk(definition.body))
    used = {node.reduction for node in nodes if isinstance(node, Reduce)}
    own = (reduction for reduction in query.reductions if reduction.name in used)
    inside = (node for each in own for _, c in clauses(each) for node in walk(c))
    return any(
        (
            isinstance(node, Reduce)
            and (node.reduction in ROUGH_REDUCTIONS or _divides(node))
        )
        or (isinstance(node, Call) and node.function in LIBRARY_FUNCTIONS)
        for node in chain(nodes, inside)
    ) or any(is_rough(query, other) for other in _objects(nodes))


def _objects(nodes: Sequence[object]) -> Iterator[str]:
    for node in nodes:
        match node:
            case At():
                yield node.object
            case Reduce():
                yield node.window.object
            case _:
                pass

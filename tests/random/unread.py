"""Random cases with values that nothing reads, but that still cut.

Any generator's case may have such values: some parts of its definitions become branches
that are never taken. Once constants are folded, only the cuts refer to what they see.
"""

from dataclasses import replace
from random import Random

from tests.random.queries import Case
from tiltpy.ir.nodes import Binary, Const, Expr, If, Phi, Query, Reduce
from tiltpy.ir.traversal import rewrite, source_cuts
from tiltpy.types import BOOL, Scalar

SHARE = 0.1
"""The probability that a part is not read; that of a reduction is three times it."""


def with_unread_values(case: Case, seed: int) -> Case:
    """Make some parts of a case's definitions branches that are never taken."""
    return replace(case, query=unread_query(case.query, seed))


def unread_query(query: Query, seed: int) -> Query:
    """Make some parts of the definitions branches that are never taken."""
    random = Random(f"unread {seed}")  # noqa: S311 - tests, not secrets

    def rule(part: Expr) -> Expr:
        share = 3 * SHARE if isinstance(part, Reduce) else SHARE
        plain = isinstance(part, Const | Phi) or not isinstance(part.type, Scalar)
        if plain or random.random() >= share:
            return part
        return _hide(random, part)

    definitions = []
    for made in query.definitions:
        body = rewrite(made.body, rule)
        definitions.append(replace(made, body=body, cuts=source_cuts(body)))
    return replace(query, definitions=tuple(definitions))


def _hide(random: Random, part: Expr) -> Expr:
    """Leave a part in place where its value does not matter."""
    assert isinstance(part.type, Scalar)
    if part.type == BOOL and random.random() < 0.3:
        return Binary("||", part, Const(True, BOOL), BOOL)
    never, always = Const(False, BOOL), Const(True, BOOL)
    other = Phi(part.type) if random.random() < 0.3 else _constant(part.type)
    if random.random() < 0.5:
        return If(never, part, other)
    return If(always, other, part)


def _constant(scalar: Scalar) -> Const:
    if scalar.name == "string":
        return Const("a", scalar)
    if scalar == BOOL:
        return Const(True, scalar)
    return Const(1.0 if scalar.is_float else 1, scalar)

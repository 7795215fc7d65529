"""Random queries that look very far around themselves, and how to know what they mean.

Some references of a random query are moved by a multiple of a *stride*, and some ends
of windows. A stride is longer than all that happens, so that the rows, and what is
made of them, look the same from as far away whatever the stride: the interpreter takes
a small one, machine code takes a huge one.
"""

from dataclasses import dataclass, replace
from math import lcm
from random import Random

from tests.random.queries import Case, random_case
from tiltpy.ir.cuts import leaf_cuts
from tiltpy.ir.nodes import At, CutTime, Expr, Query, Reduce, TemporalExpr
from tiltpy.ir.traversal import rewrite, source_cuts, walk

HUGE = (10**7, 2**31, 2**40, 2**55)
"""Strides of machine code, about."""
SMALL = 400
"""That of the interpreter, about: more than the extents of the rows and all that a
query looks around, before references are moved."""
FARTHEST = 2
"""Strides by which a reference is moved, at most; several objects add them up."""

MOST_OBJECTS = 3
"""That look around one after the other: the interpreter walks all of it."""

Move = tuple[int, int]
"""By how many strides the ends of a reference are moved."""


@dataclass(frozen=True, slots=True)
class FarCase:
    """A random case, the strides by which its references are moved, and both strides.

    `moves` are counted in the order in which the references are met.
    """

    case: Case
    moves: tuple[Move, ...]
    small: int
    huge: int

    def with_stride(self, stride: int) -> Case:
        """The case with references moved by multiples of a stride."""
        moves = iter(self.moves)

        def rule(node: Expr) -> Expr:
            match node:
                case At():
                    return replace(node, offset=node.offset + next(moves)[0] * stride)
                case Reduce(window=window):
                    low, high = next(moves)
                    start = window.start + low * stride
                    end = window.end + high * stride
                    return replace(node, window=replace(window, start=start, end=end))
                case _:
                    return node

        definitions = tuple(
            _with_body(one, rewrite(one.body, rule))
            for one in self.case.query.definitions
        )
        return replace(
            self.case, query=replace(self.case.query, definitions=definitions)
        )


def _with_body(definition: TemporalExpr, body: Expr) -> TemporalExpr:
    return replace(definition, body=body, cuts=source_cuts(body))


def random_far_case(seed: int) -> FarCase | None:
    """A case whose references look far; None where a query visits all cells anyway."""
    case = random_case(seed, exact=True)
    if len(case.query.definitions) > MOST_OBJECTS or not _is_sparse(case.query):
        return None
    random = Random(f"far {seed}")  # noqa: S311 - tests, not secrets
    step = lcm(*(one.tdom.precision for one in case.query.definitions))
    moves = tuple(
        _move(random, node)
        for definition in case.query.definitions
        for node in _references(definition.body)
    )
    huge = random.choice(HUGE)
    return FarCase(case, moves, -(-SMALL // step) * step, huge // step * step)


def _references(body: Expr) -> list[At | Reduce]:
    """The references of a body, in the order in which they are rewritten."""
    found: list[At | Reduce] = []

    def rule(node: Expr) -> Expr:
        if isinstance(node, At | Reduce):
            found.append(node)
        return node

    rewrite(body, rule)
    return found


def _move(random: Random, node: At | Reduce) -> Move:
    """By how many strides to move a reference; windows keep their order."""
    if random.random() < 0.4:
        return 0, 0
    if isinstance(node, At):
        far = random.choice((-FARTHEST, -1, 1))
        return far, far
    low = random.choice((-FARTHEST, -1, -1, 0))
    return low, random.choice([far for far in (-1, 0, 0, 1) if far >= low])


def _is_sparse(query: Query) -> bool:
    """Tell whether no object has a snapshot in each cell, and none a bound in time."""
    for definition in query.definitions:
        cuts = list(leaf_cuts(definition.cuts))
        if any(isinstance(cut, CutTime) for cut in cuts):
            return False
        if any(isinstance(n, Reduce) and n.bounds for n in walk(definition.body)):
            return False
        if not definition.tdom.is_infinite:
            return False
    return True

"""Loop distribution: a counted loop becomes several, each of statements that depend.

Columns of a struct, or outputs over inputs of their own, carry vectors from one round
of a loop to the next. Registers hold those of a few columns; more are moved on the
stack in each round. Statements that share no place that the loop changes can have loops
of their own, one after the other.
"""

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace

from tiltpy.loops.accesses import (
    Place,
    find_accesses,
    find_carried,
    find_changes,
    places_read,
)
from tiltpy.loops.nodes import Array, Assign, Branch, For, LExpr, Prefetch, Stmt, Var
from tiltpy.loops.widths import assigned_once, is_wide_expr, wide_variables

Body = tuple[Stmt, ...]


def distribute(loop: For, most: int) -> tuple[For, ...]:
    """Split a loop so that each carries at most `most` wide variables, where possible.

    What depends on one another stays in one loop, however much that carries.
    """
    bodies = Distribution(loop.body, most).bodies()
    return tuple(replace(loop, body=body) for body in bodies)


class Distribution:
    """The statements of a body in groups, each of which can have a loop of its own.

    A branch is split if each loop can test its condition; what else has statements
    inside stays whole. `copied` are scalars that each loop computes for itself,
    `groups` are the other places that the body changes, each with all that depends on
    it.
    """

    def __init__(self, body: Body, most: int) -> None:
        self.body = body
        self.wide = wide_variables(body)
        self.carried = find_carried(body)
        self.groups: list[frozenset[Place]] = []
        if len(self.wide & self.carried) > most:
            self.changed = find_changes(body)
            self.copied = self._find_copied()
            self._group(most)

    def bodies(self) -> Iterable[Body]:
        """Make a body for each group, with its statements as they stand.

        The first that reads an array prefetches it.
        """
        if len(self.groups) < 2:
            return [self.body]
        return map(tuple, self._spread(self.body))

    # What depends on what

    def _find_copied(self) -> frozenset[Var]:
        """Find the scalars of the counter and of what the loop does not change."""
        copied: set[Var] = set()
        once = assigned_once(self.body)
        for statement in self.body:
            if (
                isinstance(statement, Assign)
                and statement.var in once
                and statement.var not in self.carried
                and not is_wide_expr(statement.value, self.wide)
                and self._is_invariant(statement.value, copied)
            ):
                copied.add(statement.var)
        return frozenset(copied)

    def _is_invariant(self, expr: LExpr, copied: AbstractSet[Place]) -> bool:
        return all(
            place in copied or place not in self.changed for place in places_read(expr)
        )

    def _is_split(self, branch: Branch) -> bool:
        return self._is_invariant(branch.condition, self.copied)

    def _leaves(self, body: Body) -> Iterator[Stmt]:
        """Yield the statements that stay whole, but for copies and prefetches."""
        for statement in body:
            match statement:
                case Branch() if self._is_split(statement):
                    yield from self._leaves(statement.then)
                    yield from self._leaves(statement.otherwise)
                case Prefetch():
                    pass
                case Assign(var=var) if var in self.copied:
                    pass
                case _:
                    yield statement

    def _group(self, most: int) -> None:
        """Join components as long as a group carries at most `most` vectors."""
        components: list[frozenset[Place]] = []
        leaves = [find_accesses([leaf]) for leaf in self._leaves(self.body)]
        for leaf in leaves:
            _join(components, (leaf.places & self.changed) - self.copied)
        vectors = self.wide & self.carried
        groups = self.groups
        groups += components[:1]
        for component in components[1:]:
            together = groups[-1] | component
            if len(together & vectors) <= most:
                groups[-1] = together
            else:
                groups.append(component)
        self.numbers = {p: number for number, g in enumerate(groups) for p in g}
        """The group of each place."""
        self.readers: dict[Array, int] = {}
        """The first group that reads an array."""
        for leaf in leaves:
            number = self._find_group(leaf.changes)
            for place in leaf.reads:
                if isinstance(place, Array):
                    first = self.readers.get(place, number)
                    self.readers[place] = min(first, number)

    def _find_group(self, changes: frozenset[Place]) -> int:
        """Find the group of a statement by any place that it changes."""
        return next(self.numbers[place] for place in changes if place in self.numbers)

    # Statements of groups

    def _spread(self, body: Body) -> list[list[Stmt]]:
        """Spread statements over the groups."""
        parts: list[list[Stmt]] = [[] for _ in self.groups]
        for statement in body:
            match statement:
                case Branch() if self._is_split(statement):
                    arms = map(self._spread, (statement.then, statement.otherwise))
                    for part, then, other in zip(parts, *arms, strict=True):
                        if then or other:
                            arm, beside = tuple(then), tuple(other)
                            part.append(replace(statement, then=arm, otherwise=beside))
                case Prefetch(array=array):
                    if array in self.readers:
                        parts[self.readers[array]].append(statement)
                case Assign(var=var) if var in self.copied:
                    for part in parts:
                        part.append(statement)
                case _:
                    number = self._find_group(find_changes([statement]))
                    parts[number].append(statement)
        return parts


def _join(components: list[frozenset[Place]], places: frozenset[Place]) -> None:
    """Add places to the first component that has one of them, and others to that."""
    joined = [each for each in components if not each.isdisjoint(places)]
    if not joined:
        components.append(places)
        return
    components[components.index(joined[0])] = places.union(*joined)
    for each in joined[1:]:
        components.remove(each)

"""Loop distribution: a counted loop becomes several, each of statements that depend.

Columns of a struct, or outputs over inputs of their own, carry vectors from one round
of a loop to the next. Registers hold those of a few columns; more are moved on the
stack in each round. Statements that share no place that the loop changes can have loops
of their own, one after the other.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace

from tiltpy.loops.accesses import Place, find_accesses, find_carried, places_read
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
        self.changed = find_accesses(body).changes
        self.wide = wide_variables(body)
        self.carried = find_carried(body)
        self.copied = self._find_copied()
        self.groups = self._group(most)

    def bodies(self) -> Iterator[Body]:
        """Yield a body for each group, with its statements as they stand.

        The first that reads an array prefetches it.
        """
        if len(self.groups) < 2:
            yield self.body
            return
        prefetched: frozenset[Array] = frozenset()
        for group in self.groups:
            arrays = self._arrays_read(group)
            yield tuple(self._select(self.body, group, arrays - prefetched))
            prefetched |= arrays

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

    def _dependences(self, leaf: Stmt) -> frozenset[Place]:
        """Find the places of a statement that another one may change or wait for."""
        return (find_accesses([leaf]).places & self.changed) - self.copied

    def _group(self, most: int) -> list[frozenset[Place]]:
        """Join components as long as a group carries at most `most` vectors."""
        components: list[frozenset[Place]] = []
        for leaf in self._leaves(self.body):
            _join(components, self._dependences(leaf))
        vectors = self.wide & self.carried
        groups = components[:1]
        for component in components[1:]:
            together = groups[-1] | component
            if len(together & vectors) <= most:
                groups[-1] = together
            else:
                groups.append(component)
        return groups

    # Statements of a group

    def _arrays_read(self, group: frozenset[Place]) -> frozenset[Array]:
        leaves = self._leaves(self.body)
        mine = [
            leaf for leaf in leaves if not group.isdisjoint(self._dependences(leaf))
        ]
        reads = find_accesses(mine).reads
        return frozenset(place for place in reads if isinstance(place, Array))

    def _select(
        self, body: Body, group: frozenset[Place], prefetched: frozenset[Array]
    ) -> Iterator[Stmt]:
        """Yield the statements of a group, and the prefetches of some arrays."""
        for statement in body:
            match statement:
                case Branch() if self._is_split(statement):
                    then = tuple(self._select(statement.then, group, prefetched))
                    other = tuple(self._select(statement.otherwise, group, prefetched))
                    if then or other:
                        yield replace(statement, then=then, otherwise=other)
                case Prefetch(array=array):
                    if array in prefetched:
                        yield statement
                case Assign(var=var) if var in self.copied:
                    yield statement
                case _:
                    if not group.isdisjoint(self._dependences(statement)):
                        yield statement


def _join(components: list[frozenset[Place]], places: frozenset[Place]) -> None:
    """Add places to the first component that has one of them, and others to that."""
    joined = [each for each in components if not each.isdisjoint(places)]
    if not joined:
        components.append(places)
        return
    components[components.index(joined[0])] = places.union(*joined)
    for each in joined[1:]:
        components.remove(each)

"""The reductions that functions of the library use, as reductions of the query.

If the query has a reduction of the same name, the library's gets another name there, as
objects inside of functions do. The query itself cannot call it.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cache

from tiltpy.errors import QueryError
from tiltpy.frontend.elaboration.call_arguments import library_scope
from tiltpy.frontend.elaboration.library import (
    Functions,
    library_reduction,
    library_reductions,
    read_reduction_text,
)
from tiltpy.frontend.elaboration.objects import Expansion
from tiltpy.frontend.elaboration.pick_reductions import pick_reduction
from tiltpy.frontend.elaboration.user_reductions import read_reduction
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.names import fresh_name
from tiltpy.ir.nodes import UserReduction
from tiltpy.types import Type, Unit


class LibraryReductions(Mapping[str, UserReduction]):
    """The library's reductions, by their names in the library.

    One that is looked up is part of the query from then on. `taken` are the names of
    the query's reductions.
    """

    def __init__(self, unit: Unit | None, taken: Collection[str]) -> None:
        self._unit = unit
        self._taken = set(taken)
        self._used: dict[object, UserReduction] = {}

    def __getitem__(self, name: str) -> UserReduction:
        if name not in self:
            raise KeyError(name)
        return self._use(name, _elaborate(name, self._unit))

    def pick(self, name: str, element: Type) -> UserReduction:
        """Make the reduction of that name that picks an element, for its type."""
        return self._use((name, element), _elaborate_pick(name, element, self._unit))

    def _use(self, known: object, reduction: UserReduction) -> UserReduction:
        if known not in self._used:
            fresh = fresh_name(reduction.name, self._taken)
            self._taken.add(fresh)
            self._used[known] = replace(reduction, name=fresh)
        return self._used[known]

    def __contains__(self, name: object) -> bool:
        return name in library_reductions()

    def __iter__(self) -> Iterator[str]:
        return iter(library_reductions())

    def __len__(self) -> int:
        return len(library_reductions())

    def used_reductions(self) -> tuple[UserReduction, ...]:
        """List the reductions that were looked up, in that order."""
        return tuple(self._used.values())


@cache
def _elaborate(name: str, unit: Unit | None) -> UserReduction:
    return _read(library_reduction(name), unit)


@cache
def _elaborate_pick(name: str, element: Type, unit: Unit | None) -> UserReduction:
    return _read(read_reduction_text(pick_reduction(name, element)), unit)


def _read(node: syntax.ReductionDefinition, unit: Unit | None) -> UserReduction:
    errors: list[QueryError] = []
    scope = replace(library_scope(unit, Functions()), time="")
    reduction = read_reduction(node, scope, errors, Expansion())
    assert not errors
    return reduction

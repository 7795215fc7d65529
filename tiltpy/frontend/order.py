"""The order of definitions: each after those it refers to, else as written."""

from collections.abc import Mapping, Sequence

from tiltpy.errors import QueryError
from tiltpy.frontend import syntax


def references(definition: syntax.Definition) -> tuple[syntax.Ref, ...]:
    """The references of a definition's body, in order."""
    nodes = syntax.walk(definition.body)
    return tuple(node for node in nodes if isinstance(node, syntax.Ref))


def in_order(
    definitions: Sequence[syntax.Definition],
) -> tuple[list[syntax.Definition], list[QueryError]]:
    """The definitions in the order of their needs, and an error for each cycle.

    Those on a cycle, and those that need one, are left out.
    """
    own = {d.name.text for d in definitions}
    needs = {
        d.name.text: {ref.object for ref in references(d)} & own for d in definitions
    }
    waiting, done = list(definitions), list[syntax.Definition]()
    placed: set[str] = set()
    while waiting:
        ready = next((d for d in waiting if needs[d.name.text] <= placed), None)
        if ready is None:
            break
        waiting.remove(ready)
        placed.add(ready.name.text)
        done.append(ready)
    stuck = {d.name.text: d for d in waiting}
    return done, _cycles(stuck)


def _cycles(stuck: Mapping[str, syntax.Definition]) -> list[QueryError]:
    """One error per cycle among definitions that wait for each other."""
    errors: list[QueryError] = []
    seen: set[str] = set()
    for name in stuck:
        path: list[str] = []
        while name not in seen:
            seen.add(name)
            path.append(name)
            name = _next(stuck, name)  # noqa: PLW2901
        if name in path:
            errors.append(_cycle(stuck, path[path.index(name) :]))
    return errors


def _next(stuck: Mapping[str, syntax.Definition], name: str) -> str:
    return next(ref.object for ref in references(stuck[name]) if ref.object in stuck)


def _cycle(stuck: Mapping[str, syntax.Definition], path: list[str]) -> QueryError:
    first = stuck[path[0]]
    around = " -> ".join(f"~{name}" for name in [*path, path[0]])
    place = next(
        ref.span for ref in references(first) if ref.object == path[1 % len(path)]
    )
    return QueryError(
        "E0105",
        f"~{first.name.text} needs itself: {around}",
        place,
        "an object can refer to others only, at whatever offset",
    )

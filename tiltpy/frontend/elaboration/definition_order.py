"""The order of definitions: each after those it refers to, else as written."""

from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush

from tiltpy.errors import QueryError
from tiltpy.frontend.elaboration.library import Functions
from tiltpy.frontend.surface import syntax
from tiltpy.source import Span

Body = syntax.Expr | syntax.Block


def _free(body: Body, own: frozenset[str]) -> Iterator[syntax.Ref | syntax.Call]:
    """The references to objects that are not a body's own, and all calls, in order."""
    waiting = [(body, own)]
    while waiting:
        node, own = waiting.pop()
        inner: list[tuple[Body, frozenset[str]]] = []
        match node:
            case syntax.Block():
                for part in node.bindings:
                    inner.extend((value, own) for value in syntax.part_values(part))
                    if isinstance(part, syntax.Definition):
                        own |= {part.name.text}
                inner.append((node.result, own))
            case _:
                if isinstance(node, syntax.Call):
                    yield node
                if isinstance(node, syntax.Ref) and node.object not in own:
                    yield node
                inner.extend((child, own) for child in syntax.children(node))
        waiting.extend(reversed(inner))


def _objects(function: syntax.Function) -> frozenset[str]:
    return frozenset(one.name.text for one in function.parameters if one.object)


def _defaults(function: syntax.Function) -> list[syntax.Expr]:
    return [one.default for one in function.parameters if one.default is not None]


def references(
    definition: syntax.Definition, functions: Functions
) -> tuple[syntax.Ref, ...]:
    """The references to objects in a body and in what it calls, in order."""
    found: list[syntax.Ref] = []
    seen: set[str] = set()
    waiting: list[tuple[Body, frozenset[str]]] = [(definition.body, frozenset())]
    for body, own in waiting:
        for node in _free(body, own):
            if isinstance(node, syntax.Ref):
                found.append(node)
            elif node.callee.text not in seen:
                seen.add(node.callee.text)
                called = functions.own.get(node.callee.text)
                if called is not None:
                    waiting.append((called.body, _objects(called)))
                    waiting += ((default, frozenset()) for default in _defaults(called))
    return tuple(found)


def recursions(functions: Mapping[str, syntax.Function]) -> dict[str, QueryError]:
    """An error for each function that calls itself, by way of others too."""
    calls: dict[str, dict[str, Span]] = {}
    for name, function in functions.items():
        calls[name] = {
            node.callee.text: node.callee.span
            for body in (*_defaults(function), function.body)
            for node in _free(body, frozenset())
            if isinstance(node, syntax.Call) and node.callee.text in functions
        }
    found: dict[str, QueryError] = {}
    for name in functions:
        way = _way_back(name, calls)
        if way:
            around = " -> ".join([name, *way])
            place = calls[name][way[0]]
            message = f"{name} calls itself: {around}"
            hint = "a function is written out where it is called, which would never end"
            found[name] = QueryError("E0105", message, place, hint)
    return found


def _way_back(name: str, calls: Mapping[str, Mapping[str, Span]]) -> list[str]:
    """The shortest way of calls from a function to itself, or nothing."""
    before: dict[str, str] = {}
    waiting = [name]
    for caller in waiting:
        for callee in calls[caller]:
            if callee == name:
                way = [callee]
                while caller != name:
                    way.insert(0, caller)
                    caller = before[caller]  # noqa: PLW2901
                return way
            if callee not in before:
                before[callee] = caller
                waiting.append(callee)
    return []


def in_order(
    definitions: Sequence[syntax.Definition], functions: Functions
) -> tuple[list[syntax.Definition], list[QueryError]]:
    """The definitions in the order of their needs, and an error for each cycle.

    Those on a cycle, and those that need one, are left out.
    """
    own = {d.name.text for d in definitions}
    refs = {d.name.text: references(d, functions) for d in definitions}
    needs = {name: {ref.object for ref in found} & own for name, found in refs.items()}
    readers: dict[str, list[int]] = {name: [] for name in own}
    for place, definition in enumerate(definitions):
        for name in needs[definition.name.text]:
            readers[name].append(place)
    missing = [len(needs[d.name.text]) for d in definitions]
    ready = [place for place, count in enumerate(missing) if not count]
    done: list[syntax.Definition] = []
    while ready:  # a heap: of those that could come next, the first as written
        definition = definitions[heappop(ready)]
        done.append(definition)
        for place in readers[definition.name.text]:
            missing[place] -= 1
            if not missing[place]:
                heappush(ready, place)
    stuck = {
        d.name.text: refs[d.name.text]
        for d, count in zip(definitions, missing, strict=True)
        if count
    }
    return done, _cycles(stuck)


def _cycles(stuck: Mapping[str, tuple[syntax.Ref, ...]]) -> list[QueryError]:
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


def _next(stuck: Mapping[str, tuple[syntax.Ref, ...]], name: str) -> str:
    return next(ref.object for ref in stuck[name] if ref.object in stuck)


def _cycle(stuck: Mapping[str, tuple[syntax.Ref, ...]], path: list[str]) -> QueryError:
    around = " -> ".join(f"~{name}" for name in [*path, path[0]])
    place = next(
        ref.span for ref in stuck[path[0]] if ref.object == path[1 % len(path)]
    )
    return QueryError(
        "E0105",
        f"~{path[0]} needs itself: {around}",
        place,
        "an object refers to others only; what was before is in windows of those, "
        "like sum(~x[t - 10 : t])",
    )

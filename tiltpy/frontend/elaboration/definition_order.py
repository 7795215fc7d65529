"""The order of definitions: each after those it refers to, else that of the text."""

from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush

from tiltpy.errors import QueryError
from tiltpy.frontend.elaboration.library import Functions
from tiltpy.frontend.surface import syntax
from tiltpy.source import Span

Body = syntax.Expr | syntax.BlockBody


def _walk_free(
    body: Body, bound: frozenset[str]
) -> Iterator[syntax.Ref | syntax.CallExpression]:
    """Go through the references that a body does not bind, and calls, in order."""
    waiting = [(body, bound)]
    while waiting:
        node, bound = waiting.pop()
        inner: list[tuple[Body, frozenset[str]]] = []
        match node:
            case syntax.BlockBody():
                for binding in node.bindings:
                    values = syntax.block_values(binding)
                    inner.extend((value, bound) for value in values)
                    if isinstance(binding, syntax.ObjectDefinition):
                        bound |= {binding.name.text}
                inner.append((node.result, bound))
            case _:
                if isinstance(node, syntax.CallExpression):
                    yield node
                if isinstance(node, syntax.Ref) and node.object not in bound:
                    yield node
                inner.extend((child, bound) for child in syntax.children(node))
        waiting.extend(reversed(inner))


def _objects(function: syntax.FunctionDefinition) -> frozenset[str]:
    return frozenset(p.name.text for p in function.parameters if p.object)


def _defaults(function: syntax.FunctionDefinition) -> list[syntax.Expr]:
    return [p.default for p in function.parameters if p.default is not None]


def collect_references(
    definition: syntax.ObjectDefinition,
    functions: Functions,
    rows: Mapping[str, syntax.Ref],
) -> tuple[syntax.Ref, ...]:
    """Collect the references to objects in a body and in what it calls, in order.

    `rows` are the objects whose rows time variables stand for.
    """
    refs: list[syntax.Ref] = []
    if isinstance(definition.domain, syntax.RowDomain):
        refs.append(definition.domain.rows)
    elif definition.time.text in rows:
        refs.append(rows[definition.time.text])
    seen: set[str] = set()
    waiting: list[tuple[Body, frozenset[str]]] = [(definition.body, frozenset())]
    for body, bound in waiting:
        for node in _walk_free(body, bound):
            if isinstance(node, syntax.Ref):
                refs.append(node)
            elif node.callee.text not in seen:
                seen.add(node.callee.text)
                callee = functions.user_defined.get(node.callee.text)
                if callee is not None:
                    waiting.append((callee.body, _objects(callee)))
                    waiting += ((default, frozenset()) for default in _defaults(callee))
    return tuple(refs)


def recursion_errors(
    functions: Mapping[str, syntax.FunctionDefinition],
) -> dict[str, QueryError]:
    """Make an error for each function that calls itself, by way of others too."""
    calls: dict[str, dict[str, Span]] = {}
    for name, function in functions.items():
        calls[name] = {
            node.callee.text: node.callee.span
            for body in (*_defaults(function), function.body)
            for node in _walk_free(body, frozenset())
            if isinstance(node, syntax.CallExpression) and node.callee.text in functions
        }
    errors: dict[str, QueryError] = {}
    for name in functions:
        path = _shortest_cycle(name, calls)
        if path:
            around = " -> ".join([name, *path])
            span = calls[name][path[0]]
            message = f"{name} calls itself: {around}"
            hint = "a function is expanded where it is called, and this would never end"
            errors[name] = QueryError("E0105", message, span, hint)
    return errors


def _shortest_cycle(name: str, calls: Mapping[str, Mapping[str, Span]]) -> list[str]:
    """Find the shortest path of calls from a function to itself, or an empty list."""
    before: dict[str, str] = {}
    waiting = [name]
    for caller in waiting:
        for callee in calls[caller]:
            if callee == name:
                path = [callee]
                while caller != name:
                    path.insert(0, caller)
                    caller = before[caller]  # noqa: PLW2901
                return path
            if callee not in before:
                before[callee] = caller
                waiting.append(callee)
    return []


def order_definitions(
    definitions: Sequence[syntax.ObjectDefinition],
    functions: Functions,
    rows: Mapping[str, syntax.Ref],
) -> tuple[list[syntax.ObjectDefinition], list[QueryError]]:
    """Sort definitions so that each comes after those it needs; an error per cycle.

    Those on a cycle, and those that need one, are left out. `rows` are the objects
    whose rows time variables stand for.
    """
    defined = {d.name.text for d in definitions}
    refs = {d.name.text: collect_references(d, functions, rows) for d in definitions}
    needs = {
        name: {ref.object for ref in read} & defined for name, read in refs.items()
    }
    readers: dict[str, list[int]] = {name: [] for name in defined}
    for index, definition in enumerate(definitions):
        for name in needs[definition.name.text]:
            readers[name].append(index)
    missing = [len(needs[d.name.text]) for d in definitions]
    ready = [index for index, count in enumerate(missing) if not count]
    ordered: list[syntax.ObjectDefinition] = []
    while ready:  # a heap: of those that could come next, the first as written
        definition = definitions[heappop(ready)]
        ordered.append(definition)
        for index in readers[definition.name.text]:
            missing[index] -= 1
            if not missing[index]:
                heappush(ready, index)
    stuck = {
        d.name.text: refs[d.name.text]
        for d, count in zip(definitions, missing, strict=True)
        if count
    }
    return ordered, _cycle_errors(stuck)


def _cycle_errors(stuck: Mapping[str, tuple[syntax.Ref, ...]]) -> list[QueryError]:
    """Make an error for each cycle among definitions that wait for each other."""
    errors: list[QueryError] = []
    seen: set[str] = set()
    for name in stuck:
        path: list[str] = []
        while name not in seen:
            seen.add(name)
            path.append(name)
            name = _next_in_cycle(stuck, name)  # noqa: PLW2901
        if name in path:
            errors.append(_cycle_error(stuck, path[path.index(name) :]))
    return errors


def _next_in_cycle(stuck: Mapping[str, tuple[syntax.Ref, ...]], name: str) -> str:
    return next(ref.object for ref in stuck[name] if ref.object in stuck)


def _cycle_error(
    stuck: Mapping[str, tuple[syntax.Ref, ...]], path: list[str]
) -> QueryError:
    around = " -> ".join(f"~{name}" for name in [*path, path[0]])
    span = next(ref.span for ref in stuck[path[0]] if ref.object == path[1 % len(path)])
    return QueryError(
        "E0105",
        f"~{path[0]} depends on itself: {around}",
        span,
        "an object refers only to others; a recursion is a reduction with a state, "
        "over ~x[-∞ : t]",
    )

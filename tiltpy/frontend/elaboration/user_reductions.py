"""Elaboration of reductions of one's own.

    reduction my_rms(v: f64) {
        init   = { s = 0.0, n = 0 }
        acc    = { s = state.s + v * v, n = state.n + 1 }
        merge  = { s = a.s + b.s, n = a.n + b.n }
        result = sqrt(state.s / f64(state.n))
    }

The type of the state is that of `init`; `acc`, `deacc` and `merge` must give the same.
"""

from dataclasses import replace

from tiltpy.errors import QueryError
from tiltpy.frontend.elaboration.body import Body
from tiltpy.frontend.elaboration.call_targets import is_built_in
from tiltpy.frontend.elaboration.declarations import read_payload
from tiltpy.frontend.elaboration.reference_rules import Objects
from tiltpy.frontend.elaboration.scope import Scope
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.fresh_names import nearest
from tiltpy.frontend.surface.poison import Broken
from tiltpy.frontend.surface.size_limits import Expansion
from tiltpy.ir.nodes import Expr, Local, UserReduction
from tiltpy.ir.reductions import (
    END,
    NEWER,
    OLDER,
    OUTSIDE,
    PARTS,
    START,
    STATE,
    names_in,
)
from tiltpy.ir.traversal import walk
from tiltpy.ops import FUNCTIONS, REDUCTIONS
from tiltpy.source import Span
from tiltpy.types import Struct, Type

_NEEDED = ("init", "acc", "result")
_FORMS = "write reduction r(v: f64) or, to see bounds, reduction r(v: f64, start, end)"


def read_reduction(
    node: syntax.OwnReduction,
    scope: Scope,
    errors: list[QueryError],
    expansion: Expansion,
) -> UserReduction:
    """A typed reduction; what is wrong with its parts is appended to the errors."""
    name = node.name
    if is_built_in(name.text):
        message = f"`{name.text}` is built in"
        raise QueryError("E0104", message, name.span, "choose another name")
    parameter, kind, bounds = _parameters(node)
    bodies = _bodies(node)
    reading = _Reading(node, scope, errors, expansion, parameter, kind, bounds)
    init = reading.part("init", bodies["init"], None)
    state = init.type
    before = len(errors)
    parts: dict[str, Expr | None] = {}
    for part in PARTS[1:]:
        try:
            found = part in bodies
            parts[part] = reading.part(part, bodies[part], state) if found else None
        except QueryError as error:
            errors.append(error)
        except Broken:
            pass
    if len(errors) > before:
        raise Broken
    acc, result = parts["acc"], parts["result"]
    assert acc is not None
    assert result is not None
    return UserReduction(
        name.text, parameter, kind, bounds, init, acc, parts["deacc"], parts["merge"],
        result, name.span,
    )  # fmt: skip


def _parameters(node: syntax.OwnReduction) -> tuple[str, Type, bool]:
    """The element's name and type, and whether `start` and `end` are seen."""
    first, *rest = node.parameters
    if first.type is None:
        message = f"the parameter `{first.name.text}` has no type"
        way = f"write its type, like {first.name.text}: f64"
        raise QueryError("E0006", message, first.name.span, way)
    if first.name.text in (STATE, START, END):
        message = f"`{first.name.text}` has a meaning of its own in a reduction"
        raise QueryError("E0104", message, first.name.span, "choose another name")
    for other in rest:
        if other.type is not None:
            raise QueryError(
                "E0006",
                f"a second element, `{other.name.text}`",
                other.name.span,
                "reduce a struct, like v: { price: f64, size: i64 }",
            )
    words = [other.name.text for other in rest]
    if words and sorted(words) != sorted((START, END)):
        place = rest[0].name.span.join(rest[-1].name.span)
        message = "besides its element a reduction sees `start` and `end`, both of them"
        raise QueryError("E0006", message, place, _FORMS)
    return first.name.text, read_payload(first.type), bool(words)


def _bodies(node: syntax.OwnReduction) -> dict[str, syntax.Expr | syntax.Block]:
    """The parts by name: each known, none twice, and those that are needed there."""
    found: dict[str, syntax.Expr | syntax.Block] = {}
    for part in node.parts:
        name = part.name
        if name.text not in PARTS:
            way = nearest(name.text, PARTS)
            message = f"a reduction has no part `{name.text}`"
            raise QueryError("E0006", message, name.span, way)
        if name.text in found:
            message = f"the part `{name.text}` stands twice"
            raise QueryError("E0006", message, name.span, "leave one of them out")
        found[name.text] = part.body
    missing = [name for name in _NEEDED if name not in found]
    if missing:
        raise QueryError(
            "E0006",
            f"the reduction `{node.name.text}` has no `{missing[0]}`",
            node.name.span,
            "init, acc and result are needed; with merge or deacc it slides",
        )
    return found


class _Reading:
    """Reads the parts of one reduction."""

    def __init__(
        self,
        node: syntax.OwnReduction,
        scope: Scope,
        errors: list[QueryError],
        expansion: Expansion,
        parameter: str,
        kind: Type,
        bounds: bool,
    ) -> None:
        self.name = node.name.text
        self.scope = scope
        self.errors = errors
        self.expansion = expansion
        self.parameter = parameter
        self.kind = kind
        self.bounds = bounds

    def part(
        self, name: str, node: syntax.Expr | syntax.Block, state: Type | None
    ) -> Expr:
        """One part; `state` is None for `init`, which says what it is."""
        seen = names_in(name, state, self.parameter, self.kind, bounds=self.bounds)
        self._check_inside(name, node, tuple(seen))
        before = len(self.errors)
        values = {each: Local(each, kind, node.span) for each, kind in seen.items()}
        scope = replace(self.scope, names=values, within=self.name)
        objects = Objects({}, {}, frozenset(), set(), expansion=self.expansion)
        body = Body(scope, objects, self.errors, self.scope)
        body.taken |= set(seen)
        expr = body.elaborate(f"`{name}`", node)
        if len(self.errors) > before:
            raise Broken
        if any(isinstance(each, OUTSIDE) for each in walk(expr)):
            self._outside(name, "an object", node.span, tuple(seen))
        if name == "result" or state is None:
            return expr
        return _as_state(name, node, expr, state)

    def _check_inside(
        self, part: str, node: syntax.Expr | syntax.Block, seen: tuple[str, ...]
    ) -> None:
        """Nothing of the query stands inside but constants."""
        times = self.scope.times
        bindings = node.bindings if isinstance(node, syntax.Block) else ()
        bound = {binding.name.text for binding in bindings}
        seen_here = bound.union(seen, times.params)
        for each in syntax.walk(node):
            match each:
                case syntax.Ref(object=name, span=span):
                    self._outside(part, f"~{name}", span, seen)
                case syntax.Call(callee=callee, span=span):
                    twofold = callee.text in FUNCTIONS and len(each.arguments) == 2
                    if each.reduce or (callee.text in REDUCTIONS and not twofold):
                        self._outside(part, "another reduction", span, seen)
                    function = self.scope.functions.find(callee.text)
                    if function and any(one.object for one in function.parameters):
                        self._outside(part, "a function of objects", span, seen)
                case syntax.Name(text=name, span=span):
                    known = name in seen_here
                    if not known and (name == "t" or name in times.domains):
                        self._outside(part, f"the time `{name}`", span, seen)
                    if not known and name in self._elsewhere():
                        self._unseen(part, name, span, seen)
                case _:
                    pass

    def _elsewhere(self) -> tuple[str, ...]:
        """The names that only some parts see."""
        return STATE, self.parameter, START, END, OLDER, NEWER

    def _unseen(self, part: str, name: str, span: Span, seen: tuple[str, ...]) -> None:
        way = _sees(part, seen)
        if name in (START, END) and part in ("acc", "deacc"):
            way = f"write reduction {self.name}({self.parameter}: ..., start, end)"
        raise QueryError("E0102", f"`{part}` does not see `{name}`", span, way)

    def _outside(self, part: str, what: str, span: Span, seen: tuple[str, ...]) -> None:
        raise QueryError(
            "E0113",
            f"{what} cannot stand inside a reduction of one's own",
            span,
            _sees(part, seen),
        )


def _sees(part: str, seen: tuple[str, ...]) -> str:
    names = " and ".join(f"`{name}`" for name in seen) or "constants alone"
    return f"`{part}` sees {names}"


def _as_state(
    part: str, node: syntax.Expr | syntax.Block, expr: Expr, state: Type
) -> Expr:
    """The new state, in the type of the state."""
    if expr.type == state:
        return expr
    message, place = _difference(part, node, expr.type, state)
    way = "all parts keep one type: cast here, or change what `init` starts with"
    raise QueryError("E0201", message, place, way)


def _difference(
    part: str, node: syntax.Expr | syntax.Block, found: Type, state: Type
) -> tuple[str, Span]:
    """How a part's value differs from the state, and where."""
    if not isinstance(found, Struct) or not isinstance(state, Struct):
        return f"`{part}` gives {found}, but `init` is {state}", node.span
    ours, theirs = [n for n, _ in found.fields], [n for n, _ in state.fields]
    if ours != theirs:
        message = (
            f"`{part}` has the fields {', '.join(ours)}, `init` has {', '.join(theirs)}"
        )
        return message, node.span
    name, kind, wanted = next(
        (name, kind, wanted)
        for (name, kind), (_, wanted) in zip(found.fields, state.fields, strict=True)
        if kind != wanted
    )
    message = f"the field `{name}` is {kind} in `{part}`, but {wanted} in `init`"
    return message, _place_of(node, name)


def _place_of(node: syntax.Expr | syntax.Block, name: str) -> Span:
    """Where a field of a part's value is written, or all of the part."""
    result = node.result if isinstance(node, syntax.Block) else node
    while isinstance(result, syntax.Paren):
        result = result.operand
    if isinstance(result, syntax.StructValue | syntax.With):
        for field in result.fields:
            if field.name.text == name:
                return field.value.span
    return result.span

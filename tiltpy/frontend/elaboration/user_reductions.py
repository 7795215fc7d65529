"""Elaboration of user-defined reductions.

    reduction my_rms(v: f64) {
        init   = { s = 0.0, n = 0 }
        acc    = { s = state.s + v * v, n = state.n + 1 }
        merge  = { s = a.s + b.s, n = a.n + b.n }
        result = sqrt(state.s / f64(state.n))
    }

The state has the type of `init`, which `acc`, `deacc` and `merge` must return.
"""

from dataclasses import replace

from tiltpy.errors import QueryError
from tiltpy.frontend.elaboration.bodies import elaborate_body
from tiltpy.frontend.elaboration.call_targets import is_built_in
from tiltpy.frontend.elaboration.declarations import read_payload
from tiltpy.frontend.elaboration.expressions import open_body
from tiltpy.frontend.elaboration.objects import Expansion, Objects
from tiltpy.frontend.elaboration.poison import Poison
from tiltpy.frontend.elaboration.scope import Scope
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.names import nearest
from tiltpy.ir.nodes import Expr, Local, StringCall, UserReduction
from tiltpy.ir.reductions import (
    CLAUSES,
    END,
    NEWER,
    OLDER,
    OUTSIDE,
    START,
    STATE,
    names_in,
)
from tiltpy.ir.traversal import walk
from tiltpy.lean_dataclass import dataclass
from tiltpy.ops import FUNCTIONS, REDUCTIONS
from tiltpy.source import Span
from tiltpy.types import Struct, Type

_NEEDED = ("init", "acc", "result")
_FORMS = "write reduction r(v: f64) or, to see bounds, reduction r(v: f64, start, end)"


def read_reduction(
    node: syntax.ReductionDefinition,
    scope: Scope,
    errors: list[QueryError],
    expansion: Expansion,
) -> UserReduction:
    """Elaborate a user-defined reduction.

    `scope` is what stands around it, `expansion` counts the nodes of its clauses;
    errors in its clauses after the first go to `errors`.
    """
    name = node.name
    if is_built_in(name.text):
        message = f"`{name.text}` is built in"
        raise QueryError("E0104", message, name.span, "choose another name")
    parameter, type, bounds = _read_parameters(node)  # noqa: A001
    bodies = _bodies(node)
    elaborator = _ClauseElaborator(
        node.name.text, scope, errors, expansion, parameter, type, bounds
    )
    init = elaborator.elaborate_clause("init", bodies["init"], None)
    state = init.type
    before, poisoned = len(errors), False
    clauses: dict[str, Expr | None] = {}
    for clause_name in CLAUSES[1:]:
        body = bodies.get(clause_name)
        clauses[clause_name] = None
        try:
            if body is not None:
                clauses[clause_name] = elaborator.elaborate_clause(
                    clause_name, body, state
                )
        except QueryError as error:
            errors.append(error)
        except Poison:
            poisoned = True
    if poisoned or len(errors) > before:
        raise Poison
    acc, result = clauses["acc"], clauses["result"]
    assert acc is not None
    assert result is not None
    return UserReduction(
        name.text, parameter, type, bounds, init, acc, clauses["deacc"],
        clauses["merge"], result, name.span,
    )  # fmt: skip


def _read_parameters(node: syntax.ReductionDefinition) -> tuple[str, Type, bool]:
    """Read the element's name and type, and whether `start` and `end` are seen."""
    first, *rest = node.parameters
    if first.type is None:
        message = f"the parameter `{first.name.text}` has no type"
        hint = f"write its type, like {first.name.text}: f64"
        raise QueryError("E0006", message, first.name.span, hint)
    if first.name.text in (STATE, START, END):
        message = f"`{first.name.text}` has a meaning of its own in a reduction"
        raise QueryError("E0104", message, first.name.span, "choose another name")
    for second in rest:
        if second.type is not None:
            raise QueryError(
                "E0006",
                f"a second element, `{second.name.text}`",
                second.name.span,
                "reduce a struct, like v: { price: f64, size: i64 }",
            )
    words = [bound.name.text for bound in rest]
    if words and sorted(words) != sorted((START, END)):
        span = rest[0].name.span.join(rest[-1].name.span)
        message = "besides its element a reduction sees `start` and `end`, both of them"
        raise QueryError("E0006", message, span, _FORMS)
    return first.name.text, read_payload(first.type), bool(words)


def _bodies(
    node: syntax.ReductionDefinition,
) -> dict[str, syntax.Expr | syntax.BlockBody]:
    """Collect the bodies of the clauses by name, and check the names."""
    bodies: dict[str, syntax.Expr | syntax.BlockBody] = {}
    for clause in node.clauses:
        name = clause.name
        if name.text not in CLAUSES:
            hint = nearest(name.text, CLAUSES)
            message = f"a reduction has no part `{name.text}`"
            raise QueryError("E0006", message, name.span, hint)
        if name.text in bodies:
            message = f"the part `{name.text}` appears twice"
            raise QueryError("E0006", message, name.span, "leave one of them out")
        bodies[name.text] = clause.body
    missing = [name for name in _NEEDED if name not in bodies]
    if missing:
        raise QueryError(
            "E0006",
            f"the reduction `{node.name.text}` has no `{missing[0]}`",
            node.name.span,
            "init, acc and result are needed; with merge or deacc it slides",
        )
    return bodies


@dataclass(frozen=True, slots=True)
class _ClauseElaborator:
    """Elaborates the clauses of one reduction.

    `parameter` is the name of the element, `type` its type; with `bounds`, `acc` and
    `deacc` see `start` and `end`.
    """

    name: str
    scope: Scope
    errors: list[QueryError]
    expansion: Expansion
    parameter: str
    type: Type
    bounds: bool

    def elaborate_clause(
        self, name: str, node: syntax.Expr | syntax.BlockBody, state: Type | None
    ) -> Expr:
        """Elaborate a clause of type `state`: None for `init`, which decides it."""
        visible = names_in(name, state, self.parameter, self.type, bounds=self.bounds)
        self._check_inside(name, node, tuple(visible))
        before = len(self.errors)
        values = {word: Local(word, type, node.span) for word, type in visible.items()}  # noqa: A001
        scope = replace(self.scope, names=values, within=self.name)
        objects = Objects({}, {}, {}, set(), expansion=self.expansion)
        body = open_body(scope, objects, self.errors, self.scope)
        body.taken |= set(visible)
        expr = elaborate_body(body, f"`{name}`", node)
        if len(self.errors) > before:
            raise Poison
        if any(isinstance(inner, OUTSIDE) for inner in walk(expr)):
            raise _outside_reduction(name, "an object", node.span, tuple(visible))
        if name == "result" or state is None:
            return expr
        return _require_state(name, node, expr, state)

    def _check_inside(
        self,
        clause_name: str,
        node: syntax.Expr | syntax.BlockBody,
        visible: tuple[str, ...],
    ) -> None:
        """Check that a clause refers to nothing but the names it sees and constants."""
        times = self.scope.times
        bindings = node.bindings if isinstance(node, syntax.BlockBody) else ()
        bound = {binding.name.text for binding in bindings}
        known = bound.union(visible, times.params)
        for inner in syntax.walk(node):
            match inner:
                case syntax.Ref(object=name, span=span):
                    raise _outside_reduction(clause_name, f"~{name}", span, visible)
                case syntax.CallExpression(callee=callee, span=span):
                    of_two = callee.text in FUNCTIONS and len(inner.arguments) == 2
                    if inner.reduce or (callee.text in REDUCTIONS and not of_two):
                        raise _outside_reduction(
                            clause_name, "another reduction", span, visible
                        )
                    function = self.scope.functions.find(callee.text)
                    if function and any(p.object for p in function.parameters):
                        raise _outside_reduction(
                            clause_name, "a function of objects", span, visible
                        )
                case syntax.Name(text=name, span=span) if name not in known:
                    if name == "t" or name in times.domains:
                        raise _outside_reduction(
                            clause_name, f"the time `{name}`", span, visible
                        )
                    if name in (STATE, self.parameter, START, END, OLDER, NEWER):
                        raise self._invisible_name(clause_name, name, span, visible)
                case _:
                    pass

    def _invisible_name(
        self, clause_name: str, name: str, span: Span, visible: tuple[str, ...]
    ) -> QueryError:
        """Make the error that a clause names what only other clauses see."""
        hint = _list_visible(clause_name, visible)
        if name in (START, END) and clause_name in ("acc", "deacc"):
            hint = f"write reduction {self.name}({self.parameter}: ..., start, end)"
        return QueryError("E0102", f"`{clause_name}` does not see `{name}`", span, hint)


def endless_strings(call: StringCall) -> QueryError:
    """Make the error that a fold joins strings that it has joined before."""
    return QueryError(
        "E0113",
        "a fold that joins strings, which grow with each row",
        call.span,
        "a state may have strings of the rows: join two of them in `result`",
    )


def _outside_reduction(
    clause_name: str, what: str, span: Span, visible: tuple[str, ...]
) -> QueryError:
    """Make the error that a clause refers to what only definitions see."""
    return QueryError(
        "E0113",
        f"{what} cannot appear inside a user-defined reduction",
        span,
        _list_visible(clause_name, visible),
    )


def _list_visible(clause_name: str, visible: tuple[str, ...]) -> str:
    names = " and ".join(f"`{name}`" for name in visible) or "constants alone"
    return f"`{clause_name}` sees {names}"


def _require_state(
    clause_name: str, node: syntax.Expr | syntax.BlockBody, expr: Expr, state: Type
) -> Expr:
    """Check that a clause's value is of the type of the state."""
    if expr.type == state:
        return expr
    message, span = _describe_difference(clause_name, node, expr.type, state)
    hint = "all parts keep one type: cast here, or change what `init` starts with"
    raise QueryError("E0201", message, span, hint)


def _describe_difference(
    clause_name: str, node: syntax.Expr | syntax.BlockBody, actual: Type, state: Type
) -> tuple[str, Span]:
    """Describe how a clause differs from the state in type, and find the span."""
    if not isinstance(actual, Struct) or not isinstance(state, Struct):
        return f"`{clause_name}` gives {actual}, but `init` is {state}", node.span
    ours, theirs = [n for n, _ in actual.fields], [n for n, _ in state.fields]
    if ours != theirs:
        message = f"`{clause_name}` has the fields {', '.join(ours)}, "
        message += f"`init` has {', '.join(theirs)}"
        return message, node.span
    name, kind, wanted = next(
        (name, kind, wanted)
        for (name, kind), (_, wanted) in zip(actual.fields, state.fields, strict=True)
        if kind != wanted
    )
    message = f"the field `{name}` is {kind} in `{clause_name}`, but {wanted} in `init`"
    return message, _field_span(node, name)


def _field_span(node: syntax.Expr | syntax.BlockBody, name: str) -> Span:
    """Find the span of a field of a clause's value, or of all of the value."""
    result = node.result if isinstance(node, syntax.BlockBody) else node
    while isinstance(result, syntax.Paren):
        result = result.operand
    if isinstance(result, syntax.StructValue | syntax.With):
        for field in result.fields:
            if field.name.text == name:
                return field.value.span
    return result.span

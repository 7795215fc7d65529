"""What names stand for: local names, arguments, parameters and the time itself.

A name is elaborated where it is first used, and becomes a `let` of the result; no
`let` reaches into a reduction, so there the value itself is written out.
"""

from dataclasses import replace

from tiltpy.errors import QueryError
from tiltpy.frontend.elaboration.object_references import Lookup
from tiltpy.frontend.elaboration.scope import Bound, Scope
from tiltpy.frontend.elaboration.tick_constants import (
    Ticks,
    constant,
    is_duration,
    other_time,
    too_deep,
    whole_number,
)
from tiltpy.frontend.hints import general as advice
from tiltpy.frontend.hints.misplaced import inside
from tiltpy.frontend.hints.other_languages import NAMES_ELSEWHERE
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.fresh_names import fresh_name
from tiltpy.frontend.surface.poison import Broken
from tiltpy.ir.construct.ticks import ticks_const
from tiltpy.ir.construct.widening import finish, is_untyped
from tiltpy.ir.nodes import At, Const, EventBound, Expr, Let, Local, Phi, Time
from tiltpy.ir.traversal import children, names
from tiltpy.limits import MAX_DEPTH, MAX_ELEMENT
from tiltpy.source import Span
from tiltpy.types import DURATION, I64, INT_LITERAL

_LEAVES = (At, Const, EventBound, Local, Time)
"""Arguments that need no name of their own."""


class Locals(Lookup):
    """The elaboration of names, and of what binds them."""

    def _bind(self, binding: syntax.Binding, level: int) -> None:
        """A local name: bound once more, it hides the first."""
        word, scope = binding.name, self.scope
        if word.text == scope.time:
            self.errors.append(
                QueryError(
                    "E0104",
                    f"`{word.text}` is this definition's time variable already",
                    word.span,
                    "choose another name",
                )
            )
        bound = Bound(word, binding.value, scope)
        try:
            self.scope = self._with(scope, bound, level)
        except (QueryError, Broken) as error:
            self._report(error)
            bound.broken = True
            self.scope = scope.with_name(word.text, bound, None)

    def _with(self, scope: Scope, bound: Bound, level: int) -> Scope:
        """The scope in which a name stands for what it is bound to."""
        name, times = bound.name.text, bound.scope.times
        count = whole_number(bound.node, times)
        if count is not None and is_duration(bound.node, times):
            return scope.with_ticks(name, constant(bound.node, times))
        if self.frame is None:
            value = self._value(bound, level)
        else:  # no name reaches into a reduction: the value itself is put there
            value = self._within(bound.scope, bound.node, level)
            self._check_size(value, bound.node.span)
        known = value if isinstance(value, Const) else None
        if known is None and count is not None:
            known = Const(count, INT_LITERAL, bound.node.span)
        return scope.with_name(name, bound if self.frame is None else value, known)

    def _within(self, scope: Scope, node: syntax.Expr, level: int) -> Expr:
        """The value of an expression in another scope."""
        outer, self.scope = self.scope, scope
        try:
            return self.expr(node, level)
        finally:
            self.scope = outer

    def _value(self, bound: Bound, level: int) -> Expr:
        """What a name is bound to: a literal, a reference or a name of the result."""
        if bound.broken:
            raise Broken
        if bound in self.values:
            return self.values[bound]
        frame, self.frame = self.frame, None
        try:
            value = self._within(bound.scope, bound.node, level)
            literal = isinstance(value, Const | Phi) and is_untyped(value.type)
            if not literal and not (bound.argument and isinstance(value, _LEAVES)):
                name = bound.name
                value = finish(value, f"`{name.text}`")
                value = self._let(name.text, value, name.span)
        finally:
            self.frame = frame
        self.values[bound] = value
        return value

    def _let(self, name: str, value: Expr, span: Span) -> Expr:
        fresh = fresh_name(name, self.taken)
        self.taken.add(fresh)
        if isinstance(value, Const):
            self.constants[fresh] = value
        self.lets.append((fresh, value, span))
        return Local(fresh, value.type, span)

    def _enclose(self, result: Expr) -> Expr:
        needed = names(result)
        for name, value, span in reversed(self.lets):
            if name in needed:
                result = Let(name, value, result, span)
                needed |= names(value)
        return result

    def _name(self, name: syntax.Name, level: int) -> Expr:
        text, scope = name.text, self.scope
        if text in scope.names:
            return self._local(name, scope.names[text], level + 2)
        if text == scope.time:
            if self.frame is not None:
                raise inside(name.span, f"the time `{text}`")
            return Time(0, I64, name.span)
        match scope.times.params.get(text):
            case Const(value=value, type=scalar):
                return Const(value, scalar, name.span)
            case None:
                raise self._unknown_name(name)
            case Ticks(count=count):
                return ticks_const(count, DURATION, name.span)

    def _local(self, name: syntax.Name, bound: Bound | Expr, level: int) -> Expr:
        value = self._value(bound, level) if isinstance(bound, Bound) else bound
        moved = isinstance(bound, Bound) and bound.scope.points != self.scope.points
        if isinstance(value, Local) and (moved or self.frame is not None):
            value = self.constants.get(value.name, value)
        if isinstance(value, Phi | Const | Local):
            value = replace(value, span=name.span)
        outside = isinstance(bound, Bound) and not isinstance(value, Phi | Const)
        if outside and moved:
            raise QueryError(
                "E0108",
                f"`{name.text}` is a value over another time than `{self.scope.time}`",
                name.span,
                "write it out here, or make an object of it",
            )
        if outside and self.frame is not None:
            raise inside(name.span, f"the name `{name.text}`")
        return value

    def _unknown_name(self, name: syntax.Name) -> QueryError | Broken:
        text, times, time = name.text, self.scope.times, self.scope.time
        if text in times.broken:
            return Broken()
        if text in times.domains or text == "t":
            return other_time(text, time, name.span)
        if text in self._visible():
            way = advice.which_time(text, time, reducing=self.frame is not None)
            code = "E0103"
            return QueryError(code, f"~{text} is a temporal object", name.span, way)
        way = (
            advice.comment(name.span)
            or NAMES_ELSEWHERE.get(text.lower())
            or self._read_key(text)
            or advice.which_name(
                name, [*self.scope.names, *times.params, *filter(None, [time])]
            )
        )
        return QueryError("E0102", f"unknown name `{text}`", name.span, way)

    def _check_size(self, expr: Expr, span: Span) -> None:
        """What a reduction names twice is there twice: not without end."""
        waiting, count = [(expr, 1)], 0
        while waiting:
            node, level = waiting.pop()
            count += 1
            if level > MAX_DEPTH:
                raise too_deep(span)
            if count > MAX_ELEMENT:
                raise QueryError(
                    "E0303",
                    f"written out, this has more than {MAX_ELEMENT:,} parts",
                    span,
                    "define an object for what is used many times, and reduce its "
                    "window",
                )
            waiting.extend((child, level + 1) for child in children(node))

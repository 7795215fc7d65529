"""Elaboration of one definition's body: surface expressions -> typed IR.

An error in one operand does not hide an error in the next: `each` goes on, and a
construct of which a part was wrong ends in `Broken`, which says nothing again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tiltpy.errors import QueryError
from tiltpy.frontend import syntax
from tiltpy.frontend.broken import Broken
from tiltpy.frontend.callees import (
    Callee,
    find_callee,
    more_arguments,
    reduction_parameter,
)
from tiltpy.frontend.misplaced import inside, misplaced
from tiltpy.frontend.names import nearest
from tiltpy.frontend.references import (
    Objects,
    payload_of,
    read_event_bound,
    read_window,
)
from tiltpy.frontend.times import Ticks, Times, offset, other_time, too_deep
from tiltpy.frontend.words import NAMES_ELSEWHERE
from tiltpy.ir import typing
from tiltpy.ir.nodes import (
    At,
    Const,
    Element,
    Expr,
    Let,
    Local,
    Phi,
    Time,
    Window,
)
from tiltpy.ir.traversal import MAX_DEPTH, depth, names
from tiltpy.ir.widening import finish, is_untyped
from tiltpy.source import Span
from tiltpy.types import BOOL, I64, PHI, SCALARS, Type


@dataclass(slots=True)
class _Frame:
    """The inside of a reduction: its window, and the names of its element."""

    window: Window | None = None
    element: Type | None = None
    names: dict[str, Expr] = field(default_factory=dict)


class Body:
    """Elaborates one body over the time variable `time`."""

    def __init__(
        self, time: str, times: Times, objects: Objects, errors: list[QueryError]
    ) -> None:
        self.time = time
        self.times = times
        self.objects = objects
        self.errors = errors
        self.locals: dict[str, Expr | None] = {}
        self.lets: list[tuple[str, Expr, Span]] = []
        self.constants: dict[str, Const] = {}
        self.taken: set[str] = set()
        self.frame: _Frame | None = None

    # -- bodies -------------------------------------------------------------------

    def elaborate(self, name: str, body: syntax.Expr | syntax.Block) -> Expr:
        """The typed body of `~name`, without bindings that it does not need."""
        if isinstance(body, syntax.Block):
            for binding in body.bindings:
                self._bind(binding)
            body = body.result
        result = finish(self.expr(body, 0), f"~{name}")
        result = self._enclose(result)
        if depth(result) > MAX_DEPTH:
            raise too_deep(body.span)
        return result

    def _bind(self, binding: syntax.Binding) -> None:
        """A local name: bound once more, it hides the first."""
        word = binding.name
        if word.text == self.time:
            self.errors.append(
                QueryError(
                    "E0104",
                    f"`{word.text}` is this definition's time variable already",
                    word.span,
                    "choose another name",
                )
            )
        try:
            value = self.expr(binding.value, 0)
            if isinstance(value, Const | Phi) and is_untyped(value.type):
                self.locals[word.text] = value
            else:
                done = finish(value, f"`{word.text}`")
                self.locals[word.text] = self._let(word.text, done, word.span)
        except (QueryError, Broken) as error:
            self._report(error)
            self.locals[word.text] = None

    def _let(self, name: str, value: Expr, span: Span) -> Expr:
        fresh, count = name, 1
        stem = name.rstrip("'")
        while fresh in self.taken:
            count += 1
            fresh = f"{stem}_{count}{name[len(stem) :]}"
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

    def _report(self, error: QueryError | Broken) -> None:
        if isinstance(error, QueryError):
            self.errors.append(error)

    def each(self, nodes: Sequence[syntax.Expr], level: int) -> list[Expr]:
        """All of some expressions; an error in one does not hide the others'."""
        done: list[Expr] = []
        for node in nodes:
            try:
                done.append(self.expr(node, level))
            except (QueryError, Broken) as error:
                self._report(error)
                if isinstance(error, QueryError) and error.code == "E0301":
                    raise Broken from None  # its siblings stand as deep
        if len(done) < len(nodes):
            raise Broken
        return done

    # -- expressions --------------------------------------------------------------

    def expr(self, node: syntax.Expr, level: int) -> Expr:
        """The typed expression; `level` counts how deep it stands."""
        level += 1
        if level > MAX_DEPTH:
            raise too_deep(node.span)
        match node:
            case syntax.Number():
                return typing.number(node.value, node.span)
            case syntax.Bool():
                return Const(node.value, BOOL, node.span)
            case syntax.Phi():
                return Phi(PHI, node.span)
            case syntax.Name():
                return self._name(node)
            case syntax.Ref():
                return self._ref(node)
            case syntax.Paren():
                return self.expr(node.operand, level)
            case syntax.Unary():
                return typing.unary(node.op, self.expr(node.operand, level), node.span)
            case syntax.Binary():
                left, right = self.each((node.left, node.right), level)
                return typing.binary(node.op, left, right, node.span)
            case syntax.Conditional():
                parts = self.each((node.condition, node.then, node.otherwise), level)
                return typing.conditional(parts[0], parts[1], parts[2], node.span)
            case syntax.Member():
                operand = self.expr(node.operand, level)
                return typing.field(operand, node.name.text, node.span, node.name.span)
            case syntax.StructValue():
                values = self.each([f.value for f in node.fields], level)
                fields = [f.name.text for f in node.fields]
                return typing.make_struct(fields, values, node.span)
            case syntax.With():
                return self._with(node, level)
            case syntax.Call():
                return self._call(node, level)
            case _:
                raise misplaced(node)

    def _name(self, name: syntax.Name) -> Expr:
        text = name.text
        if self.frame is not None and text in self.frame.names:
            return self.frame.names[text]
        if text in self.locals:
            return self._local(name)
        if text == self.time:
            if self.frame is not None:
                raise inside(name.span, f"the time `{text}`")
            return Time(0, I64, name.span)
        match self.times.params.get(text):
            case Const(value=value, type=scalar):
                return Const(value, scalar, name.span)
            case None:
                raise self._unknown_name(name)
            case Ticks():
                raise QueryError(
                    "E0107",
                    f"the duration `{text}` stands where a number was expected",
                    name.span,
                    "durations shift and bound references, like t - 10s",
                )

    def _local(self, name: syntax.Name) -> Expr:
        match self.locals[name.text]:
            case None:
                raise Broken
            case Local(name=unique, type=type):
                if self.frame is not None and unique in self.constants:
                    return self.constants[unique]
                if self.frame is not None:
                    raise inside(name.span, f"the name `{name.text}`")
                return Local(unique, type, name.span)
            case Const(value=value, type=scalar):
                return Const(value, scalar, name.span)
            case _:
                return Phi(PHI, name.span)

    def _unknown_name(self, name: syntax.Name) -> QueryError | Broken:
        if name.text in self.times.broken:
            return Broken()
        if name.text in self.times.domains or name.text == "t":
            return other_time(name.text, self.time, name.span)
        if name.text in self.objects.types:
            code, way = "E0103", f"write ~{name.text}[{self.time}]"
            return QueryError(
                code, f"~{name.text} is a temporal object", name.span, way
            )
        known = [*self.locals, *self.times.params, self.time]
        way = NAMES_ELSEWHERE.get(name.text) or nearest(name.text, known)
        return QueryError("E0102", f"unknown name `{name.text}`", name.span, way)

    def _with(self, node: syntax.With, level: int) -> Expr:
        operand = self.expr(node.operand, level)
        values = self.each([f.value for f in node.fields], level)
        if not isinstance(operand, At | Local | Element):
            if self.frame is not None:
                raise inside(node.span, "`with` of anything but the element")
            operand = self._let("changed", operand, node.operand.span)
        new = [
            (f.name.text, value, f.name.span)
            for f, value in zip(node.fields, values, strict=True)
        ]
        return typing.with_fields(operand, new, node.span)

    # -- references ---------------------------------------------------------------

    def _ref(self, ref: syntax.Ref) -> Expr:
        payload = payload_of(ref, self.objects)
        if ref.start is None:
            raise QueryError(
                "E0103",
                f"~{ref.object} is a temporal object; say at which time",
                ref.span,
                f"write ~{ref.object}[{self.time}], or reduce a window of it",
            )
        if ref.stop is not None:
            return self._window_element(ref, payload)
        if self.frame is not None:
            raise QueryError(
                "E0113",
                f"~{ref.object} at one point stands inside a reduction",
                ref.span,
                f"reduce a window, like ~{ref.object}[{self.time} - 10 : {self.time}], "
                "or a window of an object that combines them first",
            )
        ticks = offset(ref.start, self.time, self.times)
        return At(ref.object, ticks, payload, ref.span)

    def _window_element(self, ref: syntax.Ref, payload: Type) -> Expr:
        window = read_window(ref, self.time, self.times)
        if self.frame is None:
            raise QueryError(
                "E0106",
                "a window holds many values",
                ref.span,
                "reduce it, like mean(...)",
            )
        if self.frame.window not in (None, window):
            raise QueryError(
                "E0113",
                "a second window inside one reduction",
                ref.span,
                "reduce each, or define an object that combines them first",
            )
        self.frame.window = window
        self.frame.element = payload
        return Element(payload, ref.span)

    # -- calls --------------------------------------------------------------------

    def _call(self, node: syntax.Call, level: int) -> Expr:
        callee = find_callee(node)
        name = node.callee.text
        match callee:
            case Callee.REDUCTION:
                return self._reduction(node, level)
            case Callee.EVENT_BOUND:
                if self.frame is not None:
                    raise inside(node.span, f"{name}()")
                return read_event_bound(node, self.time, self.times, self.objects)
            case Callee.EXISTS:
                return typing.exists(self.expr(node.arguments[0], level), node.span)
            case Callee.CAST:
                operand = self.expr(node.arguments[0], level)
                return typing.cast(operand, SCALARS[name], node.span)
            case Callee.FUNCTION:
                arguments = self.each(node.arguments, level)
                return typing.call(name, arguments, node.span)

    def _reduction(self, node: syntax.Call, level: int) -> Expr:
        name, argument = node.callee.text, node.arguments[0]
        ddof, given = more_arguments(node)
        if self.frame is not None:
            raise inside(node.span, "another reduction")
        parameter = None
        if given is not None:
            parameter = reduction_parameter(name, self.expr(given, level))
        self.frame = frame = _Frame()
        try:
            if isinstance(argument, syntax.Comprehension):
                element = self._comprehension(argument, frame, level)
            else:
                element = self.expr(argument, level)
        finally:
            self.frame = None
        if frame.window is None:
            raise QueryError(
                "E0113",
                f"{name} has no window to reduce",
                argument.span,
                f"give it one, like ~x[{self.time} - 10 : {self.time}]",
            )
        return typing.reduce(name, frame.window, element, node.span, ddof, parameter)

    def _comprehension(
        self, node: syntax.Comprehension, frame: _Frame, level: int
    ) -> Expr:
        whole = node.window
        while isinstance(whole, syntax.Paren):
            whole = whole.operand
        if not isinstance(whole, syntax.Ref) or whole.stop is None:
            raise QueryError(
                "E0113",
                "`for ... in` goes through a window",
                whole.span,
                f"like ~x[{self.time} - 10 : {self.time}]",
            )
        payload = payload_of(whole, self.objects)
        self._window_element(whole, payload)
        for word, of in node.names:
            value: Expr = Element(payload, word.span)
            if of is not None:
                value = typing.field(value, of.text, word.span, of.span)
            frame.names[word.text] = value
        if node.condition is None:
            return self.expr(node.element, level)
        element, condition = self.each((node.element, node.condition), level)
        element = finish(element, "the element")
        phi = Phi(element.type, node.span)
        return typing.conditional(condition, element, phi, node.span)

"""Elaboration of one definition's body: surface expressions -> typed IR.

An error in one operand does not hide an error in the next: `each` goes on, and a
construct of which a part was wrong ends in `Broken`, which says nothing again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tiltpy.errors import QueryError
from tiltpy.frontend import advice, syntax
from tiltpy.frontend.broken import Broken, Exhausted
from tiltpy.frontend.callees import (
    Callee,
    find_callee,
    is_built_in,
    more_arguments,
    reduction_named,
    reduction_parameter,
    string_test,
)
from tiltpy.frontend.calls import arguments_of, called, in_library, library_scope
from tiltpy.frontend.domains import read_domain
from tiltpy.frontend.durations import beside_a_time
from tiltpy.frontend.elsewhere import NAMES_ELSEWHERE
from tiltpy.frontend.instants import moment_in_ticks
from tiltpy.frontend.misplaced import inside, misplaced
from tiltpy.frontend.names import fresh_name
from tiltpy.frontend.references import (
    Objects,
    payload_of,
    read_alive,
    read_event_bound,
    read_window,
    unknown_object,
)
from tiltpy.frontend.scope import Alias, Bound, Scope
from tiltpy.frontend.times import (
    Ticks,
    constant,
    is_duration,
    offset,
    other_time,
    to_ticks,
    too_deep,
    whole_number,
)
from tiltpy.ir import typing
from tiltpy.ir.nodes import (
    At,
    Const,
    Element,
    EventBound,
    Expr,
    Field,
    Let,
    Local,
    Phi,
    Time,
    Window,
)
from tiltpy.ir.temporal import is_temporal
from tiltpy.ir.ticks import ticks_const
from tiltpy.ir.traversal import MAX_DEPTH, children, depth, names
from tiltpy.ir.widening import finish, is_untyped
from tiltpy.source import Span
from tiltpy.types import BOOL, DURATION, I64, INT_LITERAL, NAMED, PHI, TIME, TDom, Type

_LEAVES = (At, Const, EventBound, Local, Time)
"""Arguments that need no name of their own."""
MAX_SIZE = 10_000
"""How many nodes the element of a reduction may have, written out."""


@dataclass(slots=True)
class _Frame:
    """The inside of a reduction, and its window once that is known."""

    active: bool
    """Whether it goes over the events that are alive at a point."""
    window: Window | None = None


class Body:
    """Elaborates one body in a scope.

    `home` is the scope of the query's own functions: all that stands outside of
    definitions.
    """

    def __init__(
        self,
        scope: Scope,
        objects: Objects,
        errors: list[QueryError],
        home: Scope | None = None,
    ) -> None:
        self.scope = scope
        self.objects = objects
        self.errors = errors
        self.home = home or scope
        self.values: dict[Bound, Expr] = {}
        self.lets: list[tuple[str, Expr, Span]] = []
        self.constants: dict[str, Const] = {}
        self.taken: set[str] = set()
        self.frame: _Frame | None = None

    # -- bodies -------------------------------------------------------------------

    def elaborate(
        self, name: str, body: syntax.Expr | syntax.Block, level: int = 0
    ) -> Expr:
        """The typed body called `name`, without bindings that it does not need."""
        result = finish(self._body(body, level), name)
        result = self._enclose(result)
        if depth(result) > MAX_DEPTH:
            raise too_deep(body.span)
        return result

    def _body(self, body: syntax.Expr | syntax.Block, level: int) -> Expr:
        """The value of a definition's or a function's body."""
        if not isinstance(body, syntax.Block):
            return self.expr(body, level)
        outer = self.scope
        try:
            for part in body.bindings:
                match part:
                    case syntax.Binding():
                        self._bind(part, level)
                    case syntax.TimeDomain():
                        self._declare(part)
                    case syntax.Definition():
                        self._define(part, level)
            return self.expr(body.result, level)
        finally:
            self.scope = outer

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

    def _report(self, error: QueryError | Broken) -> None:
        """Keep an error and go on, but where what stands beside it is as deep."""
        if isinstance(error, QueryError):
            self.errors.append(error)
            if error.code in ("E0301", "E0303"):
                raise Exhausted from None
        elif isinstance(error, Exhausted):
            raise error

    def each(self, nodes: Sequence[syntax.Expr], level: int) -> list[Expr]:
        """All of some expressions; an error in one does not hide the others'."""
        done: list[Expr] = []
        for node in nodes:
            try:
                done.append(self.expr(node, level))
            except (QueryError, Broken) as error:
                self._report(error)
        if len(done) < len(nodes):
            raise Broken
        return done

    def operands(self, nodes: Sequence[syntax.Expr], level: int) -> list[Expr]:
        """The same of what meets: in Python "10s" beside a duration is one too."""
        found = self.each(nodes, level)
        if not any(is_temporal(one.type) for one in found):
            return found
        meant = [beside_a_time(node) for node in nodes]
        return [
            one if new is None else self.expr(new, level)
            for one, new in zip(found, meant, strict=True)
        ]

    # -- expressions --------------------------------------------------------------

    def expr(self, node: syntax.Expr, level: int) -> Expr:
        """The typed expression; `level` counts how deep it stands."""
        level += 1
        if level > MAX_DEPTH:
            raise too_deep(node.span)
        match node:
            case syntax.Number():
                return typing.number(node.value, node.span)
            case syntax.Duration():
                ticks = to_ticks(node, self.scope.times.unit)
                return ticks_const(ticks, DURATION, node.span)
            case syntax.Moment():
                ticks = moment_in_ticks(node, self.scope.times.unit)
                return ticks_const(ticks, TIME, node.span)
            case syntax.Bool():
                return Const(node.value, BOOL, node.span)
            case syntax.Text():
                return typing.string(node.value, node.span)
            case syntax.Phi():
                return Phi(PHI, node.span)
            case syntax.Name():
                return self._name(node, level)
            case syntax.Ref():
                return self._ref(node)
            case syntax.Paren():
                return self.expr(node.operand, level)
            case syntax.Unary():
                return typing.unary(node.op, self.expr(node.operand, level), node.span)
            case syntax.Binary():
                left, right = self.operands((node.left, node.right), level)
                return typing.binary(node.op, left, right, node.span)
            case syntax.In():
                meeting = (node.operand, *node.options)
                operand, *options = self.operands(meeting, level)
                return typing.is_in(operand, options, node.span)
            case syntax.Conditional():
                parts = self.operands(
                    (node.condition, node.then, node.otherwise), level
                )
                return typing.conditional(parts[0], parts[1], parts[2], node.span)
            case syntax.Member():
                operand = self.expr(node.operand, level)
                return typing.field(operand, node.name.text, node.span, node.name.span)
            case syntax.StructValue():
                values = self.each([f.value for f in node.fields], level)
                fields = [f.name.text for f in node.fields]
                return typing.make_struct(fields, values, node.span)
            case syntax.With():
                return self._changed(node, level)
            case syntax.Call():
                return self._call(node, level)
            case _:
                raise misplaced(node)

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
        moved = isinstance(bound, Bound) and bound.scope.tdom != self.scope.tdom
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
            or advice.which_name(
                name, [*self.scope.names, *times.params, *filter(None, [time])]
            )
        )
        return QueryError("E0102", f"unknown name `{text}`", name.span, way)

    def _changed(self, node: syntax.With, level: int) -> Expr:
        operand = self.expr(node.operand, level)
        values = self.each([f.value for f in node.fields], level)
        whole = operand.operand if isinstance(operand, Field) else operand
        if not isinstance(whole, At | Local | Element):
            if self.frame is not None:
                raise inside(node.span, "`with` of anything but the element")
            operand = self._let("changed", operand, node.operand.span)
        new = [
            (f.name.text, value, f.name.span)
            for f, value in zip(node.fields, values, strict=True)
        ]
        return typing.with_fields(operand, new, node.span)

    # -- references ---------------------------------------------------------------

    def _visible(self) -> list[str]:
        """The objects that have a name here."""
        query = () if self.scope.closed else self.objects.named()
        return [*self.scope.objects, *query]

    def _resolve(self, ref: syntax.Ref) -> tuple[syntax.Ref, tuple[syntax.Word, ...]]:
        """A reference to an object of the query, and which field of it is meant."""
        alias = self.scope.objects.get(ref.object)
        if alias is not None:
            if alias.object is None:
                raise Broken
            return replace(ref, object=alias.object), alias.fields
        if ref.object in self.scope.names and ref.object not in self.objects.types:
            way = f"`{ref.object}` is a value: write {ref.object} without ~"
            raise unknown_object(ref, (), way)
        if self.scope.closed or ref.object in self.objects.found.values():
            raise unknown_object(ref, self._visible())
        return ref, ()

    def _field_of(self, value: Expr, fields: Sequence[syntax.Word]) -> Expr:
        for word in fields:
            value = typing.field(value, word.text, value.span, word.span)
        return value

    def _ref(self, ref: syntax.Ref) -> Expr:
        target, fields = self._resolve(ref)
        payload, time = payload_of(target, self.objects), self.scope.time
        if ref.start is None:
            raise QueryError(
                "E0103",
                f"~{ref.object} is a temporal object; say at which time",
                ref.span,
                advice.which_time(
                    ref.object,
                    time,
                    reducing=self.frame is not None and not self.frame.active,
                ),
            )
        if ref.stop is not None or (self.frame is not None and self.frame.active):
            value = self._window_element(target, payload)
        elif self.frame is not None:
            raise QueryError(
                "E0113",
                f"~{ref.object} at one point stands inside a reduction",
                ref.span,
                advice.window_for(ref, time),
            )
        else:
            ticks = offset(ref.start, time, self.scope.times)
            value = At(target.object, ticks, payload, ref.span)
        return self._field_of(value, fields)

    def _window_element(self, ref: syntax.Ref, payload: Type) -> Expr:
        frame, scope = self.frame, self.scope
        if frame is not None and frame.active:
            window = read_alive(ref, scope.time, scope.times, self.objects)
        else:
            window = read_window(ref, scope.time, scope.times)
        if frame is None:
            raise QueryError(
                "E0106",
                "a window holds many values",
                ref.span,
                advice.reduced(ref),
            )
        if frame.window not in (None, window):
            raise QueryError(
                "E0113",
                "a second window inside one reduction",
                ref.span,
                "reduce each, or define an object that combines them first",
            )
        frame.window = window
        return Element(payload, ref.span)

    # -- calls --------------------------------------------------------------------

    def _call(self, node: syntax.Call, level: int) -> Expr:
        name = node.callee.text
        functions = self.scope.functions
        if name in functions.broken:
            raise Broken
        own = name in functions.reductions
        if not node.reduce and not own and not is_built_in(name):
            function = self._function(name)
            if function is not None:
                return self._expand(function, node, level)
        callee = find_callee(node, functions)
        match callee:
            case Callee.REDUCTION:
                return self._reduction(node, level)
            case Callee.EVENT_BOUND:
                if self.frame is not None:
                    raise inside(node.span, f"{name}()")
                return self._event_bound(node)
            case Callee.EXISTS:
                return typing.exists(self.expr(node.arguments[0], level), node.span)
            case Callee.CAST:
                operand = self.expr(node.arguments[0], level)
                return typing.cast(operand, NAMED[name], node.span)
            case Callee.FUNCTION:
                arguments = self.operands(node.arguments, level)
                return typing.call(name, arguments, node.span)
            case Callee.STRING_TEST:
                string, pattern = self.each(node.arguments, level)
                return typing.match_string(
                    string_test(node), string, pattern, node.span
                )

    def _event_bound(self, node: syntax.Call) -> Expr:
        point = _bare(node.arguments[0])
        if isinstance(point, syntax.Ref):
            point, _ = self._resolve(point)
        scope = self.scope
        return read_event_bound(node, point, scope.time, scope.times, self.objects)

    def _reduction(self, node: syntax.Call, level: int) -> Expr:
        name, active = reduction_named(node.callee.text)
        if node.callee.text in self.scope.functions.reductions:
            name, active = node.callee.text, False
        argument = node.arguments[0]
        own = self.scope.functions.reductions.get(node.callee.text)
        ddof, given = (0, None) if own is not None else more_arguments(node)
        if self.frame is not None:
            raise inside(node.span, "another reduction")
        parameter = None
        if given is not None:
            parameter = reduction_parameter(name, self.expr(given, level))
        self.frame = frame = _Frame(active)
        try:
            if isinstance(argument, syntax.Comprehension):
                element = self._comprehension(argument, frame, level)
            else:
                element = self.expr(argument, level)
        finally:
            self.frame = None
        if frame.window is None:
            way = f"~x[{self.scope.time}]" if active else self._some_window()
            raise QueryError(
                "E0113",
                f"{node.callee.text} has no window to reduce",
                argument.span,
                f"give it one, like {way}",
            )
        if own is not None:
            return typing.reduce_own(own, frame.window, element, node.span)
        return typing.reduce(name, frame.window, element, node.span, ddof, parameter)

    def _some_window(self) -> str:
        return f"~x[{self.scope.time} - 10 : {self.scope.time}]"

    def _comprehension(
        self, node: syntax.Comprehension, frame: _Frame, level: int
    ) -> Expr:
        whole = _bare(node.window)
        point = isinstance(whole, syntax.Ref) and whole.stop is None
        if not isinstance(whole, syntax.Ref) or (point and not frame.active):
            raise QueryError(
                "E0113",
                "`for ... in` goes through a window",
                whole.span,
                f"like {self._some_window()}",
            )
        value, outer = self._ref(whole), self.scope
        for word, of in node.names:
            one = replace(value, span=word.span)
            if of is not None:
                one = typing.field(one, of.text, word.span, of.span)
            self.scope = self.scope.with_name(word.text, one, None)
        try:
            if node.condition is None:
                return self.expr(node.element, level)
            element, condition = self.each((node.element, node.condition), level)
        finally:
            self.scope = outer
        element = finish(element, "the element")
        phi = Phi(element.type, node.span)
        return typing.conditional(condition, element, phi, node.span)

    # -- functions ----------------------------------------------------------------

    def _function(self, name: str) -> syntax.Function | None:
        return self.scope.functions.find(name)

    def _expand(self, function: syntax.Function, node: syntax.Call, level: int) -> Expr:
        """The body of a function, with its parameters bound to the arguments."""
        self.objects.count_call(node.span)
        scope = self._arguments(function, node, level)
        before, outer = len(self.errors), self.scope
        self.scope = scope
        try:
            result = self._body(function.body, level + 1)
            if self.frame is not None:
                self._check_size(result, function.body.span)
        except QueryError as error:
            called(error, function, node.span)
            raise
        finally:
            self.scope = outer
            for one in self.errors[before:]:
                called(one, function, node.span)
        return result

    def _arguments(
        self, function: syntax.Function, node: syntax.Call, level: int
    ) -> Scope:
        """The scope of a function's body."""
        library = in_library(function)
        unit, known = self.scope.times.unit, self.scope.functions.library
        home = library_scope(unit, known) if library else self.home
        home = replace(home, within=function.name.text, tdom=self.scope.tdom)
        scope = home
        broken = False
        for parameter, argument in arguments_of(function, node):
            name = parameter.name
            try:
                if parameter.object:
                    assert argument is not None
                    stem = f"{function.name.text}_{name.text}"
                    alias = self._object_argument(stem, argument, level + 3)
                    scope = scope.with_object(name.text, alias)
                elif argument is not None:
                    bound = Bound(name, argument, self.scope, argument=True)
                    scope = self._with(scope, bound, level + 3)
                else:
                    assert parameter.default is not None
                    bound = Bound(name, parameter.default, home, argument=True)
                    scope = self._with(scope, bound, level + 3)
            except (QueryError, Broken) as error:
                self._report(error)
                broken = True
        if broken:
            raise Broken
        return scope

    def _object_argument(self, stem: str, node: syntax.Expr, level: int) -> Alias:
        """What `~x` is in a function that is given a node for it.

        An object or a field of one is that itself; anything else becomes an object.
        """
        members: list[syntax.Word] = []
        inner = _bare(node)
        while isinstance(inner, syntax.Member):
            members.insert(0, inner.name)
            inner = _bare(inner.operand)
        if not isinstance(inner, syntax.Ref) or inner.start is not None:
            time, tdom = self.scope.time, self.scope.tdom
            return Alias(self._own_object(stem, node, node.span, level, time, tdom))
        target, fields = self._resolve(inner)
        value: Expr = At(target.object, 0, payload_of(target, self.objects), inner.span)
        self._field_of(value, (*fields, *members))
        return Alias(target.object, (*fields, *members))

    def _define(self, node: syntax.Definition, level: int) -> None:
        """An object of a block's own."""
        scope, name, over = self.scope, node.name, node.time.text
        if over != scope.time and over not in scope.domains:
            raise other_time(over, scope.time, node.time.span)
        tdom = scope.tdom if over == scope.time else scope.domains[over]
        stem = f"{scope.within.rstrip(chr(39))}_{name.text}"
        alias = Alias(None)
        try:
            if tdom is not None:
                span = name.span
                own = self._own_object(stem, node.body, span, level + 3, over, tdom)
                alias = Alias(own)
        except (QueryError, Broken) as error:
            self._report(error)
        self.scope = scope.with_object(name.text, alias)

    def _declare(self, node: syntax.TimeDomain) -> None:
        """A time domain of a block's own: that of the objects that stand over it."""
        tdom = None
        try:
            tdom = read_domain(node, self.scope.times)
        except (QueryError, Broken) as error:
            self._report(error)
        self.scope = self.scope.with_domain(node.name.text, tdom)

    def _own_object(
        self,
        stem: str,
        node: syntax.Expr | syntax.Block,
        span: Span,
        level: int,
        time: str,
        tdom: TDom,
    ) -> str:
        """Define an object of the query."""
        if self.frame is not None:
            raise inside(span, "an object")
        if level > MAX_DEPTH:
            raise too_deep(span)
        before = len(self.errors)
        scope = replace(self.scope, within=stem, time=time, tdom=tdom)
        body = Body(scope, self.objects, self.errors, self.home)
        expr = body.elaborate(f"~{stem}", node, level)
        if len(self.errors) > before:
            raise Broken
        return self.objects.define(stem, tdom, expr, span)

    def _check_size(self, expr: Expr, span: Span) -> None:
        """What a reduction names twice is there twice: not without end."""
        waiting, count = [(expr, 1)], 0
        while waiting:
            node, level = waiting.pop()
            count += 1
            if level > MAX_DEPTH:
                raise too_deep(span)
            if count > MAX_SIZE:
                raise QueryError(
                    "E0303",
                    f"written out, this has more than {MAX_SIZE} parts",
                    span,
                    "define an object for what is used many times, and reduce its "
                    "window",
                )
            waiting.extend((child, level + 1) for child in children(node))


def _bare(node: syntax.Expr) -> syntax.Expr:
    """An expression without the parentheses around it."""
    while isinstance(node, syntax.Paren):
        node = node.operand
    return node

"""Reductions: the element of a window, for each of its snapshots, made one value."""

from dataclasses import replace

from tiltpy.errors import QueryError
from tiltpy.frontend.elaboration.body_state import Frame, bare
from tiltpy.frontend.elaboration.call_targets import (
    more_arguments,
    reduction_named,
    reduction_parameter,
)
from tiltpy.frontend.elaboration.local_names import Locals
from tiltpy.frontend.elaboration.reference_rules import read_event_bound
from tiltpy.frontend.hints.misplaced import inside
from tiltpy.frontend.surface import syntax
from tiltpy.ir.construct.operators import conditional
from tiltpy.ir.construct.reductions import reduce, reduce_own
from tiltpy.ir.construct.widening import finish
from tiltpy.ir.nodes import Expr, Phi


class Reducing(Locals):
    """The elaboration of reductions, and of the bounds of events."""

    def _event_bound(self, node: syntax.Call) -> Expr:
        point = bare(node.arguments[0])
        if isinstance(point, syntax.Ref):
            point, _ = self._resolve(point)
            self._payload(point)
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
        self.frame = frame = Frame(active)
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
            return reduce_own(own, frame.window, element, node.span)
        return reduce(name, frame.window, element, node.span, ddof, parameter)

    def _some_window(self) -> str:
        return f"~x[{self.scope.time} - 10 : {self.scope.time}]"

    def _comprehension(
        self, node: syntax.Comprehension, frame: Frame, level: int
    ) -> Expr:
        whole = bare(node.window)
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
                one = self._field(one, of, word.span)
            self.scope = self.scope.with_name(word.text, one, None)
        try:
            if node.condition is None:
                return self.expr(node.element, level)
            element, condition = self.each((node.element, node.condition), level)
        finally:
            self.scope = outer
        element = finish(element, "the element")
        phi = Phi(element.type, node.span)
        return conditional(condition, element, phi, node.span)

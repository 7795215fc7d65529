"""Every surface expression as a typed value: one case for each kind of node."""

from abc import abstractmethod

from tiltpy.frontend.elaboration.call_targets import (
    Callee,
    find_callee,
    is_built_in,
    string_test,
)
from tiltpy.frontend.elaboration.reductions import Reducing
from tiltpy.frontend.elaboration.tick_constants import to_ticks, too_deep
from tiltpy.frontend.hints.misplaced import inside, misplaced
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.poison import Broken
from tiltpy.frontend.surface.timestamps import moment_in_ticks
from tiltpy.ir.construct.functions import call, cast, is_in, match_string
from tiltpy.ir.construct.operators import (
    binary,
    conditional,
    exists,
    number,
    string,
    unary,
)
from tiltpy.ir.construct.structs import make_struct, with_fields
from tiltpy.ir.construct.ticks import ticks_const
from tiltpy.ir.nodes import At, Const, Element, Expr, Field, Local, Phi
from tiltpy.limits import MAX_DEPTH
from tiltpy.types import BOOL, DURATION, NAMED, PHI, TIME


class Values(Reducing):
    """The elaboration of expressions; what functions mean, `Body` adds."""

    def expr(self, node: syntax.Expr, level: int) -> Expr:
        """The typed expression; `level` counts how deep it stands."""
        level += 1
        self.objects.expansion.count_node(node.span)
        if level > MAX_DEPTH:
            raise too_deep(node.span)
        match node:
            case syntax.Number():
                return number(node.value, node.span)
            case syntax.Duration():
                ticks = to_ticks(node, self.scope.times.unit)
                return ticks_const(ticks, DURATION, node.span)
            case syntax.Moment():
                ticks = moment_in_ticks(node, self.scope.times.unit)
                return ticks_const(ticks, TIME, node.span)
            case syntax.Bool():
                return Const(node.value, BOOL, node.span)
            case syntax.Text():
                return string(node.value, node.span)
            case syntax.Phi():
                return Phi(PHI, node.span)
            case syntax.Name():
                return self._name(node, level)
            case syntax.Ref():
                return self._ref(node)
            case syntax.Paren():
                return self.expr(node.operand, level)
            case syntax.Unary():
                return unary(node.op, self.expr(node.operand, level), node.span)
            case syntax.Binary():
                left, right = self.operands((node.left, node.right), level)
                return binary(node.op, left, right, node.span)
            case syntax.In():
                meeting = (node.operand, *node.options)
                operand, *options = self.operands(meeting, level)
                return is_in(operand, options, node.span)
            case syntax.Conditional():
                parts = self.operands(
                    (node.condition, node.then, node.otherwise), level
                )
                return conditional(parts[0], parts[1], parts[2], node.span)
            case syntax.Member():
                operand = self.expr(node.operand, level)
                return self._field(operand, node.name, node.span)
            case syntax.StructValue():
                values = self.each([f.value for f in node.fields], level)
                fields = [f.name.text for f in node.fields]
                return make_struct(fields, values, node.span)
            case syntax.With():
                return self._changed(node, level)
            case syntax.Call():
                return self._call(node, level)
            case _:
                raise misplaced(node)

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
        return with_fields(operand, new, node.span)

    def _call(self, node: syntax.Call, level: int) -> Expr:
        name = node.callee.text
        functions = self.scope.functions
        if name in functions.broken:
            raise Broken
        own = name in functions.reductions
        if not node.reduce and not own and not is_built_in(name):
            function = functions.find(name)
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
                return exists(self.expr(node.arguments[0], level), node.span)
            case Callee.CAST:
                operand = self.expr(node.arguments[0], level)
                return cast(operand, NAMED[name], node.span)
            case Callee.FUNCTION:
                arguments = self.operands(node.arguments, level)
                return call(name, arguments, node.span)
            case Callee.STRING_TEST:
                string, pattern = self.each(node.arguments, level)
                return match_string(string_test(node), string, pattern, node.span)

    @abstractmethod
    def _expand(self, function: syntax.Function, node: syntax.Call, level: int) -> Expr:
        """The body of a function, with its parameters bound to the arguments."""

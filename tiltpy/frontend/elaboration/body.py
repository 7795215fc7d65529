"""Elaboration of one definition's body: surface expressions -> typed IR.

A body is an expression or a block. A function is its body written out where it is
called, and an object of a block's own is a body as well.
"""

from dataclasses import replace

from tiltpy.errors import QueryError
from tiltpy.frontend.elaboration.body_state import bare
from tiltpy.frontend.elaboration.call_arguments import (
    arguments_of,
    called,
    in_library,
    library_scope,
)
from tiltpy.frontend.elaboration.expressions import Values
from tiltpy.frontend.elaboration.reference_rules import payload_of
from tiltpy.frontend.elaboration.scope import Alias, Bound, Scope
from tiltpy.frontend.elaboration.tick_constants import other_time, too_deep
from tiltpy.frontend.elaboration.time_domains import read_domain
from tiltpy.frontend.hints.misplaced import inside
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.poison import Broken
from tiltpy.ir.construct.widening import finish
from tiltpy.ir.nodes import At, Expr
from tiltpy.ir.traversal import depth
from tiltpy.limits import MAX_DEPTH
from tiltpy.source import Span
from tiltpy.types import TDom


class Body(Values):
    """Elaborates one body in a scope, with the functions and objects in it."""

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

    def _expand(self, function: syntax.Function, node: syntax.Call, level: int) -> Expr:
        """The body of a function, with its parameters bound to the arguments."""
        self.objects.expansion.count_call(node.span)
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
        points = self.scope.points
        home = replace(home, within=function.name.text, tdom=TDom(), points=points)
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
        inner = bare(node)
        while isinstance(inner, syntax.Member):
            members.insert(0, inner.name)
            inner = bare(inner.operand)
        if not isinstance(inner, syntax.Ref) or inner.start is not None:
            scope = replace(self.scope, tdom=TDom())
            return Alias(self._own_object(stem, node, node.span, level, scope))
        target, fields = self._resolve(inner)
        value: Expr = At(target.object, 0, payload_of(target, self.objects), inner.span)
        self._field_of(value, (*fields, *members))
        return Alias(target.object, (*fields, *members))

    def _define(self, node: syntax.Definition, level: int) -> None:
        """An object of a block's own."""
        scope, name, over = self.scope, node.name, node.time.text
        if over != scope.time and over not in scope.domains:
            raise other_time(over, scope.time, node.time.span)
        tdom = scope.domains.get(over)
        inner = scope
        if over != scope.time and tdom is not None:
            inner = replace(scope, time=over, tdom=tdom, points=tdom)
        stem = f"{scope.within.rstrip(chr(39))}_{name.text}"
        alias = Alias(None)
        try:
            if over == scope.time or tdom is not None:
                span = name.span
                own = self._own_object(stem, node.body, span, level + 3, inner)
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
        scope: Scope,
    ) -> str:
        """Define an object of the query, over the domain of a scope."""
        if self.frame is not None:
            raise inside(span, "an object")
        if level > MAX_DEPTH:
            raise too_deep(span)
        before = len(self.errors)
        scope = replace(scope, within=stem)
        body = Body(scope, self.objects, self.errors, self.home)
        expr = body.elaborate(f"~{stem}", node, level)
        if len(self.errors) > before:
            raise Broken
        return self.objects.define(stem, scope.tdom, expr, span)

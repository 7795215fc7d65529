"""Elaboration: the surface syntax of a whole query -> the functional IR.

    statements -> unit -> parameters -> inputs, time domains -> reductions ->
    definitions, each after those it needs -> outputs

Errors are collected over the whole query; what depends on something broken is left
alone, since its errors would only repeat the first.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeVar

from tiltpy.errors import QueryError, QueryErrors
from tiltpy.frontend.elaboration.body import Body
from tiltpy.frontend.elaboration.call_arguments import check_function
from tiltpy.frontend.elaboration.declarations import (
    Override,
    check_overrides,
    finest_unit,
    read_input,
    read_param,
    read_unit,
)
from tiltpy.frontend.elaboration.definition_order import in_order, recursions
from tiltpy.frontend.elaboration.library import Functions
from tiltpy.frontend.elaboration.library_reductions import LibraryReductions
from tiltpy.frontend.elaboration.outputs import needed, read_outputs
from tiltpy.frontend.elaboration.reference_rules import Objects
from tiltpy.frontend.elaboration.scope import Scope
from tiltpy.frontend.elaboration.tick_constants import Ticks, Times
from tiltpy.frontend.elaboration.time_domains import read_domain
from tiltpy.frontend.elaboration.user_reductions import read_reduction
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.poison import Broken
from tiltpy.frontend.surface.program import Program
from tiltpy.frontend.surface.size_limits import Expansion, check_statements
from tiltpy.ir.nodes import Const, Input, Query, TemporalExpr, UserReduction
from tiltpy.ir.traversal import source_cuts
from tiltpy.limits import MAX_ERRORS
from tiltpy.source import Span
from tiltpy.types import TDom, Unit

_Node = TypeVar("_Node", bound=syntax.Statement)
_Value = TypeVar("_Value")


def elaborate(
    program: Program, overrides: Mapping[str, Override], *, is_printed: bool = False
) -> Query:
    """The typed query; raises a QueryErrors with all that is wrong with it.

    `is_printed`: its text was printed of a query, which was measured before.
    """
    if not is_printed:
        try:
            check_statements(program.statements)
        except QueryError as error:
            raise QueryErrors([error]) from None
    return _Elaboration(program, overrides).query()


class _Elaboration:
    def __init__(self, program: Program, overrides: Mapping[str, Override]) -> None:
        self.program = program
        self.overrides = overrides
        self.errors = list(program.errors)
        self.broken = set(program.broken)
        self.expansion = Expansion()

    def query(self) -> Query:
        unit = self._unit()
        times = self._times(unit)
        inputs = self._inputs(times)
        domains = self._domains(times)
        functions = self._functions()
        reductions = self._reductions(Scope("", times, functions, closed=True))
        broken = functions.broken.union(self._broken_callees())
        library = LibraryReductions(unit, reductions)
        functions = replace(
            functions, reductions=reductions, broken=broken, library=library
        )
        scope = Scope("t", times, functions)
        definitions = self._definitions(scope, inputs, domains)
        outputs = self._outputs(definitions, inputs)
        if self.errors:
            in_place = sorted(self.errors, key=lambda e: (e.span.start, e.span.end))
            first = {(e.code, e.message, e.span): e for e in reversed(in_place)}
            raise QueryErrors(list(reversed(first.values()))[:MAX_ERRORS])
        return Query(
            unit,
            tuple(inputs.values()),
            tuple(definitions),
            outputs,
            reductions=(*reductions.values(), *library.used()),
        )

    def _all(self, kind: type[_Node]) -> list[_Node]:
        return [node for node in self.program.statements if isinstance(node, kind)]

    def _try(self, name: str, make: Callable[[], _Value]) -> _Value | None:
        """What `make` makes; an error is kept, and the name is broken from then on."""
        try:
            return make()
        except QueryError as error:
            self.errors.append(error)
        except Broken:
            pass
        self.broken |= {name} - {""}
        return None

    def _distinct(self, words: list[tuple[str, syntax.Word]]) -> None:
        """Report every name that stands for a second thing."""
        first: dict[str, Span] = {}
        for name, word in words:
            if name in first:
                line, _ = first[name].source.position(first[name].start)
                self.errors.append(
                    QueryError(
                        "E0104",
                        f"a second {name if name[0] == '~' else f'`{name}`'}",
                        word.span,
                        f"the first is on line {line}; give it another name",
                    )
                )
            first.setdefault(name, word.span)

    # -- what stands around the definitions ---------------------------------------

    def _unit(self) -> Unit | None:
        stated = self._all(syntax.Unit)
        for more in stated[1:]:
            message = "a second unit; a query has one tick"
            way = "leave one of them out"
            self.errors.append(QueryError("E0104", message, more.name.span, way))
        if stated:
            return self._try("unit", partial(read_unit, stated[0].name)) or "ns"
        if self.program.errors:
            return "ns"  # the finest duration may be in what does not read
        statements = self.program.statements
        return finest_unit([body for one in statements for body in syntax.bodies(one)])

    def _times(self, unit: Unit | None) -> Times:
        params, domains = self._all(syntax.Param), self._all(syntax.TimeDomain)
        words = [p.name for p in params] + [d.name for d in domains]
        self._distinct([(word.text, word) for word in words])
        known = [param.name.text for param in params]
        check_overrides(self.overrides, [*known, *(self.broken - set(known))])
        names = frozenset(domain.name.text for domain in domains)
        values: dict[str, Const | Ticks] = {}
        times = Times(unit, values, names, self.broken)
        for param in params:
            name = param.name.text
            given = self.overrides.get(name)
            value = self._try(name, partial(read_param, param, given, times))
            if value is not None:
                values.setdefault(name, value)
        return times

    def _inputs(self, times: Times) -> dict[str, Input]:
        nodes = self._all(syntax.Input)
        words = [n.name for n in nodes] + [d.name for d in self._all(syntax.Definition)]
        self._distinct([(f"~{word.text}", word) for word in words])
        found: dict[str, Input] = {}
        for node in nodes:
            declared = self._try(f"~{node.name.text}", partial(read_input, node, times))
            if declared is not None:
                found.setdefault(declared.name, declared)
        return found

    def _domains(self, times: Times) -> dict[str, TDom]:
        found: dict[str, TDom] = {}
        for node in self._all(syntax.TimeDomain):
            domain = self._try(node.name.text, partial(read_domain, node, times))
            if domain is not None:
                found.setdefault(node.name.text, domain)
        return found

    # -- functions ----------------------------------------------------------------

    def _functions(self) -> Functions:
        """The query's own functions; those that are wrong are broken."""
        nodes = self._all(syntax.Function)
        callees = [node.name for node in nodes]
        callees += [node.name for node in self._all(syntax.OwnReduction)]
        self._distinct([(f"{word.text}()", word) for word in callees])
        found: dict[str, syntax.Function] = {}
        for node in nodes:
            if self._try(f"{node.name.text}()", partial(check_function, node)):
                found.setdefault(node.name.text, node)
        circles = recursions(found)
        self.errors.extend(circles.values())
        self.broken.update(f"{name}()" for name in circles)
        broken = self._broken_callees()
        sound = {name: one for name, one in found.items() if name not in broken}
        return Functions(sound, broken)

    def _broken_callees(self) -> frozenset[str]:
        return frozenset(name[:-2] for name in self.broken if name.endswith("()"))

    def _reductions(self, scope: Scope) -> dict[str, UserReduction]:
        """The query's own reductions; they see constants and its functions."""
        found: dict[str, UserReduction] = {}
        for node in self._all(syntax.OwnReduction):
            name = f"{node.name.text}()"
            read = partial(read_reduction, node, scope, self.errors, self.expansion)
            reduction = self._try(name, read)
            if reduction is not None:
                found.setdefault(reduction.name, reduction)
        return found

    # -- definitions and outputs --------------------------------------------------

    def _definitions(
        self, scope: Scope, inputs: dict[str, Input], domains: dict[str, TDom]
    ) -> list[TemporalExpr]:
        nodes: dict[str, syntax.Definition] = {}
        for node in self._all(syntax.Definition):
            if node.name.text not in inputs:
                nodes.setdefault(node.name.text, node)
        ordered, cycles = in_order(list(nodes.values()), scope.functions)
        self.errors.extend(cycles)
        placed = {node.name.text for node in ordered}
        self.broken.update(f"~{name}" for name in nodes.keys() - placed)
        types = {name: declared.type for name, declared in inputs.items()}
        keys = {name: declared.keys for name, declared in inputs.items()}
        taken = {*inputs, *nodes}
        objects = Objects(
            types,
            keys,
            frozenset(inputs),
            self.broken,
            taken,
            expansion=self.expansion,
        )
        for node in ordered:
            if len(self.errors) >= MAX_ERRORS:
                break
            name = f"~{node.name.text}"
            make = partial(self._definition, node, scope, objects, domains)
            definition = self._try(name, make)
            if definition is not None:
                objects.add(definition)
        return needed(objects)

    def _definition(
        self,
        node: syntax.Definition,
        home: Scope,
        objects: Objects,
        domains: dict[str, TDom],
    ) -> TemporalExpr:
        before = len(self.errors)
        tdom = self._try("", partial(self._domain, node, home.times, domains))
        time, name = node.time.text, node.name.text
        over = tdom or TDom()
        scope = replace(home, time=time, tdom=over, points=over, within=name)
        body = Body(scope, objects, self.errors, home)
        expr = body.elaborate(f"~{name}", node.body)
        if tdom is None or len(self.errors) > before:
            raise Broken
        cuts = source_cuts(expr)
        return TemporalExpr(node.name.text, tdom, expr, cuts, node.name.span)

    def _domain(
        self, node: syntax.Definition, times: Times, domains: dict[str, TDom]
    ) -> TDom:
        if node.domain is not None:
            return read_domain(node.domain, times)
        name = node.time.text
        if name in domains:
            return domains[name]
        if name in self.broken:
            raise Broken
        if name == "t" and name not in times.params:
            return TDom(span=node.time.span)
        raise QueryError(
            "E0102",
            f"unknown time variable `{name}`",
            node.time.span,
            f"declare it, like {name} = TDom(-∞, ∞, 1)",
        )

    def _outputs(
        self, definitions: list[TemporalExpr], inputs: dict[str, Input]
    ) -> tuple[str, ...]:
        statements = self._all(syntax.Output)
        outputs = read_outputs(
            statements, definitions, inputs, self.broken, self.errors
        )
        if not self._all(syntax.Definition) and not self.errors:
            self.errors.append(
                QueryError(
                    "E0114",
                    "the query defines no temporal object, so it has no output",
                    self.program.span,
                    "define one, like ~y[t] = ~x[t] + 1",
                )
            )
        return outputs

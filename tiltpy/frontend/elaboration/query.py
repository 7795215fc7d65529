"""Elaboration: the surface syntax of a whole query -> the functional IR.

    statements -> unit -> parameters -> inputs, time domains -> reductions ->
    definitions, each after those it needs -> outputs

Errors are collected over the whole query; what depends on a poisoned name is left
alone, since its errors would only repeat the first.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TypeVar

from tiltpy.errors import QueryError, QueryErrors
from tiltpy.frontend.elaboration.bodies import elaborate_body
from tiltpy.frontend.elaboration.call_arguments import check_function
from tiltpy.frontend.elaboration.declarations import (
    find_finest_unit,
    read_input,
    read_param,
    read_unit,
)
from tiltpy.frontend.elaboration.definition_order import (
    order_definitions,
    recursion_errors,
)
from tiltpy.frontend.elaboration.expressions import open_body
from tiltpy.frontend.elaboration.library import Functions
from tiltpy.frontend.elaboration.library_reductions import LibraryReductions
from tiltpy.frontend.elaboration.object_references import endless_bound
from tiltpy.frontend.elaboration.objects import Expansion, Objects
from tiltpy.frontend.elaboration.outputs import drop_unused_objects, read_outputs
from tiltpy.frontend.elaboration.poison import ErrorLog, Poison
from tiltpy.frontend.elaboration.scope import Scope
from tiltpy.frontend.elaboration.tick_constants import Ticks, Times
from tiltpy.frontend.elaboration.time_domains import read_domain
from tiltpy.frontend.elaboration.user_reductions import (
    endless_strings,
    read_reduction,
)
from tiltpy.frontend.hints.general import hint_time_variable
from tiltpy.frontend.hints.misplaced import never_joined
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.size_limits import check_statements
from tiltpy.ir.endless import endless_bounds
from tiltpy.ir.find_string_uses import find_string_uses
from tiltpy.ir.nodes import Const, Input, Query, TemporalExpr, UserReduction
from tiltpy.ir.traversal import source_cuts
from tiltpy.lean_dataclass import dataclass
from tiltpy.limits import MAX_ERRORS
from tiltpy.types import TDom, Unit

_Node = TypeVar("_Node", bound=syntax.Statement)


def elaborate(
    program: syntax.Program,
    overrides: Mapping[str, syntax.Expr],
    *,
    is_printed: bool = False,
) -> Query:
    """Elaborate a query; raises a QueryErrors with all that is wrong with it.

    `overrides` are values of parameters by name. `is_printed`: the text was printed of
    a query, which was within the limits of statements already.
    """
    if not is_printed:
        try:
            check_statements(program.statements)
        except QueryError as error:
            raise QueryErrors([error]) from None
    elaborator = _QueryElaborator(program, overrides)
    query = elaborator.elaborate_query()
    elaborator.log.raise_errors()
    return query


@dataclass(frozen=True, slots=True)
class PartialQuery:
    """The right part of a query, None where it is too large, and all errors.

    What refers to a definition with an error is left out, too.
    """

    query: Query | None
    errors: tuple[QueryError, ...]


def elaborate_partially(program: syntax.Program) -> PartialQuery:
    """Elaborate what is right of a query, for editors; it raises no errors."""
    try:
        check_statements(program.statements)
    except QueryError as error:
        return PartialQuery(None, (error,))
    elaborator = _QueryElaborator(program, {})
    query = elaborator.elaborate_query()
    return PartialQuery(query, tuple(elaborator.log.ordered_errors()))


class _QueryElaborator:
    """The statements of one query, and the errors in them."""

    def __init__(
        self, program: syntax.Program, overrides: Mapping[str, syntax.Expr]
    ) -> None:
        self.program = program
        self.overrides = overrides
        self.log = ErrorLog(list(program.errors), set(program.poisoned))
        self.expansion = Expansion()

    def elaborate_query(self) -> Query:
        """Elaborate all that has no error; errors are in the log."""
        unit = self._read_unit()
        times = self._read_params(unit)
        inputs = self._read_inputs(times)
        domains = self._read_domains(times)
        functions = self._read_functions()
        reductions = self._read_reductions(Scope("", times, functions, closed=True))
        library = LibraryReductions(unit, reductions)
        functions = replace(
            functions,
            reductions=reductions,
            poisoned=functions.poisoned | self.log.poisoned_callees(),
            library=library,
            picks=library.pick,
        )
        scope = Scope("t", times, functions)
        definitions = self._elaborate_definitions(scope, inputs, domains)
        outputs = self._read_outputs(definitions, inputs)
        cells = {definition.tdom.cells for definition in definitions}
        query = Query(
            unit,
            tuple(replace(i, cells=i.name in cells) for i in inputs.values()),
            tuple(definitions),
            outputs,
            reductions=(*reductions.values(), *library.used_reductions()),
        )
        if not self.log.errors:
            growing = find_string_uses(query).find_growth()
            self.log.errors += [endless_strings(growing)] if growing else []
        return query

    def _statements(self, kind: type[_Node]) -> list[_Node]:
        """List the statements of one kind."""
        return [node for node in self.program.statements if isinstance(node, kind)]

    def _domains(self) -> list[syntax.Domain]:
        """List the time domains and the row domains."""
        nodes = self.program.statements
        return [node for node in nodes if isinstance(node, syntax.Domain)]

    # -- what stands around the definitions ---------------------------------------

    def _read_unit(self) -> Unit | None:
        units = self._statements(syntax.Unit)
        for second in units[1:]:
            message = "a second unit; a query has one tick"
            hint = "leave one of them out"
            error = QueryError("E0104", message, second.name.span, hint)
            self.log.errors.append(error)
        if units:
            return self.log.attempt("unit", partial(read_unit, units[0].name)) or "ns"
        if self.program.errors:
            return "ns"  # the finest duration may be in what does not read
        statements = self.program.statements
        return find_finest_unit(
            [body for node in statements for body in syntax.bodies(node)]
        )

    def _read_params(self, unit: Unit | None) -> Times:
        params = self._statements(syntax.Param)
        domains = self._domains()
        words = [p.name for p in params] + [d.name for d in domains]
        self.log.require_distinct([(word.text, word) for word in words])
        poisoned = self.log.poisoned
        names = frozenset(domain.name.text for domain in domains)
        values: dict[str, Const | Ticks] = {}
        times = Times(unit, values, names, poisoned)
        for param in params:
            name = param.name.text
            override = self.overrides.get(name)
            read = partial(read_param, param, override, times)
            value = self.log.attempt(name, read)
            if value is not None:
                values.setdefault(name, value)
        return times

    def _read_inputs(self, times: Times) -> dict[str, Input]:
        nodes = self._statements(syntax.InputStatement)
        words = [node.name for node in nodes]
        words += [node.name for node in self._statements(syntax.ObjectDefinition)]
        self.log.require_distinct([(f"~{word.text}", word) for word in words])
        inputs: dict[str, Input] = {}
        for node in nodes:
            name = f"~{node.name.text}"
            declared = self.log.attempt(name, partial(read_input, node, times))
            if declared is not None:
                inputs.setdefault(declared.name, declared)
        return inputs

    def _read_domains(self, times: Times) -> dict[str, TDom]:
        domains: dict[str, TDom] = {}
        for node in self._domains():
            name = node.name.text
            domain = self.log.attempt(name, partial(read_domain, node, times))
            if domain is not None:
                domains.setdefault(name, domain)
        return domains

    # -- functions ----------------------------------------------------------------

    def _read_functions(self) -> Functions:
        """Read the query's functions, and check their names and that none recurs."""
        nodes = self._statements(syntax.FunctionDefinition)
        callees = [node.name for node in nodes]
        callees += [node.name for node in self._statements(syntax.ReductionDefinition)]
        self.log.require_distinct([(f"{word.text}()", word) for word in callees])
        functions: dict[str, syntax.FunctionDefinition] = {}
        for node in nodes:
            name = node.name.text
            if self.log.attempt(f"{name}()", partial(check_function, node)):
                functions.setdefault(name, node)
        recursions = recursion_errors(functions)
        self.log.errors.extend(recursions.values())
        self.log.poison(f"{name}()" for name in recursions)
        poisoned = self.log.poisoned_callees()
        sound = {name: f for name, f in functions.items() if name not in poisoned}
        return Functions(sound, poisoned)

    def _read_reductions(self, scope: Scope) -> dict[str, UserReduction]:
        """Read the user-defined reductions; they see constants and functions."""
        reductions: dict[str, UserReduction] = {}
        for node in self._statements(syntax.ReductionDefinition):
            read = partial(read_reduction, node, scope, self.log.errors, self.expansion)
            reduction = self.log.attempt(f"{node.name.text}()", read)
            if reduction is not None:
                reductions.setdefault(reduction.name, reduction)
        return reductions

    # -- definitions and outputs --------------------------------------------------

    def _elaborate_definitions(
        self, scope: Scope, inputs: dict[str, Input], domains: dict[str, TDom]
    ) -> list[TemporalExpr]:
        nodes: dict[str, syntax.ObjectDefinition] = {}
        for node in self._statements(syntax.ObjectDefinition):
            if node.name.text not in inputs:
                nodes.setdefault(node.name.text, node)
        rows = {
            domain.name.text: domain.rows
            for domain in self._statements(syntax.RowDomain)
        }
        for domain in self._statements(syntax.TimeDomain):
            for cells in domain.arguments[2:3]:
                if isinstance(cells, syntax.InputCells):
                    cells_of = syntax.Ref(cells.object, None, None, cells.span)
                    rows[domain.name.text] = cells_of
        written = list(nodes.values())
        ordered, cycles = order_definitions(written, scope.functions, rows)
        self.log.errors.extend(cycles)
        acyclic = {node.name.text for node in ordered}
        self.log.poison(f"~{name}" for name in nodes.keys() - acyclic)
        objects = Objects(
            {name: declared.type for name, declared in inputs.items()},
            {name: declared.keys for name, declared in inputs.items()},
            {name: declared.lifetime for name, declared in inputs.items()},
            self.log.poisoned,
            taken={*inputs, *nodes},
            expansion=self.expansion,
            roots={name: name for name in inputs},
        )
        for node in ordered:
            if len(self.log.errors) >= MAX_ERRORS:
                break
            make = partial(self._elaborate_definition, node, scope, objects, domains)
            definition = self.log.attempt(f"~{node.name.text}", make)
            if definition is not None:
                objects.add(definition)
        remaining = drop_unused_objects(objects)
        self.log.errors.extend(map(endless_bound, endless_bounds(remaining)))
        return remaining

    def _elaborate_definition(
        self,
        node: syntax.ObjectDefinition,
        home: Scope,
        objects: Objects,
        domains: dict[str, TDom],
    ) -> TemporalExpr:
        before = len(self.log.errors)

        def find() -> TDom:
            tdom = self._find_domain(node, home.times, domains)
            objects.check_rows(tdom)
            if node.distinct and tdom.rows is not None:
                raise never_joined(node.name.span)
            return tdom

        tdom = self.log.attempt("", find)
        over, name = tdom or TDom(), node.name.text
        time = node.time.text
        scope = replace(home, time=time, tdom=over, points=over, within=name)
        body = open_body(scope, objects, self.log.errors, home)
        expr = elaborate_body(body, f"~{name}", node.body)
        if tdom is None or len(self.log.errors) > before:
            raise Poison
        cuts, span = source_cuts(expr), node.name.span
        return TemporalExpr(name, tdom, expr, cuts, node.distinct, span)

    def _find_domain(
        self, node: syntax.ObjectDefinition, times: Times, domains: dict[str, TDom]
    ) -> TDom:
        """Find the time domain of a definition, by its time variable."""
        if node.domain is not None:
            return read_domain(node.domain, times)
        name = node.time.text
        if name in domains:
            return domains[name]
        if name in self.log.poisoned:
            raise Poison
        if name == "t" and name not in times.params:
            return TDom(span=node.time.span)
        raise QueryError(
            "E0102",
            f"unknown time variable `{name}`",
            node.time.span,
            hint_time_variable(name, domains),
        )

    def _read_outputs(
        self, definitions: list[TemporalExpr], inputs: dict[str, Input]
    ) -> tuple[str, ...]:
        statements = self._statements(syntax.OutputStatement)
        outputs = read_outputs(statements, definitions, inputs, self.log)
        if not self._statements(syntax.ObjectDefinition) and not self.log.errors:
            self.log.errors.append(
                QueryError(
                    "E0114",
                    "the query defines no temporal object, so it has no output",
                    self.program.span,
                    "define one, like ~y[t] = ~x[t] + 1",
                )
            )
        return outputs

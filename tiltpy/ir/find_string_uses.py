"""Find string uses: which strings may reach the functions of strings of a query.

The query as it is written says which: in `lower(c ? ~x[t].a : "B")` those of the column
`a`, and "B".
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from tiltpy.ir import reductions
from tiltpy.ir.nodes import (
    At,
    Const,
    Element,
    Expr,
    Field,
    If,
    Let,
    Local,
    MakeStruct,
    Phi,
    Query,
    Reduce,
    StringCall,
)
from tiltpy.ir.string_sources import (
    CallSource,
    ColumnSource,
    Path,
    RowCall,
    RowValue,
    Source,
    StateSource,
    StringFold,
    StringUse,
    StringUses,
)
from tiltpy.ir.traversal import children
from tiltpy.types import STRING, Scalar, Struct, Type


def find_string_uses(query: Query) -> StringUses:
    """Find the calls of functions of strings in a query."""
    finder = _Finder(query)
    for definition in query.definitions:
        finder.visit(definition.body, _Scope({}, None))
    return StringUses(tuple(finder.uses), tuple(finder.states.items()))


def string_columns(payload: Type) -> Iterator[tuple[Path, int]]:
    """Yield the path and the number of each column of strings, as in `columns`."""
    if isinstance(payload, Scalar):
        if payload == STRING:
            yield (), 0
        return
    number = 0
    for name, of in payload.fields:
        if of == STRING:
            yield (name,), number
        if isinstance(of, Struct):
            for inner, scalar in of.fields:
                number += 1
                if scalar == STRING:
                    yield (name, inner), number
        number += 1


@dataclass(frozen=True, slots=True)
class _Scope:
    """What names and elements stand for where an expression stands."""

    names: Mapping[str, "_Binding"]
    window: str | None
    fold: StringFold | None = None
    """The fold of whose reduction it is a clause."""


@dataclass(slots=True)
class _Binding:
    value: Expr
    scope: _Scope
    sources: dict[Path, dict[Source, None]] = field(default_factory=dict)


_Row = object
"""What names a row within an expression: equal ones are of the same row."""


class _Finder:
    def __init__(self, query: Query) -> None:
        self.query = query
        self.uses: dict[StringUse, int] = {}
        self.reductions = {each.name: each for each in query.reductions}
        self.states: dict[StateSource, tuple[Source, ...]] = {}
        self._folds: set[StringFold] = set()
        self._objects: dict[tuple[str, Path], dict[Source, None]] = {}

    def visit(self, expr: Expr, scope: _Scope) -> None:
        """Collect the calls in an expression."""
        match expr:
            case Let():
                self.visit(expr.value, scope)
                self.visit(expr.body, _bind(expr, scope))
            case Reduce():
                self.visit(expr.element, _inside(expr, scope))
                if expr.reduction in self.reductions:
                    self.fold(expr, scope)
            case _:
                for child in children(expr):
                    self.visit(child, scope)
        if isinstance(expr, StringCall):
            self.call(expr, scope)

    def call(self, expr: StringCall, scope: _Scope) -> CallSource:
        """Number a call; those of equal strings are one."""
        operands = tuple(tuple(self.sources(e, (), scope)) for e in expr.operands)
        row = self.row_value(expr, scope)
        values = row[0].operands if row is not None else None
        use = StringUse(replace(expr, operands=()), operands, values)
        return CallSource(self.uses.setdefault(use, len(self.uses)))

    def fold(self, expr: Reduce, scope: _Scope) -> _Scope:
        """Collect the calls in the clauses of a user-defined reduction."""
        reduction, inside = self.reductions[expr.reduction], _inside(expr, scope)
        elements = tuple(
            (path, tuple(self.sources(expr.element, path, inside)))
            for path, _ in string_columns(reduction.type)
        )
        fold = StringFold(reduction.name, elements)
        clause_scope = _Scope({}, None, fold)
        if fold not in self._folds:
            self._folds.add(fold)
            for path, _ in string_columns(reduction.init.type):
                sources = _join(
                    self.sources(clause, path, clause_scope)
                    for name, clause in reductions.clauses(reduction)
                    if name != "result"
                )
                self.states[StateSource(fold, path)] = tuple(sources)
            for _, clause in reductions.clauses(reduction):
                self.visit(clause, clause_scope)
        return clause_scope

    # -- where a value may come from --------------------------------------------------

    def sources(self, expr: Expr, path: Path, scope: _Scope) -> dict[Source, None]:
        """Find the sources of an expression, or of a field of it."""
        match expr:
            case Const(value=str(value)):
                return {value: None}
            case StringCall():
                return {self.call(expr, scope): None} if expr.type == STRING else {}
            case At():
                return self.of_object(expr.object, path)
            case Element():
                assert scope.window is not None
                return self.of_object(scope.window, path)
            case Field():
                return self.sources(expr.operand, (expr.name, *path), scope)
            case MakeStruct():
                names = [name for name, _ in expr.type.fields]
                if path:
                    chosen = expr.fields[names.index(path[0])]
                    return self.sources(chosen, path[1:], scope)
                return _join(self.sources(each, (), scope) for each in expr.fields)
            case Local():
                return self.of_local(expr.name, path, scope)
            case Let():
                return self.sources(expr.body, path, _bind(expr, scope))
            case If():
                branches = expr.then, expr.otherwise
                return _join(self.sources(each, path, scope) for each in branches)
            case Reduce() if expr.reduction in self.reductions:
                result = self.reductions[expr.reduction].result
                return self.sources(result, path, self.fold(expr, scope))
            case Reduce():
                inside = _inside(expr, scope)
                scalar = isinstance(expr.element.type, Scalar)
                return self.sources(expr.element, () if scalar else path, inside)
            case _:
                return {}

    def of_object(self, name: str, path: Path) -> dict[Source, None]:
        known = self._objects.get((name, path))
        if known is None:
            declared = self.query.input(name)
            if declared is not None:
                known = {
                    ColumnSource(name, number): None
                    for column, number in string_columns(declared.type)
                    if column[: len(path)] == path
                }
            else:
                definition = self.query.definition(name)
                assert definition is not None
                known = self.sources(definition.body, path, _Scope({}, None))
            self._objects[name, path] = known
        return known

    def of_local(self, name: str, path: Path, scope: _Scope) -> dict[Source, None]:
        if name in scope.names:
            binding = scope.names[name]
            if path not in binding.sources:
                binding.sources[path] = self.sources(binding.value, path, binding.scope)
            return binding.sources[path]
        fold = scope.fold
        if fold is None:
            return {}
        if name != self.reductions[fold.reduction].parameter:
            return {StateSource(fold, path): None}
        return _join(
            dict.fromkeys(sources)
            for column, sources in fold.elements
            if column[: len(path)] == path
        )

    # -- operands of one row ----------------------------------------------------------

    def row_value(self, call: StringCall, scope: _Scope) -> tuple[RowCall, _Row] | None:
        """Find the operands of a call that are all of one row of an input."""
        pairs = [self._of_row(operand, (), scope) for operand in call.operands]
        values = [pair[0] for pair in pairs if pair is not None]
        rows = {pair[1] for pair in pairs if pair is not None}
        if len(values) < len(pairs) or len(rows) != 1:
            return None
        return RowCall(call.key, tuple(values)), rows.pop()

    def _of_row(
        self, expr: Expr, path: Path, scope: _Scope
    ) -> tuple[RowValue, _Row] | None:
        match expr:
            case StringCall():
                return self.row_value(expr, scope)
            case Field():
                return self._of_row(expr.operand, (expr.name, *path), scope)
            case MakeStruct() if path:
                names = [name for name, _ in expr.type.fields]
                chosen = expr.fields[names.index(path[0])]
                return self._of_row(chosen, path[1:], scope)
            case If(then=Phi(), otherwise=value) | If(then=value, otherwise=Phi()):
                return self._of_row(value, path, scope)
            case Let():
                return self._of_row(expr.body, path, _bind(expr, scope))
            case Local() if expr.name in scope.names:
                binding = scope.names[expr.name]
                return self._of_row(binding.value, path, binding.scope)
            case At():
                here = expr.object, expr.offset, expr.row
                return self._of_object_row(expr.object, path, here)
            case Element() if scope.window is not None:
                return self._of_object_row(scope.window, path, scope.window)
            case _:
                return None

    def _of_object_row(
        self, name: str, path: Path, here: object
    ) -> tuple[RowValue, _Row] | None:
        """Find the column that an object shows of one row of an input."""
        declared = self.query.input(name)
        if declared is not None:
            column = dict(string_columns(declared.type))[path]
            return ColumnSource(name, column), here
        definition = self.query.definition(name)
        assert definition is not None
        shown = self._of_row(definition.body, path, _Scope({}, None))
        return None if shown is None else (shown[0], (here, shown[1]))


def _bind(expr: Let, scope: _Scope) -> _Scope:
    names = {**scope.names, expr.name: _Binding(expr.value, scope)}
    return replace(scope, names=names)


def _inside(expr: Reduce, scope: _Scope) -> _Scope:
    return replace(scope, window=expr.window.object)


def _join(several: Iterable[dict[Source, None]]) -> dict[Source, None]:
    joined: dict[Source, None] = {}
    for sources in several:
        joined |= sources
    return joined

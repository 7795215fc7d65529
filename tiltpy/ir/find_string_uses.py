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
    TemporalExpr,
)
from tiltpy.ir.string_sources import (
    CallSource,
    ColumnSource,
    Path,
    RowValue,
    Source,
    StateSource,
    StringUse,
    StringUses,
    string_columns,
)
from tiltpy.ir.traversal import children, walk
from tiltpy.types import STRING, Scalar


def find_string_uses(query: Query) -> StringUses:
    """Find the calls of functions of strings in a query."""
    if not any(map(_calls_strings, _bodies(query))):
        return StringUses()
    finder = _Finder(query)
    for definition in query.definitions:  # each after those it reads
        finder.settle(definition)
        finder.visit(definition.body, _Scope({}, None))
    return StringUses(tuple(finder.uses), tuple(finder.states.items()))


def _bodies(query: Query) -> Iterator[Expr]:
    for definition in query.definitions:
        yield definition.body
    for reduction in query.reductions:
        yield from (clause for _, clause in reductions.clauses(reduction))


def _calls_strings(body: Expr) -> bool:
    return any(isinstance(node, StringCall) for node in walk(body))


_Row = object
"""A name of a row within an expression: equal ones are of the same row."""
_OfRow = tuple[RowValue, _Row]


@dataclass(frozen=True, slots=True)
class _Fold:
    """A user-defined reduction, and what may reach each field of its elements."""

    reduction: str
    elements: tuple[tuple[Path, tuple[Source, ...]], ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Scope:
    """The meaning of names and elements where an expression stands."""

    names: Mapping[str, "_Binding"]
    window: str | None
    fold: _Fold | None = None
    """The fold of whose reduction it is a clause."""


@dataclass(slots=True)
class _Binding:
    """A local name; `sources` and `rows` memoize what is found of it by path."""

    value: Expr
    scope: _Scope
    sources: dict[Path, dict[Source, None]] = field(default_factory=dict)
    rows: dict[Path, _OfRow | None] = field(default_factory=dict)


class _Finder:
    def __init__(self, query: Query) -> None:
        self.query = query
        self.uses: dict[StringUse, int] = {}
        self.reductions = {each.name: each for each in query.reductions}
        self.states: dict[StateSource, tuple[Source, ...]] = {}
        self._folds: dict[_Fold, int] = {}
        self._objects: dict[tuple[str, Path], dict[Source, None]] = {}
        self._object_rows: dict[tuple[str, Path], _OfRow | None] = {}
        self._calls: dict[tuple[int, _Scope], tuple[CallSource, _Row | None]] = {}

    def settle(self, definition: TemporalExpr) -> None:
        """Memoize what an object shows, so that chains of objects nest no deeper."""
        for path, _ in string_columns(definition.type):
            for length in range(len(path) + 1):
                self.of_object(definition.name, path[:length])
            self._of_object_row(definition.name, path, None)

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

    def call(self, expr: StringCall, scope: _Scope) -> tuple[CallSource, _Row | None]:
        """Number a call; returns the row that all of its operands are of, too."""
        known = self._calls.get((id(expr), scope))
        if known is None:
            operands = tuple(tuple(self.sources(e, (), scope)) for e in expr.operands)
            values = [self._of_row(operand, (), scope) for operand in expr.operands]
            of_rows = [value for value in values if value is not None]
            rows = {row for _, row in of_rows}
            row, members = None, None
            if len(of_rows) == len(values) and len(rows) == 1:
                row, members = rows.pop(), tuple(value for value, _ in of_rows)
            use = StringUse(replace(expr, operands=()), operands, members)
            source = CallSource(self.uses.setdefault(use, len(self.uses)))
            known = self._calls[id(expr), scope] = source, row
        return known

    def fold(self, expr: Reduce, scope: _Scope) -> _Scope:
        """Collect the calls in the clauses of a user-defined reduction."""
        reduction, inside = self.reductions[expr.reduction], _inside(expr, scope)
        elements = tuple(
            (path, tuple(self.sources(expr.element, path, inside)))
            for path, _ in string_columns(reduction.type)
        )
        fold = _Fold(reduction.name, elements)
        clause_scope = _Scope({}, None, fold)
        if fold not in self._folds:
            number = self._folds[fold] = len(self._folds)
            for path, _ in string_columns(reduction.init.type):
                sources = _join(
                    self.sources(clause, path, clause_scope)
                    for name, clause in reductions.clauses(reduction)
                    if name != "result"
                )
                self.states[StateSource(fold.reduction, number, path)] = tuple(sources)
            for _, clause in reductions.clauses(reduction):
                self.visit(clause, clause_scope)
        return clause_scope

    # -- where a value may come from --------------------------------------------------

    def sources(self, expr: Expr, path: Path, scope: _Scope) -> dict[Source, None]:
        """Find the sources of an expression, or of a field of it."""
        if isinstance(expr.type, Scalar) and expr.type != STRING:
            return {}
        match expr:
            case Const(value=str(value)):
                return {value: None}
            case StringCall():
                return {self.call(expr, scope)[0]: None}
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
            return {StateSource(fold.reduction, self._folds[fold], path): None}
        return _join(
            dict.fromkeys(sources)
            for column, sources in fold.elements
            if column[: len(path)] == path
        )

    # -- operands of one row ----------------------------------------------------------

    def _of_row(self, expr: Expr, path: Path, scope: _Scope) -> _OfRow | None:
        """Find what a string, or a field of a struct, is of one row of an input."""
        match expr:
            case StringCall():
                source, row = self.call(expr, scope)
                return None if row is None else (source, row)
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
                if path not in binding.rows:
                    shown = self._of_row(binding.value, path, binding.scope)
                    binding.rows[path] = shown
                return binding.rows[path]
            case At():
                here = expr.object, expr.offset, expr.row
                return self._of_object_row(expr.object, path, here)
            case Element() if scope.window is not None:
                return self._of_object_row(scope.window, path, scope.window)
            case _:
                return None

    def _of_object_row(self, name: str, path: Path, here: _Row) -> _OfRow | None:
        """Find the column that an object shows of one row of an input."""
        declared = self.query.input(name)
        if declared is not None:
            column = dict(string_columns(declared.type))[path]
            return ColumnSource(name, column), here
        if (name, path) not in self._object_rows:
            definition = self.query.definition(name)
            assert definition is not None
            shown = self._of_row(definition.body, path, _Scope({}, None))
            self._object_rows[name, path] = shown
        shown = self._object_rows[name, path]
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

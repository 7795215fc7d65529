"""Resolution of the names of a text, statement by statement.

No function calls itself: what is still to be read waits in a list, so that no nesting
of a text can exhaust the stack.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tiltpy.frontend.surface import syntax
from tiltpy.ir.reductions import END, NEWER, OLDER, START, STATE
from tiltpy.language_server.bindings import (
    Bindings,
    Declaration,
    Kind,
    Occurrence,
    Symbol,
    Visible,
)
from tiltpy.source import Span

Body = syntax.Expr | syntax.BlockBody
_CLAUSE_NAMES = {
    "init": (),
    "merge": (OLDER, NEWER),
    "result": (STATE,),
}
"""Names that a clause of a user-defined reduction sees; others see those of `acc`."""
_ACC_NAMES = (STATE, START, END)
_CALLERS_TIME = "t"


def resolve_names(statements: Sequence[syntax.Statement]) -> Bindings:
    """Find what the names of a text stand for."""
    resolver = _Resolver()
    resolver.declare(statements)
    for statement in statements:
        resolver.resolve_statement(statement)
    order = sorted(resolver.occurrences, key=lambda each: each.span.start)
    return Bindings(
        tuple(resolver.symbols), tuple(order), resolver.visible, resolver.parents
    )


class _Resolver:
    def __init__(self) -> None:
        self.symbols: list[Symbol] = []
        self.occurrences: list[Occurrence] = []
        self.visible: dict[int, Visible] = {}
        self.parents: dict[int, syntax.CallExpression | syntax.Member] = {}
        self.objects: dict[str, Symbol] = {}
        self.parameters: dict[str, Symbol] = {}
        self.domains: dict[str, Symbol] = {}
        self.functions: dict[str, Symbol] = {}
        self.bounds: dict[str, Symbol] = {}
        self.waiting: list[tuple[Body, Visible]] = []
        self.statement: syntax.Statement

    # -- declarations -------------------------------------------------------------

    def declare(self, statements: Iterable[syntax.Statement]) -> None:
        """Declare what the whole text sees; of two of one name, the first."""
        for statement in statements:
            self.statement = statement
            match statement:
                case syntax.Param(name=name):
                    self._declare_in(self.parameters, "parameter", name, statement)
                case syntax.InputStatement(name=name):
                    self._declare_in(self.objects, "input", name, statement)
                case syntax.TimeDomain(name=name) | syntax.RowDomain(name=name):
                    self._declare_in(self.domains, "time domain", name, statement)
                case syntax.ObjectDefinition(name=name):
                    self._declare_in(self.objects, "object", name, statement)
                case syntax.FunctionDefinition(name=name):
                    self._declare_in(self.functions, "function", name, statement)
                case syntax.ReductionDefinition(name=name):
                    self._declare_in(self.functions, "reduction", name, statement)
                case syntax.Unit() | syntax.OutputStatement():
                    pass

    def _declare_in(
        self,
        names: dict[str, Symbol],
        kind: Kind,
        word: syntax.Word,
        node: syntax.Statement,
    ) -> None:
        first = names.get(word.text)
        if first is not None:
            self._refer(word.span, first)
            return
        parameters: dict[str, Symbol] = {}
        if isinstance(node, syntax.FunctionDefinition):
            for each in node.parameters:
                of: Kind = "object argument" if each.object else "argument"
                parameters[each.name.text] = self._define(of, each.name, each)
        names[word.text] = self._define(kind, word, node, parameters)

    def _define(
        self,
        kind: Kind,
        word: syntax.Word,
        node: Declaration,
        parameters: Mapping[str, Symbol] | None = None,
    ) -> Symbol:
        span = _bare(word.span)
        symbol = Symbol(kind, word.text, span, node, self.statement, parameters or {})
        self.symbols.append(symbol)
        self._refer(span, symbol)
        return symbol

    def _refer(self, span: Span, symbol: Symbol | None) -> None:
        if symbol is not None:
            self.occurrences.append(Occurrence(_bare(span), symbol))

    # -- statements ---------------------------------------------------------------

    def resolve_statement(self, statement: syntax.Statement) -> None:
        """Resolve the names of a statement."""
        self.statement = statement
        everywhere = Visible(self.objects, self.parameters, self.domains)
        match statement:
            case syntax.TimeDomain() | syntax.RowDomain():
                self._resolve_domain(statement, everywhere)
            case syntax.ObjectDefinition(time=time, body=body):
                declared = self.domains.get(time.text)
                self._refer(time.span, declared)
                clock = (time.text, declared)
                self.waiting.append((body, replace(everywhere, clock=clock)))
            case syntax.FunctionDefinition():
                self._resolve_function(statement, everywhere)
            case syntax.ReductionDefinition():
                self._resolve_reduction(statement, everywhere)
            case syntax.OutputStatement(names=words):
                for word in words:
                    self._refer(word.span, self.objects.get(word.text))
            case _:
                for body in syntax.bodies(statement):
                    self.waiting.append((body, everywhere))
        self._resolve_waiting()

    def _resolve_domain(self, node: syntax.Domain, visible: Visible) -> None:
        """Resolve a time domain; an unknown name as a bound is one of the run."""
        if isinstance(node, syntax.RowDomain):
            self.waiting.append((node.rows, visible))
            return
        for position, argument in enumerate(node.arguments):
            name = argument.text if isinstance(argument, syntax.Name) else ""
            unknown = visible.value(name) is None and name not in visible.values
            if isinstance(argument, syntax.Name) and position < 2 and unknown:
                if name in self.bounds:
                    self._refer(argument.span, self.bounds[name])
                else:
                    word = syntax.Word(name, argument.span)
                    bound = self._define("run-time bound", word, argument)
                    self.bounds[name] = bound
                self.visible[argument.span.start] = visible
            else:
                self.waiting.append((argument, visible))

    def _resolve_function(
        self, node: syntax.FunctionDefinition, everywhere: Visible
    ) -> None:
        symbol = self.functions[node.name.text]
        values, objects = dict(everywhere.values), dict(everywhere.objects)
        for parameter in node.parameters:
            declared = symbol.parameters.get(parameter.name.text)
            if parameter.default is not None:
                self.waiting.append((parameter.default, everywhere))
            if declared is not None and parameter.object:
                objects[parameter.name.text] = declared
            elif declared is not None:
                values[parameter.name.text] = declared
        inside = Visible(objects, values, everywhere.domains, (_CALLERS_TIME, None))
        self.waiting.append((node.body, inside))

    def _resolve_reduction(
        self, node: syntax.ReductionDefinition, everywhere: Visible
    ) -> None:
        element: dict[str, Symbol] = {}
        for parameter in node.parameters:
            if parameter.type is not None:
                name = parameter.name
                element[name.text] = self._define("element", name, parameter)
        for clause in node.clauses:
            known = _CLAUSE_NAMES.get(clause.name.text)
            words = dict.fromkeys(_ACC_NAMES if known is None else known)
            values = {
                **everywhere.values,
                **words,
                **(element if known is None else {}),
            }
            self.waiting.append((clause.body, Visible({}, values)))

    # -- expressions --------------------------------------------------------------

    def _resolve_waiting(self) -> None:
        """Resolve the expressions that wait, and those inside of them."""
        while self.waiting:
            node, visible = self.waiting.pop()
            match node:
                case syntax.BlockBody():
                    self._resolve_block(node, visible)
                case syntax.Name(text=text, span=span):
                    self.visible[span.start] = visible
                    self._refer(span, visible.value(text))
                case syntax.InputCells(object=name, span=span):
                    start = span.source.text.find("~", span.start)
                    self._refer(replace(span, start=start), visible.objects.get(name))
                case syntax.CallExpression():
                    self._resolve_call(node, visible)
                case syntax.Comprehension():
                    self._resolve_comprehension(node, visible)
                case _:
                    if isinstance(node, syntax.Ref):
                        self._resolve_reference(node, visible)
                    elif isinstance(node, syntax.Member):
                        self.parents[node.name.span.start] = node
                    self._wait(syntax.children(node), visible)

    def _wait(self, nodes: Iterable[Body], visible: Visible) -> None:
        self.waiting.extend((node, visible) for node in nodes)

    def _resolve_reference(self, node: syntax.Ref, visible: Visible) -> None:
        self.visible[node.span.start] = visible
        symbol = visible.objects.get(node.object)
        start = _bare(node.span).start
        name = Span(node.span.source, start, start + len(node.object))
        self._refer(name, symbol)

    def _resolve_block(self, block: syntax.BlockBody, visible: Visible) -> None:
        """Resolve a block, whose statements see those before them."""
        for node in block.bindings:
            match node:
                case syntax.NamedValue(name=name, value=value):
                    self.waiting.append((value, visible))
                    local = self._define("local name", name, node)
                    values = {**visible.values, name.text: local}
                    visible = replace(visible, values=values)
                case syntax.TimeDomain() | syntax.RowDomain():
                    self._resolve_domain(node, visible)
                    domain = self._define("time domain", node.name, node)
                    domains = {**visible.domains, node.name.text: domain}
                    visible = replace(visible, domains=domains)
                case syntax.ObjectDefinition(name=name, time=time, body=body):
                    over = visible.domains.get(time.text)
                    if time.text == visible.clock[0]:
                        over = visible.clock[1]
                    self._refer(time.span, over)
                    inside = replace(visible, clock=(time.text, over))
                    self.waiting.append((body, inside))
                    made = self._define("object", name, node)
                    objects = {**visible.objects, name.text: made}
                    visible = replace(visible, objects=objects)
        self.waiting.append((block.result, visible))

    def _resolve_call(self, node: syntax.CallExpression, visible: Visible) -> None:
        """Resolve a call: its name, names of arguments, and what they contain.

        The names of a comprehension that stands last are seen by the arguments before.
        """
        self.parents[node.callee.span.start] = node
        self.visible[node.callee.span.start] = visible
        symbol = self.functions.get(node.callee.text)
        self._refer(node.callee.span, symbol)
        for named in node.named:
            if symbol is not None:
                self._refer(named.name.span, symbol.parameters.get(named.name.text))
            self.waiting.append((named.value, visible))
        *others, last = node.arguments or (None,)
        if last is not None and isinstance(last, syntax.Comprehension):
            visible = self._resolve_comprehension(last, visible)
        elif last is not None:
            self.waiting.append((last, visible))
        self._wait(others, visible)

    def _resolve_comprehension(
        self, node: syntax.Comprehension, visible: Visible
    ) -> Visible:
        """Resolve a comprehension, and return what its element sees."""
        self.waiting.append((node.window, visible))
        values = dict(visible.values)
        for word, _ in node.names:
            values[word.text] = self._define("element", word, node)
        inside = replace(visible, values=values)
        self.waiting.append((node.element, inside))
        if node.condition is not None:
            self.waiting.append((node.condition, inside))
        return inside


def _bare(span: Span) -> Span:
    """Leave the `~` before a name out of its span."""
    return replace(span, start=span.start + (span.source.text[span.start] == "~"))


def declared_name(statement: syntax.Statement) -> str:
    """Name what a statement declares as recovery does: `~x`, `f()`, `w`."""
    match statement:
        case syntax.ObjectDefinition(name=name) | syntax.InputStatement(name=name):
            return f"~{name.text}"
        case syntax.FunctionDefinition(name=name):
            return f"{name.text}()"
        case syntax.ReductionDefinition(name=name):
            return f"{name.text}()"
        case syntax.Unit() | syntax.OutputStatement():
            return ""
        case _:
            return statement.name.text

"""Parse tree -> surface syntax: statements.

A statement with an error in it is left out, and its name is remembered as `broken`, so
that what uses it is not blamed.
"""

from itertools import pairwise
from typing import Any, cast

from lark import Token, v_args
from lark.tree import Meta

from tiltpy.frontend.hints import general as advice
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.text.expression_reader import ExpressionReader
from tiltpy.source import Source


@v_args(meta=True)
class Reader(ExpressionReader):
    """Reads whole texts, or any run of statements."""

    def __init__(self, source: Source, base: int = 0) -> None:
        super().__init__(source, base)
        self.broken: set[str] = set()
        self._seen = 0

    def _statement(
        self, node: syntax.Statement, *names: str
    ) -> syntax.Statement | None:
        """The statement, or None if something in it was wrong."""
        clean = len(self.errors) == self._seen
        self._seen = len(self.errors)
        if not clean:
            self.broken.update(names)
        return node if clean else None

    # -- statements ---------------------------------------------------------------

    def start(self, _: Meta, nodes: list[Any]) -> list[syntax.Statement]:
        return [node for node in nodes if node is not None]

    def unit(self, _: Meta, nodes: list[Any]) -> syntax.Statement | None:
        return self._statement(syntax.Unit(self._word(nodes[1])))

    def param(self, _: Meta, nodes: list[Any]) -> syntax.Statement | None:
        name = self._own_name(nodes[1])
        param = syntax.Param(name, self._word(nodes[2]), nodes[3])
        return self._statement(param, name.text)

    def output(self, _: Meta, nodes: list[Any]) -> syntax.Statement | None:
        return self._statement(syntax.Output(tuple(nodes[1:])))

    def assignment(self, meta: Meta, nodes: list[Any]) -> syntax.Statement | None:
        name, value = self._own_name(nodes[0]), nodes[1]
        if not isinstance(value, syntax.Call) or value.callee.text != "TDom":
            self._fail(
                "E0001",
                f"`{name.text}` stands outside of a definition, where only time "
                "domains, parameters and temporal objects can be",
                name.span,
                advice.assignment(name.text, value),
            )
            arguments: tuple[syntax.Expr, ...] = ()
        else:
            arguments = self._domain_arguments(value)
        domain = syntax.TimeDomain(name, arguments, self._span(meta))
        return self._statement(domain, name.text)

    def definition(self, _: Meta, nodes: list[Any]) -> syntax.Statement | None:
        node = self._definition(nodes)
        return self._statement(node, "~" + node.name.text)

    # -- functions ----------------------------------------------------------------

    def function(self, _: Meta, nodes: list[Any]) -> syntax.Statement | None:
        name = self._own_name(nodes[1])
        parameters = tuple(node for node in nodes[2:-1] if node is not None)
        self._distinct([one.name for one in parameters], "the parameter")
        for one, after in pairwise(parameters):
            if one.default is not None and after.default is None:
                self._fail(
                    "E0006",
                    f"`{after.name.text}` has no default, and `{one.name.text}` "
                    "before it has one",
                    after.name.span,
                    "give it one, or move it to the front",
                )
        node = syntax.Function(name, parameters, nodes[-1])
        return self._statement(node, name.text + "()")

    def parameter(self, _: Meta, nodes: list[Any]) -> syntax.Parameter:
        if nodes[0].type == "OBJECT":
            return syntax.Parameter(self._word(nodes[0]), object=True)
        name = self._own_name(nodes[0])
        if name.text == "t":
            self._fail(
                "E0005",
                "`t` is the time of whoever calls the function",
                name.span,
                "choose another name",
            )
        default = nodes[1] if len(nodes) > 1 else None
        return syntax.Parameter(name, object=False, default=default)

    # -- reductions of one's own --------------------------------------------------

    def own_reduction(self, _: Meta, nodes: list[Any]) -> syntax.Statement | None:
        name = self._own_name(nodes[1])
        parameters = tuple(n for n in nodes if isinstance(n, syntax.ElementParameter))
        parts = tuple(n for n in nodes if isinstance(n, syntax.Part))
        node = syntax.OwnReduction(name, parameters, parts)
        return self._statement(node, f"{name.text}()")

    def element(self, _: Meta, nodes: list[Any]) -> syntax.ElementParameter:
        return syntax.ElementParameter(self._own_name(nodes[0]), nodes[1])

    def part(self, _: Meta, nodes: list[Any]) -> syntax.Part:
        return syntax.Part(self._word(nodes[0]), nodes[1])

    # -- inputs -------------------------------------------------------------------

    def input(self, _: Meta, nodes: list[Any]) -> syntax.Statement | None:
        _, name, keys, payload, *clauses = nodes
        found: dict[str, Any] = {}
        for kind, word, value in clauses:
            if kind in found:
                message = f"a second {kind} for this input"
                self._fail("E0006", message, word.span, "leave one of them out")
            found[kind] = value
        node = syntax.Input(
            name,
            payload,
            found.get("lifetime"),
            found.get("time column"),
            found.get("tie order", ()),
            keys or (),
        )
        return self._statement(node, "~" + name.text)

    def by(self, _: Meta, nodes: list[Any]) -> tuple[syntax.Word, ...]:
        return tuple(nodes[1:])

    def type(self, _: Meta, nodes: list[Any]) -> syntax.Type:
        if isinstance(nodes[0], syntax.StructType):
            return nodes[0]
        return syntax.TypeName(self._word(nodes[0]))

    def struct_type(self, meta: Meta, nodes: list[Any]) -> syntax.StructType:
        fields = [node for node in nodes if node is not None]
        self._distinct([name for name, _ in fields], "the field")
        return syntax.StructType(tuple(fields), self._span(meta))

    def type_field(self, _: Meta, nodes: list[Any]) -> tuple[syntax.Word, syntax.Type]:
        return nodes[0], nodes[1]

    def time_clause(self, _: Meta, nodes: list[Any]) -> tuple[str, syntax.Word, Any]:
        return "time column", self._word(nodes[0]), nodes[1]

    def order_clause(self, _: Meta, nodes: list[Any]) -> tuple[str, syntax.Word, Any]:
        self._distinct(nodes[1:], "the column")
        return "tie order", self._word(nodes[0]), tuple(nodes[1:])

    def lifetime(self, meta: Meta, nodes: list[Any]) -> tuple[str, syntax.Word, Any]:
        keyword, *rest = nodes
        columns = tuple(node for node in rest if isinstance(node, syntax.Word))
        lengths = (n for n in rest if not isinstance(n, syntax.Word | Token | None))
        node = syntax.Lifetime(
            str(keyword),
            next(lengths, None),
            cast(tuple[syntax.Word, syntax.Word], columns) if columns else None,
            self._span(meta),
        )
        return "lifetime", self._word(keyword), node

"""Parse tree -> surface syntax: the rules of statements, and all rules together.

A statement with an error in it is left out and its name is poisoned, so that no error
is reported where it is used.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, cast

from lark import Token
from lark.tree import Meta

from tiltpy.frontend.hints import general
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.text.body_rules import BODY_RULES, make_definition, read_domain
from tiltpy.frontend.text.expression_rules import EXPRESSION_RULES
from tiltpy.frontend.text.tree_reader import Rule, TreeReader


def _accept(
    reader: TreeReader, node: syntax.Statement, *names: str
) -> syntax.Statement | None:
    """Return the statement; if it has an error, None, and its names are poisoned."""
    clean = len(reader.errors) == reader.reported
    reader.reported = len(reader.errors)
    if not clean:
        reader.poisoned.update(names)
    return node if clean else None


# -- statements ---------------------------------------------------------------


def _read_start(
    _reader: TreeReader, _: Meta, nodes: list[Any]
) -> list[syntax.Statement]:
    return [node for node in nodes if node is not None]


def _read_unit(
    reader: TreeReader, _: Meta, nodes: list[Any]
) -> syntax.Statement | None:
    return _accept(reader, syntax.Unit(reader.word(nodes[1])))


def _read_param(
    reader: TreeReader, _: Meta, nodes: list[Any]
) -> syntax.Statement | None:
    name = reader.new_name(nodes[1])
    param = syntax.Param(name, reader.word(nodes[2]), nodes[3])
    return _accept(reader, param, name.text)


def _read_output(
    reader: TreeReader, _: Meta, nodes: list[Any]
) -> syntax.Statement | None:
    return _accept(reader, syntax.OutputStatement(tuple(nodes[1:])))


def _read_assignment(
    reader: TreeReader, meta: Meta, nodes: list[Any]
) -> syntax.Statement | None:
    name, value = reader.new_name(nodes[0]), nodes[1]
    domain = read_domain(reader, name, value)
    if domain is None:
        reader.fail(
            "E0001",
            f"`{name.text}` is outside of a definition, where only time "
            "domains, parameters and temporal objects can be",
            name.span,
            general.hint_assignment(name.text, value),
        )
        domain = syntax.TimeDomain(name, (), reader.span(meta))
    return _accept(reader, replace(domain, span=reader.span(meta)), name.text)


def _read_definition(
    reader: TreeReader, _: Meta, nodes: list[Any]
) -> syntax.Statement | None:
    node = make_definition(reader, nodes)
    return _accept(reader, node, "~" + node.name.text)


# -- functions ----------------------------------------------------------------


def _read_function(
    reader: TreeReader, _: Meta, nodes: list[Any]
) -> syntax.Statement | None:
    name = reader.new_name(nodes[1])
    parameters = tuple(node for node in nodes[2:-1] if node is not None)
    reader.check_distinct([p.name for p in parameters], "the parameter")
    for before, after in pairwise(parameters):
        if before.default is not None and after.default is None:
            reader.fail(
                "E0006",
                f"`{after.name.text}` has no default, and `{before.name.text}` "
                "before it has one",
                after.name.span,
                "give it one, or move it to the front",
            )
    node = syntax.FunctionDefinition(name, parameters, nodes[-1])
    return _accept(reader, node, name.text + "()")


def _read_parameter(reader: TreeReader, _: Meta, nodes: list[Any]) -> syntax.Parameter:
    if nodes[0].type == "OBJECT":
        return syntax.Parameter(reader.word(nodes[0]), object=True)
    name = reader.new_name(nodes[0])
    if name.text == "t":
        reader.fail(
            "E0005",
            "`t` is the time of the caller",
            name.span,
            "choose another name",
        )
    default = nodes[1] if len(nodes) > 1 else None
    return syntax.Parameter(name, object=False, default=default)


# -- user-defined reductions --------------------------------------------------


def _read_user_reduction(
    reader: TreeReader, _: Meta, nodes: list[Any]
) -> syntax.Statement | None:
    name = reader.new_name(nodes[1])
    parameters = tuple(n for n in nodes if isinstance(n, syntax.ElementParameter))
    clauses = tuple(n for n in nodes if isinstance(n, syntax.ReductionClause))
    node = syntax.ReductionDefinition(name, parameters, clauses)
    return _accept(reader, node, f"{name.text}()")


def _read_element(
    reader: TreeReader, _: Meta, nodes: list[Any]
) -> syntax.ElementParameter:
    return syntax.ElementParameter(reader.new_name(nodes[0]), nodes[1])


def _read_clause(
    reader: TreeReader, _: Meta, nodes: list[Any]
) -> syntax.ReductionClause:
    return syntax.ReductionClause(reader.word(nodes[0]), nodes[1])


# -- inputs -------------------------------------------------------------------


def _read_input(
    reader: TreeReader, _: Meta, nodes: list[Any]
) -> syntax.Statement | None:
    _, name, keys, payload, *clauses = nodes
    by_kind: dict[str, Any] = {}
    for kind, word, value in clauses:
        if kind in by_kind:
            message = f"a second {kind} for this input"
            reader.fail("E0006", message, word.span, "leave one of them out")
        by_kind[kind] = value
    node = syntax.InputStatement(
        name,
        payload,
        by_kind.get("lifetime"),
        by_kind.get("time column"),
        by_kind.get("tie order", ()),
        keys or (),
    )
    return _accept(reader, node, "~" + name.text)


def _read_by(_reader: TreeReader, _: Meta, nodes: list[Any]) -> tuple[syntax.Word, ...]:
    return tuple(nodes[1:])


def _read_type(reader: TreeReader, _: Meta, nodes: list[Any]) -> syntax.Type:
    if isinstance(nodes[0], syntax.StructType):
        return nodes[0]
    return syntax.TypeName(reader.word(nodes[0]))


def _read_struct_type(
    reader: TreeReader, meta: Meta, nodes: list[Any]
) -> syntax.StructType:
    fields = [node for node in nodes if node is not None]
    reader.check_distinct([name for name, _ in fields], "the field")
    return syntax.StructType(tuple(fields), reader.span(meta))


def _read_type_field(
    _reader: TreeReader, _: Meta, nodes: list[Any]
) -> tuple[syntax.Word, syntax.Type]:
    return nodes[0], nodes[1]


def _read_time_clause(
    reader: TreeReader, _: Meta, nodes: list[Any]
) -> tuple[str, syntax.Word, Any]:
    return "time column", reader.word(nodes[0]), nodes[1]


def _read_order_clause(
    reader: TreeReader, _: Meta, nodes: list[Any]
) -> tuple[str, syntax.Word, Any]:
    reader.check_distinct(nodes[1:], "the column")
    return "tie order", reader.word(nodes[0]), tuple(nodes[1:])


def _read_lifetime(
    reader: TreeReader, meta: Meta, nodes: list[Any]
) -> tuple[str, syntax.Word, Any]:
    keyword, *rest = nodes
    columns = tuple(node for node in rest if isinstance(node, syntax.Word))
    lengths = (n for n in rest if not isinstance(n, syntax.Word | Token | None))
    node = syntax.Lifetime(
        str(keyword),
        next(lengths, None),
        cast(tuple[syntax.Word, syntax.Word], columns) if columns else None,
        reader.span(meta),
    )
    return "lifetime", reader.word(keyword), node


RULES: Mapping[str, Rule] = {
    **EXPRESSION_RULES,
    **BODY_RULES,
    "start": _read_start,
    "unit": _read_unit,
    "param": _read_param,
    "output": _read_output,
    "assignment": _read_assignment,
    "definition": _read_definition,
    "function": _read_function,
    "parameter": _read_parameter,
    "user_reduction": _read_user_reduction,
    "element": _read_element,
    "part": _read_clause,
    "input": _read_input,
    "by": _read_by,
    "type": _read_type,
    "struct_type": _read_struct_type,
    "type_field": _read_type_field,
    "time_clause": _read_time_clause,
    "order_clause": _read_order_clause,
    "lifetime": _read_lifetime,
}
"""All rules of the grammar, by name."""

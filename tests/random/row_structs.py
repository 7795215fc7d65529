"""Row objects of scalars as row objects of structs, which others read field by field.

The results are those of the case: structs are read like scalars, by row too.
"""

from dataclasses import replace

from tests.random.queries import Case
from tiltpy.ir.cuts import leaf_cuts
from tiltpy.ir.nodes import (
    At,
    CutWindow,
    Element,
    Exists,
    Expr,
    Field,
    If,
    Let,
    Local,
    MakeStruct,
    Phi,
    Reduce,
    Since,
    TemporalExpr,
)
from tiltpy.ir.traversal import rewrite, rewrite_element, source_cuts
from tiltpy.types import BOOL, Scalar, Struct


def with_row_structs(case: Case) -> Case | None:
    """Make structs of a case's row objects; None where none may be one."""
    query = case.query
    restarts = {
        cut.window.limit.object
        for definition in query.definitions
        for cut in leaf_cuts(definition.cuts)
        if isinstance(cut, CutWindow) and isinstance(cut.window.limit, Since)
    }
    kept = restarts | set(query.outputs)
    structs = {
        definition.name: Struct(
            (("value", definition.type), ("again", definition.type))
        )
        for definition in query.definitions
        if definition.tdom.rows is not None
        and isinstance(definition.type, Scalar)
        and definition.name not in kept
    }
    if not structs:
        return None
    definitions = tuple(_definition(each, structs) for each in query.definitions)
    return replace(case, query=replace(query, definitions=definitions))


def _definition(definition: TemporalExpr, structs: dict[str, Struct]) -> TemporalExpr:
    def rule(node: Expr) -> Expr:
        match node:
            case At(object=name) if name in structs:
                return Field(replace(node, type=structs[name]), "value", node.type)
            case Reduce(window=window) if window.object in structs:
                return _reduce(node, structs[window.object])
            case _:
                return node

    body = rewrite(definition.body, rule)
    if definition.name in structs:
        of = structs[definition.name]
        whole = Local("whole", definition.type)
        made = MakeStruct((whole, whole), of)
        body = Let("whole", body, If(Exists(whole, BOOL), made, Phi(of)))
    return replace(definition, body=body, cuts=source_cuts(body))


def _reduce(node: Reduce, of: Struct) -> Reduce:
    """Reduce a field of the structs of a window."""

    def rule(inner: Expr) -> Expr:
        if isinstance(inner, Element):
            return Field(replace(inner, type=of), "value", inner.type)
        return inner

    return replace(node, element=rewrite_element(node.element, rule))

"""The fields of a value in a text that is being written, by its syntax.

Behind a dot a text does not read yet, so types come from what has been read: the types
of objects, and the literals that local names stand for.
"""

from collections.abc import Mapping

from tiltpy.frontend.surface import syntax
from tiltpy.language_server.bindings import Symbol, Visible
from tiltpy.types import Struct, Type

_KEEPING = ("first", "last", "min", "max", "mode", "argmax", "argmin")
"""Reductions whose value is an element."""
_DEEPEST = 50


def find_fields(
    node: syntax.Expr, visible: Visible, types: Mapping[str, Type]
) -> Mapping[str, Type | None]:
    """Find the fields of a value, with their types where these are known.

    `visible` are the names around it, `types` those of the objects of the query.
    """
    finder = _FieldFinder(visible, types)
    found = finder.value(node)
    return _fields(found)


_Known = Type | Mapping[str, Type | None] | None
"""A type, or the fields of a struct that is written out, or nothing."""


def _fields(known: _Known) -> Mapping[str, Type | None]:
    if isinstance(known, Struct):
        return dict(known.fields)
    return known if isinstance(known, Mapping) else {}


class _FieldFinder:
    def __init__(self, visible: Visible, types: Mapping[str, Type]) -> None:
        self.visible = visible
        self.types = types
        self.steps = 0

    def value(self, node: syntax.Expr | syntax.BlockBody) -> _Known:
        """Find what is known of the type of an expression."""
        self.steps += 1
        if self.steps > _DEEPEST:
            return None
        match node:
            case syntax.BlockBody(result=result):
                return self.value(result)
            case syntax.Paren(operand=operand):
                return self.value(operand)
            case syntax.Ref(object=name):
                return self._object(name)
            case syntax.Name(text=name):
                return self._symbol(self.visible.value(name), name)
            case syntax.Member(operand=operand, name=name):
                return _fields(self.value(operand)).get(name.text)
            case syntax.StructValue(fields=fields):
                return dict.fromkeys(each.name.text for each in fields)
            case syntax.With(operand=operand):
                return self.value(operand)
            case syntax.Conditional(then=then, otherwise=otherwise):
                return self.value(then) or self.value(otherwise)
            case syntax.CallExpression(callee=callee, arguments=(first, *_)):
                return self.value(first) if callee.text in _KEEPING else None
            case syntax.Comprehension(element=element):
                return self.value(element)
            case _:
                return None

    def _object(self, name: str) -> _Known:
        symbol = self.visible.objects.get(name)
        if symbol is not None and symbol.node is not symbol.statement:
            node = symbol.node
            body = node.body if isinstance(node, syntax.ObjectDefinition) else None
            return None if body is None else self.value(body)
        return self.types.get(name)

    def _symbol(self, symbol: Symbol | None, name: str) -> _Known:
        match symbol.node if symbol is not None else None:
            case syntax.NamedValue(value=value):
                return self.value(value)
            case syntax.Comprehension(names=names, window=window):
                field = next((of for word, of in names if word.text == name), None)
                element = self.value(window)
                return element if field is None else _fields(element).get(field.text)
            case syntax.ElementParameter(type=syntax.StructType(fields=fields)):
                return {each.text: None for each, _ in fields}
            case _:
                return None

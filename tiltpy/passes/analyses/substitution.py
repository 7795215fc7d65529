"""Substitution of one expression into another: names apart, structs by field.

An inlined struct becomes its fields: what its branches share is bound by a `Let`, and
what is left is a small pattern of `If`, `MakeStruct` and names that each field access
sees through.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from tiltpy.ir.nodes import (
    At,
    Const,
    CutPoint,
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
    Time,
)
from tiltpy.ir.traversal import children, rewrite_element, walk, with_children
from tiltpy.lean_dataclass import dataclass
from tiltpy.ops import FUNCTIONS, REDUCTIONS
from tiltpy.types import BOOL, Struct

RESERVED = frozenset({"t", *FUNCTIONS, *REDUCTIONS})
"""Names that mean something else in a printed query."""
_PRIME = "'"


@dataclass(frozen=True, slots=True)
class Names:
    """The names taken in one temporal expression."""

    taken: set[str] = field(default_factory=set)

    @staticmethod
    def of(expr: Expr) -> "Names":
        """Collect the names that an expression binds."""
        return Names({node.name for node in walk(expr) if isinstance(node, Let)})

    def fresh(self, wanted: str) -> str:
        """Take the name itself if it is free, else with the first number that is."""
        name, number = wanted, 0
        while name in self.taken or name in RESERVED:
            number += 1
            name = f"{wanted.rstrip(_PRIME)}_{number}"
        self.taken.add(name)
        return name


def is_atom(expr: Expr) -> bool:
    """Tell whether an expression is as short as a name for it."""
    match expr:
        case Const() | Phi() | Time() | At() | Local() | Element():
            return True
        case Field():
            return is_atom(expr.operand)
        case _:
            return False


def rename_apart(
    expr: Expr, names: Names, locals: Mapping[str, str] | None = None
) -> Expr:
    """Make every name that an expression binds fresh.

    Elements are closed expressions and keep theirs, so that a window and its cut stay
    equal.
    """
    known = locals or {}
    match expr:
        case Reduce():
            return expr
        case Local():
            return replace(expr, name=known.get(expr.name, expr.name))
        case Let():
            name = names.fresh(expr.name)
            value = rename_apart(expr.value, names, known)
            body = rename_apart(expr.body, names, {**known, expr.name: name})
            return replace(expr, name=name, value=value, body=body)
        case _:
            new = tuple(rename_apart(child, names, known) for child in children(expr))
            return with_children(expr, new)


def expand_lets(expr: Expr, locals: Mapping[str, Expr] | None = None) -> Expr:
    """Replace every name by the value that it is bound to."""
    known = locals or {}
    match expr:
        case Local():
            return known.get(expr.name, expr)
        case Reduce():  # its element is closed
            return with_children(expr, (expand_lets(expr.element),))
        case Let():
            value = expand_lets(expr.value, known)
            return expand_lets(expr.body, {**known, expr.name: value})
        case _:
            new = tuple(expand_lets(child, known) for child in children(expr))
            return with_children(expr, new)


def expanded_size(expr: Expr, locals: Mapping[str, int] | None = None) -> int:
    """Count the nodes that `expand_lets` would make: exponentially many, at worst."""
    known = locals or {}
    match expr:
        case Local():
            return known.get(expr.name, 1)
        case Let():
            value = expanded_size(expr.value, known)
            return expanded_size(expr.body, {**known, expr.name: value})
        case _:
            return 1 + sum(expanded_size(child, known) for child in children(expr))


Binding = tuple[str, Expr]


def bind(expr: Expr, wanted: str, names: Names) -> tuple[list[Binding], Expr]:
    """Make bindings, and a small expression over them that may be repeated freely."""
    if is_atom(expr):
        return [], expr
    match expr:
        case Let():
            bindings, small = bind(expr.body, wanted, names)
            return [(expr.name, expr.value), *bindings], small
        case MakeStruct():
            operands = [
                bind(each, f"{wanted.rstrip(_PRIME)}_{name}", names)
                for each, (name, _) in zip(expr.fields, expr.type.fields, strict=True)
            ]
            bindings = [b for field_bindings, _ in operands for b in field_bindings]
            return bindings, replace(expr, fields=tuple(s for _, s in operands))
        case If() if isinstance(expr.type, Struct):
            operands = [
                bind(expr.condition, f"{wanted.rstrip(_PRIME)}_if", names),
                bind(expr.then, wanted, names),
                bind(expr.otherwise, wanted, names),
            ]
            bindings = [b for field_bindings, _ in operands for b in field_bindings]
            return bindings, with_children(expr, tuple(s for _, s in operands))
        case _:
            name = names.fresh(wanted)
            return [(name, expr)], Local(name, expr.type, expr.span)


def wrap(bindings: list[Binding], body: Expr) -> Expr:
    """Put the body under its bindings, the first outermost."""
    for name, value in reversed(bindings):
        body = Let(name, value, body, body.span)
    return body


def access(expr: Field) -> Expr:
    """See a field access through struct literals and the branches around them."""
    match expr.operand:
        case MakeStruct(fields=fields, type=type):
            index = [name for name, _ in type.fields].index(expr.name)
            return fields[index]
        case If(condition=condition, then=then, otherwise=otherwise, span=span):
            return If(
                condition,
                access(replace(expr, operand=then)),
                access(replace(expr, operand=otherwise)),
                span,
            )
        case Phi(span=span):
            return Phi(expr.type, span)
        case _:
            return expr


def inline_points(
    expr: Expr, object: str, bodies: Mapping[int, Expr], *, row: bool = False
) -> Expr:
    """Replace `~object[t+d]` by `bodies[d]`, each bound once; in elements apart.

    With `row` the row itself of a row domain is replaced, else what is at its time.
    """
    names = Names.of(expr)
    bindings: list[Binding] = []
    patterns: dict[int, Expr] = {}
    for offset, body in bodies.items():
        uses = sum(_is_point(node, object, offset, row) for node in _walk_outside(expr))
        if uses == 0:
            continue
        apart = rename_apart(body, names)
        if uses == 1 and not isinstance(apart.type, Struct):
            patterns[offset] = apart
            continue
        bound, patterns[offset] = bind(apart, object, names)
        bindings += bound

    def replace_points(node: Expr) -> Expr:
        match node:
            case At() if any(
                _is_point(node, object, offset, row) for offset in patterns
            ):
                return patterns[node.offset]
            case Reduce():  # alone, so that the element stays as its cut's is
                element = inline_points(node.element, object, bodies, row=row)
                return with_children(node, (element,))
            case _:
                new = tuple(replace_points(child) for child in children(node))
                node = with_children(node, new)
                return access(node) if isinstance(node, Field) else node

    return wrap(bindings, replace_points(expr))


def inline_element(element: Expr, value: Expr, *, counted: bool) -> Expr:
    """Substitute `value`, an expression over the new element, for an element.

    Of a struct that is only `counted` a bool is left: whether it is there.
    """

    def rule(node: Expr) -> Expr:
        match node:
            case Element():
                return value
            case Field():
                return access(node)
            case _:
                return node

    combined = rewrite_element(expand_lets(element), rule)
    struct = isinstance(combined.type, Struct) and not isinstance(combined, Element)
    return presence(combined) if struct and counted else combined


def presence(expr: Expr) -> Expr:
    """Make a bool that is φ exactly where a struct is: all that a count needs."""
    match expr:
        case If():
            then, otherwise = presence(expr.then), presence(expr.otherwise)
            return If(expr.condition, then, otherwise, expr.span)
        case Phi():
            return Phi(BOOL, expr.span)
        case MakeStruct() | Element():
            return Const(True, BOOL, expr.span)
        case _:
            exists = Exists(expr, BOOL, expr.span)
            return If(exists, Const(True, BOOL), Phi(BOOL), expr.span)


def _walk_outside(expr: Expr) -> Iterator[Expr]:
    """Yield every node but those inside elements."""
    yield expr
    if not isinstance(expr, Reduce):
        for child in children(expr):
            yield from _walk_outside(child)


def _is_point(node: Expr, object: str, offset: int, row: bool) -> bool:
    return isinstance(node, At) and node.point == CutPoint(object, offset, row)

"""Accesses: what statements read and change, and what a loop carries on."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import assert_never

from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.nodes import (
    Array,
    Assign,
    Bin,
    Branch,
    CallFn,
    Choose,
    Convert,
    CountTrue,
    Earlier,
    Extract,
    Fill,
    For,
    FromLanes,
    Lane,
    Lanes,
    LastTrue,
    LExpr,
    Load,
    Not,
    Num,
    Pack,
    Pick,
    Pour,
    Prefetch,
    Select,
    Splat,
    Stmt,
    Store,
    Var,
    While,
    Wide,
    WriteSlot,
)

Place = Var | Array | int
"""A holder of values: a variable, an array, or a slot by its number."""


@dataclass(frozen=True, slots=True)
class Accesses:
    """The places that statements read and change; what is prefetched is not read."""

    reads: frozenset[Place]
    changes: frozenset[Place]

    @property
    def places(self) -> frozenset[Place]:
        """All of them."""
        return self.reads | self.changes


def find_accesses(statements: Iterable[Stmt]) -> Accesses:
    """Find what statements and those inside of them read and change."""
    reads: set[Place] = set()
    changes: set[Place] = set()
    for statement in walk_statements(statements):
        for expr in _expressions(statement):
            reads.update(places_read(expr))
        changes.update(_changes(statement))
    return Accesses(frozenset(reads), frozenset(changes))


def find_changes(statements: Iterable[Stmt]) -> frozenset[Place]:
    """Find what statements and those inside of them change."""
    return frozenset(p for each in walk_statements(statements) for p in _changes(each))


def find_carried(body: tuple[Stmt, ...]) -> frozenset[Place]:
    """Find what a loop carries: places that its body reads above what changes them."""
    read: set[Place] = set()
    changed: set[Place] = set()
    for statement in _unfold(body):
        accesses = find_accesses([statement])
        read |= accesses.reads - changed
        changed |= accesses.changes
    return frozenset(read & changed)


def _unfold(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Yield the statements of a body and of its branches as they stand."""
    for statement in body:
        if isinstance(statement, Branch):
            yield replace(statement, then=(), otherwise=())
            yield from _unfold((*statement.then, *statement.otherwise))
        else:
            yield statement


def places_read(expr: LExpr) -> Iterator[Place]:
    """Yield the variables and arrays that an expression reads."""
    match expr:
        case Var():
            yield expr
        case Load(array=array) | Wide(array=array):
            yield array
        case _:
            pass
    for operand in _operands(expr):
        yield from places_read(operand)


def _operands(expr: LExpr) -> tuple[LExpr, ...]:
    match expr:
        case Num() | Var() | Lane() | Lanes():
            return ()
        case Bin(left=left, right=right):
            return left, right
        case Not() | Convert() | Splat() | Extract() | CountTrue() | LastTrue():
            return (expr.operand,)
        case Select():
            return expr.condition, expr.then, expr.otherwise
        case CallFn(arguments=operands) | FromLanes(values=operands):
            return operands
        case Load(index=index):
            return (index,)
        case Wide(index=index, mask=mask):
            return (index,) if mask is None else (index, mask)
        case Earlier(now=now, before=before):
            return now, before
        case Pick(first=first, second=second):
            return first, second
        case Fill():
            return expr.operand, expr.valid, expr.beyond
        case _:
            assert_never(expr)


def _expressions(statement: Stmt) -> tuple[LExpr, ...]:
    """List the expressions that a statement itself evaluates."""
    match statement:
        case Assign(value=value) | WriteSlot(value=value):
            return (value,)
        case Store():
            return statement.index, statement.value
        case Prefetch(index=index):
            return (index,)
        case Pack():
            return statement.index, statement.value, statement.mask
        case Choose(condition=condition) | While(condition=condition):
            return (condition,)
        case Branch(condition=condition):
            return (condition,)
        case Pour(source=source):
            first = Load(source, statement.index, source.type)
            return first, statement.count
        case For():
            return statement.start, statement.stop
        case _:
            assert_never(statement)


def _changes(statement: Stmt) -> tuple[Place, ...]:
    """List the places that a statement itself changes.

    An array that is chosen stands for those that it is chosen of, and they for it.
    """
    match statement:
        case Assign(var=var) | For(var=var):
            return (var,)
        case Store(array=array) | Pack(array=array) | Pour(array=array):
            return (array,)
        case Choose():
            return statement.array, statement.then, statement.otherwise
        case WriteSlot(slot=slot):
            return (slot,)
        case Prefetch() | While() | Branch():
            return ()
        case _:
            assert_never(statement)


def walk_statements(statements: Iterable[Stmt]) -> Iterator[Stmt]:
    """Yield statements and those inside of them."""
    for statement in statements:
        yield statement
        yield from walk_statements(_inside(statement))


def _inside(statement: Stmt) -> tuple[Stmt, ...]:
    """List the statements inside of a statement."""
    match statement:
        case While(body=body, head=head):
            return (*head, *body)
        case For(body=body):
            return body
        case Branch(then=then, otherwise=otherwise):
            return (*then, *otherwise)
        case _:
            return ()

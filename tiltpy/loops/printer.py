"""The loop IR as indented pseudo-code, for `explain` and golden files."""

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from tiltpy.loops.build import INF
from tiltpy.loops.nodes import (
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
    LoopKernel,
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
from tiltpy.ops import PRECEDENCE


def format_kernel(kernel: LoopKernel) -> str:
    """The whole kernel, its arrays first."""
    lines = []
    for array in kernel.arrays:
        kind = "bits" if array.bits else str(array.type)
        lines.append(f"{'out' if array.written else 'in':<3} {array.name}: {kind}[]")
    if kernel.numbers:
        lines.append("in  " + ", ".join(f"{v.name}: i64" for v, _ in kernel.numbers))
    lines.extend(_block(kernel.body, 0))
    return "\n".join(lines) + "\n"


def format_statement(statement: Stmt) -> str:
    """Format a statement alone: of a loop or a branch the line that begins it."""
    match statement:
        case While():
            statement = replace(statement, body=(), head=())
        case For():
            statement = replace(statement, body=())
        case Branch():
            statement = replace(statement, then=(), otherwise=())
        case _:
            pass
    return "\n".join(_block((statement,), 0))


def _block(body: tuple[Stmt, ...], depth: int) -> Iterator[str]:
    pad = "  " * depth
    for statement in body:
        match statement:
            case Assign(var=var, value=value):
                yield f"{pad}{var.name} = {format_lexpr(value)}"
            case Store(array=array, index=index, value=value, past=past):
                where = f"{array.name}[{format_lexpr(index)}]"
                how = "past the caches: " if past else ""
                yield f"{pad}{how}{where} = {format_lexpr(value)}"
            case Prefetch(array=array, index=index):
                yield f"{pad}prefetch {array.name}[{format_lexpr(index)}]"
            case WriteSlot(slot=slot, value=value):
                yield f"{pad}slot {slot} = {format_lexpr(value)}"
            case While(condition=condition, body=inner, head=head):
                if not head:
                    yield f"{pad}while {format_lexpr(condition)}:"
                else:
                    yield f"{pad}loop:"
                    yield from _block(head, depth + 1)
                    yield f"{pad}  stop unless {format_lexpr(condition)}"
                yield from _block(inner, depth + 1)
            case Pack(array=array, index=index, value=value, mask=mask):
                where = f"{array.name}[{format_lexpr(index)} ...]"
                what = f"{format_lexpr(value)} where {format_lexpr(mask)}"
                yield f"{pad}{where} = {what}"
            case Choose(array=array, condition=test, then=then, otherwise=other):
                either = f"{then.name} : {other.name}"
                yield f"{pad}{array.name} = {format_lexpr(test, 1)} ? {either}"
            case Pour(array=array, index=index, source=source, count=count):
                where = f"{array.name}[{format_lexpr(index)} ...]"
                entries = f"{source.name}[0 .. {format_lexpr(count)}]"
                yield f"{pad}past the caches: {where} = {entries}"
            case For(var=var, start=start, stop=stop, body=inner, step=step):
                span = f"{format_lexpr(start)} .. {format_lexpr(stop)}"
                by = f" by {step}" if step != 1 else ""
                yield f"{pad}for {var.name} in {span}{by}:"
                yield from _block(inner, depth + 1)
            case Branch(condition=condition, then=then, otherwise=otherwise):
                yield f"{pad}if {format_lexpr(condition)}:"
                yield from _block(then, depth + 1)
                if otherwise:
                    yield f"{pad}else:"
                    yield from _block(otherwise, depth + 1)
            case _:
                assert_never(statement)


def format_lexpr(expr: LExpr, outer: int = 0) -> str:
    """An expression, with the parentheses it needs."""
    match expr:
        case Num(value=value):
            if expr == INF:
                return "inf"
            return str(value).lower() if isinstance(value, bool) else repr(value)
        case Var(name=name):
            return name
        case Load(array=array, index=index):
            return f"{array.name}[{format_lexpr(index)}]"
        case Wide(array=array, index=index, mask=mask):
            where = "" if mask is None else f" if {format_lexpr(mask)}"
            return f"{array.name}[{format_lexpr(index)} ...{where}]"
        case Lane():
            return "lane"
        case Splat(operand=operand):
            return f"splat({format_lexpr(operand)})"
        case Earlier(now=now, before=before, by=by):
            return f"earlier({format_lexpr(before)}, {format_lexpr(now)}, {by})"
        case Lanes(values=values):
            return f"lanes{values}"
        case Pick(first=first, second=second, order=order):
            return f"pick({format_lexpr(first)}, {format_lexpr(second)}, {order})"
        case Fill(operand=operand, valid=valid, beyond=beyond):
            way = "fill_back" if expr.backwards else "fill"
            operands = map(format_lexpr, (operand, valid, beyond))
            return f"{way}({', '.join(operands)})"
        case Extract(operand=operand, lane=lane):
            return f"{format_lexpr(operand, PRECEDENCE['postfix'])}.{lane}"
        case FromLanes(values=values):
            return f"lanes({', '.join(map(format_lexpr, values))})"
        case CountTrue(operand=operand):
            return f"count({format_lexpr(operand)})"
        case LastTrue(operand=operand):
            return f"last({format_lexpr(operand)})"
        case Not(operand=operand):
            return f"!{format_lexpr(operand, PRECEDENCE['unary'])}"
        case Convert(operand=operand):
            return f"{expr.type}({format_lexpr(operand)})"
        case CallFn(function=function, arguments=arguments):
            return f"{function}({', '.join(format_lexpr(a) for a in arguments)})"
        case Bin(op=op, left=left, right=right):
            rank = PRECEDENCE[op]
            text = f"{format_lexpr(left, rank)} {op} {format_lexpr(right, rank + 1)}"
            return f"({text})" if rank < outer else text
        case Select(condition=condition, then=then, otherwise=otherwise):
            rank = PRECEDENCE["?:"]
            text = (
                f"{format_lexpr(condition, rank + 1)} ? {format_lexpr(then, rank + 1)}"
                f" : {format_lexpr(otherwise, rank)}"
            )
            return f"({text})" if rank < outer else text
        case _:
            assert_never(expr)

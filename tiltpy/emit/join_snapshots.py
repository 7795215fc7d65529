"""The snapshots of a distinct object: neighbours with identical values become one.

A loop writes a snapshot for each visit, whatever cuts the object. A pass over what it
wrote then joins those that touch and have identical values, in place: a vector of rows
at once, packed by the mask of those that begin a snapshot. The end of a snapshot is
that of the row before the next one that begins. Maps over rows never write what is
joined (`lowering.sweep.row_joins`).
"""

from collections.abc import Callable

from tiltpy.abi.signature import LANES
from tiltpy.emit.builder import Block
from tiltpy.emit.output_arrays import OutputArrays
from tiltpy.emit.values import LoopValue
from tiltpy.loops.build import (
    FALSE,
    TRUE,
    add,
    conj,
    convert,
    disj,
    eq,
    i64,
    le,
    load,
    lt,
    ne,
    negate,
    select,
    sub,
)
from tiltpy.loops.nodes import (
    Bin,
    CountTrue,
    Earlier,
    Extract,
    LExpr,
    Num,
    Pack,
    Splat,
    Store,
    Var,
    While,
    Wide,
)
from tiltpy.types import I64

ONE = i64(1)


def unsign_zeros(block: Block, value: LoopValue) -> LoopValue:
    """Replace zeros in a value by `+0.0`: both zeros are one value."""
    if value.fields:
        fields = tuple(unsign_zeros(block, field) for field in value.fields)
        return LoopValue(value.type, None, value.valid, fields)
    kind = value.scalar.type
    if not kind.is_float:
        return value
    zero = Bin("+", value.scalar, Num(0.0, kind), kind)
    return LoopValue(value.type, block.name("v", zero), value.valid)


def join_snapshots(
    block: Block, out: OutputArrays, count: Var, joined: LExpr = ONE
) -> None:
    """Join the first `count` snapshots of the arrays in place; set `count` anew.

    The first `joined` of them, one at least, are joined already.
    """
    builder, several = block.builder, block.inner()
    row, stop = builder.fresh("row"), builder.fresh("stop")
    block.set(row, joined)
    several.set(stop, count)
    several.set(count, row)
    _join_vectors(several, out, row, stop, count)
    single = several.inner()
    _join_row(single, out, row, count)
    single.set(row, add(row, i64(1)))
    several.add(While(lt(row, stop), single.body()))
    block.when(lt(row, count), several)


def _join_vectors(
    block: Block, out: OutputArrays, row: Var, stop: Var, count: Var
) -> None:
    """Join whole vectors of rows from `row` on."""
    builder, vector, whole = block.builder, block.inner(), block.inner()
    arrays = (out.ends, *out.payload_arrays())
    before = [builder.fresh(f"{array.name}.before", array.type) for array in arrays]
    for var, array in zip(before, arrays, strict=True):
        last = load(array, sub(row, i64(1)))
        whole.set(var, Splat(last, array.type))
    start = vector.name("from", Wide(out.starts, row, I64))
    now = [vector.name("now", Wide(array, row, array.type)) for array in arrays]
    past = [
        vector.name("past", Earlier(n, b, 1, b.type))
        for n, b in zip(now, before, strict=True)
    ]
    same = conj(eq(start, past[0]), *identical(out, now[1:], past[1:]))
    begins = vector.name("begins", negate(same))
    fresh = vector.name("fresh", CountTrue(begins, I64))
    pack = vector.inner()
    pack.add(Pack(out.starts, count, start, begins))
    pack.add(Pack(out.ends, sub(count, i64(1)), past[0], begins))
    for array, value in zip(arrays[1:], now[1:], strict=True):
        pack.add(Pack(array, count, value, begins))
    pack.set(count, add(count, fresh))
    vector.when(lt(i64(0), fresh), pack)
    for var, value in zip(before, now, strict=True):
        vector.set(var, value)
    vector.set(row, add(row, i64(LANES)))
    whole.add(While(le(add(row, i64(LANES)), stop), vector.body()))
    whole.add(Store(out.ends, sub(count, i64(1)), Extract(before[0], LANES - 1, I64)))
    block.when(le(add(row, i64(LANES)), stop), whole)


def _join_row(block: Block, out: OutputArrays, row: Var, count: Var) -> None:
    """Append a row, or join it to the last snapshot."""
    last = block.name("last", sub(count, i64(1)))
    values = out.payload_arrays()
    start, end = (block.name("at", load(a, row)) for a in (out.starts, out.ends))
    now = [block.name("now", load(array, row)) for array in values]
    past = [block.name("past", load(array, last)) for array in values]
    touch = eq(start, load(out.ends, last))
    same = block.name("same", conj(touch, *identical(out, now, past)))
    begin = block.name("begin", select(same, load(out.starts, last), start))
    block.set(count, add(count, convert(negate(same), I64)))
    at = block.name("to", sub(count, i64(1)))
    block.add(Store(out.starts, at, begin), Store(out.ends, at, end))
    for array, value in zip(values, now, strict=True):
        block.add(Store(array, at, value))


def identical(out: OutputArrays, now: list[LExpr], past: list[LExpr]) -> list[LExpr]:
    """Compare field by field; `now` and `past` have the values, then the flags."""
    flags = iter(zip(now[len(out.values) :], past[len(out.values) :], strict=True))
    tests: list[LExpr] = []
    for array, a, b in zip(out.validity, now, past, strict=False):
        same = _equal(a, b)
        if array is not None:
            valid, was_valid = next(flags)
            same = disj(same, negate(valid))
            tests.append(eq(valid, was_valid))
        tests.append(same)
    return tests


def begins_by_value(
    block: Block, name: str, value: LoopValue, earlier: Callable[[str, LExpr], LExpr]
) -> LExpr:
    """Test whether a cell has a value that is not identical to the cell's before it.

    `earlier` gives a named value of the cell before.
    """
    was = earlier(f"{name}.was", value.valid) if value.valid != TRUE else TRUE
    tests = [was]
    for field in value.fields or (value,):
        same: LExpr = TRUE
        if not isinstance(field.scalar, Num):
            same = _equal(field.scalar, earlier(f"{name}.value", field.scalar))
        if value.fields and field.valid != TRUE:
            tests.append(eq(field.valid, earlier(f"{name}.valid", field.valid)))
            same = disj(same, negate(field.valid))
        tests.append(same)
    return block.name("begins", conj(value.valid, negate(conj(*tests))))


def _equal(a: LExpr, b: LExpr) -> LExpr:
    nan = conj(ne(a, a), ne(b, b)) if a.type.is_float else FALSE
    return disj(eq(a, b), nan)

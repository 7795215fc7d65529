"""Output arrays: the snapshots that the loop of a temporal object writes."""

from collections.abc import Iterable
from dataclasses import replace

from tiltpy.abi.layouts import Layout
from tiltpy.abi.signature import LANES
from tiltpy.abi.slots import SlotKind
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import TRUE, add, greatest, i64, sub
from tiltpy.loops.nodes import Array, CountTrue, LExpr, Pack, Splat, Store, Var
from tiltpy.types import BOOL, I64, Struct, Type, columns


@dataclass(frozen=True, slots=True)
class OutputArrays:
    """The arrays of an object's snapshots, and how these lie for later loops.

    `presence` has the flags of structs that may be null as a whole. Where times are
    `implicit` they are those of an input's rows, and nothing writes them.
    """

    name: str
    type: Type
    layout: Layout
    starts: Array
    ends: Array
    values: tuple[Array, ...]
    validity: tuple[Array | None, ...]
    presence: Array | None = None
    implicit: bool = False

    def payload_arrays(self) -> tuple[Array, ...]:
        """The arrays of values and flags."""
        flags = (array for array in self.validity if array is not None)
        return *self.values, *flags

    def arrays(self) -> tuple[Array, ...]:
        """The arrays that are written: of times, unless implicit, values and flags."""
        times = () if self.implicit else (self.starts, self.ends)
        return *times, *self.payload_arrays()

    def payload_columns(self, value: LoopValue) -> list[LExpr]:
        """The entries of payloads, in the order of their arrays."""
        fields = value.fields or (value,)
        flags = zip(fields, self.validity, strict=True)
        valid = (field.valid for field, array in flags if array is not None)
        return [*(field.scalar for field in fields), *valid]

    def columns(self, begin: LExpr, end: LExpr, value: LoopValue) -> list[LExpr]:
        """The entries of snapshots, in the order of the arrays."""
        times = () if self.implicit else (begin, end)
        return [*times, *self.payload_columns(value)]

    def with_arrays(self, arrays: tuple[Array, ...]) -> "OutputArrays":
        """Replace the arrays, in the order of `arrays()`."""
        starts, ends, *others = arrays
        values, flags = others[: len(self.values)], iter(others[len(self.values) :])
        validity = tuple(
            None if array is None else next(flags) for array in self.validity
        )
        return replace(
            self, starts=starts, ends=ends, values=tuple(values), validity=validity
        )

    def rows(self, block: Block, count: Var) -> ObjectRows:
        """Its snapshots as rows for a later loop."""
        last = block.name(f"{self.name}.last", greatest(sub(count, i64(1)), i64(0)))
        return ObjectRows(
            self.name,
            self.type,
            self.layout,
            count,
            last,
            i64(0),
            i64(0),
            self.starts,
            self.ends,
            self.values,
            tuple(None if v is None else (v, i64(0)) for v in self.validity),
            derived=True,
            presence=self.presence,
        )


def output_arrays(
    builder: KernelBuilder,
    name: str,
    payload: Type,
    layout: Layout,
    *,
    nulls: bool = False,
    is_read: bool = False,
) -> OutputArrays:
    """The output arrays of an object's loop; with `nulls` rows may be null, too."""
    flagged = nulls or isinstance(payload, Struct)
    kinds = columns(payload)
    presence = None
    if nulls and is_read and isinstance(payload, Struct):
        presence = builder.array(
            SlotKind.OUT_VALIDITY, name, BOOL, len(kinds), written=True
        )
    return OutputArrays(
        name,
        payload,
        layout,
        builder.array(SlotKind.OUT_STARTS, name, I64, written=True),
        builder.array(SlotKind.OUT_ENDS, name, I64, written=True),
        tuple(
            builder.array(SlotKind.OUT_VALUES, name, scalar, j, written=True)
            for j, (_, scalar) in enumerate(kinds)
        ),
        tuple(
            builder.array(SlotKind.OUT_VALIDITY, name, BOOL, j, written=True)
            if flagged
            else None
            for j in range(len(kinds))
        ),
        presence,
    )


def write_snapshot(
    block: Block,
    out: OutputArrays,
    at: LExpr,
    value: LoopValue,
    begin: LExpr,
    end: LExpr,
) -> None:
    """Store a snapshot; one that is φ is overwritten by the next."""
    if not out.implicit:
        block.add(Store(out.starts, at, begin), Store(out.ends, at, end))
    write_value(block, out, at, value)


def write_value(block: Block, out: OutputArrays, at: LExpr, value: LoopValue) -> None:
    """Store a payload."""
    fields = value.fields or (value,)
    for field, array, flags in zip(fields, out.values, out.validity, strict=True):
        block.add(Store(array, at, field.scalar))
        if flags is not None:
            block.add(Store(flags, at, field.valid))
    if out.presence is not None:
        block.add(Store(out.presence, at, value.valid))


def pack_snapshots(
    block: Block, out: OutputArrays, count: Var, columns: Iterable[LExpr], there: LExpr
) -> None:
    """Append the snapshots of a vector in which `there` holds."""
    mask = block.name("there", Splat(there, BOOL))
    for array, column in zip(out.arrays(), columns, strict=True):
        if there == TRUE:
            block.add(Store(array, count, Splat(column, array.type)))
        else:
            block.add(Pack(array, count, column, mask))
    block.set(count, add(count, i64(LANES) if there == TRUE else CountTrue(mask, I64)))

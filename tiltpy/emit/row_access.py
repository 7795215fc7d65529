"""Reading the rows of a temporal object inside a kernel, whatever its time layout.

An object is an input or the snapshots that an earlier loop of the kernel wrote. Only
this file of the lowering depends on how `abi` stores the times of each layout.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.abi.signature import LANES
from tiltpy.abi.slots import SlotKind
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import EventBound
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import (
    INF,
    NEVER,
    TRUE,
    add,
    conj,
    greatest,
    i64,
    least,
    load,
    lt,
    mul,
    select,
    sub,
)
from tiltpy.loops.nodes import Array, Lane, LExpr, Load, Prefetch, While, Wide
from tiltpy.types import BOOL, I64, Struct, Type, columns

LINE = 8
"""Times in a cache line."""


class Payloads(Protocol):
    """Payloads that follow from rows of events, and are not stored."""

    @property
    def rows_before(self) -> int:
        """The number of rows before that of an event on which they depend."""

    def value(self, row: LExpr, exists: LExpr) -> LoopValue:
        """The payload at an event, φ unless it `exists`."""

    def wide_value(self, block: Block, row: LExpr, exists: LExpr) -> LoopValue:
        """The payloads at a vector of events, φ unless they `exist`."""


@dataclass(frozen=True, slots=True)
class ObjectRows:
    """The rows of an object: their number, times, values and nulls.

    `in_bounds`: no row past the last is asked for. `derived`: an earlier loop wrote
    them, and the first may have held since ever. `presence`: where struct payloads may
    be null as a whole, whether each is not. If there are `events`, the times are those
    of these rows, from `first` on; `payloads` compute the values from them.
    """

    name: str
    type: Type
    layout: Layout
    count: LExpr
    last: LExpr
    start: LExpr
    period: LExpr
    starts: Array | None
    ends: Array | None
    values: tuple[Array, ...]
    validity: tuple[tuple[Array, LExpr] | None, ...]
    in_bounds: bool = False
    derived: bool = False
    presence: Array | None = None
    events: "ObjectRows | None" = None
    first: LExpr = i64(0)
    payloads: "Payloads | None" = None

    def at_events(
        self, events: "ObjectRows", first: LExpr, payloads: "Payloads | None"
    ) -> "ObjectRows":
        """Give the rows the times of others, from the row `first` on.

        With `payloads` the values follow from these.
        """
        return replace(
            self,
            layout=replace(self.layout, points=events.layout.points),
            starts=None,
            ends=None,
            events=events,
            first=first,
            payloads=payloads,
        )

    def _event(self, row: LExpr) -> LExpr:
        """Return the row of `events` whose times a row has."""
        return add(self.first, row)

    @property
    def rows_before(self) -> int:
        """The number of rows of `events` before its own on which a value depends."""
        return 0 if self.payloads is None else self.payloads.rows_before

    @property
    def disjoint(self) -> bool:
        """Return whether no two rows overlap."""
        return self.layout.time is not TimeLayout.OVERLAPPING

    @property
    def complete(self) -> bool:
        """Tell whether every row is a snapshot: none is null."""
        flags = self.presence if isinstance(self.type, Struct) else self.validity[0]
        return flags is None

    def clamp(self, row: LExpr) -> LExpr:
        """A row that may be read, equal to `row` if that is less than `count`."""
        return row if self.in_bounds else least(row, self.last)

    def start_at(self, row: LExpr) -> LExpr:
        """The start of an existing row."""
        if self.events is not None:
            return self.events.start_at(self._event(row))
        if self.layout.time is TimeLayout.SAMPLED:
            return add(self.start, mul(row, self.period))
        if self.layout.time is TimeLayout.CONTIGUOUS:
            assert self.ends is not None
            before = load(self.ends, greatest(sub(row, i64(1)), i64(0)))
            return select(lt(i64(0), row), before, self.start)
        if self.layout.points:  # their ends are read anyway
            return sub(self.end_at(row), i64(1))
        assert self.starts is not None
        return load(self.starts, row)

    def end_at(self, row: LExpr) -> LExpr:
        """The end of an existing row."""
        if self.events is not None:
            return self.events.end_at(self._event(row))
        if self.layout.time is TimeLayout.SAMPLED:
            return add(self.start, mul(add(row, i64(1)), self.period))
        assert self.ends is not None
        return load(self.ends, row)

    def wide_start(self, row: LExpr) -> LExpr:
        """The starts of a vector of existing rows, of which none is the first."""
        if self.events is not None:
            return self.events.wide_start(self._event(row))
        match self.layout.time:
            case TimeLayout.SAMPLED:
                return self.start_at(add(row, Lane(I64)))
            case TimeLayout.CONTIGUOUS:
                assert self.ends is not None
                return Wide(self.ends, sub(row, i64(1)), I64)
            case _ if self.layout.points:
                return sub(self.wide_end(row), i64(1))
            case _:
                assert self.starts is not None
                return Wide(self.starts, row, I64)

    def wide_end(self, row: LExpr) -> LExpr:
        """The ends of a vector of existing rows."""
        if self.events is not None:
            return self.events.wide_end(self._event(row))
        if self.ends is None:
            return self.end_at(add(row, Lane(I64)))
        return Wide(self.ends, row, I64)

    def next_start(self, row: LExpr) -> LExpr:
        """The start of the row after an existing one, which exists as well."""
        if self.layout.time is TimeLayout.CONTIGUOUS:
            assert self.ends is not None
            return load(self.ends, row)
        return self.start_at(add(row, i64(1)))

    def prefetch(self, block: Block, row: LExpr) -> None:
        """Prefetch what a loop will read some rows later."""
        times = [self.ends] if self.layout.points else [self.starts, self.ends]
        values = [
            array
            for (field, _), array in zip(columns(self.type), self.values, strict=True)
            if block.builder.reads(self.name, field)
        ]
        for array in (*times, *values):
            if array is not None:
                size = array.type.entry_bytes
                block.add(
                    Prefetch(array, add(row, i64(block.costs.prefetch_bytes // size)))
                )

    def prefetch_times(self, block: Block, row: LExpr) -> None:
        """Prefetch the times of a vector of rows that a loop will read."""
        arrays = [self.ends] if self.layout.points else [self.starts, self.ends]
        for array in arrays:
            if array is not None:
                for line in range(0, LANES, LANES // 2):
                    ahead = add(row, i64(block.costs.prefetch_bytes // 8 + line))
                    block.add(Prefetch(array, ahead))

    def start_or_never(self, row: LExpr) -> LExpr:
        """The start of a row, or infinity past the last (a row `count` at most)."""
        if self.in_bounds:
            return self.start_at(row)
        contiguous = self.layout.time is TimeLayout.CONTIGUOUS
        readable = row if contiguous else self.clamp(row)  # it reads the row before
        return select(lt(row, self.count), self.start_at(readable), INF)

    def end_or_never(self, row: LExpr) -> LExpr:
        """The end of a row, or infinity past the last."""
        if self.in_bounds:
            return self.end_at(row)
        return select(lt(row, self.count), self.end_at(self.clamp(row)), INF)

    def bound(self, node: EventBound, row: LExpr, exists: LExpr) -> LoopValue:
        """The start or the end of a row that a reference reads; φ if infinite."""
        if node.which == "start":
            start = self.start_at(row)
            if self.derived:
                exists = conj(exists, lt(NEVER, start))
            return LoopValue(node.type, start, exists)
        end = self.end_at(row)
        if self.layout.time is not TimeLayout.SAMPLED:
            exists = conj(exists, lt(end, INF))
        return LoopValue(node.type, end, exists)

    def exists(self, row: LExpr) -> LExpr:
        """Return whether an existing row is a snapshot."""
        if not isinstance(self.type, Struct):
            return self.valid(0, row)
        return TRUE if self.presence is None else load(self.presence, row)

    def valid(self, column: int, row: LExpr) -> LExpr:
        """Return whether a column of an existing row is not null."""
        bitmap = self.validity[column]
        if bitmap is None:
            return TRUE
        array, offset = bitmap
        return Load(array, add(row, offset), BOOL)

    def value(self, row: LExpr, exists: LExpr) -> LoopValue:
        """The payload of an existing row, φ unless it `exists`."""
        if self.payloads is not None:
            return self.payloads.value(self._event(row), exists)
        fields = tuple(
            LoopValue(scalar, load(self.values[j], row), self.valid(j, row))
            for j, (_, scalar) in enumerate(columns(self.type))
        )
        if isinstance(self.type, Struct):
            return LoopValue(self.type, None, exists, fields)
        return LoopValue(self.type, fields[0].value, exists)

    def wide_value(self, block: Block, row: LExpr, exists: LExpr) -> LoopValue:
        """The payloads of a vector of existing rows, φ unless they `exists`."""
        if self.payloads is not None:
            return self.payloads.wide_value(block, self._event(row), exists)
        fields = []
        for j, (_, scalar) in enumerate(columns(self.type)):
            valid: LExpr = TRUE
            bitmap = self.validity[j]
            if bitmap is not None:
                array, offset = bitmap
                valid = block.name("is", Wide(array, add(row, offset), BOOL))
            value = block.name("x", Wide(self.values[j], row, scalar))
            fields.append(LoopValue(scalar, value, valid))
        if isinstance(self.type, Struct):
            return LoopValue(self.type, None, exists, tuple(fields))
        return LoopValue(self.type, fields[0].value, exists)


def input_rows(
    builder: KernelBuilder, block: Block, name: str, payload: Type
) -> ObjectRows:
    """The rows of an input, in the arrays of its layout."""
    layout = builder.layouts[name]
    times = layout.time
    zero = i64(0)
    has_start = times in (TimeLayout.SAMPLED, TimeLayout.CONTIGUOUS)
    has_starts = times in (TimeLayout.INTERVALS, TimeLayout.OVERLAPPING)
    values: list[Array] = []
    validity: list[tuple[Array, LExpr] | None] = []
    for j, (_, scalar) in enumerate(columns(payload)):
        values.append(builder.array(SlotKind.VALUES, name, scalar, j))
        if layout.nullable[j]:
            bits = builder.array(SlotKind.VALIDITY, name, BOOL, j, bits=True)
            offset = builder.number(SlotKind.VALIDITY_OFFSET, name, j)
            validity.append((bits, offset))
        else:
            validity.append(None)
    count = builder.number(SlotKind.ROWS, name)
    sampled = times is TimeLayout.SAMPLED
    return ObjectRows(
        name,
        payload,
        layout,
        count,
        block.name(f"{name}.last", greatest(sub(count, i64(1)), zero)),
        builder.number(SlotKind.START, name) if has_start else zero,
        builder.number(SlotKind.PERIOD, name) if sampled else zero,
        builder.array(SlotKind.STARTS, name, I64) if has_starts else None,
        None if sampled else builder.array(SlotKind.ENDS, name, I64),
        tuple(values),
        tuple(validity),
    )


def prefetch_rows(
    block: Block, positions: Iterable[tuple[ObjectRows, LExpr]], count: int
) -> None:
    """Prefetch `count` rows of each object from its row on, cache line by cache line.

    The hardware prefetches by itself, but not across pages.
    """
    line = block.builder.fresh("line")
    inner = block.inner()
    for rows, row in positions:
        rows.prefetch(inner, add(row, line))
    inner.set(line, add(line, i64(LINE)))
    block.set(line, i64(0))
    block.add(While(lt(line, i64(count)), inner.body()))

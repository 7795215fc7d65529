"""Panes that Spark folds by aggregates of its own: only states come to Python.

One `groupBy` by key and pane makes the states of `plan.partial_panes`. Rows that
contribute to no state say only where their key begins and ends: they are one group of
their key, of `NO_PANE`. A state is valid from the first row of its group to the last:
both lie in one pane. Rows that are no events are a group of null, and dropped with it:
Spark would filter rows before it reads them by a task for each core.

    k0, start, end, tilt_state0, ...

Spark's aggregates fold on the map side, and find the bits of ours: sums of integers in
halves that cannot overflow; least and greatest floats beside the NaNs and zeros among
them, which Spark orders otherwise.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql
from pyspark.sql import types as spark

from tiltpy.errors import DataError
from tiltpy.ir.nodes import Reduce
from tiltpy.lean_dataclass import dataclass
from tiltpy.plan.nodes import Misfit
from tiltpy.plan.partial_panes import PartialPanes
from tiltpy.spark.element_columns import ElementColumns
from tiltpy.spark.shuffle_rows import NumberedInput
from tiltpy.spark.tick_columns import Bounds, whole_ticks
from tiltpy.types import BOOL, MAX_TIME, Scalar

LONGEST_PANE = 1 << 60
"""Ticks of a pane, at most: sums of two times fit into 64 bits."""
STAMP, PANE = "tilt_stamp", "tilt_pane"
NO_PANE = 1 - (1 << 63)
"""That of rows that contribute to no state: Spark looks nulls up in a slower map."""
LOW_HALF = (1 << 32) - 1
HAS_NAN, HAS_MINUS_ZERO, HAS_ZERO = 1, 2, 4
"""Bits that say what is among floats."""


@dataclass(frozen=True, slots=True)
class StateColumns:
    """Aggregates of Spark's, and the state that is made of them."""

    parts: dict[str, Column]
    state: Column


def fold_in_sql(
    split: PartialPanes, source: NumberedInput, schema: spark.StructType
) -> DataFrame:
    """Make the states of an input, in columns of `schema`, behind its keys.

    Raises `Misfit` where Spark's aggregates or expressions are not ours.
    """
    if not split.is_selective:
        raise Misfit("all rows are folded, which kernels do quicker")
    elements = ElementColumns(source)
    states = [
        _state(node, elements, f"s{number}")
        for number, node in enumerate(split.reductions)
    ]
    rows = _rows(split, source, elements)
    parts = {name: part for each in states for name, part in each.parts.items()}
    folded = rows.groupBy(*source.keys, PANE).agg(
        sql.min(STAMP).alias("first"),
        sql.max(STAMP).alias("last"),
        *(part.alias(name) for name, part in parts.items()),
    )
    low, high, *fields = schema
    return folded.where("first IS NOT NULL").select(
        *source.keys,
        sql.expr(_spans(low.name, high.name)),
        *(
            each.state.cast(field.dataType).alias(field.name)
            for each, field in zip(states, fields, strict=True)
        ),
    )


def _spans(low: str, high: str) -> str:
    """Write how long a state is valid: from the first row of its group to the last.

    Of rows without a pane the first and the last are states, each for a tick.
    """
    first, last, whole = (
        f"struct({first} - 1 AS {low}, {last} AS {high})"
        for first, last in (("first", "first"), ("last", "last"), ("first", "last"))
    )
    return f"inline(if({PANE} = {NO_PANE}, array({first}, {last}), array({whole})))"


def _rows(
    split: PartialPanes, source: NumberedInput, elements: ElementColumns
) -> DataFrame:
    """Select the rows with their keys and payload; the events' stamps and panes."""
    tdom, (name,) = split.tdom, source.source.choice.times
    if tdom.precision > LONGEST_PANE:
        raise Misfit("a pane is too long for sums of times")
    lifetime = source.source.lifetime
    refused = DataError(
        "a time is too far from 0: with its lifetime it must lie within ±2**62 ticks",
        input=source.name,
        column=name,
    )
    bounds = Bounds(lifetime.before - MAX_TIME, MAX_TIME - lifetime.after, str(refused))
    stamp = whole_ticks(
        source.slot(name), source.source.kind(name), source.unit, bounds
    )
    if stamp is None:
        raise Misfit(f"the stamps of ~{source.name} are finer than a tick")
    if source.source.payload_name is not None:
        # Those of rows that are no events are looked at first: they may have an error.
        stamp = sql.when(stamp.isNotNull() & sql.expr(source.is_event), stamp)
    # Only whether panes are the same matters: none has to begin where ours does.
    place = f"({STAMP} - {tdom.offset + 1})"
    pane = sql.expr(f"{place} - pmod({place}, {tdom.precision})")
    contributes = elements.contributes(split.reductions)
    pane = sql.when(contributes, pane).otherwise(NO_PANE)
    pane = sql.when(sql.col(STAMP).isNotNull(), pane)
    return source.rows().select("*", stamp.alias(STAMP), pane.alias(PANE))


def _state(node: Reduce, elements: ElementColumns, name: str) -> StateColumns:
    if node.reduction == "count":
        number = sql.count(elements.mark_counted(node.element))
        return StateColumns({name: number}, sql.col(name))
    kind = node.element.type
    assert isinstance(kind, Scalar), "structs are only counted"
    value = elements.value(node.element)
    match node.reduction:
        case "sum":
            return _sum(value, kind, name)
        case "min" | "max" if kind.is_float:
            return _extreme_float(node.reduction, value, kind, name)
        case "min" | "all":
            return StateColumns({name: sql.min(value)}, sql.col(name))
        case "max" | "any":
            return StateColumns({name: sql.max(value)}, sql.col(name))
        case _:
            raise Misfit(f"Spark has no {node.reduction} with our bits")


def _sum(value: Column, kind: Scalar, name: str) -> StateColumns:
    """Add integers, which wrap in 64 bits: Spark's sums raise an error instead.

    A group has less than 2**31 rows, so that no sum of 32 bits each overflows.
    """
    value = value.cast("long")
    if kind == BOOL or kind.bits <= 32:
        return StateColumns({name: sql.sum(value)}, sql.col(name))
    high, low = f"{name}_high", f"{name}_low"
    parts = {
        high: sql.sum(sql.shiftright(value, 32)),
        low: sql.sum(value.bitwiseAND(sql.lit(LOW_HALF))),
    }
    carried = sql.col(high) + sql.shiftright(sql.col(low), 32)
    rest = sql.col(low).bitwiseAND(sql.lit(LOW_HALF))
    return StateColumns(parts, sql.shiftleft(carried, 32).bitwiseOR(rest))


def _extreme_float(
    reduction: str, value: Column, kind: Scalar, name: str
) -> StateColumns:
    """Find the least or greatest float: NaN if any is, and -0 is less than 0."""
    least = reduction == "min"
    is_minus = sql.pow(value.cast("double"), sql.lit(-1.0)) < 0
    zero = sql.when(is_minus, HAS_MINUS_ZERO).otherwise(HAS_ZERO)
    special = sql.when(sql.isnan(value), HAS_NAN).when(value == 0, zero)
    among = f"{name}_among"
    parts = {
        name: (sql.min if least else sql.max)(value),
        among: sql.bit_or(special),
    }

    def has(bit: int) -> Column:
        return sql.col(among).bitwiseAND(sql.lit(bit)) != 0

    # Zeros of either sign are one literal to Spark's optimizer.
    plus = sql.abs(sql.col(name))
    minus = -plus
    if least:
        zeros = sql.when(has(HAS_MINUS_ZERO), minus).otherwise(plus)
    else:
        zeros = sql.when(has(HAS_ZERO), plus).otherwise(minus)
    state = sql.when(has(HAS_NAN), sql.lit(float("nan")))
    state = state.when(sql.col(name) == 0, zeros).otherwise(sql.col(name))
    return StateColumns(parts, state.cast("float" if kind.bits == 32 else "double"))

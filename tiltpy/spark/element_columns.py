"""Elements of reductions as columns of Spark's, with null for φ.

Only what Spark computes with our bits: fields, constants, comparisons, conditions, and
conversions to wider numbers. Arithmetic of Spark's may raise errors where ours wraps.
"""

from collections.abc import Callable, Iterable
from functools import reduce
from operator import eq, ge, gt, le, lt, ne

from pyspark.sql import Column
from pyspark.sql import functions as sql
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import DataType

from tiltpy.ir.nodes import (
    Binary,
    Cast,
    Const,
    Element,
    Exists,
    Expr,
    Field,
    If,
    In,
    Phi,
    Reduce,
    Unary,
)
from tiltpy.plan.nodes import Misfit
from tiltpy.runtime.arrays.views import arrow_type
from tiltpy.spark.shuffle_rows import NumberedInput
from tiltpy.spark.sources import quote_name
from tiltpy.types import BOOL, Scalar, Struct, Type

COMPARISONS: dict[str, Callable[[Column, Column], Column]] = {
    "==": eq,
    "!=": ne,
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
}


class ElementColumns:
    """The elements of an input's reductions, over columns of its rows."""

    def __init__(self, numbered: NumberedInput) -> None:
        self.numbered = numbered
        kind = numbered.source.declared.type
        fields = kind.fields if isinstance(kind, Struct) else (("", kind),)
        if any(isinstance(of, Struct) for _, of in fields):
            raise Misfit("a payload has structs in a struct")
        names = [name for name, _ in fields]
        self.paths = dict(zip(names, numbered.source.choice.payload, strict=True))

    # What contributes

    def contributes(self, nodes: Iterable[Reduce]) -> Column:
        """Tell whether a row contributes to one of some reductions; or null."""
        elements = dict.fromkeys(node.element for node in nodes)
        return reduce(lambda a, b: a | b, map(self._condition, elements))

    def mark_counted(self, element: Expr) -> Column:
        """Make a column that is null where an element is φ."""
        return sql.when(self._condition(element), 1)

    def _condition(self, element: Expr) -> Column:
        return reduce(lambda a, b: a & b, self._conditions(element))

    def _conditions(self, element: Expr) -> list[Column]:
        """List what must hold of a row whose element is not φ."""
        match element:
            case Const() | Element():  # rows without a payload are no events
                return []
            case If(condition=asked, then=then, otherwise=Phi()):
                return [self.value(asked), *self._conditions(then)]
            case _:
                return [self.value(element).isNotNull()]

    # Values

    def value(self, element: Expr) -> Column:
        """Compute an element; `Misfit` where Spark's bits may be others."""
        match element:
            case Const(type=kind):
                return sql.lit(element.value).cast(_spark_type(kind))
            case Phi(type=kind):
                return sql.lit(None).cast(_spark_type(kind))
            case Element(type=kind):
                return self._column("", kind)
            case Field(operand=Element(), name=name, type=kind):
                return self._column(name, kind)
            case If(condition=asked, then=then, otherwise=otherwise):
                condition = self.value(asked)
                chosen = sql.when(condition, self.value(then))
                if isinstance(otherwise, Phi):
                    return chosen
                return chosen.when(~condition, self.value(otherwise))
            case Exists(operand=operand):
                return self.value(operand).isNotNull()
            case Unary(op="!", operand=operand):
                return ~self.value(operand)
            case Binary():
                return self._binary(element)
            case In(operand=operand, options=options):
                if not _is_whole(operand.type):
                    raise Misfit("`in` of other things than integers")
                value = self.value(operand)
                return reduce(
                    lambda a, b: a | b, (value == self.value(o) for o in options)
                )
            case Cast(operand=operand, type=kind):
                return self._cast(operand, kind)
            case _:
                raise Misfit(f"an element is a {type(element).__name__}")

    def _column(self, name: str, kind: Type) -> Column:
        found = self._arrow_type(name)
        if not isinstance(kind, Scalar) or kind.is_temporal or kind.kind == "string":
            raise Misfit(f"an element is a {kind}")
        if found != arrow_type(kind):
            raise Misfit(f"{found} is read as {kind}")
        first, *inside = self.paths[name]
        return sql.col(".".join([self.numbered.slot(first), *map(quote_name, inside)]))

    def _arrow_type(self, name: str) -> object:
        first, *inside = self.paths[name]
        kind = self.numbered.source.schema.field(first).type
        for each in inside:
            kind = kind.field(each).type
        return kind

    def _binary(self, node: Binary) -> Column:
        left, right = self.value(node.left), self.value(node.right)
        match node.op:
            case "&&":
                return left & right
            case "||":
                return left | right
            case op if op in COMPARISONS:
                compared = COMPARISONS[op](left, right)
                kind = node.left.type
                assert isinstance(kind, Scalar), "structs are not compared"
                if not kind.is_float:
                    return compared
                # Spark takes NaN for the greatest float, equal to itself.
                unlike = sql.isnan(left) | sql.isnan(right)
                there = left.isNotNull() & right.isNotNull()
                known = sql.when(there, sql.lit(op == "!="))
                return sql.when(unlike, known).otherwise(compared)
            case op:
                raise Misfit(f"an element has `{op}`")

    def _cast(self, operand: Expr, kind: Scalar) -> Column:
        given = operand.type
        assert isinstance(given, Scalar), "structs are not converted"
        widens = given.kind == kind.kind and given.bits <= kind.bits
        if not (widens and (given.kind == "int" or given.is_float)):
            raise Misfit(f"an element converts {given} to {kind}")
        return self.value(operand).cast(_spark_type(kind))


def _is_whole(kind: Type) -> bool:
    return kind == BOOL or (isinstance(kind, Scalar) and kind.kind == "int")


def _spark_type(kind: Type) -> DataType:
    if not isinstance(kind, Scalar) or not (_is_whole(kind) or kind.is_float):
        raise Misfit(f"an element has a {kind}")
    return from_arrow_type(arrow_type(kind))

"""Declarations of a query: inputs, outputs and parameters, as a user sees them.

Their `repr` is the text of the language.
"""

from tiltpy.ir.keys import output_keys
from tiltpy.ir.nodes import Query
from tiltpy.lean_dataclass import dataclass
from tiltpy.types import Struct, Type
from tiltpy.visible import format_name


@dataclass(frozen=True, slots=True, repr=False)
class ParameterDeclaration:
    """A parameter of a query: its type and its value, as texts of the language."""

    name: str
    type: str
    value: str

    def __repr__(self) -> str:
        return f"param {self.name} : {self.type} = {self.value}"


@dataclass(frozen=True, slots=True, repr=False)
class InputDeclaration:
    """An input of a query.

    `lifetime` is the text of one, or None where the declaration leaves it open, as it
    may leave the `time` column. `by` are the key columns, `order` those that break
    ties. An input that is not `needed` need not be bound.
    """

    name: str
    type: Type
    lifetime: str | None
    time: str | None
    by: tuple[str, ...]
    order: tuple[str, ...]
    needed: bool
    text: str

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, repr=False)
class OutputDeclaration:
    """An output of a query, one object for each key of the columns `by`.

    `schema` has the columns of its table, each with its type in the language; that of a
    key column is the data's. `text` is its definition.
    """

    name: str
    type: Type
    by: tuple[str, ...]
    schema: dict[str, str]
    text: str

    def __repr__(self) -> str:
        keys = ", ".join(map(format_name, self.by))
        return f"output ~{self.name}{' by ' * bool(keys)}{keys} : {self.type!r}"


def describe_inputs(query: Query, needed: Query) -> dict[str, InputDeclaration]:
    """Describe the inputs of a query; `needed` has those that outputs need."""
    from tiltpy.ir.print.expressions import ExprPrinter  # noqa: PLC0415 - late
    from tiltpy.ir.print.query import statements  # noqa: PLC0415 - late

    texts, ticks = statements(query), ExprPrinter(query.unit).ticks
    return {
        each.name: InputDeclaration(
            each.name,
            each.type,
            None if each.lifetime is None else each.lifetime.format(ticks, format_name),
            each.time,
            each.keys,
            each.order,
            needed.input(each.name) is not None,
            texts[each.name],
        )
        for each in query.inputs
    }


def describe_outputs(query: Query) -> dict[str, OutputDeclaration]:
    """Describe the outputs of a query, with the columns of their tables."""
    from tiltpy.ir.print.query import statements  # noqa: PLC0415 - late

    texts, keys = statements(query), output_keys(query)
    described = {}
    for name in query.outputs:
        payload, ticks = query.type_of(name), "i64" if query.unit is None else "time"
        schema = dict.fromkeys(keys[name], "key") | {"start": ticks, "end": ticks}
        if isinstance(payload, Struct):
            schema |= {field: repr(of) for field, of in payload.fields}
        else:
            schema[name] = repr(payload)
        described[name] = OutputDeclaration(
            name, payload, keys[name], schema, texts[name]
        )
    return described

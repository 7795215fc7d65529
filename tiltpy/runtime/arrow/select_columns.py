"""The choice of a frame's columns: which are times, payload and tie order.

Columns that the declaration or the binding names are taken. The rest is guessed only
where there is no second candidate; otherwise the error lists the candidates.
"""

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from tiltpy.errors import DataError
from tiltpy.ir.nodes import Input
from tiltpy.lean_dataclass import dataclass
from tiltpy.messages import closest
from tiltpy.types import Struct

TIME_NAMES = ("t", "ts", "time", "timestamp", "date", "datetime")
"""Names by which a time column of integers is found, in any case."""

PANDAS_INDEX = "__index_level_"
"""The prefix of pandas' index columns without a name: row numbers, or the time."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The columns of an input: one stamp column or start and end, payload, order, keys.

    A payload column is a path: a column, or a struct column and a field of it.
    """

    times: tuple[str, ...]
    payload: tuple[tuple[str, ...], ...]
    order: tuple[str, ...]
    keys: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The columns that decide the order of rows: all but the payload."""
        return self.times, self.order, self.keys

    @property
    def paths(self) -> list[tuple[str, ...]]:
        """All columns, and fields of struct columns, that are read."""
        names = (*self.times, *self.order, *self.keys)
        return [*((name,) for name in names), *self.payload]

    @property
    def columns(self) -> list[str]:
        """The names of the frame's columns that are read, each once."""
        payload = (path[0] for path in self.payload)
        return list(dict.fromkeys([*self.times, *payload, *self.order, *self.keys]))


def choose_columns(declared: Input, column: str | None, schema: pa.Schema) -> Choice:
    """Choose the columns of a frame for an input whose lifetime is known."""
    for name in (*declared.order, *declared.keys):
        check_column_name(declared, schema, name)
    if column is not None:
        check_column_name(declared, schema, column)
    times = _choose_times(declared, column, schema)
    if isinstance(declared.type, Struct):
        payload = choose_fields(declared, declared.type, column, schema)
    else:
        payload = (_choose_value(declared, column, times, schema),)
    return Choice(times, payload, declared.order, declared.keys)


def _choose_times(
    declared: Input, column: str | None, schema: pa.Schema
) -> tuple[str, ...]:
    if declared.lifetime is not None and declared.lifetime.columns:
        return tuple(
            check_column_name(declared, schema, n) for n in declared.lifetime.columns
        )
    if declared.time is not None:
        return (check_column_name(declared, schema, declared.time),)
    taken = {*declared.order, *declared.keys, column, declared.name}
    if isinstance(declared.type, Struct):
        taken.update(name for name, _ in declared.type.fields)
    open_ = [field for field in schema if field.name not in taken]
    stamps = [
        field.name
        for field in open_
        if pa.types.is_timestamp(field.type) or pa.types.is_date(field.type)
    ]
    named = [field.name for field in open_ if field.name.lower() in TIME_NAMES]
    candidates = stamps or named
    if len(candidates) != 1:
        _refuse_twins(declared, candidates, schema)
        fault = _explain_candidates(candidates, schema)
        raise DataError(
            f"{fault} the time column; name it: `time NAME` in the query, "
            "bind(frame, time=...), or --time on the command line",
            input=declared.name,
        )
    return (check_column_name(declared, schema, candidates[0]),)


def _choose_value(
    declared: Input, column: str | None, times: tuple[str, ...], schema: pa.Schema
) -> tuple[str, ...]:
    if column is not None:
        return (column,)
    named = declared.name in schema.names
    if named and declared.name not in (*times, *declared.keys):
        return (check_column_name(declared, schema, declared.name),)
    taken = {*times, *declared.order, *declared.keys}
    candidates = [
        name
        for name in schema.names
        if name not in taken and not name.startswith(PANDAS_INDEX)
    ]
    if len(candidates) != 1:
        _refuse_twins(declared, candidates, schema)
        fault = _explain_candidates(candidates, schema)
        raise DataError(
            f"{fault} the payload; call it '{declared.name}', or name it: "
            "bind(frame, column=...), or --column on the command line",
            input=declared.name,
        )
    return (candidates[0],)


def choose_fields(
    declared: Input, payload: Struct, column: str | None, schema: pa.Schema
) -> tuple[tuple[str, ...], ...]:
    """Choose the columns of a struct's fields, or the fields of one struct column.

    `payload` is the struct's type; `column` the struct column, where one is named;
    `schema` that of the frame.
    """
    wanted = [name for name, _ in payload.fields]
    if column is None:
        if set(wanted) <= set(schema.names):
            for name in wanted:
                check_column_name(declared, schema, name)
            types = {field.name: field.type for field in schema}
            return _paths(declared, payload, types, ())
        column = _struct_column(wanted, declared.name, schema)
    if column is None:
        missing = next(name for name in wanted if name not in schema.names)
        raise _missing_error(declared, missing, schema.names)
    struct = schema.field(column).type
    _check_struct(declared, payload, (column,), struct)
    return _paths(declared, payload, {f.name: f.type for f in struct}, (column,))


def _paths(
    declared: Input,
    payload: Struct,
    types: Mapping[str, pa.DataType],
    prefix: tuple[str, ...],
) -> tuple[tuple[str, ...], ...]:
    """List the paths of a struct's columns, and those of the structs in it."""
    paths: list[tuple[str, ...]] = []
    for name, of in payload.fields:
        path = (*prefix, name)
        paths.append(path)
        if isinstance(of, Struct):
            _check_struct(declared, of, path, types[name])
            paths += [(*path, inner) for inner, _ in of.fields]
    return tuple(paths)


def _check_struct(
    declared: Input, payload: Struct, path: tuple[str, ...], kind: pa.DataType
) -> None:
    """Refuse a column without the fields of a struct in a struct.

    `path` is the column and, within it, the field; `kind` its Arrow type.
    """
    wanted = [name for name, _ in payload.fields]
    column = ".".join(path)
    if not pa.types.is_struct(kind):
        raise DataError(
            f"found {kind}, expected a struct column with the fields "
            f"{_quote_names(wanted)}",
            input=declared.name,
            column=column,
        )
    inside = [field.name for field in kind]
    for name in wanted:
        if inside.count(name) != 1:
            raise _missing_error(declared, name, inside, within=column)


def _struct_column(wanted: list[str], input: str, schema: pa.Schema) -> str | None:
    """Find the only struct column with all fields, or the one named as the input."""
    candidates = [
        field.name
        for field in schema
        if pa.types.is_struct(field.type)
        and set(wanted) <= {inner.name for inner in field.type}
    ]
    if input in candidates:
        return input
    return candidates[0] if len(candidates) == 1 else None


def check_column_name(declared: Input, schema: pa.Schema, name: str) -> str:
    """Return the name of a column that is there once; refuse any other."""
    count = schema.names.count(name)
    if count == 0:
        raise _missing_error(declared, name, schema.names)
    if count > 1:
        raise DataError(
            f"{count} columns have this name; rename them",
            input=declared.name,
            column=name,
        )
    return name


def _missing_error(
    declared: Input, name: str, present: list[str], within: str | None = None
) -> DataError:
    nearest = closest(name, present)
    hint = f"did you mean '{nearest}'?" if nearest else "rename one, or name another"
    struct = f"in the struct column '{within}' " if within else ""
    return DataError(
        f"there is no such column {struct}among "
        f"{_quote_names(present) or 'no columns'}; {hint}",
        input=declared.name,
        column=name,
    )


def _refuse_twins(
    declared: Input, candidates: Sequence[str], schema: pa.Schema
) -> None:
    """Refuse candidates that no name tells apart."""
    for name in candidates:
        check_column_name(declared, schema, name)


def _explain_candidates(candidates: list[str], schema: pa.Schema) -> str:
    if candidates:
        return f"{_quote_names(candidates)} could all be"
    return f"none of {_quote_names(schema.names) or 'no columns'} is"


def _quote_names(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)

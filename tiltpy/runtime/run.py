"""A run: bind the data, compute the outputs over them, Arrow out."""

from collections.abc import Iterator, Mapping

from tiltpy.errors import DataError
from tiltpy.ir.nodes import Query
from tiltpy.runtime.bind import Binding
from tiltpy.runtime.buffers import SnapshotBuffer
from tiltpy.runtime.domain import Request, check_request
from tiltpy.runtime.encode import encode
from tiltpy.runtime.ingest import Ingested, ingest
from tiltpy.runtime.job import Job, RunOptions
from tiltpy.runtime.key_domains import Rows
from tiltpy.runtime.key_pieces import KeyColumns, Order
from tiltpy.runtime.keyed import CompileFor, KeyedJob
from tiltpy.runtime.keys import Groups, align
from tiltpy.runtime.result import OutputTable, Result
from tiltpy.runtime.stamps import output_stamp
from tiltpy.types import Type


def check_bindings(query: Query, bindings: Mapping[str, Binding]) -> None:
    """Refuse what is bound to no input, and inputs without anything."""
    for name in bindings:
        if query.input(name) is None:
            known = ", ".join(declared.name for declared in query.inputs)
            raise DataError(f"the query has no such input; it has {known}", input=name)
    missing = [i.name for i in query.inputs if i.name not in bindings]
    if missing:
        raise DataError(
            "nothing is bound to it; give it as run(name=frame)", input=missing[0]
        )


def bind_inputs(
    query: Query, bindings: Mapping[str, Binding], request: Request, *, allow_sort: bool
) -> dict[str, Ingested]:
    """Read every input of a query."""
    check_bindings(query, bindings)
    return {
        declared.name: ingest(
            declared,
            bindings[declared.name],
            unit=query.unit,
            domain_end=request.end,
            allow_sort=allow_sort,
        )
        for declared in query.inputs
    }


def run(
    query: Query,
    inputs: Mapping[str, Ingested],
    compile_for: CompileFor,
    request: Request,
    options: RunOptions,
    order: Order = "key",
) -> Result:
    """Compute the outputs of a query over its bound inputs.

    All outputs have the same keys, or none; `inputs` may be those of more outputs, with
    the same kind of times. `order` is that of the rows of outputs by key.
    """
    check_request(query, request)
    stamp = output_stamp({n: i.stamps for n, i in inputs.items()}, query.unit)
    inputs = {one.name: inputs[one.name] for one in query.inputs}
    by_key = {
        name: (one.keys, one.groups)
        for name, one in inputs.items()
        if one.keys is not None and one.groups is not None
    }
    keys, groups = align(by_key) if by_key else (None, {})
    rows, strings = encode(
        query,
        {
            name: groups[name].buffer if name in groups else one.buffer
            for name, one in inputs.items()
        },
    )
    if keys is None:
        layouts = {name: buffer.abi_layout() for name, buffer in rows.items()}
        job = Job(compile_for(layouts), rows, strings, request, options)
        stitched = job.run()
        return Result(
            [
                OutputTable(name, of, stitched.get(name, []), stamp, strings)
                for name, of in _outputs(query)
            ]
        )
    own = {name: _with_rows(groups.get(name), rows[name]) for name in rows}
    found = KeyedJob(query, compile_for, own, keys, strings, request, options).run()
    tables = []
    for name, of in _outputs(query):
        pieces = [piece for one in found[name] for piece in one.pieces]
        columns = KeyColumns.of(keys, found[name], order)
        tables.append(OutputTable(name, of, pieces, stamp, strings, columns))
    return Result(tables)


def _outputs(query: Query) -> Iterator[tuple[str, Type]]:
    for name in query.outputs:
        yield name, query.type_of(name)


def _with_rows(groups: Groups | None, rows: SnapshotBuffer) -> Rows:
    """The same keys over rows with other codes of strings."""
    if groups is None or groups.buffer is rows:
        return groups or rows
    return Groups(rows, groups.offsets, groups.firsts, groups.lasts)

"""A run: bind the data, compute the outputs over them, Arrow out."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tiltpy.errors import DataError
from tiltpy.ir.nodes import Query
from tiltpy.runtime.bind import Binding
from tiltpy.runtime.buffers import SnapshotBuffer
from tiltpy.runtime.direct import Direct, FoldFor, Grouping, fold_directly, only_input
from tiltpy.runtime.domain import Request, check_request
from tiltpy.runtime.encode import encode
from tiltpy.runtime.in_time import in_time
from tiltpy.runtime.ingest import Ingested, ingest
from tiltpy.runtime.job import Job, RunOptions
from tiltpy.runtime.key_domains import Rows
from tiltpy.runtime.key_pieces import KeyColumns, Order
from tiltpy.runtime.keyed import CompileFor, KeyedJob
from tiltpy.runtime.keys import Groups, align
from tiltpy.runtime.result import OutputTable, Result
from tiltpy.runtime.stamps import OutputStamp, output_stamp
from tiltpy.types import Type, Unit


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
    query: Query,
    bindings: Mapping[str, Binding],
    request: Request,
    *,
    allow_sort: bool,
    leave: Collection[str] = (),
) -> dict[str, Ingested]:
    """Read every input of a query, but for those to `leave`."""
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
        if declared.name not in leave
    }


@dataclass(frozen=True, slots=True)
class Part:
    """The outputs of a query that have the same keys, or none."""

    query: Query
    compile_for: FoldFor


def run_parts(
    query: Query,
    parts: Sequence[Part],
    bindings: Mapping[str, Binding],
    request: Request,
    options: RunOptions,
    order: Order = "key",
) -> Result:
    """Compute the outputs of a query, those of each set of keys by themselves."""
    check_bindings(query, bindings)
    check_request(query, request)
    direct = {}
    if options.direct is not False:
        for number, part in enumerate(parts):
            found = _directly(part, bindings, query.unit, request, options)
            if found is not None:
                direct[number] = found
    read = {
        n.name for i, p in enumerate(parts) if i not in direct for n in p.query.inputs
    }
    leave = {one.rows_of for one in direct.values()} - read
    bound = bind_inputs(
        query, bindings, request, allow_sort=options.allow_sort, leave=leave
    )
    stamps = {name: one.stamps for name, one in bound.items()}
    for one in direct.values():
        stamps.setdefault(one.rows_of, one.rows.stamps)
    stamp = output_stamp({i.name: stamps[i.name] for i in query.inputs}, query.unit)
    tables: dict[str, OutputTable] = {}
    for number, part in enumerate(parts):
        if number in direct:
            made = direct[number].tables(stamp, order)
            tables.update((table.name, table) for table in made)
        else:
            result = run(
                part.query, bound, part.compile_for, request, options, order, stamp
            )
            tables.update(result.items())
    return Result([tables[name] for name in query.outputs])


def _directly(
    part: Part,
    bindings: Mapping[str, Binding],
    unit: Unit | None,
    request: Request,
    options: RunOptions,
) -> Direct | None:
    """A part's outputs without grouping any rows, where that can be."""
    declared = only_input(part.query)
    if declared is None:
        return None
    rows = in_time(declared, bindings[declared.name], unit)
    if isinstance(rows, str):
        return None
    try:
        return fold_directly(part.query, rows, part.compile_for, request, options)
    except Grouping:
        return None


def run(
    query: Query,
    inputs: Mapping[str, Ingested],
    compile_for: CompileFor,
    request: Request,
    options: RunOptions,
    order: Order = "key",
    stamp: OutputStamp | None = None,
) -> Result:
    """Compute the outputs of a query over its bound inputs.

    All outputs have the same keys, or none; `stamp` is the kind of their times, of
    these inputs and others. `order` is that of the rows of outputs by key.
    """
    check_request(query, request)
    if stamp is None:
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

"""The public face: queries from text or Python, run over anything that speaks Arrow."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, get_args

from tiltpy.argument_checks import check_argument, check_path
from tiltpy.compiler import parsed_queries
from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.output_selection import split_by_keys
from tiltpy.compiler.query_kernels import Compiler
from tiltpy.engines.local import bind_inputs, run_parts
from tiltpy.errors import TiltError, warn
from tiltpy.frontend.python import builder
from tiltpy.inputs import BoundInput
from tiltpy.ir.identity import identity
from tiltpy.ir.nodes import Query
from tiltpy.memory_sizes import size_of
from tiltpy.passes.analyses.row_inputs import row_inputs
from tiltpy.passes.separate_states import separate_states
from tiltpy.run_arguments import Arguments, read_options
from tiltpy.runtime.concurrency.offload import offload
from tiltpy.runtime.execution.hidden_rows import HiddenRows
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.quick_work import reads_quickly
from tiltpy.runtime.execution.run_options import Progress, RunOptions
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.ingest.binding import InputBinding, check_bound
from tiltpy.runtime.results.key_columns import Order
from tiltpy.runtime.results.result import Result
from tiltpy.time_literals import Length, Moment
from tiltpy.types import Unit
from tiltpy.visible import escape_lines

RUN_ARGUMENTS = (
    "self", "start", "end", "workers", "chunk", "allow_sort", "progress",
    "check_reductions", "order",
)  # fmt: skip
STREAM_ARGUMENTS = (
    "self", "start", "end", "workers", "chunk", "memory", "progress",
)  # fmt: skip
ORDERS = get_args(Order)
Format = Literal["stages", "tree", "json", "dot", "mermaid"]
PRINTED = " (printed)"
"""Suffix of the name of a text that was printed from a query: its places are not those
of the text that the user wrote."""
MEMORY = "256MB"
"""Memory of a streamed run, where the caller does not say."""


class CompiledQuery:
    """A query that can be run any number of times, over any frames.

    `query` is its functional IR; `print(compiled)` shows it in the language's text.
    Machine code is made when data shows which layouts are needed, and kept.

    It can be copied and pickled, for other processes: as that text and its options.
    """

    def __init__(self, query: Query, options: CompileOptions | None = None) -> None:
        self.query = query
        self._arguments = Arguments(query)
        self._find_row_inputs = cache(partial(row_inputs, query))
        self._compiler = Compiler(query, options)
        self._compilers = tuple(
            self._compiler if each is query else Compiler(each, options)
            for each in split_by_keys(query)
        )
        self._groups = [OutputGroup(c.query, c.compile_for) for c in self._compilers]
        self._stream_groups = self._groups
        separate = separate_states(query)
        if separate is not query:
            compilers = [Compiler(each, options) for each in split_by_keys(separate)]
            self._stream_groups = [
                OutputGroup(c.query, c.compile_for) for c in compilers
            ]

    def __reduce__(self) -> tuple[Any, ...]:
        name = self.query.definitions[0].span.source.name.removesuffix(PRINTED)
        return _reparse, (str(self), name + PRINTED, self.options)

    @property
    def options(self) -> CompileOptions:
        """The options that it is compiled with."""
        return self._compiler.options

    def kernels(self) -> frozenset[str]:
        """Format the loop IR of the kernels that runs have used so far."""
        return frozenset(text for c in self._compilers for text in c.kernels())

    def run(
        self,
        *,
        start: Moment | None = None,
        end: Moment | None = None,
        workers: int | None = None,
        chunk: Length | None = None,
        allow_sort: bool = True,
        progress: Progress | None = None,
        check_reductions: bool = False,
        order: Order = "key",
        **inputs: object,
    ) -> Result:
        """Compute the outputs over frames, one for each input by its name.

        A frame is anything with the Arrow PyCapsule interface (`__arrow_c_stream__`:
        pyarrow, Polars, pandas, DuckDB), or `bind(frame, ...)` where the query leaves
        open how rows become events, or `sampled(values, start, period)` for values
        without a time column. Run-time bounds of time domains are given by their
        names, like inputs; one called `start` or `end` is the domain's.

        `start` and `end` are the domain `(start, end]`: ticks, a stamp of ISO 8601 or a
        `datetime`; by default that of the data. `workers` (threads; by default one per
        CPU) never change a result, `chunk` (ticks, a duration like "1h", a `timedelta`)
        nothing but the rounding of inexact sums; chunks are longer than that where
        there would be more than 32,768 of them, or they would go through what they look
        back to more than 2^26 times.
        `allow_sort=False` refuses rows out of time order. `progress` is called with the
        number of chunks done and of all (0 of 1 while that is not known): for each
        chunk, and a few times a second. `check_reductions=True` tries, before it runs,
        whether `merge` and `deacc` of user-defined reductions agree with their
        `acc`, over a sample of the data's snapshots: for finding mistakes.

        Rows of outputs by key are in `order` of "key" and then time, or of "time" and
        then key.

        Raises `DataError` if the data does not fit the query, or they do not agree.
        Warns (`TiltWarning`) where a result for each row of an input of points hides
        rows that share a stamp, and of loops that may make more than 10^9 visits.
        """
        if order not in ORDERS:
            raise TiltError(f"order={order!r}: expected 'key' or 'time'")
        request, frames = self._arguments.read(start, end, inputs, RUN_ARGUMENTS)
        costs = self.options.costs
        options = read_options(
            self.query.unit,
            workers,
            chunk,
            costs,
            allow_sort=allow_sort,
            progress=progress,
        )
        bindings = self._bindings(frames)
        hidden = self._hidden_rows(request)

        def work() -> Result:
            if check_reductions:
                from tiltpy.check_reductions import check_agreement  # noqa: PLC0415 - late

                bound = bind_inputs(self.query, bindings, allow_sort=allow_sort)
                compiling = self._compiler.options
                check_agreement(self.query, bound, request, options, compiling)
            return run_parts(
                self.query, self._groups, bindings, request, options, order, hidden
            )

        quick = not check_reductions and reads_quickly(
            self.query, bindings, costs.run, allow_sort=allow_sort
        )
        result = work() if quick else offload(work, options.progress)
        _warn(hidden)
        return result

    def _hidden_rows(self, request: Request) -> HiddenRows:
        """Make the counter of rows that a result for each row does not show."""
        return HiddenRows(self.query, self._find_row_inputs, request)

    def stream(
        self,
        *,
        start: Moment | None = None,
        end: Moment | None = None,
        workers: int | None = None,
        chunk: Length | None = None,
        memory: int | str = MEMORY,
        progress: Progress | None = None,
        **inputs: object,
    ) -> Iterator[Result]:
        """Compute the outputs piece by piece, over inputs larger than memory.

        An input is a `scan_parquet(...)`; an iterator of frames, a reader of record
        batches, anything with `__arrow_c_stream__`, plain or in `bind(...)`; or
        `sampled(...)` of an iterator of arrays. It is read once, and must be in order
        of time. The pieces are results like that of `run`, one at least: their tables,
        one after the other, are the rows of `run`.

        `memory` bounds the rows and snapshots that are held at a time, with all copies
        of them: bytes, or a text like "500MB". The compiler, and the readers and
        writers of files, take up to 150 MB besides; so do the batches that an iterator
        gives, and what the caller keeps. A query that looks back over more rows than
        fit is a `DataError`. `progress` is called with how many rows were read and how
        many there are, as far as tables and `scan_parquet` know. The rest is as in
        `run`; a warning comes after the last piece.
        """
        request, frames = self._arguments.read(start, end, inputs, STREAM_ARGUMENTS)
        costs = self.options.costs
        options = read_options(
            self.query.unit, workers, chunk, costs, progress=progress
        )
        hidden = self._hidden_rows(request)
        results = self._stream(request, frames, options, memory, hidden)
        return _warn_at_end(results, hidden)

    def _stream(
        self,
        request: Request,
        frames: Mapping[str, object],
        options: RunOptions,
        memory: int | str,
        hidden: HiddenRows,
    ) -> Iterator[Result]:
        from tiltpy.engines.out_of_core import stream  # noqa: PLC0415 - late
        from tiltpy.passes.resolve_boundaries import (  # noqa: PLC0415 - late
            resolve_boundaries,
        )

        bindings = self._bindings(frames)
        inputs = tuple(
            replace(one, lifetime=one.lifetime or bindings[one.name].lifetime)
            for one in self.query.inputs
        )
        return stream(
            resolve_boundaries(replace(self.query, inputs=inputs)),
            self._stream_groups,
            bindings,
            request,
            options,
            size_of(memory),
            hidden=hidden,
        )

    def run_to(
        self,
        path: str | Path | Mapping[str, str | Path],
        /,
        *,
        start: Moment | None = None,
        end: Moment | None = None,
        workers: int | None = None,
        chunk: Length | None = None,
        memory: int | str = MEMORY,
        progress: Progress | None = None,
        **inputs: object,
    ) -> dict[str, int]:
        """Write the outputs to files as `stream` gives them; how many snapshots each.

        `path` is a file (.parquet, .arrow, .csv, .tsv, .jsonl; text also .csv.gz or
        .csv.zst) for a single output, or one for each output by its name. A file is
        there as a whole or not at all: after an error or Ctrl-C its place holds what it
        held before.
        """
        if isinstance(path, Mapping):
            paths = {name: check_path("path", file) for name, file in path.items()}
        elif len(self.query.outputs) == 1:
            paths = {self.query.outputs[0]: check_path("path", path)}
        else:
            known = ", ".join(f"'{name}'" for name in self.query.outputs)
            raise TiltError(f"the outputs are {known}; give a path for each by name")
        request, frames = self._arguments.read(start, end, inputs, STREAM_ARGUMENTS)
        costs = self.options.costs
        options = read_options(
            self.query.unit, workers, chunk, costs, progress=progress
        )
        hidden = self._hidden_rows(request)
        results = self._stream(request, frames, options, memory, hidden)
        from tiltpy.runtime.results.file_sink import (  # noqa: PLC0415 - late
            file_target,
            write_results,
        )

        targets = {name: file_target(file) for name, file in paths.items()}
        counts = write_results(results, targets)
        _warn(hidden)
        return counts

    def _bindings(self, frames: Mapping[str, object]) -> dict[str, InputBinding]:
        """Make a binding of each input's frame."""
        check_bound(self.query, frames)
        unit = self.query.unit
        return {
            name: frame.binding(unit)
            if isinstance(frame, BoundInput)
            else InputBinding(frame)
            for name, frame in frames.items()
        }

    def inputs(
        self,
        *,
        start: Moment | None = None,
        end: Moment | None = None,
        allow_sort: bool = True,
        **inputs: object,
    ) -> Result:
        """Read the inputs as the query sees them, a table of snapshots for each.

        Where events overlap, a snapshot is that of the event that started last. Made to
        be drawn above the outputs: `result.plot(inputs=query.inputs(stock=frame))`.
        """
        seen = CompiledQuery(identity(self.query), self._compiler.options)
        frames: dict[str, Any] = inputs
        request, bound = seen._arguments.read(start, end, frames, RUN_ARGUMENTS)
        options = RunOptions(allow_sort=allow_sort, costs=self.options.costs)
        bindings = seen._bindings(bound)
        result = run_parts(seen.query, seen._groups, bindings, request, options)
        declared = zip(self.query.inputs, result.values(), strict=True)
        return Result([table.rename(each.name) for each, table in declared])

    def explain(
        self,
        *,
        format: Format = "stages",
        llvm: bool = False,
        asm: bool = False,
        inputs: Mapping[str, object] | None = None,
    ) -> str:
        """Show what becomes of the query, as text.

        "stages" are all of them: source, passes, boundaries, loops, compile times;
        `llvm` and `asm` add the code that LLVM made. Kernels depend on how the data
        lies in time; `inputs` (frames by name) shows those chosen for it (by key: for
        the key with most rows), otherwise events without gaps or nulls are assumed.
        Outputs of other keys are computed by themselves, and follow.

        The other formats show what refers to what, and what was fused into one loop: a
        "tree" of text, "json", or a graph as "dot" (Graphviz) or "mermaid".
        """
        from tiltpy.explain.forms import FORMS  # noqa: PLC0415 - late
        from tiltpy.explain.outline import make_outline  # noqa: PLC0415 - late
        from tiltpy.explain.report import (  # noqa: PLC0415 - late
            explain_stages,
            read_data,
        )

        if format not in ("stages", *FORMS):
            known = ", ".join(f"'{name}'" for name in ("stages", *FORMS))
            raise TiltError(f"there is no format {format!r} to explain in; use {known}")
        if format != "stages" and (llvm or asm):
            raise TiltError("machine code is shown in the format 'stages' only")
        frames = {} if inputs is None else inputs
        check_argument("inputs", frames, Mapping, "a dict")
        bindings = self._bindings(frames) if frames else {}
        data = read_data(self.query, bindings, self.options.costs)
        if format != "stages":
            compiled = self._compiler.compile_for(data.layouts)
            shown = FORMS[format](make_outline(self.query, compiled.query))
            return shown if format == "json" else escape_lines(shown)
        shown = explain_stages(self.query, self._compilers, data, llvm=llvm, asm=asm)
        return escape_lines(shown)

    def __str__(self) -> str:
        from tiltpy.ir.print.query import format_query  # noqa: PLC0415 - late

        return format_query(self.query)

    def _repr_html_(self) -> str:
        from tiltpy.explain.card import query_card  # noqa: PLC0415 - late
        from tiltpy.passes.resolve_boundaries import (  # noqa: PLC0415 - late
            resolve_boundaries,
        )

        return query_card(resolve_boundaries(self.query))

    def __repr__(self) -> str:
        from tiltpy.explain.card import summarize  # noqa: PLC0415 - late

        return f"<query {summarize(self.query, '->')}>"


def _warn(hidden: HiddenRows) -> None:
    """Warn of rows that are hidden, if there are any."""
    message = hidden.message()
    if message is not None:
        warn(message)


def _warn_at_end(results: Iterator[Result], hidden: HiddenRows) -> Iterator[Result]:
    """Yield the results, and warn after the last, at the line that asked for it."""
    yield from results
    _warn(hidden)


def parse(
    query: str,
    *,
    name: str = "<query>",
    params: Mapping[str, object] | None = None,
    options: CompileOptions | None = None,
) -> CompiledQuery:
    """Read a query from a text in the tilt language (`grammar/README.md`).

    `params` sets its parameters; `name` is what errors call the text. Raises a
    `QueryError` that holds everything that is wrong with the text.
    """
    stored = options is None or options.cache
    parsed = parsed_queries.parse(query, name=name, params=params, stored=stored)
    return CompiledQuery(parsed, options)


def _reparse(printed: str, name: str, options: CompileOptions) -> CompiledQuery:
    from tiltpy.frontend.parse import reread  # noqa: PLC0415 - late

    return CompiledQuery(reread(printed, name=name), options)


def load(
    path: str | Path,
    *,
    params: Mapping[str, object] | None = None,
    options: CompileOptions | None = None,
) -> CompiledQuery:
    """Read a query from a `.tilt` file; see `parse`."""
    stored = options is None or options.cache
    parsed = parsed_queries.parse_file(path, params=params, stored=stored)
    return CompiledQuery(parsed, options)


def compile(
    *outputs: builder.Object,
    unit: Unit | None = None,
    options: CompileOptions | None = None,
) -> CompiledQuery:
    """Compile the query whose outputs are these temporal objects.

    `unit` is the tick; by default the finest unit of the query's durations.
    """
    return CompiledQuery(builder.build_query(*outputs, unit=unit), options)

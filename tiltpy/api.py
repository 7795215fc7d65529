"""The public face: queries from text or Python, run over anything that speaks Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from inspect import signature
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from tiltpy.argument_checks import (
    check_argument,
    check_choice,
    check_flag,
    check_path,
)
from tiltpy.compiler import parsed_queries
from tiltpy.compiler.declarations import (
    InputDeclaration,
    OutputDeclaration,
    ParameterDeclaration,
    describe_inputs,
    describe_outputs,
)
from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.templates import ProgramTemplate, QueryTemplate, TextTemplate
from tiltpy.errors import ArgumentError, TiltError
from tiltpy.frontend.python import builder
from tiltpy.frontend.surface.query_files import read_query
from tiltpy.ingress import ingress, read_ways
from tiltpy.ir.nodes import Query
from tiltpy.known_runs import find_run, make_question, remember_run
from tiltpy.memory_sizes import size_of
from tiltpy.prepared_query import PreparedQuery
from tiltpy.progress.progress_bar import RunProgress
from tiltpy.run_arguments import RunMethod, inputs_by_name, read_options
from tiltpy.runtime.execution.run_options import Progress
from tiltpy.runtime.results.key_columns import Order
from tiltpy.runtime.results.result import Result
from tiltpy.short_tracebacks import short_traceback
from tiltpy.time_literals import Length, Moment
from tiltpy.types import Unit
from tiltpy.visible import escape_lines

if TYPE_CHECKING:
    from tiltpy.live_session import LiveSession

RUN = RunMethod(
    "run",
    (
        "start", "end", "params", "workers", "chunk", "allow_sort", "progress",
        "check_reductions", "order",
    ),
)  # fmt: skip
STREAM_OPTIONS = "start", "end", "params", "workers", "chunk", "memory", "progress"
STREAM, RUN_TO = (RunMethod(name, STREAM_OPTIONS) for name in ("stream", "run_to"))
LIVE = RunMethod(
    "live",
    ("start", "params", "workers", "resume"),
    "tilt.ingress({}=...)",
    tuple(signature(ingress).parameters),
)
READ_INPUTS = RunMethod("read_inputs", ("start", "end", "params", "allow_sort"))
ORDERS = get_args(Order)
Format = Literal["stages", "live", "tree", "json", "dot", "mermaid", "svg"]
PRINTED = " (printed)"
"""Suffix of the name of a text that was printed from a query: its places are not those
of the text that the user wrote."""
OPTIONS = (CompileOptions, type(None))
MOST_VARIANTS = 32
"""Queries with other values of parameters that a query keeps, with their kernels."""
MEMORY = "256MB"
"""Memory of a streamed run, where the caller does not say."""


class CompiledQuery:
    """A query that can be run any number of times, over any frames.

    `print(compiled)` shows it in the language's text; `inputs`, `outputs`, `params` and
    `schema` are what it declares.
    Machine code is made when data shows which layouts are needed, and kept.

    It can be copied and pickled, for other processes: as that text and its options.
    """

    def __init__(
        self,
        query: Query,
        options: CompileOptions | None = None,
        *,
        template: QueryTemplate | None = None,
    ) -> None:
        check_argument("options", options, OPTIONS, "CompileOptions(...)")
        self._prepared = PreparedQuery(query, options)
        self._template = template
        self._variants: dict[object, CompiledQuery] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        if self._template is not None and self._template.may_have_parameters:
            return _remake, (self._template, self.options)
        name = self.query.definitions[0].span.source.name.removesuffix(PRINTED)
        return _reparse, (str(self), name + PRINTED, self.options)

    @property
    def query(self) -> Query:
        """The functional IR."""
        return self._prepared.query

    @property
    def options(self) -> CompileOptions:
        """The options that it is compiled with."""
        return self._prepared.options

    @property
    def inputs(self) -> dict[str, InputDeclaration]:
        """The declared inputs by name."""
        return describe_inputs(self.query, self._prepared.needed)

    @property
    def outputs(self) -> dict[str, OutputDeclaration]:
        """The outputs by name, with the columns of their tables."""
        return describe_outputs(self.query)

    @property
    def schema(self) -> dict[str, str]:
        """The columns of the single output and their types in the language.

        "key" stands for the type of a key column, which is the data's.
        """
        if len(self.query.outputs) != 1:
            raise TiltError(
                f"the outputs are {self._quoted_outputs()}; choose one of them: "
                "query.outputs[name].schema"
            )
        return self.outputs[self.query.outputs[0]].schema

    @property
    def params(self) -> dict[str, ParameterDeclaration]:
        """The parameters by name, with their types and values as in the language."""
        return {} if self._template is None else self._template.parameters()

    @short_traceback
    def with_params(self, params: Mapping[str, object]) -> CompiledQuery:
        """Set parameters by name; those that are left out keep their values.

        Values are numbers, bools, strings, durations like "30s" or a `timedelta`, ticks
        for durations, and stamps, dates or `datetime` for times. The text is not
        parsed again, and the same values give the same query, with what it compiled.
        """
        check_argument("params", params, Mapping, "a dict, like {'width': '30s'}")
        if not params:
            return self
        key = tuple((name, type(params[name]), str(params[name])) for name in params)
        variant = self._variants.get(key)
        if variant is None:
            template = self._template or TextTemplate(str(self), PRINTED)
            made = template.with_values(params)
            variant = CompiledQuery(made.query(), self.options, template=made)
            if len(self._variants) >= MOST_VARIANTS:
                self._variants.pop(next(iter(list(self._variants)), None), None)
            self._variants[key] = variant
        return variant

    def kernels(self) -> frozenset[str]:
        """Format the loop IR of the kernels that runs have used so far."""
        compilers = self._prepared.compilers
        return frozenset(text for each in compilers for text in each.kernels())

    def _with(
        self,
        params: Mapping[str, object] | None,
        method: RunMethod,
        inputs: Mapping[str, object],
    ) -> PreparedQuery:
        """Find the query of a run by its parameters; none of them is an input."""
        for name, value in inputs.items():
            if self.query.input(name) is None and name in self.params:
                shown = value if isinstance(value, str | int) else "..."
                raise ArgumentError(
                    f"{method.name}(): '{name}' is a parameter; give it as "
                    f"params={{'{name}': {shown!r}}}"
                )
        if params is None:
            return self._prepared
        for declared in self.query.inputs:  # `params` may be a frame of one
            method.check_free(declared.name)
        return self.with_params(params)._prepared  # noqa: SLF001 - our own

    def _quoted_outputs(self) -> str:
        return ", ".join(f"'{name}'" for name in self.query.outputs)

    # The options of `run` and its like are spelled out, though they take a line each:
    # jedi (IPython, JupyterLab) completes none of `**options: Unpack[...]`, and mypy
    # would refuse the inputs, whose names are the query's.

    @inputs_by_name(1, attrgetter("inputs"))
    def run(
        self,
        *,
        start: Moment | None = None,
        end: Moment | None = None,
        params: Mapping[str, object] | None = None,
        workers: int | None = None,
        chunk: Length | None = None,
        allow_sort: bool = True,
        progress: Progress | bool | None = None,
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

        An input that no output needs need not be given.

        `start` and `end` are the domain `(start, end]`: ticks, a stamp of ISO 8601 or a
        `datetime`, in UTC if it has no zone; by default that of the data. `params` sets
        parameters by name, see `with_params`. `workers` (threads; by default one per
        CPU) never change a result, and neither do chunks of another length: `chunk`
        (ticks, a duration like "1h", a `timedelta`). Where it is given, a few thousand
        rows are summed by the kernels that serve longer runs, which may round in
        another way. Chunks are longer than that where there would be more than 32,768
        of them, or they would go through what they look back to more than 2^26 times.
        `allow_sort=False` refuses rows out of time order. `progress` is called with the
        number of chunks done and of all (0 of 1 while that is not known): for each
        chunk, and a few times a second. `progress=True` shows a bar after two seconds,
        on a terminal or in a notebook. `check_reductions=True` tries, before it runs,
        whether `merge` and `deacc` of user-defined reductions agree with their
        `acc`, over a sample of the data's snapshots: for finding mistakes.

        Rows of outputs by key are in `order` of "key" and then time, or of "time" and
        then key.

        Raises `DataError` if the data does not fit the query, or they do not agree.
        Warns (`TiltWarning`) where a result for each row of an input of points hides
        rows that share a stamp, and of loops that may make more than 10^9 visits.
        """
        question = None
        if progress is None and not check_flag("check_reductions", check_reductions):
            question = make_question(
                (start, end, workers, chunk, allow_sort, order), params, inputs
            )
            known = None if question is None else find_run(self, question, inputs)
            if known is not None:
                return known.make()
        check_choice("order", order, ORDERS)
        query = self._with(params, RUN, inputs)
        request, frames = query.arguments.read(start, end, inputs, RUN)
        with RunProgress(progress) as bar:
            options = read_options(
                query.needed.unit,
                workers,
                chunk,
                query.options.costs,
                allow_sort=allow_sort,
                progress=bar.report,
            )
            result, run = query.run(
                frames,
                request,
                options,
                order,
                check_reductions=check_reductions,
                repeats=question is not None,
            )
        if question is not None and run is not None:
            remember_run(self, question, inputs, run)
        return result

    @inputs_by_name(1, attrgetter("inputs"))
    def stream(
        self,
        *,
        start: Moment | None = None,
        end: Moment | None = None,
        params: Mapping[str, object] | None = None,
        workers: int | None = None,
        chunk: Length | None = None,
        memory: int | str = MEMORY,
        progress: Progress | bool | None = None,
        **inputs: object,
    ) -> Iterator[Result]:
        """Compute the outputs piece by piece, over inputs larger than memory.

        An input is a `scan_parquet(...)`; an iterator or a list of frames, a reader of
        record batches, anything with `__arrow_c_stream__`, plain or in `bind(...)`; or
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
        query = self._with(params, STREAM, inputs)
        request, frames = query.arguments.read(start, end, inputs, STREAM)
        bar = RunProgress(progress)
        options = read_options(
            query.needed.unit, workers, chunk, query.options.costs, progress=bar.report
        )
        return bar.around(query.stream(frames, request, options, size_of(memory)))

    @inputs_by_name(2, attrgetter("inputs"))
    def run_to(
        self,
        path: str | Path | Mapping[str, str | Path],
        /,
        *,
        start: Moment | None = None,
        end: Moment | None = None,
        params: Mapping[str, object] | None = None,
        workers: int | None = None,
        chunk: Length | None = None,
        memory: int | str = MEMORY,
        progress: Progress | bool | None = None,
        **inputs: object,
    ) -> dict[str, int]:
        """Write the outputs to files as `stream` gives them; how many snapshots each.

        `path` is a file (.parquet, .arrow, .csv, .tsv, .jsonl; text also .csv.gz or
        .csv.zst) for a single output, or a file for each output that is to be written,
        by its name: no others are. A file is there as a whole or not at all: after an
        error or Ctrl-C its place holds what it held before.
        """
        if isinstance(path, Mapping):
            paths = {name: check_path("path", file) for name, file in path.items()}
        elif len(self.query.outputs) == 1:
            paths = {self.query.outputs[0]: check_path("path", path)}
        else:
            known = self._quoted_outputs()
            raise TiltError(f"the outputs are {known}; give a path for each by name")
        query = self._with(params, RUN_TO, inputs)
        request, frames = query.arguments.read(start, end, inputs, RUN_TO)
        bar = RunProgress(progress)
        options = read_options(
            query.needed.unit, workers, chunk, query.options.costs, progress=bar.report
        )
        results = query.stream(frames, request, options, size_of(memory))
        from tiltpy.runtime.results.file_sink import (  # noqa: PLC0415 - late
            file_target,
            write_results,
        )

        targets = {name: file_target(file) for name, file in paths.items()}
        with bar:
            return write_results(results, targets)

    @inputs_by_name(1, attrgetter("inputs"), "tilt.ingress(...)")
    def live(
        self,
        *,
        start: Moment | None = None,
        params: Mapping[str, object] | None = None,
        workers: int | None = None,
        resume: bytes | None = None,
        **inputs: object,
    ) -> LiveSession:
        """Open a session that is given rows as they come, and says what is final.

        Each input may have an `ingress(...)`, by its name, that says how late its rows
        may be; run-time bounds are given as in `run`. The final snapshots of all
        updates, and the open ones of the last, are at every moment those of `run` over
        the accepted rows with `end=through`. `workers` are threads, one by default.
        `resume` is what `LiveSession.save` gave: the session goes on from there.

        Raises `QueryError` where no output can be final before the last row.
        """
        from tiltpy.live_session import LiveSession  # noqa: PLC0415 - late

        query = self._with(params, LIVE, inputs)
        request, given = query.arguments.read(start, None, inputs, LIVE)
        options = read_options(
            query.needed.unit,
            1 if workers is None else workers,
            None,
            query.options.costs,
        )
        unit = query.needed.unit
        ways = read_ways([each.name for each in query.needed.inputs], given)
        admitted = {name: way.options(unit) for name, way in ways.items()}
        engine = query.live(admitted, request, options)
        if resume is not None:
            from tiltpy.engines.live.saved_session import (  # noqa: PLC0415 - late
                restore_session,
            )

            check_argument("resume", resume, bytes, "the bytes of LiveSession.save()")
            restore_session(engine, resume)
        return LiveSession(engine)

    @inputs_by_name(1, attrgetter("inputs"))
    def read_inputs(
        self,
        *,
        start: Moment | None = None,
        end: Moment | None = None,
        params: Mapping[str, object] | None = None,
        allow_sort: bool = True,
        **inputs: object,
    ) -> Result:
        """Read the inputs as the query sees them, a table of snapshots for each.

        Where events overlap, a snapshot is that of the event that started last. Made to
        be drawn above the outputs: `result.plot(inputs=query.read_inputs(x=frame))`.
        """
        query = self._with(params, READ_INPUTS, inputs)
        seen = query.returning_inputs(inputs)
        request, frames = seen.arguments.read(start, end, inputs, READ_INPUTS)
        options = read_options(
            seen.needed.unit, None, None, seen.options.costs, allow_sort=allow_sort
        )
        result = seen.evaluate(frames, request, options)
        tables = zip(seen.query.inputs, result.values(), strict=True)
        return Result([table.rename(each.name) for each, table in tables])

    @short_traceback
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

        "live" says when outputs of a live session are final, and what it keeps.

        The other formats show what refers to what, and what was fused into one loop: a
        "tree" of text, "json", or a graph as "dot" (Graphviz) or "mermaid", or drawn as
        "svg", which notebooks show as a picture.
        """
        from tiltpy.explain.forms import FORMS  # noqa: PLC0415 - late
        from tiltpy.explain.outline import make_outline  # noqa: PLC0415 - late
        from tiltpy.explain.report import (  # noqa: PLC0415 - late
            explain_stages,
            read_data,
        )

        check_choice("format", format, get_args(Format))
        check_flag("llvm", llvm)
        check_flag("asm", asm)
        if format != "stages" and (llvm or asm):
            raise TiltError("machine code is shown in the format 'stages' only")
        frames = {} if inputs is None else inputs
        check_argument("inputs", frames, Mapping, "a dict")
        query = self._prepared
        bindings = query.bind(frames) if frames else {}
        if format == "live":
            from tiltpy.explain.live_terms import explain_live  # noqa: PLC0415 - late

            return escape_lines(explain_live(query.with_lifetimes(bindings)))
        data = read_data(query.needed, bindings, self.options.costs)
        if format != "stages":
            compiled = query.compiler.compile_for(data.layouts)
            shown = FORMS[format](make_outline(query.needed, compiled.query))
            return shown if format in ("json", "svg") else escape_lines(shown)
        shown = explain_stages(query.needed, query.compilers, data, llvm=llvm, asm=asm)
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


@short_traceback
def parse(
    query: str,
    *,
    name: str = "<query>",
    params: Mapping[str, object] | None = None,
    options: CompileOptions | None = None,
) -> CompiledQuery:
    """Read a query from a text in the tilt language (the language reference).

    `params` sets its parameters, see `CompiledQuery.with_params`; `name` is what errors
    call the text. Raises a `QueryError` that holds everything that is wrong with it.
    """
    check_argument("options", options, OPTIONS, "CompileOptions(...)")
    stored = options is None or options.cache
    parsed = parsed_queries.parse(query, name=name, params=params, stored=stored)
    return CompiledQuery(parsed, options, template=TextTemplate(query, name, params))


def _remake(template: QueryTemplate, options: CompileOptions) -> CompiledQuery:
    return CompiledQuery(template.query(), options, template=template)


def _reparse(printed: str, name: str, options: CompileOptions) -> CompiledQuery:
    from tiltpy.frontend.parse import reread  # noqa: PLC0415 - late

    return CompiledQuery(reread(printed, name=name), options)


@short_traceback
def load(
    path: str | Path,
    *,
    params: Mapping[str, object] | None = None,
    options: CompileOptions | None = None,
) -> CompiledQuery:
    """Read a query from a `.tilt` file; see `parse`."""
    text = read_query(path)
    return parse(text, name=str(path), params=params, options=options)


@short_traceback
def compile(
    *outputs: builder.Object,
    unit: Unit | None = None,
    options: CompileOptions | None = None,
) -> CompiledQuery:
    """Compile the query whose outputs are these temporal objects.

    `unit` is the tick; by default the finest unit of the query's durations.
    """
    template = ProgramTemplate(builder.write_program(*outputs, unit=unit))
    return CompiledQuery(template.query(), options, template=template)

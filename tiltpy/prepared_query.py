"""A query whose parameters have values: its kernels, and runs of it over frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.output_selection import split_by_keys
from tiltpy.compiler.query_kernels import Compiler
from tiltpy.engines.local import (
    PlannedRun,
    bind_inputs,
    plan_and_run,
    plan_parts,
    run_parts,
)
from tiltpy.engines.output_groups import make_group
from tiltpy.inputs import BoundInput
from tiltpy.ir.identity import identity
from tiltpy.ir.nodes import Query
from tiltpy.known_runs import RepeatableRun, warn_of_hidden_rows
from tiltpy.passes.analyses.row_inputs import row_inputs
from tiltpy.passes.separate_states import separate_states
from tiltpy.run_arguments import Arguments
from tiltpy.runtime.concurrency.offload import offload
from tiltpy.runtime.execution.hidden_rows import HiddenRows
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.quick_work import reads_quickly
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.ingest.binding import InputBinding, check_bound
from tiltpy.runtime.results.key_columns import Order
from tiltpy.runtime.results.result import Result

if TYPE_CHECKING:
    from tiltpy.engines.live.session import LiveEngine
    from tiltpy.runtime.arrivals.ingress_options import IngressOptions


class PreparedQuery:
    """A query, and what was compiled of it.

    `query` is what was declared, `needed` the same without the inputs that no output
    needs: that is what runs. Outputs of each set of keys have a compiler.
    """

    def __init__(self, query: Query, options: CompileOptions | None) -> None:
        self.query = query
        self.arguments = Arguments(query)
        self.needed = self.arguments.needed
        needed = {each.name for each in self.needed.inputs}
        self._unused = {each.name for each in query.inputs} - needed
        self._find_row_inputs = cache(partial(row_inputs, self.needed))
        self.compiler = Compiler(self.needed, options)
        self.compilers = tuple(
            self.compiler if each is self.needed else Compiler(each, options)
            for each in split_by_keys(self.needed)
        )
        self._groups = [make_group(compiler) for compiler in self.compilers]
        self._stream_groups = self._groups
        separate = separate_states(self.needed)
        if separate is not self.needed:
            compilers = [Compiler(each, options) for each in split_by_keys(separate)]
            self._stream_groups = [
                OutputGroup(c.query, c.compile_for) for c in compilers
            ]

    @property
    def options(self) -> CompileOptions:
        """The options that it is compiled with."""
        return self.compiler.options

    def bind(self, frames: Mapping[str, object]) -> dict[str, InputBinding]:
        """Make a binding of each input's frame; each that is needed has one."""
        if self._unused:
            frames = {name: frames[name] for name in frames if name not in self._unused}
        check_bound(self.needed, frames)
        unit = self.query.unit
        return {
            name: frame.binding(unit)
            if isinstance(frame, BoundInput)
            else InputBinding(frame)
            for name, frame in frames.items()
        }

    def run(
        self,
        frames: Mapping[str, object],
        request: Request,
        options: RunOptions,
        order: Order,
        *,
        check_reductions: bool,
        repeats: bool,
    ) -> tuple[Result, RepeatableRun | None]:
        """Compute the outputs over frames, and warn of rows that are hidden.

        With `repeats` it returns the run as well, if it can be made again over them.
        """
        bindings = self.bind(frames)

        def work() -> tuple[Result, PlannedRun]:
            if check_reductions:
                from tiltpy.check_reductions import check_agreement  # noqa: PLC0415 - late

                bound = bind_inputs(
                    self.needed, bindings, allow_sort=options.allow_sort
                )
                check_agreement(self.needed, bound, request, options, self.options)
            return plan_and_run(plan, options, order)

        def plan(options: RunOptions) -> PlannedRun:
            hidden = self._hidden_rows(request)
            return plan_parts(
                self.needed, self._groups, bindings, request, options, hidden
            )

        quick = not check_reductions and self._reads_quickly(bindings, options)
        result, planned = work() if quick else offload(work, options.progress)
        warn_of_hidden_rows(planned.hidden)
        if not repeats or not _is_kept(planned, bindings):
            return result, None
        quick = self._reads_quickly(bindings, options)
        return result, RepeatableRun(planned, order, quick)

    def _reads_quickly(
        self, bindings: Mapping[str, InputBinding], options: RunOptions
    ) -> bool:
        """Return whether all inputs are surely read soon."""
        costs, allow_sort = options.costs.run, options.allow_sort
        return reads_quickly(self.needed, bindings, costs, allow_sort=allow_sort)

    def evaluate(
        self, frames: Mapping[str, object], request: Request, options: RunOptions
    ) -> Result:
        """Compute the outputs over frames, whatever rows are hidden."""
        bindings = self.bind(frames)
        return run_parts(self.needed, self._groups, bindings, request, options)

    def stream(
        self,
        frames: Mapping[str, object],
        request: Request,
        options: RunOptions,
        memory: int,
    ) -> Iterator[Result]:
        """Compute the outputs piece by piece, and warn after the last.

        `memory` is in bytes.
        """
        from tiltpy.engines.out_of_core import stream  # noqa: PLC0415 - late
        from tiltpy.passes.resolve_boundaries import (  # noqa: PLC0415 - late
            resolve_boundaries,
        )

        bindings = self.bind(frames)
        hidden = self._hidden_rows(request)
        results = stream(
            resolve_boundaries(self.with_lifetimes(bindings)),
            self._stream_groups,
            bindings,
            request,
            options,
            memory,
            hidden=hidden,
        )
        return _warn_at_end(results, hidden)

    def live(
        self,
        ingress: Mapping[str, IngressOptions],
        request: Request,
        options: RunOptions,
    ) -> LiveEngine:
        """Open the engine of a live session; `ingress` has each needed input."""
        from tiltpy.engines.live.session import LiveEngine  # noqa: PLC0415 - late

        query = self.with_lifetimes({n: way.binding for n, way in ingress.items()})
        return LiveEngine(query, self._stream_groups, ingress, request, options)

    def with_lifetimes(self, bindings: Mapping[str, InputBinding]) -> Query:
        """Return the query that runs, its inputs with the lifetimes of bindings."""
        inputs = tuple(
            replace(one, lifetime=bindings[one.name].lifetime)
            if one.lifetime is None and one.name in bindings
            else one
            for one in self.needed.inputs
        )
        return replace(self.needed, inputs=inputs)

    def returning_inputs(self, frames: Mapping[str, object]) -> PreparedQuery:
        """Make the query that returns its inputs: those needed, and those in `frames`.

        They are in the order of the declarations.
        """
        declared = tuple(
            each
            for each in self.query.inputs
            if each in self.needed.inputs or each.name in frames
        )
        seen = identity(replace(self.query, inputs=declared))
        return PreparedQuery(seen, self.options)

    def _hidden_rows(self, request: Request) -> HiddenRows:
        """Make the counter of rows that a result for each row does not show."""
        return HiddenRows(self.needed, self._find_row_inputs, request)


def _is_kept(plan: PlannedRun, bindings: Mapping[str, InputBinding]) -> bool:
    """Tell whether runs over the same frames would read the rows of a plan."""
    if not all(part.may_repeat for part in plan.parts):
        return False
    rows = plan.inputs
    return all(each.keeps(rows.get(name)) for name, each in bindings.items())


def _warn_at_end(results: Iterator[Result], hidden: HiddenRows) -> Iterator[Result]:
    """Yield the results, and warn after the last, at the line that asked for it."""
    yield from results
    warn_of_hidden_rows(hidden)

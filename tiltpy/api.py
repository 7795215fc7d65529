"""The public face: queries from text or Python, run over anything that speaks Arrow."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from numbers import Integral
from pathlib import Path
from typing import overload

from tiltpy.abi import Layout
from tiltpy.compiler import CompileOptions, Compiler
from tiltpy.errors import DataError, TiltError
from tiltpy.explain import DEFAULT_LAYOUT, explain
from tiltpy.frontend import builder, syntax
from tiltpy.frontend import parse as text
from tiltpy.ir.nodes import Query
from tiltpy.ir.printer import format_query
from tiltpy.moments import Length, Moment, has_offset, is_number, ticks_of, time_of
from tiltpy.runtime.bind import Binding, First
from tiltpy.runtime.domain import Request, check_request
from tiltpy.runtime.grid import lattice_of
from tiltpy.runtime.result import Result
from tiltpy.runtime.run import Progress, RunOptions, bind_inputs, run
from tiltpy.runtime.stamps import PLAIN_TICKS, StampType, timestamp
from tiltpy.types import Bound, Lifetime, Sampled, Unit, columns

RUN_ARGUMENTS = ("self", "start", "end", "workers", "chunk", "allow_sort", "progress")


@dataclass(frozen=True, slots=True)
class BoundFrame:
    """A frame and what the query leaves open about it; made by `bind`.

    It remembers what was found in an Arrow table, for all runs that are given it.
    """

    frame: object
    time: str | None
    lifetime: syntax.Lifetime | Lifetime | None
    column: str | None
    order: tuple[str, ...]
    known: dict[object, object] = field(default_factory=dict, compare=False, repr=False)

    def binding(self, unit: Unit | None) -> Binding:
        """The same in the ticks of a query."""
        lifetime = self.lifetime
        if isinstance(lifetime, syntax.Lifetime):
            lifetime = builder.lifetime_in(lifetime, unit)
        known = self.known
        return Binding(
            self.frame, self.time, lifetime, self.column, self.order, known=known
        )


def bind(
    frame: object,
    *,
    time: str | None = None,
    lifetime: syntax.Lifetime | Lifetime | None = None,
    column: str | None = None,
    order: str | Sequence[str] = (),
) -> BoundFrame:
    """A frame for `run`, with what the query's declaration of the input leaves open.

    `time` is the column of time stamps; `lifetime` says how long a row is valid:
    `point()`, `duration("10s")`, `until_next(max="1d")`, `sampled("1s")` or
    `interval("start", "end")`; `column` has the values of a scalar input; `order` names
    columns that break ties. What the query declares must not be contradicted.

    Bind a large Arrow table once and give the same object to every run: its times are
    then looked at (sorted, their layout found) in the first run alone.
    """
    names = (order,) if isinstance(order, str) else tuple(order)
    return BoundFrame(frame, time, lifetime, column, names)


@dataclass(frozen=True, slots=True)
class BoundSamples:
    """Values without a time column; made by `sampled`."""

    values: object
    start: Moment
    period: Length

    def binding(self, unit: Unit | None) -> Binding:
        """The same in the ticks of a query."""
        first = First(_checked("start", time_of, self.start, unit), self._stamps(unit))
        period = Sampled(_checked("period", ticks_of, self.period, unit))
        return Binding(self.values, lifetime=period, first=first)

    def _stamps(self, unit: Unit | None) -> StampType:
        """The kind of column that would hold the start."""
        match self.start:
            case datetime(tzinfo=zone):
                return timestamp(unit, zoned=zone is not None)
            case date():
                return StampType("date", "d")
            case str() if not is_number(self.start):
                return timestamp(unit, zoned=has_offset(self.start))
            case _:
                return PLAIN_TICKS


@overload
def sampled(period: builder.Length, /) -> syntax.Lifetime: ...


@overload
def sampled(*, period: builder.Length) -> syntax.Lifetime: ...


@overload
def sampled(values: object, start: Moment, period: Length) -> BoundSamples: ...


def sampled(
    values: object = None, start: Moment | None = None, period: Length | None = None
) -> syntax.Lifetime | BoundSamples:
    """Samples of a signal: a lifetime, or values that need no time column.

    `sampled("1s")` is the lifetime of a signal of period `p`: a row stamped `τ` holds
    over `(τ-p, τ]`.

    `sampled(values, start, period)` is for `run`: sample `i`, counted from 0, is valid
    over `(start + i*period, start + (i+1)*period]`. `values` is an array of numpy or
    Arrow, a column of Polars or pandas, or anything with the Arrow PyCapsule interface
    or the buffer protocol; nulls are gaps. A table has a column for each field of a
    struct. Nothing is copied where the types are those of the query. `start` is ticks,
    a stamp of ISO 8601, a date or a `datetime`; `period` ticks, a duration like "1s" or
    a `timedelta`, the one that the query declares if it does.
    """
    if start is None and (values is None) != (period is None):
        return builder.sampled(period if values is None else values)  # type: ignore[arg-type]
    if values is None or start is None or period is None:
        raise TiltError(
            "write sampled(period) for a lifetime, or sampled(values, start, period) "
            "for values without a time column"
        )
    return BoundSamples(values, start, period)


class CompiledQuery:
    """A query that can be run any number of times, over any frames.

    `query` is its functional IR; `print(compiled)` shows it in the language's text.
    Machine code is made when data shows which layouts are needed, and kept.
    """

    def __init__(self, query: Query, options: CompileOptions | None = None) -> None:
        self.query = query
        self._compiler = Compiler(query, options)

    def run(
        self,
        *,
        start: Moment | None = None,
        end: Moment | None = None,
        workers: int | None = None,
        chunk: Length | None = None,
        allow_sort: bool = True,
        progress: Progress | None = None,
        **inputs: object,
    ) -> Result:
        """Compute the outputs over frames, one for each input by its name.

        A frame is anything with the Arrow PyCapsule interface (`__arrow_c_stream__`:
        pyarrow, Polars, pandas, DuckDB), or `bind(frame, ...)` where the query leaves
        open how rows become events, or `sampled(values, start, period)` for values
        without a time column. Run-time bounds of time domains are given by their
        names, like inputs; one called `start` or `end` is the domain's.

        `start` and `end` are the domain `(start, end]`: ticks, a stamp of ISO 8601 or a
        `datetime`; by default that of the data. `chunk` (ticks, a duration like "1h", a
        `timedelta`) and `workers` (threads; by default one per CPU) never change a
        result. `allow_sort=False` refuses rows out of time order. `progress` is called
        with the number of chunks done and of all.

        Raises `DataError` if the data does not fit the query.
        """
        unit = self.query.unit
        names = _run_time_bounds(self.query)
        _check_names([*names, *(one.name for one in self.query.inputs)], names)
        both = {"start": start, "end": end}
        given = inputs | {n: time for n, time in both.items() if time is not None}
        bounds = {
            name: _checked(name, time_of, given[name], unit)
            for name in names
            if name in given
        }
        frames = {name: f for name, f in inputs.items() if name not in bounds}
        missing = [name for name in names if name not in bounds]
        if missing:
            raise DataError(
                f"the time domain's bound '{missing[0]}' is not given; "
                f"give it as run({missing[0]}=...)"
            )
        request = Request(
            None if start is None else _checked("start", time_of, start, unit),
            None if end is None else _checked("end", time_of, end, unit),
            bounds,
        )
        interval = None if chunk is None else _checked("chunk", ticks_of, chunk, unit)
        _check_positive("chunk", interval)
        _check_positive("workers", workers)
        check_request(self.query, request)
        bindings = self._bindings(frames)
        options = RunOptions(workers, interval, allow_sort, progress)
        bound = bind_inputs(self.query, bindings, request, allow_sort=allow_sort)
        return run(self.query, bound, self._compiler.specialised, request, options)

    def _bindings(self, frames: Mapping[str, object]) -> dict[str, Binding]:
        return {
            name: frame.binding(self.query.unit)
            if isinstance(frame, BoundFrame | BoundSamples)
            else Binding(frame)
            for name, frame in frames.items()
        }

    def explain(
        self,
        *,
        llvm: bool = False,
        asm: bool = False,
        inputs: Mapping[str, object] | None = None,
    ) -> str:
        """Every stage of the query: source, passes, boundaries, loops, compile times.

        Kernels depend on how the data lies in time; `inputs` (frames by name) shows
        those chosen for it, otherwise events without gaps or nulls are assumed. `llvm`
        and `asm` add the code that LLVM made.
        """
        layouts = {
            one.name: Layout(DEFAULT_LAYOUT, (False,) * len(columns(one.type)))
            for one in self.query.inputs
        }
        lattices = None
        if inputs:
            bindings = self._bindings(inputs)
            bound = bind_inputs(self.query, bindings, Request(), allow_sort=True)
            layouts = {name: one.buffer.abi_layout() for name, one in bound.items()}
            found = {name: lattice_of(one.buffer) for name, one in bound.items()}
            lattices = {name: one for name, one in found.items() if one is not None}
        compiled = self._compiler.specialised(layouts)
        return explain(self.query, compiled, lattices, llvm=llvm, asm=asm)

    def __str__(self) -> str:
        return format_query(self.query)

    def __repr__(self) -> str:
        inputs = ", ".join(f"~{one.name}" for one in self.query.inputs)
        outputs = ", ".join(f"~{name}" for name in self.query.outputs)
        return f"<query {inputs or 'no input'} -> {outputs}>"


def parse(
    query: str,
    *,
    name: str = "<query>",
    params: Mapping[str, object] | None = None,
    options: CompileOptions | None = None,
) -> CompiledQuery:
    """The query of a text in the tilt language (`grammar/README.md`).

    `params` sets its parameters; `name` is what errors call the text. Raises a
    `QueryError` that holds everything that is wrong with the text.
    """
    return CompiledQuery(text.parse(query, name=name, params=params), options)


def load(
    path: str | Path,
    *,
    params: Mapping[str, object] | None = None,
    options: CompileOptions | None = None,
) -> CompiledQuery:
    """The query of a `.tilt` file; see `parse`."""
    return CompiledQuery(text.parse_file(path, params=params), options)


def compile(
    *outputs: builder.Object,
    unit: Unit | None = None,
    options: CompileOptions | None = None,
) -> CompiledQuery:
    """The query whose outputs are these temporal objects.

    `unit` is the tick; by default the finest unit of the query's durations.
    """
    return CompiledQuery(builder.build_query(*outputs, unit=unit), options)


def _run_time_bounds(query: Query) -> list[str]:
    """The names that stand for bounds of time domains, given at run time."""
    found: dict[str, None] = {}
    for definition in query.definitions:
        bounds: tuple[Bound, ...] = (definition.tdom.start, definition.tdom.end)
        found.update((bound, None) for bound in bounds if isinstance(bound, str))
    return list(found)


def _checked(
    name: str,
    convert: Callable[[object, Unit | None], int],
    given: object,
    unit: Unit | None,
) -> int:
    try:
        return convert(given, unit)
    except TiltError as error:
        raise TiltError(f"{name}={given}: {error}") from None


def _check_positive(name: str, value: object) -> None:
    if value is not None and not (isinstance(value, Integral) and int(value) >= 1):
        raise TiltError(f"{name}={value}: expected a whole number, 1 or more")


def _check_names(names: Sequence[str], bounds: Sequence[str]) -> None:
    """Refuse what could not be told from the other arguments of `run`.

    A bound called `start` or `end` can: it is that of the run.
    """
    for name in names:
        if name in RUN_ARGUMENTS and not (name in bounds and name in ("start", "end")):
            raise TiltError(
                f"'{name}' is an argument of run() itself; give it another name in "
                "the query"
            )

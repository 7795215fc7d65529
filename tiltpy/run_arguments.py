"""Arguments of a run besides the data: checked, and in ticks."""

from collections.abc import Callable, Collection, Mapping

from tiltpy.argument_checks import check_argument
from tiltpy.costs import Costs
from tiltpy.errors import DataError, TiltError
from tiltpy.ir.nodes import Query
from tiltpy.runtime.concurrency.offload import call_in_caller
from tiltpy.runtime.execution.run_options import Progress, RunOptions
from tiltpy.runtime.execution.time_domain import Request, check_request
from tiltpy.time_literals import Length, Moment, ticks_of, time_of, whole_number
from tiltpy.types import Unit


class Arguments:
    """Arguments of a run that a query names: inputs, and bounds of time domains."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._inputs = [declared.name for declared in query.inputs]
        self._bounds = run_time_bounds(query)

    def read(
        self,
        start: Moment | None,
        end: Moment | None,
        arguments: Mapping[str, object],
        taken: Collection[str],
    ) -> tuple[Request, dict[str, object]]:
        """Read the domain and the run-time bounds of a run, and its inputs.

        `taken` are the arguments of the run itself, which no input may be called, and
        no bound but those called `start` and `end`: they are the run's.
        """
        unit, frames = self._query.unit, dict(arguments)
        for name in self._inputs:
            _check_free(name, taken)
        limits: dict[str, int] = {}
        bounds: dict[str, int] = {}
        for name, time in (("start", start), ("end", end)):
            if time is not None:
                limits[name] = in_ticks(name, time_of, time, unit)
        for name in self._bounds:
            if name not in ("start", "end"):
                _check_free(name, taken)
            if name in limits:
                bounds[name] = limits[name]
            elif name in arguments:
                bounds[name] = in_ticks(name, time_of, arguments[name], unit)
            else:
                raise DataError(
                    f"the time domain's bound '{name}' is not given; "
                    f"give it as run({name}=...)"
                )
            frames.pop(name, None)
        request = Request(limits.get("start"), limits.get("end"), bounds)
        check_request(self._query, request)
        return request, frames


def read_options(
    unit: Unit | None,
    workers: int | None,
    chunk: Length | None,
    costs: Costs,
    *,
    allow_sort: bool = True,
    progress: Progress | None = None,
) -> RunOptions:
    """Read how to run."""
    interval = None if chunk is None else in_ticks("chunk", ticks_of, chunk, unit)
    _check_positive("chunk", interval)
    _check_positive("workers", workers)
    check_argument("allow_sort", allow_sort, bool, "True or False")
    if progress is not None:
        if not callable(progress):
            raise TiltError("progress: expected a function of two numbers")
        progress = call_in_caller(progress)
    return RunOptions(workers, interval, allow_sort, progress, costs=costs)


def in_ticks(
    name: str,
    convert: Callable[[object, Unit | None], int],
    value: object,
    unit: Unit | None,
) -> int:
    """Convert an argument; an error says its name.

    `name` is the argument's, `convert` turns its `value` into ticks of a `unit`.
    """
    try:
        return convert(value, unit)
    except TiltError as error:
        raise TiltError(f"{name}={value}: {error}") from None


def run_time_bounds(query: Query) -> list[str]:
    """List the names that stand for bounds of time domains, given at run time."""
    bounds: list[str] = []
    for definition in query.definitions:
        for bound in (definition.tdom.start, definition.tdom.end):
            if isinstance(bound, str) and bound not in bounds:
                bounds.append(bound)
    return bounds


def _check_positive(name: str, value: object) -> None:
    if value is None:
        return
    number = whole_number(value)
    if number is None or number < 1:
        raise TiltError(f"{name}={value}: expected a whole number, 1 or more")


def _check_free(name: str, taken: Collection[str]) -> None:
    """Refuse what could not be told from the other arguments of a run."""
    if name in taken:
        raise TiltError(
            f"'{name}' is an argument of run() itself; give it another name in the "
            "query"
        )

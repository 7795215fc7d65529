"""Arguments of a run besides the data: checked, and in ticks."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from tiltpy.argument_checks import check_flag, refusal, whole_number
from tiltpy.compiler.output_selection import drop_unused_inputs
from tiltpy.costs import Costs
from tiltpy.errors import ArgumentError, DataError, TiltError, UnknownArgumentError
from tiltpy.ir.nodes import Query
from tiltpy.lean_dataclass import dataclass
from tiltpy.messages import closest
from tiltpy.runtime.concurrency.offload import call_in_caller
from tiltpy.runtime.execution.run_options import Progress, RunOptions
from tiltpy.runtime.execution.time_domain import Request, check_request
from tiltpy.short_tracebacks import short_traceback
from tiltpy.time_literals import Length, Moment, ticks_of, time_of
from tiltpy.types import Unit

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RunMethod:
    """A method that runs a query: its name, and its arguments besides the inputs."""

    name: str
    options: tuple[str, ...] = ()
    binder: str = "tilt.bind(frame, {}=...)"
    """The call that takes the options of a single input: a pattern for one of them."""
    input_options: tuple[str, ...] = "time", "lifetime", "column", "order", "by"
    bound: str = "{}=..."
    """The argument that gives a bound of a time domain: a pattern for its name."""

    def check_free(self, name: str) -> None:
        """Refuse an input or a bound that could not be told from an option."""
        if name in ("self", *self.options):
            raise TiltError(
                f"'{name}' is an argument of {self.name}() itself; give it another "
                "name in the query"
            )


def inputs_by_name(
    positional: int, list_inputs: Callable[[Any], Iterable[str]], value: str = "frame"
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make methods refuse frames without names, with a way out.

    `positional` counts the arguments without a name that a method takes, `self` too;
    `list_inputs` lists the names of inputs of a `self`, and `value` is what each
    takes.
    """

    def decorate(method: Callable[P, T]) -> Callable[P, T]:
        @short_traceback
        @wraps(method)
        def call(*arguments: P.args, **named: P.kwargs) -> T:
            if len(arguments) > positional:
                first = next(iter(list_inputs(arguments[0])), "x")
                raise ArgumentError(
                    f"{method.__name__}() takes each input by name: "
                    f"{method.__name__}({'..., ' * (positional - 1)}{first}={value})"
                )
            return method(*arguments, **named)

        return call

    return decorate


class Arguments:
    """Arguments of a run that a query names: inputs, and bounds of time domains.

    `needed` is the query without what no output needs: that need not be given.
    """

    def __init__(self, query: Query) -> None:
        self.needed = drop_unused_inputs(query)
        self._inputs = [declared.name for declared in query.inputs]
        self._needed_inputs = [declared.name for declared in self.needed.inputs]
        self._declared_bounds = run_time_bounds(query)
        self._bounds = run_time_bounds(self.needed)
        self._checked_methods: set[str] = set()

    def read(
        self,
        start: Moment | None,
        end: Moment | None,
        arguments: Mapping[str, object],
        method: RunMethod,
    ) -> tuple[Request, dict[str, object]]:
        """Read the domain and the run-time bounds of a run, and its needed inputs.

        No input may be called like an option of the method, and no bound but those
        called `start` and `end`: they are the run's.
        """
        unit = self.needed.unit
        if method.name not in self._checked_methods:
            for name in self._inputs:
                method.check_free(name)
            self._checked_methods.add(method.name)
        limits: dict[str, int] = {}
        bounds: dict[str, int] = {}
        for name, time in (("start", start), ("end", end)):
            if time is not None:
                limits[name] = in_ticks(name, time_of, time, unit)
        if len(limits) == 2 and limits["start"] > limits["end"]:
            raise DataError(f"start={start} is later than end={end}; swap them")
        for name in self._bounds:
            if name not in ("start", "end"):
                method.check_free(name)
            if name in limits:
                bounds[name] = limits[name]
            elif name in arguments:
                bounds[name] = in_ticks(name, time_of, arguments[name], unit)
            else:
                raise DataError(
                    f"the time domain's bound '{name}' is not given; give it as "
                    f"{method.name}({method.bound.format(name)}), or --bound "
                    f"{name}=... on the command line"
                )
        request = Request(limits.get("start"), limits.get("end"), bounds)
        check_request(self.needed, request)
        return request, self._frames(arguments, method)

    def check_bound(self, name: str) -> None:
        """Refuse what is no run-time bound of the query."""
        if name not in self._declared_bounds:
            listed = ", ".join(map(repr, self._declared_bounds)) or "none"
            raise UnknownArgumentError(
                f"the query has no bound {name!r} of a time domain; it has {listed}"
            )

    def _frames(
        self, arguments: Mapping[str, object], method: RunMethod
    ) -> dict[str, object]:
        """Select the frames of the needed inputs; refuse unknown names."""
        for name in arguments:
            if name not in self._inputs and name not in self._declared_bounds:
                known = [*self._inputs, *self._declared_bounds]
                hint = self._hint_option(name, method)
                raise _unknown_argument_error(name, known, self._inputs, method, hint)
        return {n: arguments[n] for n in self._needed_inputs if n in arguments}

    def _hint_option(self, name: str, method: RunMethod) -> str:
        """Hint where an argument belongs that is an option of an input, not of all."""
        if name not in method.input_options:
            return ""
        first = next(iter(self._inputs), "x")
        return f"; it is an option of one: {first}={method.binder.format(name)}"


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
    interval = _read_positive("chunk", interval)
    workers = _read_positive("workers", workers)
    check_flag("allow_sort", allow_sort)
    if progress is not None:
        if not callable(progress):
            raise ArgumentError("progress: expected a function of two numbers, or True")
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
    except ArgumentError as error:
        raise ArgumentError(f"{name}={value}: {error}") from None
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


def _read_positive(name: str, value: object) -> int | None:
    """Read a number, numpy's and Arrow's too."""
    if value is None:
        return None
    number = whole_number(value)
    if number is None or number < 1:
        message = f"{name}={value}: expected a whole number, 1 or more"
        raise refusal(message, is_of_type=number is not None)
    return number


def _unknown_argument_error(
    name: str,
    known: Sequence[str],
    inputs: Sequence[str],
    method: RunMethod,
    hint: str,
) -> UnknownArgumentError:
    """Make the error that an argument is no option, no input and no bound."""
    nearest = closest(name, [*known, *method.options])
    listed = ", ".join(inputs) or "none"
    if nearest in method.options and not hint:
        return UnknownArgumentError(
            f"{method.name}() has no option '{name}'; did you mean {nearest}=...? "
            f"(inputs of the query: {listed})"
        )
    hint = hint or (f"; did you mean {nearest}?" if nearest else "")
    message = f"the query has no such input; it has {listed}{hint}"
    return UnknownArgumentError(message, input=name)

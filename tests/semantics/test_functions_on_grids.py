"""A function means the same on every grid: its values are those it has over ticks.

Objects in its body, and expressions that it is given as objects, are over ticks; the
caller's domain decides only where the result is asked for. Every function of the
library is here, and random functions of queries' own.
"""

from collections.abc import Callable
from random import Random

import pytest

from tests.compare import assert_same
from tests.compiled import random_setting, run_compiled
from tests.random.calls import (
    INPUTS,
    SPAN,
    Grid,
    own_functions,
    random_calls,
    random_events,
    random_grid,
)
from tests.random.queries import Case
from tiltpy import library
from tiltpy.errors import QueryErrors
from tiltpy.frontend.elaboration.library import library_functions
from tiltpy.frontend.parse import parse
from tiltpy.frontend.python.builder import TDom, build_query, define, source
from tiltpy.frontend.python.expressions import Expression
from tiltpy.frontend.python.values import when
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.text.program import read_program
from tiltpy.interpreter.evaluate import Event, Snapshot, Value, interpret
from tiltpy.ir.nodes import Query
from tiltpy.ir.print.query import format_query
from tiltpy.source import Source

LIBRARY = {function.name.text: function for function in library_functions()}
OF_MANY_OBJECTS = {"pan_tompkins"}
"""A normal run has one case of each, and compiles none: their objects are fused, or
kept, by what `test_library` compiles as well."""


Events = dict[str, list[Event]]
Outputs = dict[str, list[Snapshot]]


def at(snapshots: list[Snapshot], time: int) -> Value | None:
    return next((s.value for s in snapshots if s.start < time <= s.end), None)


def meant(query: Query, grid: Grid, events: Events) -> Outputs:
    """Interpret it: on the grid, the values that there are over ticks."""
    found = interpret(query, events, start=0, end=SPAN)
    for time in grid.points():
        on_grid, over_ticks = at(found["grid"], time), at(found["ticks"], time)
        assert repr(on_grid) == repr(over_ticks), (time, format_query(query))
    return found


def random_query(
    random: Random, function: syntax.FunctionDefinition, grid: Grid, head: str = ""
) -> Query:
    """One call of a function on a grid, and over ticks."""
    for call in random_calls(random, function):
        text = (
            f"{INPUTS}{head}h = {grid}\n~grid[h] = {call.format(t='h')}\n"
            f"~ticks[t] = {call.format(t='t')}\noutput ~grid, ~ticks"
        )
        try:
            return parse(text)
        except QueryErrors:
            pass
    raise AssertionError(f"no call of {function.name.text} is a query")


def check(
    random: Random,
    function: syntax.FunctionDefinition,
    *,
    compiled: bool,
    head: str = "",
) -> None:
    """A random call means the same on a random grid; compiled too."""
    grid, events = random_grid(random), random_events(random)
    query = random_query(random, function, grid, head)
    expected = meant(query, grid, events)
    if compiled:
        case = Case(query, events, 0, SPAN)
        found = run_compiled(case, random_setting(random, SPAN))
        assert_same(found, expected, query, exact=True)


@pytest.mark.few(16)
@pytest.mark.parametrize("name", LIBRARY)
def test_the_library(name: str, deep: bool) -> None:
    random = Random(name)  # noqa: S311
    large = name in OF_MANY_OBJECTS
    for number in range((4 if large else 40) if deep else 1 if large else 2):
        compiled = deep or (number == 0 and not large)
        check(random, LIBRARY[name], compiled=compiled)


def test_functions_of_a_querys_own(deep: bool) -> None:
    random = Random(12)  # noqa: S311
    for number in range(1000 if deep else 20):
        head = own_functions(random)
        last = read_program(Source("functions", head)).statements[-1]
        assert isinstance(last, syntax.FunctionDefinition)
        check(random, last, compiled=deep or number % 10 == 0, head=head)


def test_from_python() -> None:
    """Expressions that a function is given are over ticks."""
    random = Random(5)  # noqa: S311
    x, y = source("x", "f64"), source("y", "f64")
    t = TDom()
    calls: tuple[Callable[[TDom], Expression], ...] = (
        lambda t: library.normalize(x[t] * 2 - y[t], 6),
        lambda t: library.zscore(when(x[t] > 0, x[t], y[t]), 9),
        lambda t: library.steady(x[t] > y[t], 4),
        lambda t: library.correlation(x, x[t] + y[t - 1], 12),
        lambda t: library.ffill(x[t], 3) + library.fill(y, x[t - 1]),
    )
    for call in calls:
        grid, events = random_grid(random), random_events(random)
        h = TDom(grid.start, grid.end, grid.precision, grid.offset)
        query = build_query(define("grid", h, call(h)), define("ticks", t, call(t)))
        meant(query, grid, {"x": events["x"], "y": events["y"]})

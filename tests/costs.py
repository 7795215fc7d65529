"""Other costs for tests: few rows as many."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from tiltpy.compiler.options import CompileOptions
from tiltpy.costs import DEFAULT_COSTS, RunCosts

LOOP_STARTS = (
    "loop_starts", "cut_loop_starts", "relaid_loop_starts", "ranked_loop_starts",
)  # fmt: skip
"""The numbers of loops from which on keys are concatenated."""
USERS_RUN = RunCosts()
"""The costs of runs as users have them: tests have no baseline kernel by default."""


def costing(**parts: Any) -> CompileOptions:
    """Options with the default costs but for some parts, such as `keys=KeyCosts(...)`.

    Nothing is kept on disk of what is compiled by them.
    """
    return CompileOptions(costs=replace(DEFAULT_COSTS, **parts), cache=False)


def set_default_costs(**values: int) -> None:
    """Change the default costs of runs in this process, for all that is made later.

    All `Costs` share their default parts.
    """
    for name, value in values.items():
        object.__setattr__(DEFAULT_COSTS.run, name, value)


@contextmanager
def default_costs(**values: int) -> Iterator[None]:
    """Change the default costs of runs, for what is given no options."""
    with _changed(DEFAULT_COSTS.run, values):
        yield


@contextmanager
def default_span_costs(**values: int) -> Iterator[None]:
    """Change the default costs of streams, for what is given no options."""
    with _changed(DEFAULT_COSTS.spans, values):
        yield


@contextmanager
def _changed(part: object, values: dict[str, int]) -> Iterator[None]:
    before = {name: getattr(part, name) for name in values}
    for name, value in values.items():
        object.__setattr__(part, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            object.__setattr__(part, name, value)

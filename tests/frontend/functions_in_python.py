"""Math functions and reductions as functions of Python, written from their tables.

`functions.py` and `reductions.py` of `tiltpy/frontend/python/` are what
`functions_module()` and `reductions_module()` give; a test compares them.
"""

from collections.abc import Iterable
from textwrap import fill

from tiltpy.ops import (
    DATE_COMPONENTS,
    FUNCTIONS,
    PAIRS,
    REDUCTIONS,
    STRING_FUNCTIONS,
    Component,
    FunctionRule,
    PairRule,
    ReductionRule,
    StringFunction,
)

WIDTH = 88
_FUNCTIONS_HEAD = '''"""Math functions for queries in Python, named as in the language.

Functions of integers compute in f64 and return it (f32 stays f32), but for `abs` and
`sign`, which keep the type. All are φ where an argument is. Those of a date take a time
zone like "Europe/Berlin", else they are of UTC. Those of strings take constants beside
a string, but for `concat`. This file is written from the tables in `tiltpy/ops.py` by
`pytest --update-golden tests/frontend/test_python_functions.py`.
"""

from __future__ import annotations

from tiltpy.frontend.python.expressions import Expression, Value, call, call_given
'''
_REDUCTIONS_HEAD = '''"""Reductions for queries in Python, named as in the language.

Each takes a window, like `x[t - "10s" : t]`, or an expression of a window's element,
like `w.price * w.size`; `where` is a condition over the same element. Those of pairs
take two expressions of one window. Over no snapshot the result is φ. Those of the
events alive at a time take a point reference of an input, like `sum_active(x[t])`, or
an expression of it. This file is written from the tables in `tiltpy/ops.py` by
`pytest --update-golden tests/frontend/test_python_functions.py`.
"""

from __future__ import annotations

from tiltpy.frontend.python.expressions import Expression, Value
from tiltpy.frontend.python.windows import reduce_or_call, reduce_pair, reduce_window
'''


def functions_module() -> str:
    """The text of `functions.py`; what is a reduction too is in `reductions.py`."""
    rules = [rule for rule in FUNCTIONS.values() if rule.name not in REDUCTIONS]
    names = [*(rule.name for rule in rules), *DATE_COMPONENTS, *STRING_FUNCTIONS]
    functions = [*map(_function, rules), *map(_date_component, DATE_COMPONENTS)]
    functions += map(_string_function, STRING_FUNCTIONS)
    return _module(_FUNCTIONS_HEAD, names, functions)


def reductions_module() -> str:
    """The text of `reductions.py`."""
    rules = REDUCTIONS.values()
    names = [rule.name for rule in rules] + [f"{rule.name}_active" for rule in rules]
    names += PAIRS
    functions = [*map(_reduction, rules), *map(_active_reduction, rules)]
    functions += map(_pair, PAIRS.values())
    return _module(_REDUCTIONS_HEAD, names, functions)


def _module(head: str, names: list[str], functions: Iterable[str]) -> str:
    """A module of functions; `__all__` is what `tiltpy` has of it."""
    listed = fill(", ".join(f'"{name}"' for name in names), 84)
    listed = "\n".join(f"    {line}" for line in listed.splitlines())
    exported = f"__all__ = [\n{listed},\n]  # fmt: skip\n"
    return "\n".join([head, exported, "", "\n\n".join(functions)])


def _function(rule: FunctionRule) -> str:
    taken = ", ".join(f"{name}: Value" for name in rule.parameters)
    value = f'call("{rule.name}", {", ".join(rule.parameters)})'
    return _definition(rule.name, taken, rule.doc, value)


def _date_component(component: Component) -> str:
    taken = "time: Value, zone: str | Expression | None = None"
    return _definition(
        component,
        taken,
        DATE_COMPONENTS[component],
        f'call_given("{component}", time, zone)',
    )


def _string_function(function: StringFunction) -> str:
    taken, doc = STRING_FUNCTIONS[function]
    names = [parameter.split(":")[0] for parameter in taken.split(", ")]
    value = f'call_given("{function}", {", ".join(names)})'
    return _definition(function, taken, doc, value)


def _reduction(rule: ReductionRule) -> str:
    if rule.name in FUNCTIONS:
        taken = "x: Value, y: Value | None = None, where: Value | None = None"
        value = f'reduce_or_call("{rule.name}", x, y, where)'
        return _definition(rule.name, taken, rule.doc, value)
    return _definition(rule.name, _taken(rule), rule.doc, _reduced(rule, rule.name))


def _pair(rule: PairRule) -> str:
    taken = ", ".join(f"{name}: Value" for name in rule.parameters)
    taken += ", where: Value | None = None"
    value = f'reduce_pair("{rule.name}", {", ".join(rule.parameters)}, where)'
    return _definition(rule.name, taken, rule.doc, value)


def _active_reduction(rule: ReductionRule) -> str:
    name = f"{rule.name}_active"
    return _definition(name, _taken(rule), rule.active_doc, _reduced(rule, name))


def _taken(rule: ReductionRule) -> str:
    parameter = f"{rule.parameter}: Value, " if rule.parameter else ""
    ddof = ", ddof: int = 0" if rule.ddof else ""
    method = ', method: str = "linear"' if rule.parameter == "q" else ""
    return f"x: Value, {parameter}where: Value | None = None{ddof}{method}"


def _reduced(rule: ReductionRule, name: str) -> str:
    parameter = f", {rule.parameter}" if rule.parameter else ""
    ddof = ", ddof=ddof" if rule.ddof else ""
    method = ", method=method" if rule.parameter == "q" else ""
    return f'reduce_window("{name}", x, where{parameter}{ddof}{method})'


def _definition(name: str, taken: str, doc: str, value: str) -> str:
    head = f"def {name}({taken}) -> Expression:"
    if len(head) > WIDTH:
        head = f"def {name}(\n    {taken}\n) -> Expression:"
    return f'{head}\n    """{doc}"""\n    return {value}\n'

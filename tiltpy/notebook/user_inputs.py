"""The inputs of a query among the variables of a notebook."""

from collections.abc import Mapping
from typing import Any

from tiltpy.api import CompiledQuery
from tiltpy.errors import TiltError
from tiltpy.messages import closest
from tiltpy.run_arguments import run_time_bounds


class MissingVariableError(TiltError):
    """There is no variable for an input."""


def find_inputs(
    query: CompiledQuery, variables: Mapping[str, str], namespace: Mapping[str, object]
) -> dict[str, Any]:
    """Find the frame of each input, and the value of each bound of a time domain.

    `variables` are the names of those that are called otherwise than the inputs.
    An input that no output needs may be missing; else it is a `TiltError`.
    """
    inputs = query.inputs
    declared = list(inputs)
    bounds = [n for n in run_time_bounds(query.query) if n not in ("start", "end")]
    for name in variables:
        if name not in (*declared, *bounds):
            near = closest(name, [*declared, *bounds])
            hint = f"; did you mean {near}?" if near else ""
            known = ", ".join([*declared, *bounds]) or "none"
            raise MissingVariableError(
                f"--input {name}={variables[name]}: the query has no such input; it "
                f"has {known}{hint}"
            )
    values: dict[str, Any] = {}
    for name in (*declared, *bounds):
        variable = variables.get(name, name)
        if variable in namespace:
            values[name] = namespace[variable]
        elif name in bounds or inputs[name].needed or name in variables:
            kind = "input" if name in declared else "bound"
            raise _missing_variable(kind, name, variable, namespace)
    return values


def _missing_variable(
    kind: str, name: str, variable: str, namespace: Mapping[str, object]
) -> MissingVariableError:
    """Make the error that an input's variable is not there, with the way out."""
    public = [
        other
        for other in namespace
        if not other.startswith("_") and other not in ("In", "Out")
    ]
    near = closest(variable, public)
    hint = f"did you mean {near}? " if near else ""
    other = near or "VARIABLE"
    shown = f"~{name}" if kind == "input" else f"'{name}'"
    return MissingVariableError(
        f"{kind} {shown}: there is no variable '{variable}'; {hint}assign "
        f"{'a frame' if kind == 'input' else 'a time'} to it, or name another: "
        f"%%tilt --input {name}={other}"
    )

"""`python -m tests.codegen.cached_kernels TEXT...`: run queries in a fresh process.

Their input is `x : { a, b : f32 or f64 }`. Prints how often kernels were compiled and
queries optimised and lowered, then the results.
"""

import sys
from collections.abc import Callable

import pyarrow as pa

import tiltpy as tilt
from tests.costs import set_default_costs
from tiltpy.codegen import jit
from tiltpy.compiler import stages
from tiltpy.passes import pipeline
from tiltpy.types import Struct, columns

STAGES = {
    "compile_object": jit,
    "optimize": pipeline,
    "lower": stages,
}
"""The stages that are counted, and modules that have them."""
VALUES = (0.5, -2.25, 3.0, 0.0, 1.5, float("nan"), -0.75, 8.0)


def count(stage: str, calls: dict[str, int]) -> None:
    """Count the calls of a stage of the compiler."""
    function: Callable[..., object] = getattr(STAGES[stage], stage)
    calls[stage] = 0

    def counted(*args: object, **options: object) -> object:
        calls[stage] += 1
        return function(*args, **options)

    setattr(STAGES[stage], stage, counted)


def frame(query: tilt.CompiledQuery) -> pa.Table:
    """Rows for the query's input, in its types."""
    payload = query.query.inputs[0].type
    assert isinstance(payload, Struct)
    kinds = {"f32": pa.float32(), "f64": pa.float64()}
    lists = (VALUES, VALUES[::-1])
    named = {
        name: pa.array(values, kinds[scalar.name])
        for (name, scalar), values in zip(columns(payload), lists, strict=True)
    }
    return pa.table({"time": pa.array(range(len(VALUES)), pa.int64()), **named})


def main() -> None:
    """Run the queries of the arguments, print what was done and found."""
    calls: dict[str, int] = {}
    for stage in STAGES:
        count(stage, calls)
    set_default_costs(baseline_rows=0)  # for one kernel, which is the special one
    results = []
    for text in sys.argv[1:]:
        query = tilt.parse(text)
        results.append(query.run(x=frame(query), workers=1)["o"].to_arrow().to_pydict())
    print(*calls.values())
    print(*results, sep="\n")


if __name__ == "__main__":
    main()

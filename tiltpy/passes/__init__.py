"""The query optimizer: one file a pass, each `Query -> Query` and each optional."""

from tiltpy.passes.pipeline import PASS_NAMES, PIPELINE, Pass, optimize
from tiltpy.passes.resolve_boundaries import boundary_of, inputs_of, resolve_boundaries

__all__ = [
    "PASS_NAMES",
    "PIPELINE",
    "Pass",
    "boundary_of",
    "inputs_of",
    "optimize",
    "resolve_boundaries",
]

"""Temporal queries over time series and event streams, compiled to machine code.

    import tiltpy as tilt

    stock = tilt.source("stock", tilt.f64, tilt.point())
    t = tilt.TDom(precision="1d")
    gap = tilt.mean(stock[t - "10d" : t]) - tilt.mean(stock[t - "20d" : t])
    trend = tilt.define("trend", t, tilt.when(gap > 0, gap))
    query = tilt.compile(trend)
    result = query.run(stock=frame)      # pyarrow, Polars, pandas, DuckDB

The same from a text: `tilt.parse(text)` or `tilt.load("trend.tilt")`. What queries mean
is in the language reference (`docs/language/index.md`).

Functions and types of the language that Python has under the same name (`abs`, `all`,
`any`, `bool`, `compile`, `len`, `max`, `min`, `pow`, `round`, `sum`) are used as
`tilt.sum`: `from tiltpy import *` leaves Python's own alone.
"""

import gc

# What an import makes stays; looking for garbage in it took a third of the time.
_collecting = gc.isenabled()
gc.disable()

import builtins as _builtins
import os as _os
import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING

# Threads of numpy's BLAS spin for 2**26 cycles before they sleep, from its import on.
_SPIN = "OPENBLAS_THREAD_TIMEOUT"
_is_calm = "numpy" in _sys.modules or _SPIN in _os.environ
if not _is_calm:
    _os.environ[_SPIN] = "20"

from tiltpy import library
from tiltpy.api import CompiledQuery, compile, load, parse
from tiltpy.compiler.options import CompileOptions
from tiltpy.errors import DataError, QueryError, StateError, TiltError, TiltWarning
from tiltpy.frontend.python import functions as _functions
from tiltpy.frontend.python import reductions as _reductions
from tiltpy.frontend.python.builder import Rows, TDom, define, param, source
from tiltpy.frontend.python.declarations import duration, interval, point, until_next
from tiltpy.frontend.python.functions import *
from tiltpy.frontend.python.reductions import *
from tiltpy.frontend.python.times import calendar, cells, cells_of
from tiltpy.frontend.python.user_reductions import reduction
from tiltpy.frontend.python.values import (
    cast,
    end,
    exists,
    phi,
    start,
    struct,
    when,
)
from tiltpy.frontend.python.window_ends import after, last_rows, row, since, strict
from tiltpy.frontend.python.windows import convolve
from tiltpy.ingress import ingress
from tiltpy.inputs import bind, sampled
from tiltpy.runtime.arrow.parquet_scan import ParquetScan, scan_parquet
from tiltpy.runtime.results.output_table import OutputTable
from tiltpy.runtime.results.result import Result
from tiltpy.types import SCALARS as _SCALARS
from tiltpy.types import STRING as _STRING
from tiltpy.types import TIME as _TIME
from tiltpy.types import Struct

if not _is_calm:  # so that processes that are started find it as it was
    del _os.environ[_SPIN]
if not gc.get_freeze_count():  # so that it is old already, and not looked at next
    gc.freeze()
    gc.unfreeze()
if _collecting:
    gc.enable()
del gc

bool = _SCALARS["bool"]
i8, i16, i32, i64 = (_SCALARS[f"i{bits}"] for bits in (8, 16, 32, 64))
u8, u16, u32, u64 = (_SCALARS[f"u{bits}"] for bits in (8, 16, 32, 64))
f32, f64 = _SCALARS["f32"], _SCALARS["f64"]
string, time = _STRING, _TIME

__all__ = [
    "CompileOptions", "CompiledQuery", "DataError", "OutputTable", "ParquetScan",
    "QueryError", "Result", "Rows", "StateError", "Struct", "TDom", "TiltError",
    "TiltWarning", "after", "bind", "calendar", "cast", "cells", "cells_of", "compile",
    "convolve", "define", "duration", "end", "exists", "ingress", "interval",
    "last_rows", "library", "load", "param", "parse", "phi", "point", "reduction",
    "row", "run_live", "sampled", "scan_parquet", "since", "sinks", "source", "sources",
    "start", "strict", "struct", "until_next", "when",
    "bool", "f32", "f64", "i16", "i32", "i64", "i8", "string", "time",
    "u16", "u32", "u64", "u8",
]  # fmt: skip
__all__ += _functions.__all__
__all__ += _reductions.__all__

_LIVE = {"run_live": ".run_live", "sinks": "", "sources": ""}
"""Names that are imported late, and their modules in `tiltpy.live`."""

_public = frozenset(__all__)
if not _TYPE_CHECKING:  # which is to know the others as public, too
    __all__ = [
        name for name in __all__ if not hasattr(_builtins, name) and name not in _LIVE
    ]


def __dir__() -> list[str]:
    """List the public names, without modules."""
    dunder = {name for name in globals() if name.startswith("__")}
    return sorted(_public | dunder | {"__version__"})


def load_ipython_extension(shell: object) -> None:
    """Register the cell magic `%%tilt`: what `%load_ext tiltpy` calls."""
    from tiltpy.notebook.magic import register_magic  # noqa: PLC0415 - late

    register_magic(shell)


__version__: str

if _TYPE_CHECKING:
    from tiltpy.live import sinks, sources
    from tiltpy.live.run_live import run_live


def __getattr__(name: str) -> object:
    """Find what is slow to import or to read, and seldom needed."""
    if name in _LIVE:
        from importlib import import_module  # noqa: PLC0415 - late

        import_module(f"tiltpy.live.{name}")
        value: object = getattr(import_module(f"tiltpy.live{_LIVE[name]}"), name)
        globals()[name] = value
        return value
    if name != "__version__":
        from tiltpy.frontend.hints.python import hint_attribute  # noqa: PLC0415 - late

        message = f"module 'tiltpy' has no attribute '{name}'"
        if hint := hint_attribute(name):
            message += f"; {hint}"
        raise AttributeError(message, name=name, obj=_sys.modules[__name__])
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - late

    try:
        return version("tiltpy")
    except PackageNotFoundError:
        return "0+unknown"

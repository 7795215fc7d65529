"""Temporal queries over time series and event streams, compiled to machine code.

    import tiltpy as tilt

    stock = tilt.source("stock", tilt.f64, tilt.point())
    t = tilt.TDom(precision="1d")
    gap = tilt.mean(stock[t - "10d" : t]) - tilt.mean(stock[t - "20d" : t])
    trend = tilt.define("trend", t, tilt.when(gap > 0, gap))
    query = tilt.compile(trend)
    result = query.run(stock=frame)      # pyarrow, Polars, pandas, DuckDB

The same from a text: `tilt.parse(text)` or `tilt.load("trend.tilt")`. What queries mean
is in the language reference (`grammar/README.md`, installed as `tiltpy/grammar/`).
"""

import gc

# What an import makes stays; looking for garbage in it took a third of the time.
_collecting = gc.isenabled()
gc.disable()

from tiltpy import library
from tiltpy.api import CompiledQuery, compile, load, parse
from tiltpy.compiler.options import CompileOptions
from tiltpy.errors import DataError, QueryError, TiltError, TiltWarning
from tiltpy.frontend.python import functions as _functions
from tiltpy.frontend.python import reductions as _reductions
from tiltpy.frontend.python.builder import Rows, TDom, define, source
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
from tiltpy.inputs import bind, sampled
from tiltpy.runtime.arrow.parquet_scan import ParquetScan, scan_parquet
from tiltpy.runtime.results.result import OutputTable, Result
from tiltpy.types import SCALARS, STRING, TIME, Struct

if not gc.get_freeze_count():  # so that it is old already, and not looked at next
    gc.freeze()
    gc.unfreeze()
if _collecting:
    gc.enable()
del gc

bool = SCALARS["bool"]
i8, i16, i32, i64 = (SCALARS[f"i{bits}"] for bits in (8, 16, 32, 64))
u8, u16, u32, u64 = (SCALARS[f"u{bits}"] for bits in (8, 16, 32, 64))
f32, f64 = SCALARS["f32"], SCALARS["f64"]
string, time = STRING, TIME

__all__ = [
    "CompileOptions", "CompiledQuery", "DataError", "OutputTable", "ParquetScan",
    "QueryError", "Result", "Rows", "Struct", "TDom", "TiltError", "TiltWarning",
    "after", "bind", "calendar", "cast", "cells", "cells_of", "compile", "convolve",
    "define", "duration", "end", "exists", "interval", "last_rows", "library", "load",
    "parse", "phi", "point", "reduction", "row", "sampled", "scan_parquet", "since",
    "source",
    "start", "strict", "struct", "until_next", "when",
    "bool", "f32", "f64", "i16", "i32", "i64", "i8", "string", "time",
    "u16", "u32", "u64", "u8",
]  # fmt: skip
__all__ += _functions.__all__
__all__ += _reductions.__all__

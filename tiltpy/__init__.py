"""Temporal queries over time series and event streams, compiled to machine code.

    import tiltpy as tilt

    stock = tilt.source("stock", tilt.f64, tilt.point())
    t = tilt.TDom(precision="1d")
    gap = tilt.mean(stock[t - "10d" : t]) - tilt.mean(stock[t - "20d" : t])
    trend = tilt.define("trend", t, tilt.when(gap > 0, gap))
    query = tilt.compile(trend)
    result = query.run(stock=frame)      # pyarrow, Polars, pandas, DuckDB

The same from a text: `tilt.parse(text)` or `tilt.load("trend.tilt")`. What queries mean
is in the language reference (`tiltpy/grammar/README.md`).
"""

import gc

# What an import makes stays; looking for garbage in it took a third of the time.
_collecting = gc.isenabled()
gc.disable()

from tiltpy import library
from tiltpy.api import CompiledQuery, compile, load, parse
from tiltpy.compiler import CompileOptions
from tiltpy.errors import DataError, QueryError, TiltError, TiltWarning
from tiltpy.frontend.python.builder import (
    TDom,
    cast,
    define,
    duration,
    end,
    exists,
    interval,
    phi,
    point,
    source,
    start,
    struct,
    until_next,
    when,
)
from tiltpy.frontend.python.functions import (
    abs,
    acos,
    all,
    all_active,
    any,
    any_active,
    asin,
    atan,
    atan2,
    cbrt,
    ceil,
    cos,
    cosh,
    count,
    count_active,
    exp,
    exp2,
    expm1,
    first,
    first_active,
    floor,
    hypot,
    is_finite,
    is_inf,
    is_nan,
    kurtosis,
    kurtosis_active,
    last,
    last_active,
    log,
    log1p,
    log2,
    log10,
    max,
    max_active,
    mean,
    mean_active,
    median,
    median_active,
    min,
    min_active,
    mode,
    mode_active,
    nunique,
    nunique_active,
    pow,
    product,
    product_active,
    quantile,
    quantile_active,
    rms,
    rms_active,
    round,
    sign,
    sin,
    sinh,
    skew,
    skew_active,
    sqrt,
    std,
    std_active,
    sum,
    sum_active,
    tan,
    tanh,
    topk,
    topk_active,
    trunc,
    var,
    var_active,
)
from tiltpy.frontend.python.user_reductions import reduction
from tiltpy.inputs import bind, sampled
from tiltpy.runtime.arrow.parquet_scan import ParquetScan, scan_parquet
from tiltpy.runtime.results.result import OutputTable, Result
from tiltpy.types import SCALARS, STRING, TIME, Struct

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
    "QueryError", "Result", "Struct", "TDom", "TiltError", "TiltWarning",
    "bind", "cast", "compile", "define", "duration", "end", "exists", "interval",
    "library", "load", "parse", "phi", "point", "reduction", "sampled", "scan_parquet",
    "source", "start", "struct", "until_next", "when",
    "abs", "acos", "all", "any", "asin", "atan", "atan2", "cbrt", "ceil", "cos",
    "cosh", "count", "exp", "exp2", "expm1", "first", "floor", "hypot", "is_finite",
    "is_inf", "is_nan", "kurtosis", "last", "log", "log10", "log1p", "log2", "max",
    "mean", "median", "min", "mode", "nunique", "pow", "product", "quantile", "rms",
    "round", "sign", "sin", "sinh", "skew", "sqrt", "std", "sum", "tan", "tanh", "topk",
    "trunc", "var",
    "all_active", "any_active", "count_active", "first_active", "kurtosis_active",
    "last_active", "max_active", "mean_active", "median_active", "min_active",
    "mode_active", "nunique_active", "product_active", "quantile_active",
    "rms_active", "skew_active", "std_active", "sum_active", "topk_active",
    "var_active",
    "bool", "f32", "f64", "i16", "i32", "i64", "i8", "string", "time",
    "u16", "u32", "u64", "u8",
]  # fmt: skip

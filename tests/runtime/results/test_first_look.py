"""Whoever looks first at a result sees what everyone sees later.

Results are made lazily: snapshots folded by key, times of cells, tables. Each public
name of a `Result` and of an `OutputTable` is asked first of a fresh one, for every kind
of result, and again of one of which everything else was asked before.
"""

from collections.abc import Callable
from copy import copy
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tiltpy.errors import TiltError
from tiltpy.runtime.results.output_table import OutputTable
from tiltpy.runtime.results.plot_keys import KeySelection
from tiltpy.runtime.results.result import Result
from tiltpy.runtime.results.table import DeferredRows

ROWS = 4200
"""Enough for vector kernels, and for folds by key."""
NUMBERS = np.arange(ROWS)
X = pa.table(
    {
        "ts": NUMBERS,
        "k": pa.array(["a", "b", "c"]).take(pa.array(NUMBERS * 7 % 3)),
        "x": (NUMBERS * 37 % 64) / 8,
    }
)
FEW = X.slice(0, 20)
LINE = "input x {}: f64 time ts {}\n"
SAMPLES = LINE.format("", "sampled 1")
BY_KEY = LINE.format("by k ", "point")
FOLDS = BY_KEY + "h = TDom(-∞, ∞, 500)\n~o[h] = mean(~x[h-500 : h])"
FIELDS = "\n~o[t] = { v = ~x[t], high = ~x[t] > 3 }"

KINDS: dict[str, tuple[str, pa.Table, dict[str, Any]]] = {
    "map": (LINE.format("", "until_next") + "~o[t] = ~x[t] + 1", FEW, {}),
    "sweep": (LINE.format("", "point") + "~o[t] = sum(~x[t-5 : t])", FEW, {}),
    "dense": (SAMPLES + "~o[t] = sum(~x[t-5 : t])", X, {}),
    "cells": (SAMPLES + "~o[t] = ~x[t] > 3 ? ~x[t] : φ", X, {}),
    "fields": (SAMPLES + FIELDS, X, {}),
    "by key": (BY_KEY + "~o[t] = sum(~x[t-5 : t])", X, {}),
    "cells by key": (LINE.format("by k ", "sampled 3") + "~o[t] = ~x[t] * 2", X, {}),
    "folds": (FOLDS, X, {}),
    "folds in order of time": (FOLDS, X, {"order": "time"}),
    "none": (SAMPLES + "~o[t] = ~x[t]", X.slice(0, 0), {}),
    "none by key": (FOLDS, X.slice(0, 0), {}),
    "no folds": (FOLDS, X, {"start": 0, "end": 0}),
}


@cache
def query(text: str) -> tilt.CompiledQuery:
    return tilt.parse(text)


def fresh(kind: str) -> Result:
    """A result at which nobody has looked."""
    if kind == "streamed":
        text, table, _ = KINDS["cells"]
        return next(query(text).stream(x=table))
    if kind == "inputs":
        text, table, _ = KINDS["folds"]
        return query(text).read_inputs(x=table)
    text, table, arguments = KINDS[kind]
    return query(text).run(x=table, **arguments)


def windows(result: Result | OutputTable) -> object:
    """The rows for each window, or why there are none."""
    try:
        return result.windows().to_pylist()
    except TiltError as error:
        return str(error)


def picture(result: Result | OutputTable) -> object:
    """Return the lines of each panel of a figure, as text since gaps are NaN."""
    figure = result.plot()
    shown = [
        [(line.get_label(), np.asarray(line.get_xydata()).tolist()) for line in a.lines]
        + [np.asarray(one.get_offsets()).tolist() for one in a.collections]
        for a in figure.axes
    ]
    return repr(shown)


def series(table: OutputTable) -> object:
    return [
        [(one.key, one.starts.tolist(), one.values.tolist()) for one in column]
        for column in table.series(KeySelection(None), is_input=False)
    ]


def write(method: str, made: OutputTable | Result) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        getattr(made, method)(path)
        return path.read_bytes()


def pretty(made: OutputTable | Result) -> object:
    """The text that IPython prints."""
    texts: list[str] = []
    made._repr_pretty_(SimpleNamespace(text=texts.append), False)
    return texts


TABLE_LOOKS: dict[str, Callable[[OutputTable], object]] = {
    "rename": lambda one: one.rename("p").to_arrow().to_pylist(),
    "keys": lambda one: one.keys,
    "schema": lambda one: one.schema,
    "num_rows": lambda one: one.num_rows,
    "to_arrow": lambda one: one.to_arrow().to_pylist(),
    "rows_by_key": lambda one: list(one.rows_by_key()),
    "series": series,
    "points": lambda one: one.points().to_pylist(),
    "windows": windows,
    "to_polars": lambda one: one.to_polars().rows(),
    "to_pandas": lambda one: one.to_pandas().to_dict("list"),
    "plot": picture,
    "coalesce": lambda one: one.coalesce().to_pylist(),
    "head": lambda one: one.head(2).to_pylist(),
    "write_parquet": partial(write, "write_parquet"),
    "write_csv": partial(write, "write_csv"),
    "write_ipc": partial(write, "write_ipc"),
    "__len__": len,
    "__repr__": repr,
    "__str__": str,
    "__getstate__": lambda one: copy(one).to_arrow().to_pylist(),
    "__getitem__": lambda one: one["end"].to_pylist(),
    "__contains__": lambda one: ("end" in one, "x" in one),
    "__arrow_c_stream__": lambda one: pa.table(one).to_pylist(),
    "_repr_html_": lambda one: one._repr_html_(),
    "_repr_pretty_": pretty,
}
RESULT_LOOKS: dict[str, Callable[[Result], object]] = {
    "__getitem__": lambda result: repr(result[next(iter(result))]),
    "__contains__": lambda result: "o" in result,
    "__iter__": list,
    "__len__": lambda result: len(result) if len(list(result)) == 1 else None,
    "__bool__": bool,
    "coalesce": lambda result: result.coalesce().to_pylist(),
    "head": lambda result: result.head(2).to_pylist(),
    "write_parquet": partial(write, "write_parquet"),
    "write_csv": partial(write, "write_csv"),
    "write_ipc": partial(write, "write_ipc"),
    "keys": lambda result: list(result.keys()),
    "values": lambda result: [len(one) for one in result.values()],
    "items": lambda result: [(name, len(one)) for name, one in result.items()],
    "only": lambda result: len(result.only()),
    "schema": lambda result: result.schema,
    "num_rows": lambda result: result.num_rows,
    "to_arrow": lambda result: result.to_arrow().to_pylist(),
    "points": lambda result: result.points().to_pylist(),
    "windows": windows,
    "to_polars": lambda result: result.to_polars().rows(),
    "to_pandas": lambda result: result.to_pandas().to_dict("list"),
    "plot": picture,
    "__repr__": repr,
    "__str__": str,
    "__arrow_c_stream__": lambda result: pa.table(result).to_pylist(),
    "_repr_html_": lambda result: result._repr_html_(),
    "_repr_pretty_": pretty,
}
UNASKED = {"__init__", "__array__", "__getattr__"}


def test_every_public_name_is_asked() -> None:
    for kind, looks in ((OutputTable, TABLE_LOOKS), (Result, RESULT_LOOKS)):
        own = {
            name
            for name, member in vars(kind).items()
            if callable(member) or isinstance(member, property)
        }
        public = {n for n in own if not n.startswith("_") or n.endswith("_")}
        assert public - UNASKED == set(looks)


@pytest.mark.few(7)
@pytest.mark.parametrize("kind", [*KINDS, "streamed", "inputs"])
def test_the_first_look_sees_everything(kind: str) -> None:
    known = fresh(kind)
    for table in known.values():
        for look in TABLE_LOOKS.values():
            look(table)
    for name, look in TABLE_LOOKS.items():
        for output in known:
            assert look(fresh(kind)[output]) == look(known[output]), name
    for name, whole in RESULT_LOOKS.items():
        assert whole(fresh(kind)) == whole(known), name


def test_the_kinds_are_what_they_are_called() -> None:
    """Folds by key are pending, and the rest of the kinds are not."""
    for kind in [*KINDS, "streamed", "inputs"]:
        (table,) = fresh(kind).values()
        pending = isinstance(table._lazy._source, DeferredRows)
        assert pending == ("folds" in kind), kind
        assert (table.num_rows > 0) == ("no" not in kind.split()[0]), kind


def test_a_picture_of_folds_by_key_has_a_line_for_each() -> None:
    figure = fresh("folds").plot()
    assert len(figure.axes[0].lines) == 3

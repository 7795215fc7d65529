"""The tasks of the how-to pages over random rows, for comparison with pandas."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import tiltpy as tilt
from tests.docs.listing import DOCS
from tests.docs.page import Fence, read_fences
from tests.semantics.recipes import ROWS, rows

FOLDER = DOCS / "how-to"


def run_task(page: str, name: str, *inputs: object) -> tilt.Result:
    """Run the query of a page that `name` is the file or the variable of."""
    query = task(page, name)
    frames: dict[str, Any] = dict(zip(query.inputs, map(_frame, inputs), strict=True))
    return query.run(**frames)


@cache
def task(page: str, name: str) -> tilt.CompiledQuery:
    """Read a query: a captioned fence, or what a `python` fence compiles."""
    fences = read_fences(FOLDER / page)
    if name.endswith(".tilt"):
        return tilt.parse(next(each.text for each in fences if each.name == name))
    session: dict[str, Any] = {}
    for code in _queries(fences):
        exec(code, session)  # noqa: S102 - our own pages
        if name in session:
            found: tilt.CompiledQuery = session[name]
            return found
    raise KeyError(name)


def _queries(fences: list[Fence]) -> Iterator[str]:
    """The code of a page, but for what runs queries or reads files."""
    for fence in fences:
        if fence.language == "python":
            lines = fence.text.split("\n")
            yield "\n".join(line for line in lines if line.startswith("import "))
            if ".run(" not in fence.text and "read_" not in fence.text:
                yield fence.text


def _frame(data: object) -> Any:
    if isinstance(data, pd.DataFrame):
        return pa.Table.from_pandas(data, preserve_index=False)
    return data


def readings(seed: int, most: int, **names: str) -> pd.DataFrame:
    """Random rows, at most `most` ticks apart, some of whose columns are renamed."""
    return rows(seed, most).rename(columns=names)


def every_tick(
    frame: pd.DataFrame, column: str, until: int | None = None, most: int | None = None
) -> pd.Series:
    """The value that holds at each tick from the first row on, `most` ticks at most."""
    held = frame.drop_duplicates("time", keep="last").set_index("time")[column]
    last = held.index[-1] if until is None else until
    limit = None if most is None else most - 1
    return held.reindex(range(held.index[0], last + 1)).ffill(limit=limit)


def seconds_of(times: pd.Series) -> pd.Series:
    """Times in seconds."""
    return times.astype("datetime64[s]").astype("int64")


def random_numbers(seed: int, least: int, most: int) -> np.ndarray:
    """As many integers as there are rows."""
    return np.random.default_rng(seed).integers(least, most + 1, ROWS)

"""Recipes of the reference pages over random rows, for comparison with pandas."""

import numpy as np
import pandas as pd
import pyarrow as pa

import tiltpy as tilt
from tests.semantics.reference_pages import examples

ROWS = 400


def rows(seed: int, most: int) -> pd.DataFrame:
    """Values in eighths, a kind and a user, from 1 to `most` ticks apart."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "time": np.cumsum(rng.integers(1, most + 1, ROWS)),
            "value": 80 + np.cumsum(rng.integers(-8, 9, ROWS)) / 8,
            "kind": rng.choice(["ok", "view", "buy", "error"], ROWS),
            "user": rng.choice(["a", "b", "c"], ROWS),
        }
    )


def run_recipe(page: str, output: str, *frames: pd.DataFrame) -> tilt.OutputTable:
    """The output of a recipe, over a frame for each of its inputs."""
    (example,) = (
        example
        for example in examples()
        if example.place.startswith(f"{page}:") and f"~{output}[" in example.text
    )
    query = tilt.parse(example.text)
    tables = map(pa.Table.from_pandas, frames)
    return query.run(**dict(zip(example.rows, tables, strict=True)))[output]


def by_end(output: tilt.OutputTable) -> pd.DataFrame:
    """The columns of an output, by key and end."""
    found = output.to_arrow().to_pandas()
    return found.set_index([*output.keys, "end"]).drop(columns="start")


def by_window(output: tilt.OutputTable) -> pd.DataFrame:
    """The columns of the windows of an output that have a value."""
    found = output.windows().to_pandas()
    return found.dropna().set_index([*output.keys, "time"])


def at_its_end(values: pd.Series) -> pd.Series:
    """The last tick of each run of equal values."""
    return values[values != values.shift(-1)]


def agree(found: pd.DataFrame, expected: pd.DataFrame | pd.Series) -> None:
    """Check that columns have the same times, and enough of them."""
    columns = expected.to_frame() if isinstance(expected, pd.Series) else expected
    assert len(columns) > 20
    assert found.index.tolist() == columns.index.tolist()
    np.testing.assert_allclose(
        found.to_numpy(float), columns.to_numpy(float), rtol=1e-9, atol=1e-9
    )

"""Tables of outputs as frames of other libraries, if those are installed."""

from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from tiltpy.errors import TiltError
from tiltpy.runtime.concurrency.offload import offload

if TYPE_CHECKING:
    import pandas
    import polars


def to_points(table: pa.Table, time: str, name: str) -> pa.Table:
    """Drop the starts of the output `name`; its ends are the column `time`."""
    table = table.drop_columns(["start"])
    names = table.column_names
    index = names.index("end")
    if time in (*names[:index], *names[index + 1 :]):
        raise TiltError(
            f"output '{name}' has a column '{time}' already; give the stamps "
            "another name: points(time=...)"
        )
    return table.rename_columns([*names[:index], time, *names[index + 1 :]])


def to_polars(table: pa.Table) -> "polars.DataFrame":
    """Make a Polars frame of a table."""
    try:
        import polars  # noqa: PLC0415 - optional
    except ImportError as error:
        raise TiltError("to_polars() needs Polars: pip install polars") from error
    frame = offload(partial(polars.from_arrow, table))
    assert isinstance(frame, polars.DataFrame)
    return frame


def to_pandas(table: pa.Table) -> "pandas.DataFrame":
    """Make a pandas frame of a table."""
    try:
        import pandas  # noqa: F401, PLC0415 - optional
    except ImportError as error:
        raise TiltError("to_pandas() needs pandas: pip install pandas") from error
    return offload(table.to_pandas)

"""Results of runs: a table for each output, by name."""

from __future__ import annotations

from collections.abc import (
    ItemsView,
    Iterator,
    KeysView,
    Sequence,
    ValuesView,
)
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa

from tiltpy.argument_checks import check_argument
from tiltpy.errors import ArgumentError, TiltError
from tiltpy.html import TextPrinter
from tiltpy.runtime.results.output_table import OutputTable
from tiltpy.runtime.results.unknown_names import (
    list_names,
    no_array_error,
    unknown_attribute,
    unknown_output,
)

if TYPE_CHECKING:
    import pandas
    import polars

    from tiltpy.plot.series import KeyStyle


class Result:
    """The outputs of a run by name; a single one's table stands for the whole.

    It reads like a mapping but is no `Mapping`: Polars would take one for a frame's
    columns before it looks for an Arrow stream.
    """

    def __init__(self, outputs: Sequence[OutputTable]) -> None:
        self._outputs = {output.name: output for output in outputs}

    def __getitem__(self, name: str) -> OutputTable:
        if isinstance(name, str) and name in self._outputs:
            return self._outputs[name]
        raise unknown_output(name, self._outputs)

    if not TYPE_CHECKING:  # or else a misspelt attribute would pass for one

        def __getattr__(self, name: str) -> NoReturn:
            """Say what there is instead of an unknown attribute."""
            outputs = vars(self).get("_outputs", ())
            raise unknown_attribute(name, self, "result", "output", outputs)

    def __contains__(self, name: object) -> bool:
        return name in self._outputs

    def __iter__(self) -> Iterator[str]:
        return iter(self._outputs)

    def __len__(self) -> int:
        """Count the snapshots of the single output."""
        if len(self._outputs) != 1:
            raise ArgumentError(
                f"the outputs are {list_names(self._outputs)}; choose one of them: "
                "len(result[name])"
            )
        return self.num_rows

    def __bool__(self) -> bool:
        """Tell whether any output has snapshots."""
        return any(output.num_rows for output in self._outputs.values())

    def keys(self) -> KeysView[str]:
        """List the names of the outputs, in order."""
        return self._outputs.keys()

    def values(self) -> ValuesView[OutputTable]:
        """List the outputs, in order."""
        return self._outputs.values()

    def items(self) -> ItemsView[str, OutputTable]:
        """List the outputs with their names, in order."""
        return self._outputs.items()

    def only(self) -> OutputTable:
        """Return the single output; an error where there are several."""
        if len(self._outputs) != 1:
            names = list_names(self._outputs)
            raise TiltError(
                f"the outputs are {names}; choose one of them: result[name]"
            )
        return next(iter(self._outputs.values()))

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the single output."""
        return self.only().schema

    @property
    def num_rows(self) -> int:
        """The number of snapshots of the single output."""
        return self.only().num_rows

    def to_arrow(self) -> pa.Table:
        """Make a pyarrow table of the single output."""
        return self.only().to_arrow()

    def points(self, time: str = "time") -> pa.Table:
        """Stamp the single output's rows with each snapshot's end."""
        return self.only().points(time)

    def windows(self, time: str = "time") -> pa.Table:
        """Make a row for each window of the single output, under its label."""
        return self.only().windows(time)

    def coalesce(self) -> pa.Table:
        """Join snapshots of the single output that touch and have identical values."""
        return self.only().coalesce()

    def head(self, rows: int = 10) -> pa.Table:
        """Make a table of the first snapshots of the single output."""
        return self.only().head(rows)

    def write_parquet(self, path: str | Path) -> None:
        """Write the single output to a Parquet file, whole or not at all."""
        self.only().write_parquet(path)

    def write_csv(self, path: str | Path) -> None:
        """Write the single output to a CSV file, whole or not at all."""
        self.only().write_csv(path)

    def write_ipc(self, path: str | Path) -> None:
        """Write the single output to an Arrow file (Feather 2), whole or not at all."""
        self.only().write_ipc(path)

    def to_polars(self) -> polars.DataFrame:
        """Make a Polars frame of the single output."""
        return self.only().to_polars()

    def to_pandas(self) -> pandas.DataFrame:
        """Make a pandas frame of the single output."""
        return self.only().to_pandas()

    def plot(
        self,
        path: str | Path | None = None,
        *,
        inputs: Result | None = None,
        keys: Sequence[object] | None = None,
        by_key: KeyStyle | None = None,
        title: str | None = None,
        interactive: bool = False,
    ) -> Any:
        """Draw a panel for each output, or field of one, over one time axis.

        Values are steps over the time that they hold for; what lasts a single tick and
        touches nothing is a marker; φ, NaN and infinities are gaps. Of a long output
        the extremes of each column of pixels are drawn, and the picture says so. An
        output by key has a line for each of up to 5 keys, else a panel for each of the
        first 24, all over the same axes; `by_key` of "lines" (10 at most) or "panels"
        says which. `keys` chooses them, by values of the key column, or tuples of
        several.

        Gives a `matplotlib.figure.Figure`, or a layout of Bokeh if `interactive` or if
        `path` ends in .html. With a `path` (.png, .svg, .html) it is written there,
        too, whole or not at all. `inputs`, made by `query.read_inputs`, are drawn
        above. Needs the extra `plot`: `pip install 'tiltpy[plot]'`.
        """
        if inputs is not None:
            check_argument("inputs", inputs, Result, "query.read_inputs(...)")
        from tiltpy.runtime.results.plotting import (  # noqa: PLC0415 - late
            plot_outputs,
        )

        return plot_outputs(
            list(self.values()),
            [] if inputs is None else list(inputs.values()),
            path,
            keys=keys,
            by_key=by_key,
            title=title,
            interactive=interactive,
        )

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.only().__arrow_c_stream__(requested_schema)

    def __array__(self, *_: object, **__: object) -> NoReturn:
        """Refuse to be an array: pandas would make a frame of the outputs' names."""
        raise no_array_error()

    def _repr_pretty_(self, printer: TextPrinter, _cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        return "".join(output._repr_html_() for output in self.values())

    def __repr__(self) -> str:
        return "\n".join(repr(output) for output in self._outputs.values())

    def __str__(self) -> str:
        """Format the first snapshots of each output, like the command line."""
        return "\n\n".join(map(str, self._outputs.values()))

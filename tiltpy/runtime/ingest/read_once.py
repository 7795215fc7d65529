"""The read of a bound frame: once a run, and validated before all else.

Pre-aggregation, grouping and `explain` all ask for an input's rows. A one-shot frame
can be read but once, and other frames should not be converted twice, so all of them get
the same table.
"""

from functools import partial

import pyarrow as pa

from tiltpy.ir.nodes import Input
from tiltpy.runtime.arrow.read_frame import read_chosen
from tiltpy.runtime.arrow.select_columns import Choice, choose_columns
from tiltpy.runtime.arrow.validation import check_columns
from tiltpy.runtime.ingest.binding import InputBinding
from tiltpy.runtime.ingest.samples import choose_samples


def read_rows(settled: Input, binding: InputBinding) -> tuple[pa.Table, Choice]:
    """Read the frame bound to an input as a table, and choose its columns.

    `settled` is the input completed by its binding (`binding.complete_input`). The
    table may have other columns; only those that are chosen have been checked.
    """
    return binding.memoize((Choice, settled), lambda: _read(settled, binding))


def _read(settled: Input, binding: InputBinding) -> tuple[pa.Table, Choice]:
    if binding.samples is not None:
        table, choice = choose_samples(settled, binding.frame)
    else:
        choose = partial(choose_columns, settled, binding.column)
        table, choice = read_chosen(settled.name, binding.frame, choose)
    check_columns(settled.name, table, choice.paths)
    return table, choice

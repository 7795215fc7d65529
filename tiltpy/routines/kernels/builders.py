"""The functions that build the kernels of routines, by name."""

from collections.abc import Callable, Mapping
from functools import partial

from tiltpy.loops.nodes import LoopKernel
from tiltpy.routines.catalogue import SORT_BY_DIGITS
from tiltpy.routines.kernels.append_to_runs import build_append
from tiltpy.routines.kernels.close_keys import build_close
from tiltpy.routines.kernels.code_keys import build_number_codes, build_text_codes
from tiltpy.routines.kernels.copy_runs import build_copies
from tiltpy.routines.kernels.count_inversions import build_inversions
from tiltpy.routines.kernels.cut_by_key import build_cut, build_ranges
from tiltpy.routines.kernels.cut_heads import build_release
from tiltpy.routines.kernels.due_keys import build_list_due, build_take_due
from tiltpy.routines.kernels.end_rows import build_ends
from tiltpy.routines.kernels.expand_times import build_cells, build_runs
from tiltpy.routines.kernels.find_steps import build_steps
from tiltpy.routines.kernels.join_cells import build_join_cells
from tiltpy.routines.kernels.join_rows import build_join
from tiltpy.routines.kernels.keep_rows import build_keep
from tiltpy.routines.kernels.move_rows import build_gather, build_scatter
from tiltpy.routines.kernels.place_rows import build_counts, build_places
from tiltpy.routines.kernels.place_stamps import build_times
from tiltpy.routines.kernels.repeat_numbers import build_repetition
from tiltpy.routines.kernels.repeat_texts import build_text_repetition
from tiltpy.routines.kernels.retire_keys import build_drop, build_retire
from tiltpy.routines.kernels.search_slices import build_search
from tiltpy.routines.kernels.select_entries import build_selection
from tiltpy.routines.kernels.shift_by_key import build_layout, build_shifts
from tiltpy.routines.kernels.sort_by_digits import build_sort
from tiltpy.routines.kernels.store_entries import build_copy
from tiltpy.routines.kernels.touch_keys import build_touch
from tiltpy.types import I64, U32

BUILDERS: Mapping[str, Callable[[], LoopKernel]] = {
    "times of all cells": partial(build_cells, bits=False),
    "times of cells": partial(build_cells, bits=True),
    "times of runs of cells": build_runs,
    "selected entries": build_selection,
    "snapshots in ranges of keys": build_ranges,
    "snapshots cut by key": build_cut,
    "runs of 32 bits": partial(build_copies, U32),
    "runs of 64 bits": partial(build_copies, I64),
    "snapshots closed by key": build_close,
    "snapshots of cells by key": build_join_cells,
    "time ranges of concatenated keys": build_layout,
    "times shifted by key": partial(build_shifts, points=False),
    "points shifted by key": partial(build_shifts, points=True),
    "repeated numbers": build_repetition,
    "repeated texts": build_text_repetition,
    "rows of each code": build_counts,
    "places of rows by code": build_places,
    "32 bits moved to places": partial(build_scatter, U32),
    "64 bits moved to places": partial(build_scatter, I64),
    "32 bits taken in order": partial(build_gather, U32),
    "64 bits taken in order": partial(build_gather, I64),
    "rows joined by key": build_join,
    "rows needed by key": build_keep,
    "distinct codes": build_touch,
    "keys that are due": build_take_due,
    "keys due up to a limit": partial(build_list_due, named=False),
    "some keys due up to a limit": partial(build_list_due, named=True),
    "keys retired": build_retire,
    "rows of keys dropped": build_drop,
    "rows appended to runs": build_append,
    "heads of runs": build_release,
    "codes of numbers": build_number_codes,
    "codes of texts": build_text_codes,
    "inversions": build_inversions,
    **{
        f"numbers sorted by digits of {bits} bits": partial(build_sort, bits)
        for bits in SORT_BY_DIGITS
    },
    "times searched in slices, left": partial(build_search, right=False),
    "times searched in slices, right": partial(build_search, right=True),
    "steps": build_steps,
    "times of stamps": build_times,
    "32 bits copied": partial(build_copy, U32),
    "64 bits copied": partial(build_copy, I64),
    "ends of held rows": build_ends,
}

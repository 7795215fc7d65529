"""The interface of all engines: time ranges, rows and a state in, snapshots out.

A run over tables evaluates one range of each output. A streamed run evaluates ranges
one after the other, and hands on the state; Spark evaluates a range in each task, and
stitches their seams. Results never depend on where ranges end.
"""

from collections.abc import Mapping
from dataclasses import field, replace

from tiltpy.ir.nodes import Query, TemporalExpr
from tiltpy.lean_dataclass import record
from tiltpy.runtime.arrays.dictionary import NO_STRINGS, Strings
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.call_states import CallStates, encode_rows
from tiltpy.runtime.execution.kernel import Kernels
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.single_run import SingleRun
from tiltpy.runtime.execution.stitch import Piece, Stitcher
from tiltpy.runtime.execution.time_domain import (
    OutputRange,
    Request,
    find_whole_ranges,
)
from tiltpy.runtime.execution.time_run import TimeRun
from tiltpy.runtime.execution.vector_range import VectorRange
from tiltpy.runtime.execution.visit_warnings import Announcement
from tiltpy.runtime.incremental.last_pieces import split_at, split_last
from tiltpy.runtime.ingest.cell_overlaps import check_cells
from tiltpy.runtime.ingest.visible_rows import visible_rows
from tiltpy.runtime.results.output_table import OutputTable
from tiltpy.runtime.results.table import TableFormat
from tiltpy.types import Type


@record(frozen=True, slots=True, eq=False)
class RunState:
    """The state that an evaluation leaves for the one that begins where it ends.

    `open`: of each output the snapshots that the next range may make longer. `states`:
    those of a kernel that keeps any, which change with each evaluation. `in_vectors`: a
    vector kernel has served, and does wherever it can.
    """

    open: Mapping[str, Piece] = field(default_factory=dict)
    states: CallStates | None = None
    in_vectors: bool = False


NO_STATE = RunState()
"""The state before the first range."""


@record(frozen=True, slots=True, eq=False)
class KernelRows:
    """Rows of inputs as kernels read them, their dictionary, and the kernels."""

    rows: Mapping[str, SnapshotBuffer]
    strings: Strings
    kernels: Kernels


@record(frozen=True, slots=True, eq=False)
class Evaluation:
    """The outputs over their ranges.

    `pieces`: the snapshots of each output that are complete, in order of time.
    `seams`: where an output's first snapshot began before its range and stands in no
    piece, the tick at which it ends, which is beyond the range's end if it goes on.
    `strings`: the dictionary of the pieces' codes. `vector`: the range that a vector
    kernel computed, if one did; ranges that end on its multiples suit it best.
    """

    pieces: Mapping[str, list[Piece]]
    seams: Mapping[str, int]
    state: RunState
    strings: Strings = NO_STRINGS
    vector: VectorRange | None = None

    def table(self, form: TableFormat, workers: int = 1) -> OutputTable:
        """Make the table of an output by its format; `workers` share it."""
        pieces = self.pieces.get(form.name, [])
        return OutputTable(form, pieces, self.strings, workers=workers)


class Engine:
    """Evaluates the outputs of a query without keys.

    `announcement` warns of loops that will make very many visits.
    """

    def __init__(
        self,
        group: OutputGroup[Kernels],
        request: Request,
        options: RunOptions,
        announcement: Announcement | None = None,
    ) -> None:
        self.group = group
        self.request = request
        self.options = options
        self.announcement = announcement

    def evaluate(
        self,
        ranges: Mapping[str, OutputRange] | None,
        rows: Mapping[str, SnapshotBuffer],
        state: RunState = NO_STATE,
        plan: TimeRun | None = None,
    ) -> Evaluation:
        """Compute the outputs over their `ranges`, by default their whole domains.

        `rows` holds all events that these ranges look at: the halo before and behind
        them included. A `plan` of that is used if there is one. Raises `DataError` if
        an output has more cells than can be.
        """
        run: TimeRun | SingleRun | None = plan
        strings, vector, whole = NO_STRINGS, None, ranges is None
        if ranges is None or not are_empty(ranges):
            run = plan or self.choose_run(ranges, rows, state)
            strings, vector = run.strings, run.vector
            ranges = run.ranges if ranges is None else ranges
        stitchers = {}
        for name, range_ in ranges.items():
            tdom = self.group.outputs[name].tdom
            stitcher = stitchers[name] = Stitcher(tdom, range_.domain)
            if name in state.open:
                stitcher.pieces.append(state.open[name])
        if run is not None:
            self._announce(run, whole=whole)
            run.stitch(stitchers)
            if state.states is not None:
                state.states.keep(strings)
        pieces, seams = {}, {}
        waiting = {**state.open}
        for name, stitcher in stitchers.items():
            of = self.group.types[name]
            pieces[name], last = split_open(stitcher, ranges[name], of, strings)
            waiting.pop(name, None)
            if last is not None:
                waiting[name] = last
            if stitcher.carried is not None:
                seams[name] = stitcher.carried
        in_vectors = state.in_vectors or vector is not None
        following = RunState(waiting, state.states, in_vectors)
        return Evaluation(pieces, seams, following, strings, vector)

    def first_state(self, rows: Mapping[str, SnapshotBuffer]) -> RunState:
        """Make the state before any row, for evaluations that keep states."""
        return RunState(states=CallStates.first(self.group.list_states(rows)))

    def plan(
        self,
        ranges: Mapping[str, OutputRange] | None,
        rows: Mapping[str, SnapshotBuffer],
        state: RunState = NO_STATE,
    ) -> TimeRun:
        """Plan a run over `ranges`, by default the outputs' whole domains."""
        return self.plan_chunks(ranges, self.read(rows, state), state)

    def choose_run(
        self,
        ranges: Mapping[str, OutputRange] | None,
        rows: Mapping[str, SnapshotBuffer],
        state: RunState,
    ) -> TimeRun | SingleRun:
        """Choose how the outputs are computed over `ranges`."""
        return self.plan(ranges, rows, state)

    def read(self, rows: Mapping[str, SnapshotBuffer], state: RunState) -> KernelRows:
        """Check the rows of inputs, drop hidden ones, and find the kernels for them."""
        if state.states is None:
            hiding = self.group.without_hidden_rows(rows)
            rows = {n: visible_rows(b) if n in hiding else b for n, b in rows.items()}
        return self.read_all(rows, state)

    def read_all(
        self, rows: Mapping[str, SnapshotBuffer], state: RunState
    ) -> KernelRows:
        """Check the rows of inputs, and find the kernels for all of them."""
        check_cells(self.group.query, rows)
        if state.states is not None:
            rows = {name: buffer.as_overlapping() for name, buffer in rows.items()}
        coded, strings = encode_rows(self.group.vocabulary, rows, state.states)
        layouts = {name: buffer.abi_layout() for name, buffer in coded.items()}
        return KernelRows(coded, strings, self.group.compile_for(layouts))

    def plan_chunks(
        self,
        ranges: Mapping[str, OutputRange] | None,
        read: KernelRows,
        state: RunState,
    ) -> TimeRun:
        """Plan a run over rows that were read, cut into chunks."""
        whole = ranges is None
        if ranges is None:
            ranges = find_whole_ranges(read.kernels.query, read.rows, self.request)
        wanted = {
            name: range_ for name, range_ in ranges.items() if not range_.is_empty
        }
        options = self.options
        if state.in_vectors:
            options = replace(options, vector=True)
        return TimeRun(
            read.kernels,
            read.rows,
            read.strings,
            self.request,
            options,
            wanted,
            whole=whole,
            states=state.states,
        )

    def _announce(self, run: TimeRun | SingleRun, *, whole: bool) -> None:
        """Warn of many visits; those of ranges that are not `whole` add up."""
        warning = self.announcement
        if warning is not None and run.may_visit(warning.most if whole else 0):
            warning.expect(run.visits())


def are_empty(ranges: Mapping[str, OutputRange]) -> bool:
    """Tell whether no range has a cell."""
    for each in ranges.values():  # noqa: SIM110 - pushes feel a generator
        if not each.is_empty:
            return False
    return True


def split_open(
    stitcher: Stitcher, range_: OutputRange, of: Type, strings: Strings
) -> tuple[list[Piece], Piece | None]:
    """Split an output's pieces into those that are complete, and an open one."""
    complete = stitcher.finish()
    if range_.through is not None:
        through, behind = range_.through, range_.high > range_.through
        return split_at(complete, of, strings, through, behind=behind)
    if range_.final or not complete or stitcher.tdom.rows is not None:
        return complete, None  # rows end where they end
    *complete, piece = complete
    closed, last = split_last(piece, of, strings, range_.high)
    return [*complete, *closed], last


def definition_of(query: Query, name: str) -> TemporalExpr:
    """Return the definition of an output."""
    definition = query.definition(name)
    assert definition is not None
    return definition

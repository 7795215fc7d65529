"""The parts of a streamed run: outputs that have the same keys, and their engine."""

from collections.abc import Collection, Mapping

from tiltpy.abi.layouts import Layout
from tiltpy.abi.signature import Signature
from tiltpy.engines.cell_part import CellPart, find_traits, has_own_rows
from tiltpy.engines.engine import Engine, Evaluation, RunState
from tiltpy.engines.keyed_engine import (
    KeyedEngine,
    KeyedEvaluation,
    KeyedState,
    Rows,
    receive,
)
from tiltpy.engines.part_without_rows import PartWithoutRows
from tiltpy.engines.prompt_engine import PromptEngine
from tiltpy.ir.nodes import Query
from tiltpy.ir.rows import row_roots
from tiltpy.passes.resolve_boundaries import resolve_boundaries
from tiltpy.passes.streamed_keys import (
    check_streamed,
    has_open_windows,
)
from tiltpy.plan.key_traits import KeyTraits
from tiltpy.runtime.execution.kernel import Kernels
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.time_domain import OutputRange, Request
from tiltpy.runtime.execution.vector_range import VectorRange
from tiltpy.runtime.execution.visit_warnings import Announcement
from tiltpy.runtime.incremental.state import (
    InputSource,
    KeyedInputBuffer,
    OutputProgress,
    UnkeyedSource,
)
from tiltpy.runtime.ingest.binding import InputBinding
from tiltpy.runtime.preaggregation.run import FoldKernels
from tiltpy.types import ENDLESS, STRING, Boundary, Reach


def _sign(group: OutputGroup[Kernels], layouts: Mapping[str, Layout]) -> Signature:
    """Find the signature of the sweep kernel for rows of these layouts."""
    some = {declared.name: layouts[declared.name] for declared in group.query.inputs}
    return group.compile_for(some).sweep().signature


def _resumes(group: OutputGroup[Kernels], signature: Signature) -> bool:
    """Tell whether states of a kernel stand for rows.

    Strings that functions make are made of those of rows alone.
    """
    strings = any(scalar == STRING for _, scalar in signature.states)
    lasts = signature.refuse_states(in_chains=True) is None
    return lasts and not (strings and group.vocabulary.uses.calls)


def _looks_back(
    group: OutputGroup[Kernels], outputs: Mapping[str, OutputProgress]
) -> bool:
    """Tell whether outputs need more of an input than the snapshot at a time.

    If they do not, no state spares a row, and kernels that keep none are faster.
    """
    reaches = (outputs[name].reach for name in group.query.outputs)
    needs = (boundary.back for reach in reaches for boundary in reach.values())
    return any(back != Reach() for back in needs)


SPARSE_CELLS = 64
"""Cells near a row where an object may have snapshots, at most, to be no dense one."""


def _list_dense(query: Query, signature: Signature) -> list[int]:
    """List the precisions of objects that have a snapshot in every cell.

    Those that have some near rows alone, which last a short time, are none of them.
    """
    lifetimes = {each.name: each.lifetime for each in query.inputs}
    longest = {
        name: lifetime.longest
        for name, lifetime in lifetimes.items()
        if lifetime is not None and lifetime.longest is not None
    }
    return [
        loop.tdom.shortest
        for loop in signature.loops
        if loop.every_cell
        and not any(
            all(
                read.object in longest
                and longest[read.object] + read.high - read.low
                <= SPARSE_CELLS * loop.tdom.shortest
                for read in group
            )
            for group in loop.skips
        )
    ]


class UnkeyedPart(PartWithoutRows):
    """Outputs without keys."""

    keeps_states = False
    """True where states are kept even if no output looks back."""
    make_engine: type[Engine] = PromptEngine

    def __init__(
        self,
        group: OutputGroup[Kernels],
        request: Request,
        options: RunOptions,
        announcement: Announcement,
    ) -> None:
        self.group = group
        self.engine = self.make_engine(group, request, options, announcement)
        self.state = RunState()
        self.inputs: dict[str, UnkeyedSource] = {}

    def open(self, inputs: Mapping[str, InputSource]) -> None:
        """Take the inputs that the outputs refer to."""
        for name, source in inputs.items():
            if name in self.group.inputs and isinstance(source, UnkeyedSource):
                self.inputs[name] = source

    def begin(
        self, layouts: Mapping[str, Layout], outputs: Mapping[str, OutputProgress]
    ) -> list[int]:
        """Settle whether states are kept, once each input has rows.

        Lists the precisions of objects that have a snapshot in every cell.
        """
        signature = _sign(self.group, layouts)
        kept = self.keeps_states or _looks_back(self.group, outputs)
        if kept and _resumes(self.group, signature):
            rows = {name: source.rows() for name, source in self.inputs.items()}
            self.state = self.engine.first_state(rows)
            resumed = resolve_boundaries(self.group.query, "resumed")
            for name, reach in resumed.boundaries:
                outputs[name].resumed_reach = dict(reach)
        return _list_dense(self.group.query, signature)

    def find_vector(self, ranges: Mapping[str, OutputRange]) -> VectorRange | None:
        """Find the range that a vector kernel would compute, if any would."""
        rows = {name: source.rows() for name, source in self.inputs.items()}
        return self.engine.plan(ranges, rows, self.state).vector

    def evaluate(self, ranges: Mapping[str, OutputRange]) -> Evaluation:
        """Compute the outputs over ranges that begin where those before ended."""
        rows = {}
        for name, source in self.inputs.items():
            rows[name] = source.rows()
        evaluation = self.engine.evaluate(ranges, rows, self.state)
        self.state = evaluation.state
        return evaluation

    def nothing(self) -> Evaluation:
        """Make an evaluation in which nothing is complete."""
        return Evaluation({}, {}, self.state)


class KeyedPart:
    """Outputs by key.

    With `needs_all_keys` any row counts that says that there is its key.
    """

    prompt = False
    """True where every key is computed as far as the clock."""
    make_engine: type[KeyedEngine] = KeyedEngine

    def __init__(
        self,
        group: OutputGroup[Kernels],
        request: Request,
        options: RunOptions,
        announcement: Announcement,
    ) -> None:
        self.group = group
        self.engine = self.make_engine(group, request, options, announcement)
        self.traits = self.find_traits()
        self.needs_all_keys = not all(each.sparse for each in self.traits.values())
        self._state: KeyedState | None = None
        self._others: dict[str, UnkeyedSource] = {}
        self._keyed: dict[str, KeyedInputBuffer] = {}
        self.resumed: Mapping[str, Mapping[str, Boundary]] = {}
        """The needs of outputs of each input where states are kept."""
        self.awaits_ends: Collection[str] = ()
        """The outputs whose rows end with the next row of their key, whenever that
        comes."""

    def find_traits(self) -> Mapping[str, KeyTraits]:
        """Find the traits of the outputs."""
        return find_traits(self.group)

    @property
    def state(self) -> KeyedState:
        """The state of the engine, once the inputs are open."""
        assert self._state is not None
        return self._state

    def count_keys(self) -> int:
        """Count the keys so far; one at least."""
        fresh = {name: source.rows() for name, source in self._keyed.items()}
        receive(fresh, self.state)
        return max(1, len(self.state.keys))

    def open(self, inputs: Mapping[str, InputSource]) -> None:
        """Take the inputs that the outputs refer to, and check that they can be."""
        holding = set()
        for name, source in inputs.items():
            if name not in self.group.inputs:
                continue
            if isinstance(source, UnkeyedSource):
                self._others[name] = source
            elif isinstance(source, KeyedInputBuffer):
                self._keyed[name] = source
                lifetime = source.feed.declared.lifetime
                if lifetime is not None and lifetime.needs_next_row:
                    holding.add(name)
        query = resolve_boundaries(self.group.query, "counted")
        roots = row_roots(query)
        self.awaits_ends = [n for n in query.outputs if roots.get(n) in holding]
        nothing = {n: inputs[n].feed.nothing for n in self.group.inputs}
        layouts = {name: rows.buffer.abi_layout() for name, rows in nothing.items()}
        resumes = has_open_windows(query) and _resumes(
            self.group, _sign(self.group, layouts)
        )
        check_streamed(query, self.traits, holding, resumes=resumes)
        resumed = None
        if resumes:
            boundaries = resolve_boundaries(query, "resumed").boundaries
            self.resumed = resumed = {name: dict(reach) for name, reach in boundaries}
        self._state = self.engine.start(
            query, self.traits, nothing, resumed, holding, prompt=self.prompt
        )

    def begin(
        self, layouts: Mapping[str, Layout], outputs: Mapping[str, OutputProgress]
    ) -> list[int]:
        """List the precisions of objects that have a snapshot in every cell."""
        for name, reach in self.resumed.items():
            outputs[name].resumed_reach = reach
        return _list_dense(self.group.query, _sign(self.group, layouts))

    def evaluate(self, ranges: Mapping[str, OutputRange]) -> KeyedEvaluation:
        """Compute the outputs over ranges that begin where those before ended."""
        rows: dict[str, Rows] = {}
        for declared in self.group.query.inputs:
            name = declared.name
            rows[name] = (
                self._keyed[name].rows() if declared.keys else self._others[name].rows()
            )
        return self.engine.evaluate(ranges, rows, self.state)

    def absorb(self) -> None:
        """Take rows that came where nothing can be computed yet."""
        if any(source.is_waiting for source in self._keyed.values()):
            self.evaluate({})

    def find_done(self, output: OutputProgress) -> int:
        """Find up to when an output does not need inputs without keys any more.

        A key is done as far as its domain goes. What is behind that is computed again
        once a row makes it longer.
        """
        if not output.reach.keys() & self._others.keys():
            return output.done
        progress = self.state.outputs[output.definition.name]
        return min(output.done, progress.find_least_done())

    def find_broadcast(self, output: OutputProgress, rows: int) -> int:
        """Find up to when each key sees so many more rows of inputs without keys."""
        most = ENDLESS
        for name, source in self._others.items():
            if name in output.reach:
                buffer = source.rows()
                first, stop = buffer.find(output.done, ENDLESS)
                if stop - first > rows:
                    most = min(most, buffer.row(first + rows - 1)[1])
        return most

    def held_rows(self) -> Mapping[str, int]:
        """Count the rows that wait in the state, by input."""
        return self.state.held_rows()

    def nothing(self) -> KeyedEvaluation:
        """Make an evaluation in which nothing is complete."""
        return KeyedEvaluation({}, self.state.keys.none(), self.state)


StreamPart = UnkeyedPart | KeyedPart | CellPart


def make_part(
    group: OutputGroup[FoldKernels],
    bindings: Mapping[str, InputBinding],
    request: Request,
    options: RunOptions,
    announcement: Announcement,
) -> StreamPart:
    """Make the part of a group of outputs."""
    if not group.is_keyed:
        return UnkeyedPart(group, request, options, announcement)
    make = CellPart if has_own_rows(group, bindings, request, options) else KeyedPart
    return make(group, request, options, announcement)

"""The parts of a live session: outputs with the same keys, computed without delay.

A streamed run leaves the last snapshot to the next span. Here it is final once a cell
more, over the rows so far, does not go on with it: what cuts there cuts for ever, since
rows to come only add. Where they do not (`open_ends`), what ends last may always go on.
"""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np

from tiltpy.abi.signature import CONTROL
from tiltpy.calendars import end_of_cell
from tiltpy.engines.engine import Evaluation, RunState
from tiltpy.engines.keyed_engine import KeyedEvaluation
from tiltpy.engines.live.prompt_keyed_engine import PromptKeyedEngine
from tiltpy.engines.prompt_engine import PromptEngine
from tiltpy.engines.stream_parts import KeyedPart, UnkeyedPart
from tiltpy.errors import QueryError, TiltError
from tiltpy.forks import cached_property
from tiltpy.ir.print.query import format_query
from tiltpy.passes.analyses.edge_shifts import find_edge_shifts
from tiltpy.passes.analyses.open_ends import find_open_ends
from tiltpy.plan.key_traits import KeyTraits
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.call_states import CallStates
from tiltpy.runtime.execution.kernel import Kernels
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.time_domain import Domain, OutputRange, Request
from tiltpy.runtime.execution.visit_warnings import Announcement
from tiltpy.runtime.incremental.state import InputSource
from tiltpy.runtime.ingest.keys import Keys
from tiltpy.runtime.keyed.key_states import KeyStates
from tiltpy.runtime.results.key_columns import KeySnapshots


class PromptPart(UnkeyedPart):
    """Outputs without keys."""

    keeps_states = True
    make_engine = PromptEngine

    @cached_property
    def _open_ended(self) -> frozenset[str]:
        return find_open_ends(self.group.query)

    def find_range(
        self, name: str, domain: Domain, low: int, high: int, *, final: bool
    ) -> OutputRange:
        """Make the range of an output to compute, of which `(low, high]` is final.

        With it comes the cell behind, where snapshots may go on. Not where states are
        kept: those are of the last cell computed, and never go back. Nor where it says
        nothing: the object is open-ended.
        """
        tdom = self.group.outputs[name].tdom
        if final or tdom.rows is not None:
            return OutputRange(domain, low, high, final)
        behind = high
        if self.state.states is None and name not in self._open_ended:
            behind = end_of_cell(tdom, high + 1)
        return OutputRange(domain, low, behind, False, high)

    def save(self) -> dict[str, object]:
        """Make what `restore` takes."""
        states = self.state.states
        return {
            "open": self.state.open,
            "arrays": None if states is None else list(states.arrays),
            "kernel": self._kernel,
            "strings": [] if states is None else states.strings.list_texts(),
            "in_vectors": self.state.in_vectors,
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state of the same outputs, once it has begun."""
        states = self.state.states
        _check_kernel(saved["kernel"], self._kernel)
        if states is not None:
            states = replace(states, arrays=saved["arrays"])
            states.strings.restore(saved["strings"])
        self.state = RunState(saved["open"], states, saved["in_vectors"])

    @cached_property
    def _kernel(self) -> str | None:
        """The digest of what states stand for, once it has begun; None without any."""
        return identify_states(self.group, self.inputs, self.state.states)

    def open_snapshots(self, name: str, through: int) -> Evaluation:
        """Make the evaluation that has the open snapshot of an output alone."""
        del through  # where it has ended so far
        piece = self.state.open.get(name)
        if isinstance(piece, SnapshotBuffer) and piece.ends is not None:
            # The next call extends it where it is.
            piece = replace(piece, ends=piece.ends.copy())
        return Evaluation({} if piece is None else {name: [piece]}, {}, self.state)


class PromptKeyedPart(KeyedPart):
    """Outputs by key."""

    prompt = True
    make_engine = PromptKeyedEngine

    def find_traits(self) -> Mapping[str, KeyTraits]:
        """Find the traits of the outputs, with those that only sessions ask for."""
        query = self.group.query
        open_ended, shifts = find_open_ends(query), find_edge_shifts(query)
        return {
            name: replace(
                traits, open_ended=name in open_ended, shifts=shifts.get(name)
            )
            for name, traits in super().find_traits().items()
        }

    def find_range(
        self, name: str, domain: Domain, low: int, high: int, *, final: bool
    ) -> OutputRange:
        """Make the range of an output to compute."""
        del name
        return OutputRange(domain, low, high, final)

    def open(self, inputs: Mapping[str, InputSource]) -> None:
        """Take the inputs that the outputs refer to, and check that they can be."""
        super().open(inputs)
        for name, output in self.group.outputs.items():
            fixed = self.engine.request.limits(output.tdom)[0]
            if fixed is not None and not self.traits[name].sparse:
                raise QueryError(
                    "E0305",
                    f"~{name} has values where a key has no rows, from the given start "
                    "on: a key that comes late would have some in the past, which is "
                    "final",
                    output.span,
                    "make it φ without rows of the key, as in `exists(~x[t]) ? ... : "
                    "φ`, or leave out the start",
                )

    def nothing(self) -> KeyedEvaluation:
        """Make an evaluation in which nothing is complete."""
        if self._state is not None:
            return super().nothing()
        names = next(each.keys for each in self.group.query.inputs if each.keys)
        return KeyedEvaluation({}, Keys.without_types(names), None)

    def save(self) -> dict[str, object]:
        """Make what `restore` takes."""
        return {**self.state.save(), "kernel": self._kernel}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state of the same outputs, once it has begun."""
        _check_kernel(saved["kernel"], self._kernel)
        self.state.restore(saved)

    @cached_property
    def _kernel(self) -> str | None:
        """The digest of what states stand for, once it is open; None without any."""
        inputs = {**self._keyed, **self._others}
        return identify_states(self.group, inputs, self.state.states)

    def open_snapshots(self, name: str, through: int) -> KeyedEvaluation:
        """Make the evaluation that has the open snapshots of an output alone.

        Those of keys that nothing has touched have gone on through that time.
        """
        if self._state is None:
            return self.nothing()
        state = self.state
        progress = state.outputs[name]
        codes, keys = state.keys.sort(np.arange(len(state.keys)))
        rows = progress.open.select(codes)
        is_row_object = progress.definition.tdom.rows is not None
        if not is_row_object:
            rows = replace(rows, ends=np.full_like(rows.ends, through))
        buffer = rows.buffer(row_object=is_row_object)
        snapshots = [KeySnapshots((buffer,), np.arange(len(codes)), rows.counts)]
        return KeyedEvaluation({name: snapshots}, keys, state)


def identify_states(
    group: OutputGroup[Kernels],
    inputs: Mapping[str, InputSource],
    states: CallStates | KeyStates | None,
) -> str | None:
    """Make the digest of what the states of a kernel stand for; None without any.

    They follow from the query as it was optimised, which compile options decide, and
    other versions may do otherwise.
    """
    if states is None:
        return None
    nothing = {name: each.feed.nothing.buffer for name, each in inputs.items()}
    layouts = {name: buffer.abi_layout() for name, buffer in nothing.items()}
    optimized = format_query(group.compile_for(layouts).query)
    types = [(name == CONTROL, scalar.name) for name, scalar in states.kinds]
    return blake2b(f"{optimized}\n{types}".encode(), digest_size=16).hexdigest()


def _check_kernel(saved: str | None, present: str | None) -> None:
    """Refuse states that another kernel has left."""
    if saved != present:
        raise TiltError(
            "the state has windows without a bound that were compiled otherwise, with "
            "other options or by another tiltpy; go on with those that it was saved "
            "with, or start anew"
        )


LivePart = PromptPart | PromptKeyedPart


def make_live_part(
    group: OutputGroup[Kernels],
    request: Request,
    options: RunOptions,
    announcement: Announcement,
) -> LivePart:
    """Make the part of a group of outputs."""
    make = PromptKeyedPart if group.is_keyed else PromptPart
    return make(group, request, options, announcement)

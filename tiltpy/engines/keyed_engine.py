"""The engine of outputs by key: `Engine` over the rows of each key by itself.

Between evaluations a key keeps the rows that its next cells look at, and a snapshot
that may go on. The cost of an evaluation follows from the keys that it touches: those
with new rows, and those for which the clock has come to a time that they wait for.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any

import numpy as np

from tiltpy.engines.engine import definition_of
from tiltpy.ir.nodes import Query
from tiltpy.ir.rows import row_roots
from tiltpy.plan.key_traits import KeyTraits
from tiltpy.routines.catalogue import TOUCH_KEYS
from tiltpy.routines.prepared_call import PreparedCall
from tiltpy.runtime.arrays.dictionary import NO_STRINGS, Strings
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.masks import is_any
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.call_states import CallStates, encode_rows
from tiltpy.runtime.execution.column_formulas import Columns
from tiltpy.runtime.execution.kernel import Kernels
from tiltpy.runtime.execution.key_domains import LATEST, KeyedRanges, RowsByKey
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.time_domain import OutputRange, Request
from tiltpy.runtime.execution.visit_warnings import Announcement
from tiltpy.runtime.ingest.key_dictionary import KeyDictionary
from tiltpy.runtime.ingest.keys import Groups, Keys, align
from tiltpy.runtime.ingest.read_input import InputRows
from tiltpy.runtime.ingest.ungrouped_rows import UngroupedRows
from tiltpy.runtime.ingest.visible_rows import visible_groups, visible_rows
from tiltpy.runtime.keyed.held_rows import HeldRows, TakenRows
from tiltpy.runtime.keyed.join import gather_keys, no_rows
from tiltpy.runtime.keyed.key_formulas import KeyFormulas
from tiltpy.runtime.keyed.key_progress import KeyPlan, KeyProgress
from tiltpy.runtime.keyed.key_states import KeyStates
from tiltpy.runtime.keyed.keyed_run import KeyedRun, SharedObjects
from tiltpy.runtime.keyed.prompt_formulas import PromptFormulas
from tiltpy.runtime.keyed.snapshots import KeyedSnapshots
from tiltpy.runtime.results.key_columns import KeyColumns, KeySnapshots, Order
from tiltpy.runtime.results.output_table import OutputTable
from tiltpy.runtime.results.table import TableFormat
from tiltpy.types import Boundary

Bounds = tuple[int, int]
Rows = SnapshotBuffer | Sequence[InputRows | UngroupedRows]
"""All rows of an input that ranges look at; of one by key those that came since the
last evaluation, in batches."""


@dataclass(slots=True)
class KeyedState:
    """The state that an evaluation leaves for the next one, which changes it.

    `bounds` are the first start and the greatest end of inputs without keys so far.
    """

    keys: KeyDictionary
    held: Mapping[str, HeldRows]
    outputs: Mapping[str, KeyProgress]
    bounds: dict[str, Bounds]
    states: KeyStates | None = None
    _slots: I64Array = field(default_factory=lambda: np.zeros(0, np.int64))
    _touch: PreparedCall = field(
        default_factory=partial(PreparedCall.of, TOUCH_KEYS, 5)
    )

    def number(self, codes: I64Array) -> I64Array:
        """Number distinct keys: what is returned has the number of each at its code."""
        slots = self._find_slots()
        slots[codes] = np.arange(len(codes))
        return slots

    def list_once(self, several: Sequence[I64Array]) -> I64Array:
        """List the keys that stand in any of some arrays."""
        slots, count = self._find_slots(), 0
        distinct = np.empty(sum(map(len, several)), np.int64)
        for codes in several:
            if len(codes):
                _, count, *_ = self._touch(len(codes), count, codes, distinct, slots)
        return distinct[:count]

    def retire(
        self,
        retired: Mapping[str, I64Array],
        touched: I64Array,
        ranges: Mapping[str, OutputRange],
    ) -> None:
        """Have outputs retire keys, but for those that are touched.

        Rows of keys that no output needs are dropped.
        """
        for name, codes in retired.items():
            progress = self.outputs[name]
            codes = progress.retire(  # noqa: PLW2901
                codes, touched, self._slots, ranges[name].high
            )
            for output in self.outputs.values():
                if output is not progress:
                    codes = codes[output.needs_no_rows(codes)]  # noqa: PLW2901
            for held in self.held.values():
                held.store.drop(codes)

    def _find_slots(self) -> I64Array:
        """Find the array that has an entry for each code."""
        if len(self._slots) < len(self.keys):
            self._slots = np.zeros(2 * len(self.keys), np.int64)
        return self._slots

    def grow(self) -> None:
        """Make room for new keys."""
        for held in self.held.values():
            held.store.grow(len(self.keys))
        for progress in self.outputs.values():
            progress.grow(len(self.keys))
        if self.states is not None:
            self.states.grow(len(self.keys))

    def save(self) -> dict[str, object]:
        """Make what `restore` takes, between two evaluations."""
        return {
            "keys": self.keys.save(),
            "held": {name: held.save() for name, held in self.held.items()},
            "outputs": {name: each.save() for name, each in self.outputs.items()},
            "bounds": self.bounds,
            "states": None if self.states is None else self.states.save(),
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state of the same query."""
        self.keys.restore(saved["keys"])
        self.grow()
        for name, held in self.held.items():
            held.restore(saved["held"][name])
        for name, progress in self.outputs.items():
            progress.restore(saved["outputs"][name])
        self.bounds.update(saved["bounds"])
        if self.states is not None:
            self.states.restore(saved["states"])

    def held_rows(self) -> dict[str, int]:
        """Count the rows in memory, by input."""
        return {name: len(held.store) for name, held in self.held.items()}


@dataclass(frozen=True, slots=True)
class KeyedEvaluation:
    """The outputs over their ranges: `Evaluation`, by key.

    `snapshots` are those of each output that are complete, in order of `keys`.
    """

    snapshots: Mapping[str, Sequence[KeySnapshots]]
    keys: Keys
    state: KeyedState | None
    strings: Strings = NO_STRINGS
    order: Order = "key"

    def table(self, form: TableFormat, workers: int = 1) -> OutputTable:
        """Make the table of an output by its format; `workers` share it."""
        snapshots = self.snapshots.get(form.name, ())
        pieces = [piece for task in snapshots for piece in task.pieces]
        columns = KeyColumns.of(self.keys, snapshots, self.order)
        return OutputTable(form, pieces, self.strings, columns, workers=workers)


class KeyedEngine:
    """Evaluates the outputs of a query that have the same keys.

    `announcement` warns of loops that will make very many visits; `order` is that of
    the rows of tables.
    """

    def __init__(
        self,
        group: OutputGroup[Kernels],
        request: Request,
        options: RunOptions,
        announcement: Announcement | None = None,
        order: Order = "key",
    ) -> None:
        self.group = group
        self.request = request
        self.options = options
        self.announcement = announcement
        self.order = order

    def evaluate(
        self,
        ranges: Mapping[str, OutputRange] | None,
        rows: Mapping[str, Rows],
        state: KeyedState | None = None,
    ) -> KeyedEvaluation:
        """Compute the outputs over their `ranges`, by default their whole domains.

        Ranges are those of the clock of all keys. With a `state` they begin where those
        before ended; it is changed.
        """
        if ranges is None or state is None:
            run = self.plan(rows)
            announce(run, self.announcement)
            return KeyedEvaluation(run.run(), run.keys, None, run.strings, self.order)
        return self._go_on(ranges, rows, state)

    def plan(self, rows: Mapping[str, Rows]) -> KeyedRun:
        """Plan a run over the whole domains of all keys."""
        return self.run_over(*align_rows(rows))

    def run_over(
        self,
        keys: Keys,
        rows: Mapping[str, RowsByKey],
        ranges: Mapping[str, KeyedRanges] | None = None,
        states: CallStates | None = None,
        shared: SharedObjects | None = None,
    ) -> KeyedRun:
        """Plan a run over rows of the same keys, which goes on from any `states`.

        Some may be those of `shared` objects.
        """
        rows, strings = self._encode(rows, states)
        return self._plan_run(keys, rows, strings, ranges, states, shared)

    def _plan_run(
        self,
        keys: Keys,
        rows: Mapping[str, RowsByKey],
        strings: Strings,
        ranges: Mapping[str, KeyedRanges] | None,
        states: CallStates | None,
        shared: SharedObjects | None = None,
    ) -> KeyedRun:
        return KeyedRun(
            self.group.query,
            self.group.compile_for,
            rows,
            keys,
            strings,
            self.request,
            self.options,
            ranges,
            states,
            shared,
        )

    def _encode(
        self, rows: Mapping[str, RowsByKey], states: CallStates | None
    ) -> tuple[Mapping[str, RowsByKey], Strings]:
        """Make rows what kernels read: without hidden ones, with one dictionary."""
        if states is not None:
            rows = {name: each.as_overlapping() for name, each in rows.items()}
        buffers = _buffers(rows)
        if states is None:
            hiding = self.group.without_hidden_rows(buffers)
            rows = {n: _visible(r) if n in hiding else r for n, r in rows.items()}
            buffers = _buffers(rows)
        coded, strings = encode_rows(self.group.vocabulary, buffers, states)
        return {n: _with_rows(rows[n], buffer) for n, buffer in coded.items()}, strings

    # -- in parts ---------------------------------------------------------------------

    def start(
        self,
        query: Query,
        traits: Mapping[str, KeyTraits],
        nothing: Mapping[str, InputRows],
        resumed: Mapping[str, Mapping[str, Boundary]] | None = None,
        holding: Collection[str] = (),
        *,
        prompt: bool = False,
    ) -> KeyedState:
        """Make the state before any row; `nothing` are no rows of each input.

        `query` is the engine's, with its boundaries. `resumed` are those of evaluations
        that keep states, if they are to. `prompt`: every key is computed as far as the
        clock, whatever its own rows are.
        """
        keyed = [declared for declared in query.inputs if declared.keys]
        types: dict[str, Keys] = {}
        for declared in keyed:
            none = nothing[declared.name].keys
            assert none is not None
            types[declared.name] = none
        keys = KeyDictionary(keyed[0].keys, types)
        held = {each.name: HeldRows(each.name, each.type, keys) for each in keyed}
        rounding = sum(made.tdom.precision for made in query.definitions)
        make = PromptFormulas if prompt else KeyFormulas
        outputs, roots = {}, row_roots(query)
        for name, reach in query.boundaries:
            formulas = make(
                definition_of(query, name),
                dict(reach),
                held,
                rounding,
                self.request,
                traits[name],
                None if resumed is None else resumed[name],
                roots.get(name) if roots.get(name) in holding else None,
            )
            outputs[name] = KeyProgress(formulas)
        states = None
        if resumed is not None:
            empty = {name: rows.buffer for name, rows in nothing.items()}
            states = KeyStates(self.group.list_states(empty))
        return KeyedState(keys, held, outputs, {}, states)

    def _go_on(
        self,
        ranges: Mapping[str, OutputRange],
        rows: Mapping[str, Rows],
        state: KeyedState,
    ) -> KeyedEvaluation:
        """Compute the keys that new rows or the clock have touched."""
        others = receive(rows, state)
        codes, keys = state.keys.sort(_take_touched(ranges, state))
        count = len(codes)
        slots = state.number(codes)
        taken = {name: each.take(codes, slots) for name, each in state.held.items()}
        plans = {}
        for name, progress in state.outputs.items():
            if not progress.finished:
                clock = ranges.get(name) or progress.stand_still()
                plans[name] = progress.plan(codes, clock, taken, state.bounds)
        touched = None if state.states is None else state.states.of(codes)
        snapshots, strings = self._compute(plans, taken, others, keys, state, touched)
        complete: dict[str, Sequence[KeySnapshots]] = {}
        columns: dict[str, Columns] = {}
        for name, plan in plans.items():
            made, carried = snapshots[name]
            output = state.outputs[name]
            closed, following = output.close(plan, made, carried, taken)
            if following is not None:
                columns[name] = following
            buffer = closed.buffer(row_object=output.definition.tdom.rows is not None)
            numbers = np.arange(count)
            complete[name] = [KeySnapshots((buffer,), numbers, closed.counts)]
        for name, each in state.held.items():
            readers = [n for n in columns if name in state.outputs[n].reach]
            horizons = [columns[reader][f"horizon of {name}"] for reader in readers]
            horizon = reduce(np.minimum, horizons or [np.full(count, LATEST)])
            last_rows = max(o.count_last(name) for o in state.outputs.values())
            each.put(codes, taken[name].rows, horizon, last_rows)
        return KeyedEvaluation(complete, keys, state, strings, self.order)

    def _compute(
        self,
        plans: Mapping[str, KeyPlan],
        taken: Mapping[str, TakenRows],
        others: Mapping[str, SnapshotBuffer],
        keys: Keys,
        state: KeyedState,
        states: CallStates | None,
    ) -> tuple[dict[str, tuple[KeyedSnapshots, dict[int, int]]], Strings]:
        """Compute what is planned of each output, and the ends of what goes on."""
        made: dict[str, tuple[KeyedSnapshots, dict[int, int]]] = {}
        wanted = {}
        for name, plan in plans.items():
            if is_any(plan.ranges.nonempty):
                wanted[name] = plan.ranges
            else:
                made[name] = no_rows(state.outputs[name].definition.type, len(keys)), {}
        if not wanted:
            return made, NO_STRINGS
        rows: Mapping[str, RowsByKey] = {
            declared.name: others[declared.name]
            if declared.name in others
            else state.held[declared.name].groups(taken[declared.name])
            for declared in self.group.query.inputs
        }
        rows, strings = self._encode(rows, states)
        few = self.run_few(rows, strings, wanted, states)
        if few is not None:
            made.update({name: (snapshots, {}) for name, snapshots in few.items()})
        else:
            run = self._plan_run(keys, rows, strings, wanted, states)
            announce(run, self.announcement)
            for name, snapshots in run.run().items():
                of = state.outputs[name].definition.type
                made[name] = gather_keys(snapshots, len(keys), of, strings)
        if states is not None:
            states.keep(strings)
        return made, strings

    def run_few(
        self,
        rows: Mapping[str, RowsByKey],
        strings: Strings,
        ranges: Mapping[str, KeyedRanges],
        states: CallStates | None,
    ) -> Mapping[str, KeyedSnapshots] | None:
        """Compute ranges of few rows, where there is a shorter way than a run."""
        del rows, strings, ranges, states
        return None


def align_rows(rows: Mapping[str, Rows]) -> tuple[Keys, dict[str, RowsByKey]]:
    """Find all keys of some inputs, and the rows that each has of every input."""
    by_key: dict[str, tuple[Keys, Groups]] = {}
    buffers: dict[str, SnapshotBuffer] = {}
    for name, each in rows.items():
        if isinstance(each, SnapshotBuffer):
            buffers[name] = each
        else:
            (read,) = each
            assert isinstance(read, InputRows)
            assert read.keys is not None
            assert read.groups is not None
            by_key[name] = read.keys, read.groups
    keys, groups = align(by_key)
    return keys, {n: groups[n] if n in groups else buffers[n] for n in rows}


def announce(run: KeyedRun, announcement: Announcement | None) -> None:
    """Warn of loops of a run that may make very many visits."""
    if announcement is not None and run.beyond_rows:
        announcement.expect(run.visits())


def receive(rows: Mapping[str, Rows], state: KeyedState) -> dict[str, SnapshotBuffer]:
    """Take in the rows that came; returns those of inputs without keys."""
    others = {}
    for name, each in rows.items():
        if isinstance(each, SnapshotBuffer):
            others[name] = each
            bounds = each.bounds()
            if bounds is not None:
                start, end = state.bounds.get(name, bounds)
                state.bounds[name] = start, max(end, bounds[1])
            continue
        spans = [*state.held[name].receive(each)]
        state.grow()
        for progress in state.outputs.values():
            if name in progress.reach:
                for span in spans:
                    progress.extend(span.codes, span.firsts, span.lasts)
    return others


def _take_touched(ranges: Mapping[str, OutputRange], state: KeyedState) -> I64Array:
    """Take the keys with new rows, and those that are due to be computed, once."""
    codes: list[I64Array] = []
    retired: dict[str, I64Array] = {}
    for held in state.held.values():
        codes += held.list_touched()
    for name, range_ in ranges.items():
        progress = state.outputs[name]
        if range_.final:
            codes.append(progress.live())
            continue
        due, over = progress.take_due(range_.high)
        codes.append(due)
        if len(over):
            retired[name] = over
    touched = state.list_once(codes)
    if retired:
        state.retire(retired, touched, ranges)
    return touched


def _buffers(rows: Mapping[str, RowsByKey]) -> dict[str, SnapshotBuffer]:
    """The rows of all keys together."""
    return {
        name: each.buffer if isinstance(each, Groups) else each
        for name, each in rows.items()
    }


def _visible(rows: RowsByKey) -> RowsByKey:
    """The rows that are not hidden."""
    return visible_groups(rows) if isinstance(rows, Groups) else visible_rows(rows)


def _with_rows(rows: RowsByKey, buffer: SnapshotBuffer) -> RowsByKey:
    """Put the keys over rows with other codes of strings."""
    if not isinstance(rows, Groups):
        return buffer
    if rows.buffer is buffer:
        return rows
    return Groups(buffer, rows.offsets, rows.firsts, rows.lasts)

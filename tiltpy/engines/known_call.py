"""Calls over rows and ranges of a form that came before: numbers alone are new.

Where a session makes the same call again and again, all but a few numbers is known:
where the kernel writes, which snapshots it may write besides those that are wanted, and
that an open one goes before them.
"""

from collections.abc import Mapping

from tiltpy.engines.engine import Evaluation, RunState
from tiltpy.engines.output_readers import (
    IntervalReader,
    OutputReader,
    RowReader,
    Rows,
    TimedRowReader,
)
from tiltpy.ir.nodes import Query
from tiltpy.runtime.arrays.dictionary import NO_STRINGS
from tiltpy.runtime.execution.range_formulas import NUMBERS
from tiltpy.runtime.execution.single_run import RangeCall
from tiltpy.runtime.execution.stitch import Piece
from tiltpy.runtime.execution.time_domain import LONGEST_CHUNK, OutputRange
from tiltpy.runtime.execution.traced_numbers import FORM, form_of
from tiltpy.types import Type

Ranges = Mapping[str, OutputRange]


class KnownCall:
    """Evaluates ranges by a call whose formulas are known for their form."""

    def __init__(
        self,
        call: RangeCall,
        query: Query,
        types: Mapping[str, Type],
        rows: Rows,
        ranges: Ranges,
    ) -> None:
        self.call = call
        self.query = query
        """The query that the kernel computes, with its boundaries."""
        self._forms = [form_of(buffer) for buffer in rows.values()]
        self._outputs = list(ranges)
        self._types = types
        self._readers: list[OutputReader] = []

    def fits(self, ranges: Ranges, rows: Rows, state: RunState) -> bool:
        """Tell whether rows and ranges have the form, and are few."""
        if state.in_vectors or list(ranges) != self._outputs:
            return False
        for each in ranges.values():
            if each.high - each.low > LONGEST_CHUNK:
                return False
        return self.reads(rows)

    def reads(self, rows: Rows) -> bool:
        """Tell whether rows have the form, and are few."""
        total = 0
        for buffer, form in zip(rows.values(), self._forms, strict=True):
            known_form, are_valid = form
            if FORM(buffer) != known_form:
                return False
            for column, is_valid in zip(buffer.columns, are_valid, strict=True):
                if (column.validity is None) is not is_valid:
                    return False
            total += buffer.n
        return total <= self.call.most_rows

    def evaluate(
        self, ranges: Ranges, rows: Rows, state: RunState
    ) -> Evaluation | None:
        """Compute the outputs; None where formulas do not say what the call covers."""
        made = self.call.make_again(rows, ranges, NO_STRINGS, None)
        if made is None:
            return None
        table, numbers = made
        readers = self._readers or self._make_readers()
        pieces: dict[str, list[Piece]] = {}
        seams: dict[str, int] = {}
        opened = state.open
        place = -NUMBERS * len(readers)
        for reader in readers:
            name = reader.loop.name
            of = numbers[place : place + NUMBERS or None]
            place += NUMBERS
            before = opened.get(name)
            count = table.view[table.map.counts[name]]
            split = reader.read(table, count, of, rows, ranges[name], before)
            if split is None:
                stitcher = reader.stitch(table, of, rows, ranges[name], before)
                split = reader.split(stitcher, ranges[name])
                if stitcher.carried is not None:
                    seams[name] = stitcher.carried
            pieces[name], last = split
            if last is not before:
                opened = {n: each for n, each in opened.items() if n != name}
                if last is not None:
                    opened[name] = last
        following = state if opened is state.open else RunState(opened)
        return Evaluation(pieces, seams, following, NO_STRINGS)

    def _make_readers(self) -> list[OutputReader]:
        """Make what reads each output."""
        formulas = self.call.formulas
        assert formulas is not None
        for loop, may_have_others, owns_rows in formulas.outputs:
            of = self._types[loop.name]
            has_times = not (loop.shares_times or loop.implicit_times)
            make = OutputReader
            if owns_rows and has_times:
                make = TimedRowReader
            elif owns_rows and loop.shares_times and not loop.distinct:
                make = RowReader
            elif has_times and not loop.stamped:
                make = IntervalReader
            self._readers.append(make(loop, of, may_have_others, owns_rows))
        return self._readers

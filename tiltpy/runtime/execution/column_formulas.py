"""Formulas over columns, evaluated by numpy or, once they come again, by a loop.

What they say is written once, as arithmetic of `call_numbers`.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltpy.lean_dataclass import record
from tiltpy.routines.routine import Argument
from tiltpy.runtime.arrays.dtypes import I64Array, Times

LINE = 64
"""Bytes of a cache line."""
MOST_FORMS = 16
"""Forms whose loops are kept."""
Operands = Mapping[str, Any]
Formulas = Callable[[Operands], Operands]


class Table:
    """An array of which formulas see some entries, and may change these.

    Its `place` is the address. From one entry to the next there are `step` items.
    """

    __slots__ = ("array", "place", "step")

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array
        self.place: int = array.ctypes.data
        self.step: int = array.strides[0] // array.itemsize

    @property
    def line(self) -> int:
        """The number of the cache line with its first entry."""
        return self.place // LINE


@record(frozen=True, slots=True, eq=False)
class WholeTimes:
    """Times that formulas see all of, in slices."""

    times: Times


FormulaOperand = Table | WholeTimes | NDArray[Any] | int


class Columns:
    """Results of formulas by name: columns of numbers, and of truths."""

    __slots__ = ("numbers", "places", "truths")

    def __init__(
        self,
        numbers: NDArray[Any],
        truths: NDArray[Any],
        places: Mapping[str, tuple[bool, int]],
    ) -> None:
        self.numbers = numbers
        self.truths = truths
        self.places = places

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return the column of a result."""
        is_truth, column = self.places[name]
        found: NDArray[Any] = (self.truths if is_truth else self.numbers)[column]
        return found


Compute = Callable[[int, Sequence[Argument]], Columns]
"""Computes results of so many rows of arguments."""


class ColumnFormulas:
    """Formulas over some entries of tables, and columns beside them.

    A result that has the name of a table changes its entries.
    """

    def __init__(self) -> None:
        self._loops: dict[Hashable, Compute | None] = {}
        """The loop of each form that came again; None of one that came once."""

    def compute(
        self,
        form: Hashable,
        formulas: Formulas,
        operands: Mapping[str, FormulaOperand],
        items: I64Array,
        blocks: Sequence[Columns] = (),
    ) -> Columns:
        """Compute the results at the `items` of tables, each of which is named once.

        Columns have an entry for each, those in `blocks`, too. `form` decides all that
        formulas say of their operands, and the types of these; None if they cannot be
        traced.
        """
        if form is None:
            return _evaluate(formulas, operands, items, blocks)
        compute = self._loops.get(form)
        if compute is None:
            if form not in self._loops:
                if len(self._loops) == MOST_FORMS:
                    self._loops.clear()
                self._loops[form] = None
                return _evaluate(formulas, operands, items, blocks)
            from tiltpy.runtime.execution.column_loops import (  # noqa: PLC0415 - late
                compile_formulas,
            )

            compute = self._loops[form] = compile_formulas(formulas, operands, blocks)
        arguments: list[Argument] = [
            each.place if each.__class__ is Table else find_argument(each)
            for each in operands.values()
        ]
        arguments.append(items)
        for block in blocks:
            arguments += block.numbers, block.truths
        return compute(len(items), arguments)


def _evaluate(
    formulas: Formulas,
    operands: Mapping[str, Any],
    items: I64Array,
    blocks: Sequence[Columns],
) -> Columns:
    """Evaluate formulas by numpy."""
    columns = {}
    for name, each in operands.items():
        column = find_argument(each)
        columns[name] = column[items] if isinstance(each, Table) else column
    for block in blocks:
        columns |= {name: block[name] for name in block.places}
    results = formulas(columns)
    tables = {name: each for name, each in operands.items() if isinstance(each, Table)}
    for name, table in tables.items():
        if name in results:
            table.array[items] = results[name]
    beside = {name: each for name, each in results.items() if name not in tables}
    kinds = [np.asarray(each).dtype == np.bool_ for each in beside.values()]
    found = (
        np.empty((kinds.count(False), len(items)), np.int64),
        np.empty((kinds.count(True), len(items)), np.bool_),
    )
    places = {}
    for number, ((name, result), is_truth) in enumerate(
        zip(beside.items(), kinds, strict=True)
    ):
        column = kinds[:number].count(is_truth)
        found[is_truth][column] = result
        places[name] = bool(is_truth), column
    return Columns(*found, places)


def find_argument(operand: FormulaOperand) -> Any:
    """Find what stands for an operand in a call."""
    if isinstance(operand, Table):
        return operand.array
    return operand.times if isinstance(operand, WholeTimes) else operand

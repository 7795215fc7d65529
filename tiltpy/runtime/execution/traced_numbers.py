"""Arithmetic that leaves a trace: the formulas of what calls cover, compiled once.

The extents of a call follow from few numbers by formulas that are the same for each
call over rows of one form (`loop_extents`, `visit_bounds`). Evaluated once over traced
numbers, they leave straight-line code for all the others. A traced number has a value,
too: where Python asks for a truth, the trace goes on as that value says, and the code
gives up, returning None, where it would say otherwise.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import pyarrow as pa

from tiltpy.array_address import address
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.traced_operands import (
    Operand,
    Side,
    TracedOperand,
    is_number,
)


class Trace:
    """The operations of formulas, in order, each once."""

    def __init__(self) -> None:
        self._nodes: dict[str, TracedNumber] = {}
        self._lines: list[Line] = []

    def name(self, text: str, value: Any, *uses: Operand) -> "TracedNumber":
        """Name the value of an expression that uses some operands."""
        known = self._nodes.get(text)
        if known is None:
            known = self._nodes[text] = TracedNumber(
                self, f"v{len(self._lines)}", value
            )
            self._lines.append((known.text, text, names_of(uses)))
        return known

    def guard(self, truth: "TracedNumber") -> bool:
        """Have the code go on only where a truth is as it is here."""
        value = bool(truth.value)
        if not truth.is_known:
            text = f"if {'not ' if value else ''}{truth.text}: return None"
            self._lines.append(("", text, (truth.text,)))
            truth.is_known = True
        return value

    def select(self, condition: Operand, this: Operand, that: Operand) -> Operand:
        """Trace one operand where a condition holds, the other elsewhere."""
        if condition.is_known:
            return this if condition.value else that
        if text_of(this) == text_of(that):
            return this
        value = value_of(this) if condition.value else value_of(that)
        text = f"{text_of(this)} if {condition.text} else {text_of(that)}"
        chosen = self.name(text, value, this, condition, that)
        if isinstance(this, TracedNumber) and is_number(that, 0):
            chosen.most = this.most
        return chosen

    def least(self, left: Operand, right: Operand) -> Operand:
        """Trace the smaller one of two numbers."""
        for this, that in ((left, right), (right, left)):
            if isinstance(this, TracedNumber) and this.most is that:
                return this
        return self.select(right < left, right, left)

    def most(self, left: Operand, right: Operand) -> Operand:
        """Trace the larger one of two numbers."""
        for this, that in ((left, right), (right, left)):
            is_positive = isinstance(this, TracedNumber) and this.most is not None
            if is_positive and is_number(that, 0):
                return this
        return self.select(right > left, right, left)

    def compile(
        self,
        arguments: Sequence[str],
        results: Sequence[Operand],
        stores: Sequence[tuple[str, Operand]],
    ) -> Callable[..., tuple[Any, ...] | None]:
        """Compile a function that makes stores and returns results, or gives up.

        It ends the trace, whose values are free with it.
        """
        targets = [(f"{target} = ", value) for target, value in stores]
        lines = [
            *self._lines,
            *[("", before + text_of(of), names_of((of,))) for before, of in targets],
            (
                "",
                f"return ({''.join(f'{text_of(each)}, ' for each in results)})",
                names_of(results),
            ),
        ]
        body = "\n ".join(write_lines(lines))
        known = dict(_FUNCTIONS)
        exec(f"def traced({', '.join(arguments)}):\n {body}", known)  # noqa: S102
        compiled: Callable[..., tuple[Any, ...] | None] = known.pop("traced")
        self._nodes.clear()
        return compiled


Line = tuple[str, str, tuple[str, ...]]
"""An operation: its name, if it has one, its text, and the names that it uses."""
MOST_NESTED = 16
"""Operations that are written into one another, at most."""


def write_lines(lines: Sequence[Line]) -> list[str]:
    """Write the operations that are needed; those used once, where they are used."""
    counts: Counter[str] = Counter()
    for name, _, uses in reversed(lines):
        if name == "" or counts[name]:
            counts.update(uses)
    written: list[str] = []
    nested: dict[str, tuple[str, int]] = {}
    for name, line, uses in lines:
        if name and not counts[name]:
            continue
        text, depth = line, 0
        for use in {*uses} & nested.keys():
            inner, levels = nested.pop(use)
            text = re.sub(rf"\b{use}\b", f"({inner})", text)
            depth = max(depth, levels + 1)
        if name and counts[name] == 1 and depth < MOST_NESTED:
            nested[name] = text, depth
        else:
            written.append(f"{name} = {text}" if name else text)
    return written


class TracedNumber(TracedOperand):
    """A number, or a truth, whose operations leave a trace."""

    __slots__ = ("is_known", "most", "origin", "text", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, trace: Trace, text: str, value: Any) -> None:
        self.trace: Trace = trace
        self.text = text
        self.value = value
        self.is_known = False
        """True for a truth that the code has checked."""
        self.most: Operand = None
        """The number that it is at most, and 0 at least; None if that is unknown."""
        self.origin: tuple[TracedNumber, int] | None = None
        """Another number, and what was added to it; None if it is no such sum."""

    def __bool__(self) -> bool:
        return self.trace.guard(self)

    def _shift(self, ticks: int) -> "TracedNumber":
        """Add a constant to it."""
        origin, before = self.origin or (self, 0)
        if before + ticks == 0:
            return origin
        shift = before + ticks
        text = f"{origin.text} + {text_of(shift)}"
        moved = self.trace.name(text, origin.value + shift, origin)
        moved.origin = origin, shift
        return moved

    def _operate(self, sign: str, left: Operand, right: Operand) -> "TracedNumber":
        value = _OPERATIONS[sign](value_of(left), value_of(right))
        text = f"{text_of(left)} {sign} {text_of(right)}"
        return self.trace.name(text, value, left, right)

    def __neg__(self) -> "TracedNumber":
        return self.trace.name(f"-{self.text}", -self.value, self)

    def __add__(self, other: Operand) -> "TracedNumber":
        if isinstance(other, int):
            return self._shift(other)
        return self._operate("+", self, other)

    __radd__ = __add__

    def __sub__(self, other: Operand) -> "TracedNumber":
        if isinstance(other, int):
            return self._shift(-other)
        return self._operate("-", self, other)

    def __rsub__(self, other: Operand) -> "TracedNumber":
        return self._operate("-", other, self)

    def __mul__(self, other: Operand) -> "TracedNumber":
        return self if is_number(other, 1) else self._operate("*", self, other)

    __rmul__ = __mul__

    def __floordiv__(self, other: Operand) -> "TracedNumber":
        return self if is_number(other, 1) else self._operate("//", self, other)

    def __mod__(self, other: Operand) -> Any:
        return 0 if is_number(other, 1) else self._operate("%", self, other)

    def __lt__(self, other: Operand) -> "TracedNumber":
        return self._operate("<", self, other)

    def __le__(self, other: Operand) -> "TracedNumber":
        return self._operate("<=", self, other)

    def __gt__(self, other: Operand) -> "TracedNumber":
        return self._operate(">", self, other)

    def __ge__(self, other: Operand) -> "TracedNumber":
        return self._operate(">=", self, other)

    def __eq__(self, other: object) -> "TracedNumber":  # type: ignore[override]
        return self._operate("==", self, other)

    def __ne__(self, other: object) -> "TracedNumber":  # type: ignore[override]
        return self._operate("!=", self, other)


_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "//": lambda left, right: left // right,
    "%": lambda left, right: left % right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
}


_FUNCTIONS: dict[str, Any] = {
    "bisect_left": bisect_left,
    "bisect_right": bisect_right,
    "py_buffer": pa.py_buffer,
}
"""The functions that code calls by name."""


def text_of(operand: Operand) -> str:
    """Write an operand."""
    if isinstance(operand, TracedNumber | TracedArray):
        return operand.text
    assert isinstance(operand, int), f"no number: {operand!r}"
    return f"({int(operand)})" if operand < 0 else str(int(operand))


def value_of(operand: Operand) -> Any:
    """Find the value of an operand."""
    return operand.value if isinstance(operand, TracedNumber) else operand


def names_of(operands: Sequence[Operand]) -> tuple[str, ...]:
    """List the names of traced operands."""
    return tuple(
        [each.text for each in operands if isinstance(each, TracedNumber | TracedArray)]
    )


class TracedArray:
    """An array of an input, whose items are traced."""

    def __init__(
        self, trace: Trace, text: str, array: Any, stop: Operand = None
    ) -> None:
        self.trace = trace
        self.text = text
        self.array = array
        self.stop = stop
        """The number of its items, where the array that `text` names has more."""
        self.itemsize = array.itemsize

    def __getitem__(self, item: Operand) -> Any:
        if isinstance(item, slice):
            assert is_number(item.start or 0, 0)
            part = self.array[: value_of(item.stop)]
            return TracedArray(self.trace, self.text, part, item.stop)
        return self._name(
            f"{self.text}[{text_of(item)}]", self.array[value_of(item)], item
        )

    def search(self, wanted: Operand, side: Side = "left") -> TracedNumber:
        """Trace the search of a time.

        Of one time it takes Python less than numpy.
        """
        found = self.array.searchsorted(value_of(wanted), side)
        if self.stop is None:
            text = f"{self.text}.searchsorted({text_of(wanted)}, {side!r})"
            return self._name(text, found, wanted)
        view = self.trace.name(f"{self.text}.data", 0, self)
        texts = view.text, text_of(wanted), "0", text_of(self.stop)
        text = f"bisect_{side}({', '.join(texts)})"
        row = self.trace.name(text, int(found), view, wanted, self.stop)
        row.most = self.stop
        return row

    def _name(self, text: str, value: Any, *uses: Operand) -> TracedNumber:
        """Name an item."""
        return self.trace.name(f"int({text})", int(value), self, *uses)

    @property
    def address(self) -> TracedNumber:
        """The address of its first item, as `address` finds it."""
        text = f"py_buffer({self.text}).address"
        return self.trace.name(text, address(self.array), self)


class TracedColumn:
    """A payload column of an input."""

    def __init__(self, trace: Trace, text: str, column: Any) -> None:
        self.values = _array(trace, f"{text}.values", column.values)
        self.validity = _array(trace, f"{text}.validity", column.validity)
        self.offset = trace.name(f"{text}.offset", column.offset)


class TracedBuffer:
    """A snapshot buffer of an input, the form of which is fixed."""

    def __init__(self, trace: Trace, text: str, buffer: SnapshotBuffer) -> None:
        self.layout = buffer.layout
        self.fifo = buffer.fifo
        self.points = buffer.points
        self.row_object = buffer.row_object
        self.before = buffer.before
        self.period = buffer.period
        self.n = trace.name(f"{text}.n", buffer.n)
        self.start = trace.name(f"{text}.start", buffer.start)
        self.starts = _array(trace, f"{text}.starts", buffer.starts)
        self.ends = _array(trace, f"{text}.ends", buffer.ends)
        self.columns = [
            TracedColumn(trace, f"{text}.columns[{number}]", column)
            for number, column in enumerate(buffer.columns)
        ]
        self._trace, self._text, self._buffer = trace, text, buffer

    def ordered_ends(self) -> Any:
        """Return the ends in order."""
        if self.fifo:
            return self.ends[: self.n]
        ends = self._buffer.ordered_ends()
        whole = _array(self._trace, f"{self._text}.ordered_ends()", ends)
        return whole[: self.n]


def _array(trace: Trace, text: str, array: Any) -> Any:
    if array is None:
        return None
    named = trace.name(text, 0)
    return TracedArray(trace, named.text, array)


FORM: Callable[[SnapshotBuffer], tuple[Any, ...]] = attrgetter(
    "layout", "period", "fifo", "points", "before"
)
"""Finds what a trace over a buffer takes for granted, besides columns without nulls."""


def form_of(buffer: SnapshotBuffer) -> tuple[tuple[Any, ...], tuple[bool, ...]]:
    """Find what a trace over a buffer takes for granted."""
    validity = [column.validity is None for column in buffer.columns]
    return FORM(buffer), tuple(validity)

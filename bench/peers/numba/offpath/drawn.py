"""Loops for the workloads that are drawn, each made of lines as one would write it.

The rows of a window enter and leave one by one. Sums are running sums; a largest value
stands first in a queue of candidates in falling order, the first value in one of all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import indent
from typing import cast

import numpy as np

from bench.peers.numba.offpath.calls import AtTimes, ByKey, Fill, Loop, OnGrid, Sizes
from bench.workloads.offpath.drawn import Draw

Lines = Sequence[str]


@dataclass(frozen=True, slots=True)
class Steps:
    """Lines that begin an aggregate, take in the row `r` of value `v`, and drop it."""

    begin: Lines
    enter: Lines
    leave: Lines
    value: str


NOTHING: Lines = ()


def _sum(k: int, value: str, *, squares: bool = False) -> Steps:
    begin, enter, leave = [f"a{k} = zero"], [f"a{k} += v"], [f"a{k} -= v"]
    if squares:
        begin, enter, leave = (
            [*begin, f"b{k} = zero"],
            [*enter, f"b{k} += v * v"],
            [*leave, f"b{k} -= v * v"],
        )
    return Steps(begin, enter, leave, value)


def _queue(k: int, worse: str) -> Steps:
    """A queue of rows, from whose end those go that are `worse` than a new one."""
    begin = [f"q{k} = np.empty(mask + 1, np.int64)", f"h{k} = 0", f"e{k} = 0"]
    drop = f"while e{k} > h{k} and x[q{k}[(e{k} - 1) & mask]] {worse} v:"
    enter = [*([drop, f"    e{k} -= 1"] if worse else []), f"q{k}[e{k} & mask] = r"]
    leave = [f"if q{k}[h{k} & mask] == r:", f"    h{k} += 1"]
    return Steps(begin, [*enter, f"e{k} += 1"], leave, f"x[q{k}[h{k} & mask]]")


def _pane_extreme(k: int, better: str) -> Steps:
    enter = [f"if n == 0 or v {better} a{k}:", f"    a{k} = v"]
    return Steps([f"a{k} = x[0]"], enter, NOTHING, f"a{k}")


def _steps(k: int, aggregate: str, draw: Draw) -> Steps:
    """The lines of an aggregate: those for panes, if no window overlaps another."""
    panes = draw.window == "tumbling"
    match aggregate:
        case "sum":
            return _sum(k, f"a{k}")
        case "mean":
            return _sum(k, f"a{k} / n")
        case "std":
            variance = f"b{k} / n - (a{k} / n) ** 2"
            return _sum(k, f"np.sqrt(max(0.0, {variance}))", squares=True)
        case "count":
            return Steps(NOTHING, NOTHING, NOTHING, "n")
        case "first" if panes:
            return Steps([f"a{k} = x[0]"], ["if n == 0:", f"    a{k} = v"], (), f"a{k}")
        case "first" if draw.gaps:
            return _queue(k, "")
        case "first":
            return Steps(NOTHING, NOTHING, NOTHING, "x[i - n + 1]")
        case "max":
            return _pane_extreme(k, ">") if panes else _queue(k, "<=")
        case _:
            return _pane_extreme(k, "<") if panes else _queue(k, ">=")


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a loop, put together from the steps of its aggregates."""

    draw: Draw

    def text(self) -> str:
        """A function `loop`."""
        names = [*self._read(), *self._sizes(), *self._written()]
        zero = "0" if self.draw.payload[0] == "i" else "0.0"
        match self.draw.layout, self.draw.window:
            case "sampled", "rolling":
                body = self._rolling_samples()
            case "sampled", "tumbling":
                body = self._sample_panes()
            case "sampled", _:
                body = self._hopping_samples()
            case "keyed", _:
                inner = indent(self._of_key(), "    ")
                body = f"count = 0\nfor key in range(len(offsets) - 1):\n{inner}\n"
                body += "return count"
            case _:
                body = f"count, key = 0, 0\n{self._of_key()}\nreturn count"
        whole = f"zero = {zero}\n{body}"
        return f"def loop({', '.join(names)}):\n{indent(whole, '    ')}\n"

    def sizes(self) -> Sizes:
        """The numbers that the loop takes."""
        mask = (1 << (self.draw.size + 2).bit_length()) - 1
        values = {
            "size": self.draw.size,
            "step": self.draw.step,
            "ratio": self.draw.ratio,
            "mask": mask,
        }
        return tuple(values[name] for name in self._sizes())

    def _sizes(self) -> list[str]:
        names = ["size", "mask"]
        if self.draw.window == "hopping":
            names.append("step")
        if self.draw.layout == "sampled" and self.draw.use == "beside":
            names.append("ratio")
        return names

    def _read(self) -> Iterator[str]:
        beside = self.draw.use == "beside"
        for name in ["x", "y"] if beside else ["x"]:
            if self.draw.layout == "keyed":
                yield "offsets" if name == "x" else f"{name}_offsets"
            if self.draw.layout != "sampled":
                yield "ends" if name == "x" else f"{name}_ends"
            yield name
            if name == "x" and self.draw.gaps:
                yield "valid"

    def _written(self) -> Iterator[str]:
        if self.draw.layout == "sampled":
            if self.draw.gaps:
                yield "exists"
        else:
            yield from ("starts", "stamps")
            if self.draw.layout == "keyed":
                yield "keys"
        for k in range(len(self.draw.aggregates)):
            yield f"out{k}"

    def _all_steps(self) -> list[Steps]:
        named = enumerate(self.draw.aggregates)
        return [_steps(k, aggregate, self.draw) for k, aggregate in named]

    def _begin(self) -> str:
        lines = [line for steps in self._all_steps() for line in steps.begin]
        return "\n".join(["n = 0", *lines])

    def _enter(self, row: str) -> str:
        lines = [line for steps in self._all_steps() for line in steps.enter]
        return self._at_row(row, [*lines, "n += 1"])

    def _leave(self, row: str) -> str:
        lines = [line for steps in self._all_steps() for line in steps.leave]
        return self._at_row(row, [*lines, "n -= 1"])

    def _at_row(self, row: str, lines: Lines) -> str:
        """Do something with the value of a row, if it has one."""
        body = "\n".join([f"r = {row}", "v = x[r]", *lines])
        if self.draw.gaps:
            return f"if valid[{row}]:\n{indent(body, '    ')}"
        return body

    def _values(self, at: str, state: str = "") -> str:
        """Write the values of a result at `at`, at which `state` is that of `y`."""
        values = [steps.value for steps in self._all_steps()]
        match self.draw.use:
            case "deviation":
                values = [f"x[i] - {values[0]}"]
            case "above":
                values = [f"x[i] > {values[0]}"]
            case "beside":
                values = [f"{values[0]} - y[{state}]"]
        return "\n".join(f"out{k}[{at}] = {value}" for k, value in enumerate(values))

    def _cell(self, at: str) -> str:
        """Write a cell, if there is a result."""
        written = self._values(at, "i // ratio")
        if not self.draw.gaps:
            return written
        needed = "n > 0"
        if self.draw.use in ("deviation", "above"):
            needed += " and valid[i]"
        return f"exists[{at}] = {needed}\nif n > 0:\n{indent(written, '    ')}"

    def _rolling_samples(self) -> str:
        leaving = indent(self._leave("i - size"), "    ")
        each = f"{self._enter('i')}\nif i >= size:\n{leaving}\n{self._cell('i')}"
        loop = f"for i in range(len(x)):\n{indent(each, '    ')}"
        return f"{self._begin()}\n{loop}\nreturn len(x)"

    def _hopping_samples(self) -> str:
        leaving = indent(self._leave("i - size"), "    ")
        each = f"{self._enter('i')}\nif i >= size:\n{leaving}"
        inner = f"for i in range(low, low + step):\n{indent(each, '    ')}"
        block = f"{inner}\ni = low + step - 1\n{self._cell('low // step')}"
        loop = f"for low in range(0, len(x), step):\n{indent(block, '    ')}"
        return f"{self._begin()}\n{loop}\nreturn len(x) // step"

    def _sample_panes(self) -> str:
        inner = f"for i in range(low, low + size):\n{indent(self._enter('i'), '    ')}"
        block = f"{self._begin()}\n{inner}\n{self._cell('low // size')}"
        loop = f"for low in range(0, len(x), size):\n{indent(block, '    ')}"
        return f"{loop}\nreturn len(x) // size"

    def _of_key(self) -> str:
        """The results of the rows from `first` to `stop`: those of a key, or all."""
        rows = "first, stop = 0, len(x)"
        if self.draw.layout == "keyed":
            rows = "first, stop = offsets[key], offsets[key + 1]"
        body = self._event_panes()
        if self.draw.window == "rolling":
            body = self._rolling_events()
        return f"{rows}\nif first < stop:\n{indent(body, '    ')}"

    def _event_panes(self) -> str:
        inner = f"{self._enter('i')}\ni += 1"
        block = "\n".join(
            [
                "low = (ends[i] - 1) // size * size",
                "high = low + size",
                self._begin(),
                "while i < stop and ends[i] <= high:",
                indent(inner, "    "),
                self._result("max(low, domain)", "high"),
            ]
        )
        head = "i = first\ndomain = ends[first] - 1\nwhile i < stop:\n"
        return head + indent(block, "    ")

    def _rolling_events(self) -> str:
        leaving = f"{self._leave('drop')}\ndrop += 1"
        lines = [self._enter("i")]
        if self.draw.ties:
            lines += ["if i + 1 < stop and ends[i + 1] == ends[i]:", "    continue"]
        lines += ["while ends[drop] <= ends[i] - size:", indent(leaving, "    ")]
        begin = ["drop = first", self._begin()]
        if self.draw.use == "beside":
            keyed = self.draw.layout == "keyed"
            begin.append("j = y_offsets[key]" if keyed else "j = 0")
            last = "y_offsets[key + 1]" if keyed else "len(y)"
            lines += [f"while j + 1 < {last} and y_ends[j + 1] <= ends[i]:"]
            lines += ["    j += 1"]
        lines.append(self._result("ends[i] - 1", "ends[i]"))
        each = indent("\n".join(lines), "    ")
        return "\n".join([*begin, f"for i in range(first, stop):\n{each}"])

    def _result(self, start: str, end: str) -> str:
        lines = [f"starts[count] = {start}", f"stamps[count] = {end}"]
        if self.draw.layout == "keyed":
            lines.append("keys[count] = key")
        return "\n".join([*lines, self._values("count", "j"), "count += 1"])


def loop_of(draw: Draw) -> Loop:
    """The loop for a draw, and how it is called."""
    source = Source(draw)
    names: dict[str, object] = {"np": np}
    exec(source.text(), names)  # noqa: S102 - our own text
    fill = cast(Fill, names["loop"])
    match draw.layout:
        case "sampled":
            period = 1 if draw.window == "rolling" else draw.step
            gaps = draw.gaps > 0
            return OnGrid(fill, draw.types, source.sizes(), period, gaps=gaps)
        case "point":
            return AtTimes(fill, draw.types, source.sizes())
        case "keyed":
            return ByKey(fill, draw.types, source.sizes())

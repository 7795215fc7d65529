"""The table of all workloads, in text: a line as soon as it is measured, means last."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from bench.measure import ONE_THREAD, Measured, tiltpy
from bench.peers.registry import with_grouping, with_times
from bench.timing import Spread, geometric_mean

NAME = 26
CELL = 13
RATIO = 9
COMPARED = ("C", "plain C", "Numba", "Polars")
"""The peers that have a column for the ratio."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its columns, and the lines so far.

    `bandwidth`: the bytes that one core reads and writes in a second, if it is known.
    """

    workers: tuple[int, ...]
    peers: tuple[str, ...]
    bandwidth: float | None
    lines: list[Measured] = field(default_factory=list)

    def header(self) -> str:
        """The names of the columns."""
        names = [*(tiltpy(n) for n in self.workers), *self.peers]
        ratios = [name for name, _, _ in self._ratios()]
        last = ["B/event"] + ["of mem"] * (self.bandwidth is not None)
        return _line("million events/s", names, [*ratios, *last])

    def add(self, found: Measured) -> Iterator[str]:
        """The lines of a workload."""
        self.lines.append(found)
        names = [*(tiltpy(n) for n in self.workers), *self.peers]
        cells = [self._cell(found, name) for name in names]
        ratios = self._ratios_of(found, str)
        yield _line(found.workload.name, cells, [*ratios, *self._traffic(found)])
        timed = [with_times(name) for name in names]
        if timed[0] in found.turns:
            yield _line("  + start, end", [self._cell(found, n) for n in timed], [])
        grouping = [with_grouping(name) for name in names]
        if grouping[0] in found.turns:
            cells = [self._cell(found, name) for name in grouping]
            yield _line("  + grouping", cells, self._ratios_of(found, with_grouping))

    def means(self) -> Iterator[str]:
        """The geometric means of the ratios: of each kind of workload."""
        for kind in ("sampled", "irregular", "keyed"):
            lines = [one for one in self.lines if _kind(one) == kind]
            ratios = [_mean(lines, *pair) for _, *pair in self._ratios()]
            if any(ratios):
                cells = [""] * (len(self.workers) + len(self.peers))
                yield _line(f"mean, {kind}", cells, ratios)

    def notes(self) -> Iterator[str]:
        """Say what the lines leave out."""
        for found in self.lines:
            for peer, wrong in found.unlike.items():
                yield f"{peer} does not agree on {found.workload.name}: {wrong}"
        fewer = {n: most for one in self.lines for n, most in one.fewer.items()}
        for peer, most in fewer.items():
            yield f"* {peer}: over {most:,} events only"

    @property
    def agrees(self) -> bool:
        """Tell whether every peer has the result of tiltpy."""
        return not any(found.unlike for found in self.lines)

    def _ratios(self) -> list[tuple[str, str, str]]:
        """List what is compared: the column's name, and the two runners."""
        one, most = tiltpy(self.workers[0]), tiltpy(self.workers[-1])
        found = [
            (f"/{peer}", one if peer in ONE_THREAD else most, peer)
            for peer in self.peers
            if peer in COMPARED
        ]
        if len(self.workers) > 1:
            found.append((f"{self.workers[-1]}/{self.workers[0]}", most, one))
        return found

    def _ratios_of(self, found: Measured, more: Callable[[str], str]) -> list[str]:
        pairs = ((more(ours), more(theirs)) for _, ours, theirs in self._ratios())
        return [_ratio(found.ratio(*pair)) for pair in pairs]

    def _cell(self, found: Measured, name: str) -> str:
        if name in found.unlike:
            return "wrong"
        if name not in found.turns:
            return ""
        return found.rate(name).show() + "*" * (name in found.fewer)

    def _traffic(self, found: Measured) -> list[str]:
        """Bytes moved, and the share of the bandwidth that one worker makes of it."""
        cells = [f"{found.bytes:.1f}"]
        if self.bandwidth is not None:
            moved = 1e6 * found.rate(tiltpy(self.workers[0])).median * found.bytes
            cells.append(f"{100 * moved / self.bandwidth:.0f} %")
        return cells


def _kind(found: Measured) -> str:
    family = found.workload.family
    return family if family in ("sampled", "keyed") else "irregular"


def _ratio(spread: Spread | None) -> str:
    return "" if spread is None else f"{spread.median:.2f}"


def _mean(lines: Sequence[Measured], ours: str, theirs: str) -> str:
    ratios = [one.ratio(ours, theirs) for one in lines]
    known = [ratio.median for ratio in ratios if ratio is not None]
    return f"{geometric_mean(known):.2f}" if known else ""


def _line(name: str, cells: Sequence[str], ratios: Sequence[str]) -> str:
    text = f"{name:<{NAME}}" + "".join(f"{cell:>{CELL}}" for cell in cells)
    return (text + "".join(f"{ratio:>{RATIO}}" for ratio in ratios)).rstrip()

"""The table of the workloads off the path: rates by processor time, for one worker."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from bench.compare_offpath import TILTPY, Comparison
from bench.timing import geometric_mean

NAME, CELL = 34, 14


@dataclass(frozen=True, slots=True)
class OffPathTable:
    """Its peers, and the lines so far."""

    peers: tuple[str, ...]
    lines: list[Comparison] = field(default_factory=list)

    def header(self) -> str:
        """The names of the columns."""
        return _line("million events/s of CPU", [TILTPY, *self.peers, "/best"])

    def add(self, found: Comparison) -> str:
        """The line of a workload."""
        self.lines.append(found)
        ratio = found.ratio()
        cells = [_cell(found, name) for name in (TILTPY, *self.peers)]
        cells.append("" if ratio is None else f"{ratio.median:.2f}")
        return _line(found.workload.name, cells)

    def means(self) -> Iterator[str]:
        """The geometric mean of the ratios of each group, and how many are slower."""
        for group in ("sampled", "irregular", "keyed", "folds", "drawn", "all"):
            some = [one for one in self.lines if group in (one.workload.group, "all")]
            ratios = [ratio.median for one in some if (ratio := one.ratio())]
            if ratios:
                slower = sum(ratio < 1 for ratio in ratios)
                half = sum(ratio < 0.5 for ratio in ratios)
                yield (
                    f"mean, {group}: {geometric_mean(ratios):.2f} of the best peer; "
                    f"of {len(ratios)}, {slower} slower than it, {half} than half of it"
                )

    def notes(self) -> Iterator[str]:
        """List the peers that do not agree."""
        for one in self.lines:
            for peer, difference in one.wrong.items():
                yield f"{peer} does not agree on {one.workload.name}: {difference}"

    @property
    def agrees(self) -> bool:
        """Tell whether every peer has the result of tiltpy."""
        return not any(one.wrong for one in self.lines)


def _cell(found: Comparison, name: str) -> str:
    if name in found.wrong:
        return "wrong"
    return found.rate(name).show() if name in found.turns else ""


def _line(name: str, cells: Sequence[str]) -> str:
    return (f"{name:<{NAME}}" + "".join(f"{cell:>{CELL}}" for cell in cells)).rstrip()

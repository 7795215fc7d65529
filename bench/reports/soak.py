"""`python -m bench soak`: a session that runs long, in memory that stays the same.

Rows are made block by block, 30 % of them moved back, and pushed. At intervals a line
says how many bytes the saved session has, and how much memory the process.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import tiltpy as tilt
from bench.measure import BenchOptions
from bench.workloads.disorder import Disorder
from bench.workloads.live import ARRIVALS, LIVE, Frames, LiveWorkload
from bench.workloads.streams import Workload

ROWS = 100_000
"""Rows of a push."""
LINES = 10
"""The lines of a workload."""
MEMORY = Path("/proc/self/status")


def lines(chosen: Sequence[Workload] | None, options: BenchOptions) -> Iterator[str]:
    """Lines for each live workload: rows so far, bytes of the state, memory."""
    del chosen
    yield f"{'':<24}{'rows':>14}{'late':>8}{'bytes of state':>18}{'MB resident':>14}"
    for workload in LIVE:
        for rows, late, state in soak(workload, ARRIVALS[1], options):
            yield (
                f"{workload.name:<24}{rows:>14,}{late:>8,}{state:>18,}{_resident():>14}"
            )


def soak(
    workload: LiveWorkload, disorder: Disorder, options: BenchOptions
) -> Iterator[tuple[int, int, int]]:
    """Push rows; at intervals, how many so far, how many were late, bytes of state."""
    blocks = max(LINES, options.events // ROWS)
    query = tilt.parse(workload.query, name=workload.name)
    way = tilt.ingress(reorder=disorder.reorder)
    ways: dict[str, Any] = {each.name: way for each in query.query.inputs}
    with query.live(**ways) as live:
        for block in range(blocks):
            frames = workload.make(ROWS, disorder, options.seed + block)
            live.push(**_move(frames, block))["out"].final.to_arrow()
            if (block + 1) * LINES // blocks > block * LINES // blocks:
                late = sum(counts.late for counts in live.counts.values())
                yield (block + 1) * ROWS, late, len(live.save())


def _move(frames: Frames, block: int) -> Frames:
    """Move the rows of a block behind those of the blocks before."""
    moved = {}
    for name, frame in frames.items():
        stamps = frame["ts"].to_numpy() + np.int64(block * len(frame))
        moved[name] = frame.set_column(0, "ts", pa.array(stamps))
    return moved


def _resident() -> str:
    """Say how much memory the process has, in MB, where the system tells."""
    if not MEMORY.exists():
        return "?"
    text = MEMORY.read_text(encoding="ascii").partition("VmRSS:")[2]
    return str(int(text.split()[0]) // 1024)

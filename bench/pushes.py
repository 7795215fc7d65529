"""Rows pushed into a session, piece by piece."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

import tiltpy as tilt
from bench.workloads.disorder import Disorder
from bench.workloads.live import Frames


def push_all(
    query: tilt.CompiledQuery, pieces: Sequence[Frames], disorder: Disorder
) -> tuple[list[pa.Table], object]:
    """Push pieces into a session, and finish it; what is final, and through when."""
    ways: dict[str, Any] = {
        name: tilt.ingress(reorder=disorder.reorder) for name in pieces[0]
    }
    with query.live(**ways) as live:
        tables = [live.push(**piece)["out"].final.to_arrow() for piece in pieces]
        assert all(counts.late == 0 for counts in live.counts.values())
        last = live.finish()["out"]
        return [*tables, last.final.to_arrow()], last.through


def cut(frames: Frames, size: int) -> list[Frames]:
    """Cut frames into pieces that have so many rows together."""
    each = max(1, size // len(frames))
    count = min(map(len, frames.values()))
    return [
        {name: frame.slice(first, each) for name, frame in frames.items()}
        for first in range(0, count, each)
    ]

"""`bench reorder` compares what buffers release, and measures both."""

import re

import numpy as np
import pytest

from bench.measure import BenchOptions
from bench.peers.two_buffers import TwoBuffers
from bench.reports import reorder
from bench.workloads.disorder import DISORDERS, Disorder
from tiltpy.runtime.arrivals.waiting_rows import TimedRows

OPTIONS = BenchOptions(6_000, 2, 1, (1,), ())
IN_ORDER, MOVED, SERVERS, _ = DISORDERS


@pytest.mark.parametrize("rows", [100, 3_000])
@pytest.mark.parametrize("disorder", [IN_ORDER, MOVED, SERVERS])
def test_both_buffers_release_the_same_rows(disorder: Disorder, rows: int) -> None:
    line = reorder._line(disorder, rows, OPTIONS)
    assert len(re.findall(r"±", line)) == 5, line


def test_other_rows_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unstable(TwoBuffers):
        """Releases rows the wrong way round."""

        def release(self, time: int) -> list[TimedRows]:
            return [
                TimedRows(piece.starts, piece.rows.take(np.arange(len(piece))[::-1]))
                for piece in super().release(time)
            ]

    monkeypatch.setitem(reorder.BUFFERS, "two buffers", Unstable)
    line = reorder._line(MOVED, 3_000, OPTIONS)
    assert line.endswith("release other rows")


def test_servers_and_phones_are_out_of_order() -> None:
    for disorder in DISORDERS[1:]:
        starts = disorder.draw(50_000, np.random.default_rng(1))
        assert len(starts) == 50_000
        assert (np.diff(starts) < 0).any()

"""The peers for keys in Polars: rolling expressions `over` the key.

They are fastest where rows lie key after key, and so they do in the frame, unless those
of all keys are wanted `mixed`, in the order in which they come.
"""

import polars as pl

from bench.outcome import Outcome
from bench.peers.grouped import in_order
from bench.peers.peer import Peer
from bench.workloads.keyed import RECENT, TEN_DAYS
from bench.workloads.streams import Stream, Workload

X = pl.col("x")
KEY = pl.col("k")


def _rolling_fraud() -> pl.Expr:
    span = f"{TEN_DAYS}i"
    mean = X.rolling_mean_by("end", span, closed="left")
    std = X.rolling_std_by("end", span, closed="left", ddof=0)
    return X.gt(mean.over(KEY) + 3 * std.over(KEY))


def _rolling_means() -> pl.Expr:
    short = X.rolling_mean(20, min_samples=1)
    return (short > X.rolling_mean(50, min_samples=1)).over(KEY)


ASKED = {
    "fraud": _rolling_fraud(),
    "mean": X.rolling_mean_by("end", f"{RECENT}i").over(KEY),
    "trading": _rolling_means(),
}


def peer(workload: Workload, stream: Stream, *, mixed: bool = False) -> Peer:
    """A workload's expression over a frame that is there already."""
    frame = pl.DataFrame(
        {
            "k": pl.Series(stream.keys),
            "end": pl.Series(stream.ends),
            "x": pl.Series(stream.values),
        }
    )
    if not mixed:
        frame = frame.sort("k", "end")
    expressions = (KEY, pl.col("end"), ASKED[workload.base].alias("out"))
    return Peer(lambda: frame.select(*expressions), _outcome)


def _outcome(found: pl.DataFrame) -> Outcome:
    return in_order(found.to_arrow())

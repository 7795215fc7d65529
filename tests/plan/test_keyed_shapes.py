"""The random queries by key take every way: how often is printed with `-s`."""

from tests.plan.keyed_shapes import count_ways
from tests.semantics.test_keyed_properties import CASES

SEEDS, DEEP_SEEDS = 40, 1_000
SOON: tuple[tuple[str, int], ...] = (
    ("folds", 34), ("grids", 8), ("regular", 3), ("regular", 8), ("regular", 15),
    ("rows", 13), ("texts", 7), ("texts", 25),
)  # fmt: skip
"""Cases that were found to take all ways together, as in `test_shapes`."""

REACHED = (
    "an input without keys",
    "several inputs",
    "several outputs",
    "nothing wanted",
    "several batches",
    "batches, and keys alone",
    "batch: one call",
    "batch: several calls",
    "batch: one loop",
    "batch: several loops",
    "batch: sweep",
    "batch: an object that is no output",
    "batch: a snapshot in every cell",
    "batch: a key without rows in an input",
    "batch: sampled rows",
    "batch: contiguous rows",
    "batch: intervals rows",
    "batch: overlapping rows",
    "batch: cells behind a seam",
    "grid batch: one key",
    "grid batch: several keys",
    "grid batch: sampled rows",
    "grid batch: a snapshot in every cell",
    "grid batch: snapshots of a cell",
    "grid batch: snapshots longer than a cell",
    "grid batch: structs",
    "grid batch: map",
    "grid batch: stencil",
    "job: one worker",
    "job: several workers",
    "job: vector kernel",
    "vector kernel called",
    "folded without grouping",
)


def test_random_queries_by_key_take_every_way(*, deep: bool) -> None:
    if deep:
        drawn = ((kind, n) for kind in CASES for n in range(DEEP_SEEDS))
        counts = count_ways(CASES[kind](n) for kind, n in drawn)
    else:
        others = ((kind, n) for kind in CASES for n in range(seeds_of(kind)))
        soonest = dict.fromkeys((*SOON, *others))
        counts = count_ways((CASES[kind](n) for kind, n in soonest), REACHED)
    for way, count in sorted(counts.items()):
        print(f"{count:6} {way}")
    missing = [way for way in REACHED if not counts[way]]
    assert not missing, f"not reached: {missing}"


def seeds_of(kind: str) -> int:
    return {"grids": 10, "regular": 20}.get(kind, SEEDS)

"""Every number that decides between strategies, with its unit and its source."""

from dataclasses import dataclass

from tiltpy.abi.signature import LANES


@dataclass(frozen=True, slots=True)
class Costs:
    """The thresholds at which one strategy becomes cheaper than another.

    Nothing here changes what a result means; some decide in which order floats are
    added. Beside each number stands its unit, and the workload of `python -m bench`
    that set it.
    """

    # Sweep kernels: one visit a change

    shortest_tumbling: int = 32
    """Ticks of a window that is folded anew over its rows, at least (tumbling)."""
    long_event_window: int = 64
    """Ticks of a window from which on a scan of events beats a visit to each tick
    (sliding sum, points)."""
    long_moment_window: int = 64
    """Ticks of a window from which on its moments are better swept edge to edge
    (z-score, contiguous)."""
    longest_swept_tree: int = 8 * LANES
    """Ticks of a window of sums from which on it is swept edge to edge: up to that the
    vector kernel makes it by doubling (sliding sum, contiguous)."""
    run_visits: int = 64
    """Visits of a merge or edge scan between two looks at how many rows there still are
    (join, contiguous)."""
    leap_rows: int = 3
    """Rows that may leave a window at once without a branch, where a loop skips times
    (trading, points)."""
    caught_up_rows: int = 2
    """Rows that may leave at once without a branch where one comes at a time: mostly as
    many leave (sliding sum, points)."""

    # Vector kernels: one visit a vector of cells

    tile: int = 4096
    """The finest cells of a tile, at least: a few tile buffers fit the cache (RSI)."""
    largest_tile: int = 1 << 20
    """The finest cells of a tile, at most, where anything is materialised."""
    furthest_densified: int = 1 << 16
    """Cells around a tile of densified rows, at most: they are moved on with each tile,
    and a visit to each row costs less from about here on (trading, contiguous)."""
    cells_per_row: int = 16
    """Cells that a row may have, on the average, for a visit to each of them to pay off
    (sliding sum, sparse)."""
    ticks_apart: int = 3
    """Ticks to a row, on the average, from which on a visit to each row may take less
    than one to each tick (z-score, contiguous)."""
    long_chain: int = 4
    """Objects of a loop, each made of the one before, that no processor looks through
    (RSI)."""
    longest_tree: int = 8 * LANES
    """Cells of a window that is made by doubling alone (sliding sum)."""
    longest_narrow_tree: int = 4096
    """Cells of a window of sums in single precision that is made by doubling alone:
    what they look back at stays in near caches (sliding sum)."""
    longest_network: int = 48
    """Cells of a window that is sorted anew for each cell (median)."""
    masked_variance_cells: int = 2 * LANES
    """Cells of a window whose variance is made of its values, not of states, where some
    may be null (z-score)."""
    history_vectors: int = 8
    """Vectors of an object's past that are kept in registers; older ones are in memory
    (trading)."""

    # Panes

    strided_pane: int = 32
    """Cells of a strided window from which on each is folded by itself, lane by lane
    (tumbling)."""
    smallest_pane: int = 16
    """Cells of the panes that overlapping windows share, at least (Yahoo)."""
    straight_pane: int = 8 * LANES
    """Cells of a pane that is folded without a loop (tumbling)."""

    # Memory

    streamed_snapshots: int = 1 << 18
    """Snapshots of an output from which on non-temporal stores pay off (select)."""
    staging_buffer: int = 512
    """Snapshots that gather before they are stored so (where)."""
    prefetch_bytes: int = 1 << 13
    """Bytes ahead of a loop that are prefetched (tumbling)."""
    few_strings: int = 16
    """Strings of an `in` that are compared one by one: LLVM takes half a minute for a
    thousand of them, more are looked up."""


DEFAULT_COSTS = Costs()

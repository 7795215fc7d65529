"""Every threshold of plans and runs, with its unit and its source.

They decide between strategies, between kernels, and how long chunks and batches are.
"""

from dataclasses import fields

from tiltpy.abi.signature import LANES
from tiltpy.lean_dataclass import dataclass


class _Thresholds:
    """Numbers of which most have their defaults: `repr` has the others."""

    __slots__ = ()

    def __repr__(self) -> str:
        default = type(self)()
        changed = [
            f"{name}={value!r}"
            for name in (field.name for field in fields(self))  # type: ignore[arg-type]
            if (value := getattr(self, name)) != getattr(default, name)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


@dataclass(frozen=True, slots=True, repr=False)
class RunCosts(_Thresholds):
    """Costs of a run over time: which kernels it uses, and how long chunks are."""

    # Which kernels (measured by the time to compile and to plan them)

    vector_rows: int = 3 << 12
    """Rows of all inputs from which on a vector kernel is compiled as well: below, one
    kernel computes all of a run, which takes less time to plan (10,000 samples)."""
    baseline_rows: int = 1 << 12
    """Rows for the sweep kernel below which a whole run has the baseline kernel, which
    takes half the time to compile."""
    unpaid_visits: int = 1 << 16
    """Visits of a vector kernel beyond `cells_per_row` that take no time worth a look
    (not measured)."""

    shared_result_rows: int = 1 << 19
    """Rows of a result from which on workers share making its table: it takes them half
    a millisecond, starting a thread a tenth (not measured by a workload)."""

    portion_rows: int = 1 << 17
    """Rows of a portion of a pass over rows, at least, where threads share it: a pass
    takes a nanosecond a row, to wake a thread 20 us (keys not bound)."""

    single_call_rows: int = 1 << 12
    """Rows of all inputs up to which a session computes what is final with one call of
    a kernel: planning a run takes longer (pushes of 10 rows)."""
    linear_call_rows: int = 1 << 15
    """Rows for one call where all loops of the kernel are linear: it takes half a
    millisecond, which no worker would make shorter (pushes of 5,000 rows)."""
    lone_call_rows: int = 1 << 20
    """Rows for one call of linear loops where there is one worker: with nobody to share
    chunks with, it need not make any (pieces)."""

    # Chunks: a call costs up to 100 us, a chunk has about a millisecond of work

    chunk_work: int = 1 << 21
    """Rows of all inputs, or cells, in a chunk, at most."""
    ranked_chunk_work: int = 1 << 17
    """Rows or cells in a chunk, at most, where a loop keeps structures of windows, 100
    bytes a row: so they stay in the caches (median)."""
    least_chunk_work: int = 1 << 16
    """Rows or cells in a chunk, at least, if there are fewer than `enough_chunks`."""
    enough_chunks: int = 12
    """Chunks that several workers can share well: one alone has no need of them, and
    takes half the time for a million rows without (session start)."""
    few_chunks: int = 3
    """Chunks of little work up to which starting another thread takes longer."""
    most_chunks: int = 1 << 15
    """Chunks of a run: more would take longer to start than the work in them."""
    longest_vector_chunk: int = 1 << 24
    """Ticks beyond which a chunk for a vector kernel is cut: it polls no stop flag."""
    halos: int = 8
    """How many times the visits of its halo a chunk makes, at least."""
    repeated_visits: int = 1 << 26
    """Visits of halos that a run makes where the caller gives the length of chunks:
    where that would be more, and more than all others, chunks are longer."""
    overfull: int = 4
    """How many times the most work a chunk may have before it is cut."""
    sampled_chunks: int = 16
    """Chunks whose work is bounded to estimate that of all."""

    # Chunks of windows that fold on, which go on from the states before them

    warmup_rows: int = 1 << 14
    """Rows before a chunk that are folded once more to guess its first states, where
    the rows decide when a fold forgets (not measured)."""
    most_warmup_rows: int = 1 << 16
    """Rows from which the first states of a chunk are guessed, at most."""
    warmup_share: int = 1 << 4
    """Rows of a chunk for each that is folded once more, at least (biquad of rows)."""
    wrong_guesses: int = 2
    """Guesses in a row that were wrong, after which there are no more."""
    carried_chunks: int = 1 << 8
    """Chunks that go on from states, at most: each is prepared by itself."""

    # Rounds of chunks, prepared together: preparing one between kernels costs 10 %

    round_chunks: int = 64
    """Chunks in a round: few enough for an interrupt to be heard in between."""
    round_snapshots: int = 1 << 23
    """Snapshots that a round of several chunks may have."""
    column_chunks: int = 12
    """Chunks from which on columns are prepared in less time than ints one by one."""
    memoized_columns: int = 4
    """Columns of chunks that are remembered, at most."""

    # Work in the caller's thread: to hand it over takes 50 to 100 us

    quick_time: int = 10**8
    """Nanoseconds that kernels may run in the caller's thread."""
    vector_visit_time: int = 50
    """Nanoseconds that a visit of a vector kernel takes for an output, at most: its
    windows are folded in lanes, pane by pane or as they slide, and those folded anew
    are short."""
    quick_rows: int = 1 << 15
    """Rows below which a step over all of them takes few milliseconds, so that the
    caller's thread takes it: to wake another takes a tenth (frames of 10,000 rows)."""
    known_rows: int = 1 << 8
    """Rows that have been read before count as one: only passes in machine code are
    left."""
    known_keyed_rows: int = 1 << 5
    """Rows by key that have been read by the same keys count as one: to fold them takes
    at most 100 ns a row."""
    announced_visits: int = 10**9
    """Visits of a loop beyond which a run warns: tens of seconds, on the average."""


@dataclass(frozen=True, slots=True, repr=False)
class KeyCosts(_Thresholds):
    """Costs by key: what computes the rows of a key, and how many keys share a call."""

    many_rows: int = 1 << 15
    """Rows of a key from which on it is not concatenated with others. A vector kernel
    must serve as many in all."""
    shared_rows: int = 1 << 21
    """Rows, or cells of a loop over all of them, from which on a key is a run of its
    own, whose chunks all workers share. To start one takes as long as 10^5 rows: 100
    keys of 40,000 rows would take 3 to 5 times as long (sessions, filters)."""
    batch_rows: int = 1 << 17
    """Rows in a batch of keys, at most: so that its arrays stay in the caches."""
    batch_keys: int = 3 << 10
    """Keys in a batch of calls, at most."""
    loop_starts: int = 3 << 7
    """Loops that the calls of a batch start, at most. Of keys that would start more the
    rows are concatenated: 4 ns a row the first time, 0.45 to 0.7 of the time from then
    on (sessions, means of an hour). Some 500 rows of a key hide the start of its loops
    (as-of by 500 symbols)."""
    cut_loop_starts: int = 5 << 8
    """Such loops where results have times of their own, which are cut to their keys and
    shifted: 3 ns each, so that 100 rows of a key hide a start (filters by 10,000)."""
    relaid_loop_starts: int = 3 << 10
    """Such loops where rows change their layout, or windows restart with each key: a
    row costs up to twice as much (changes of rows until the next by 10,000 keys,
    running totals by 30,000)."""
    ranked_loop_starts: int = 3 << 13
    """Such loops where windows that restart rank their values: among those of all keys
    of a call (medians of all the past by 200,000 keys)."""
    few_rows: int = 1 << 4
    """Rows of each key of a range up to which vectors of events fold its windows anew,
    whatever their length (means of an hour by a million keys)."""
    mean_few_rows: int = 6
    """Rows of each key of such a range on the average, at most: to fold ten rows anew
    takes three times as long as to insert one and evict one (mean by 100,000 keys)."""
    joined_batches: int = 8
    """Batches that share a call, at most: to prepare one takes half a millisecond, as
    the caches then hold other things (sessions, session start by key)."""
    call_rows: int = 1 << 16
    """Rows of concatenated keys in a call, about: what its loops make for each other
    stays in the caches near the core (sessions)."""
    ranked_call_rows: int = 1 << 12
    """Such rows where windows rank their values (distinct values of 500 ticks by
    100,000 keys take 0.75 of the time, medians of all the past by 200,000 a half)."""
    kept_rows: int = 1 << 24
    """Rows of concatenated keys, at most, of which the shifted times are kept for the
    next run over the same rows, 16 bytes each (sessions take 0.8 of the time, panes by
    10 million keys 0.4)."""
    memoized_keys: int = 1 << 17
    """Keys of a run, at most, whose calls are memoized for the next one over the same
    rows: some 250 bytes each for an output."""
    shared_looks: int = 1 << 23
    """Rows of inputs without keys that all keys together look at, from which on objects
    that keys share are computed before them: two more kernels take 0.1 s to compile
    (windows over an index beside 30,000 keys)."""
    worker_calls: int = 4
    """Calls of concatenated keys for each of several workers, at least."""
    vector_rows: int = 1 << 8
    """Rows from which on a vector kernel may serve a key: it visits each key's halo,
    and leaves its edges to calls of the sweep kernel."""
    counted_rows: int = 1 << 11
    """Rows from which on a vector kernel that counts values may serve a key: its table
    is cleared for each, and a sweep counts nearly as fast (nunique of 100 by key)."""
    vector_speedup: int = 1 << 3
    """How many times as many rows a vector kernel visits in some time."""
    few_phases: int = 4
    """Regular rows of up to so many phases get a vector kernel for each."""


@dataclass(frozen=True, slots=True, repr=False)
class PreaggregationCosts(_Thresholds):
    """Costs of pre-aggregation by key and pane, and the portions that it takes."""

    least_rows: int = 1 << 12
    """Rows from which on its two kernels are worth compiling (not measured)."""
    entries_per_row: int = 4
    """Entries of matrices for each row, at most: to visit one takes a fraction of the
    time that it takes to group a row (Yahoo)."""
    merges_per_row: int = 16
    """Entries that are merged for each row, at most, several at once: where long
    windows hop by little. Samples by key are computed in less time than it takes to
    merge so many, once they are grouped."""
    memory_share: int = 4
    """The states of an output may take one part in so many of the memory."""
    sampled_rows: int = 1 << 12
    """Rows in each part of a sample of keys: the first ones, the last, and some all
    over."""
    call_rows: int = 1 << 18
    """Rows in a call, about."""
    block_cells: int = 1 << 18
    """Cells of all keys together that are computed at a time, about."""
    shared_cells: int = 1 << 20
    """Cells from which on workers share them."""
    many_keys: int = 1 << 14
    """Keys from which on their first and last panes are found pane by pane, of all keys
    at once (panes of 300,000 keys)."""
    searched_rows: int = 1 << 20
    """Rows that are searched together for the first event of each key."""
    rows_per_key: int = 64
    """Rows of each key in a part of a file, at least: the dictionary of keys takes 0.3
    us for each."""


@dataclass(frozen=True, slots=True, repr=False)
class SpanCosts(_Thresholds):
    """Costs of an out-of-core run: how much it reads and holds at a time."""

    row_copies: int = 8
    """How many times the rows of a span are in memory: as they came, decoded, in one
    piece with those before, while a kernel runs and while a file is written."""
    snapshot_copies: int = 5
    """How many times a span's snapshots are in memory."""
    held_copies: int = 3
    """How many times rows from earlier spans are in memory."""
    first_bytes: int = 1 << 22
    """Bytes of rows of the first span, when nobody knows how much comes out: spans grow
    from there. From 1 MB on, a filter in pieces of 100,000 rows takes 1.3 times as
    long, since short spans cost as many calls as long ones."""
    least_bytes: int = 1 << 16
    """Bytes of rows of a span, at least."""
    most_bytes: int = 1 << 26
    """Bytes of rows beyond which longer spans gain nothing."""
    most_file_bytes: int = 1 << 23
    """Bytes of rows without keys from files beyond which longer spans cost more: what
    is read takes fresh memory, which is dearer than calls (files)."""
    held_share: int = 4
    """Bytes of rows of a span for each that is held for it, at least: it is copied."""
    batch_rows: int = 1 << 20
    """Rows that are read at once, at most."""
    apart_rows: int = 1 << 17
    """Rows of a batch from which on it is read by itself: joining it with others costs
    a copy, reading it a fifth of a millisecond (pieces)."""
    grouped_rows: int = 1 << 16
    """Rows of batches that are joined before they are copied behind others, at most: to
    copy them twice in the caches takes less than to look at each (pieces)."""
    shown_rows: int = 1 << 10
    """Rows of a batch that come before the others, beside as many as are held."""
    shown_share: int = 4
    """Rows of a batch for each that comes before the others, at least (pieces)."""
    waiting_batches: int = 64
    """Full batches of rows that may have one stamp."""
    long_groups: int = 1 << 9
    """Rows of a key on average from which on they move as a whole: a slice of a column
    takes as long as a hundred rows that move one by one (pieces)."""
    string_bytes: int = 16
    """The bytes that a string is taken to have where nobody has seen it."""
    file_rows: int = 1 << 20
    """Rows of Parquet files from which on a run from files to files reads them piece by
    piece: fewer take less time than a second kernel (files)."""
    fold_bytes: int = 1 << 27
    """Bytes of which the states of windows by key may take a share where files are
    folded as they are read, whatever memory a stream has."""


@dataclass(frozen=True, slots=True, repr=False)
class ReadingCosts(_Thresholds):
    """Costs of reading and grouping inputs, and of writing results."""

    file_buffer: int = 1 << 20
    """Bytes that are read from a column of a file at once."""
    row_group: int = 1 << 18
    """Rows that are written at once, at least: smaller row groups are slow to read."""
    sparse_samples: int = 2
    """Samples with holes stay samples where at least one in so many is there."""
    strings_per_row: int = 2
    """Strings for each row beyond which a dictionary is compacted, where rows are
    kept."""
    memoized_dictionaries: int = 8
    """Merges of a dictionary that it remembers, at most."""
    memoized_results: int = 8
    """Results about an immutable frame that its binding remembers, at most."""
    code_run: int = 8
    """Average length from which on runs of one code are moved as a whole."""
    merged_runs: int = 8
    """Ordered runs of times below which they are merged where they do not fit beside
    row numbers: two sorts take less than three merges (mean in order of time)."""
    counted_codes: int = 1 << 19
    """Codes up to which rows are placed by their counts, in 1/3 to 3/4 of the time of a
    sort (mean by 10,000 keys, not bound), if there are two rows of each."""
    hash_sample: int = 1 << 12
    """Rows of a sample that tells whether integers far apart are few."""
    rows_per_hashed: int = 16
    """Rows of each distinct integer from which on hashing beats sorting rows."""
    most_hashed: int = 1 << 17
    """Distinct integers up to which it does: of more the table is in no cache (14 ns a
    row for 100,000, 60 for a million; a sort takes 40)."""
    sampled_keys: int = 1 << 15
    """Rows that are sampled to estimate how many keys there are."""


@dataclass(frozen=True, slots=True, repr=False)
class MemoryCosts(_Thresholds):
    """Costs of memory: where arrays come from, and which of them stay in the caches."""

    pooled_bytes: int = 1 << 17
    """Bytes of an array from which on it comes from the pool; smaller ones are
    Arrow's."""
    short_bytes: int = 1 << 14
    """Bytes of an output of a run up to which it lies in one piece of memory with the
    others, which then goes with the last of them (50 means over 30 rows)."""
    huge_page_bytes: int = 1 << 22
    """Bytes of a region from which on huge pages are asked for."""
    idle_bytes: int = 1 << 30
    """Bytes of idle regions that the pool keeps at most, and never more than a quarter
    of the memory there is. The least recently used size is released first."""
    cache_block: int = 1 << 15
    """Items of a temporary that stays in the cache."""


@dataclass(frozen=True, slots=True, repr=False)
class Costs(_Thresholds):
    """The thresholds at which one strategy becomes cheaper than another.

    Nothing here changes what a result means; some decide in which order floats are
    added. Beside each number stands its unit, and the workload of `python -m bench` or
    the observation that set it.
    """

    # Sweep kernels: one visit a change

    shortest_tumbling: int = 32
    """Ticks of a window that is folded anew over its rows, at least (tumbling)."""
    recomputed_panes: int = 16
    """Overlapping windows that a row may be in, at most, where each looks at its rows
    as a whole and anew (median of 1000, hopping)."""
    recounted_panes: int = 4
    """Overlapping windows that a row may be in, at most, where each counts its
    different values anew (nunique of 1000, hopping)."""
    near_numbers: int = 64
    """Numbers near a quantile that are scanned to find the next one, about: in windows
    of more than four times as many rows (median)."""
    cursor_rows: int = 1 << 12
    """Rows of a window up to which cursors over its values find its quantiles, rather
    than counts by rank: of more it takes too long to collect those nearby, which drift
    away (median of a slow sine)."""
    long_event_window: int = 64
    """Ticks of the longest of several windows, from which on a scan of events that are
    some ticks apart beats a visit to each tick (trading, points)."""
    repeated_operations: int = 8
    """Operations in the values of events that readers compute anew, at most: up to here
    that is cheaper than to store and to load them (sessions)."""
    event_rows: int = 2 * LANES
    """Rows before an event that vectors of events read of a window, at most: up to here
    that is cheaper than to keep its state (mean of 3 rows)."""
    event_reads: int = 8 * LANES
    """Rows before an event that vectors of events read of all windows, at most, if any
    of them reads more than `dense_event_rows`: code is unrolled (compile time)."""
    event_moments: int = LANES // 2
    """Rows before an event of which such vectors compute moments, at most: each takes
    divisions (std of 3 rows)."""
    dense_event_rows: int = LANES
    """Rows before an event that such vectors read, at most, where events are at nearly
    all ticks: a visit to each tick is cheaper beyond (rows left out)."""
    long_moment_window: int = 16
    """Ticks of a window from which on its moments are better swept edge to edge
    (z-score, contiguous)."""
    longest_made_tree: int = 64
    """Ticks of a window from which on what is no sum is swept edge to edge: up to that
    the vector kernel makes it by doubling (max of rows until the next)."""
    longest_swept_tree: int = 8 * LANES
    """Ticks of a window of sums from which on it is swept edge to edge: up to that the
    vector kernel makes it by doubling (sliding sum, contiguous)."""
    run_visits: int = 64
    """Visits of a merge or edge scan between two looks at how many rows there still are
    (join, contiguous)."""
    leap_rows: int = 3
    """Rows that may leave a window at once without a branch, where a loop skips times
    (trading, points)."""
    tried_rows: int = 2
    """Rows of a window that are passed one by one before a vector of them is compared,
    where the window before had one at most (panes by 8 million keys: a cell takes 0.6
    of the time)."""
    cursor_leaps: int = 4
    """Rows that a cursor passes at once without a branch, in a loop over the rows of
    another input (as-of join of as many rows)."""
    hashed_rows: int = 128
    """Rows of a window up to which those whose key equals the present's are counted
    anew, in vectors, rather than by a hash table."""
    ranked_rows: int = 1024
    """Rows of a window up to which those before the present's value are counted anew,
    in vectors, rather than by a tree of ranks."""
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
    cells_per_row: int = 12
    """Cells that a row may have, on the average, for a visit to each of them to pay off
    (sliding sum, sparse)."""
    slow_cells: int = 4
    """Cells of a reader to a sample of an input, at least, that a vector takes from the
    few samples it passes, whatever the phase (two rates)."""
    merged_cells: int = 4
    """Cells of a reader to a sample of every input, from which on a merge of samples
    takes half the time or less (differences of samples, joins)."""
    ticks_apart: int = 3
    """Ticks to a row, on the average, from which on a visit to each row may take less
    than one to each tick (z-score, contiguous). Where a row has several windows it does
    from twice as many on (trading, points)."""
    carried_vectors: int = 12
    """Vectors that a loop takes from one round to the next, beyond which statements
    that do not depend on one another have loops of their own (10 means of a struct)."""
    long_chain: int = 4
    """Objects of a loop, each made of the one before, that no processor looks through
    (RSI)."""
    longest_tree: int = 8 * LANES
    """Cells of a window that is made by doubling alone (sliding sum)."""
    longest_narrow_tree: int = 4096
    """Cells of a window of sums in single precision that is made by doubling alone:
    what they look back at stays in near caches (sliding sum)."""
    guarded_window: int = 1 << 14
    """Cells of a window from which on a vector kernel computes all cells: a sweep would
    fold a whole window for those at the edges (sliding mean of 10^6 and 10^7)."""
    nested_window: int = 1 << 17
    """Cells of a window from which on states are not kept, which would leave the near
    caches (sliding mean of 10^6 and 10^7)."""
    short_block: int = 64
    """Vectors of the blocks that such a window is made of: their states are in the
    nearest cache."""
    longest_network: int = 48
    """Cells of a window that is sorted anew for each cell (median)."""
    longest_counted: int = 1 << 14
    """Cells of a window whose values are counted in lanes: beyond, the table leaves the
    near caches (nunique of 500, equal values in 5000)."""
    counted_entries: int = 1 << 12
    """Entries of such a table, at least: values whose keys lie no further apart are
    counted in place, where a short window needs fewer (nunique of 500)."""
    unrolled_scan: int = 64
    """Statements of a step of windows that fold on up to which a vector of steps has no
    loop: states stay in registers (EMA, RSI)."""
    masked_variance_cells: int = 28
    """Cells of a window of `f32` whose variance is made of its values, not of states,
    where some may be null: half as many of doubles, and of samples (std of 4 to 32)."""
    history_vectors: int = 2
    """Vectors of an object's past that are kept in registers, as far as there are any;
    older ones are in memory (trading, correlation 100)."""

    # Panes

    strided_pane: int = 32
    """Cells of a strided window from which on each is folded by itself, lane by lane
    (tumbling)."""
    smallest_pane: int = 16
    """Cells of the panes that overlapping windows share, at least (Yahoo)."""
    straight_pane: int = 8 * LANES
    """Cells of a pane that is folded without a loop (tumbling)."""

    # Memory

    streamed_bytes: int = 1 << 21
    """Bytes that a kernel stores to its outputs, from which on non-temporal stores pay
    off (select, 50 outputs)."""
    staging_buffer: int = 128
    """Snapshots that gather before they are stored so (where, sums with 1 % nulls)."""
    prefetch_bytes: int = 1 << 13
    """Bytes ahead of a loop that are prefetched (tumbling)."""
    few_strings: int = 16
    """Strings of an `in` that are compared one by one: LLVM takes half a minute for a
    thousand of them, more are looked up."""

    # Machine code

    optimized_lines: int = 30_000
    """Lines of LLVM IR up to which register allocation is optimized, in a time
    quadratic in the length of a function (72,000 lines: 3.6 s, without 0.3 s)."""

    quick_lines: int = 4_000
    """Lines of LLVM IR of a baseline kernel up to which its instructions are combined
    and register allocation is optimized: LLVM takes a fourth of the time for ten
    chained windows beyond, and a run over a thousand rows 80 us more."""

    shared_lines: int = 6_000
    """Lines of LLVM IR up to which lanes share what they compute twice. NewGVN looks at
    a value more often the more loops there are, and ends the process where it has
    looked a hundred times (12,500 lines: 50 maxima over 1,000 to 6,000 rows)."""

    inserted_rows: int = 1 << 7
    """Rows up to which they are sorted by insertion, rather than by a radix sort, whose
    digits alone take 20 us (medians of all the past by 10,000 keys of 100 rows: half of
    the time)."""
    radix_digits: int = 1 << 11
    """Values of a digit of a radix sort: six passes sort 64 bits, and their offsets fit
    the L1 cache (median)."""

    # What is decided when data are there

    run: RunCosts = RunCosts()
    keys: KeyCosts = KeyCosts()
    preaggregation: PreaggregationCosts = PreaggregationCosts()
    spans: SpanCosts = SpanCosts()
    reading: ReadingCosts = ReadingCosts()
    memory: MemoryCosts = MemoryCosts()


DEFAULT_COSTS = Costs()

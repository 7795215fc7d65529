"""The plan of a run over time: its kernels, and what sets the length of its chunks.

Decided from counts of rows and visits, before anything is computed. The sweep kernel
always serves; a vector kernel computes the time range in which its rows are regular or
short, and the baseline kernel stands in for the sweep kernel where rows are few.
"""

from collections.abc import Iterator
from enum import Enum

from tiltpy.costs import Costs, RunCosts
from tiltpy.lean_dataclass import dataclass
from tiltpy.plan.nodes import Refusal


class ChunkRule(Enum):
    """The rule that sets the length of chunks."""

    GIVEN = "given"
    """The caller."""
    VECTOR = "vector kernel"
    """The multiples on which the vector kernel is aligned, and its halo."""
    WORK = "work"
    """The visits of the sweep kernel: a run of few has one chunk."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Facts of a run that are known before any kernel is compiled.

    `rows`: of all inputs. `whole`: nothing else of the outputs is ever computed.
    `chunk`: the chunk interval that the caller gives, in ticks. `vector`: whether
    vector kernels are used wherever they can be, or never, or where they pay (None).
    """

    rows: int
    whole: bool = False
    chunk: int | None = None
    vector: bool | None = None


@dataclass(frozen=True, slots=True)
class VectorFacts:
    """The time range of a run in which a vector kernel serves, in numbers.

    `visits`: those that the kernel makes. `rows_read`: the most rows that it reads of
    an input, the halo included. `rows_outside`: of all inputs, outside of the range.
    """

    visits: int
    rows_read: int
    rows_outside: int


@dataclass(frozen=True, slots=True)
class RunPlan:
    """The kernels of a run: each is used unless there is a refusal.

    Beside the vector kernel the sweep kernel computes the rest of the time, which is
    the baseline kernel unless that is refused.
    """

    vector: Refusal | None
    baseline: Refusal | None
    chunks: ChunkRule

    def describe(self) -> Iterator[str]:
        """Say which kernels are used, and why others are not, a line each."""
        if self.vector is None:
            yield "vector kernel, where the rows that it reads exist"
        else:
            yield f"not vector kernel: {self.vector.reason}"
        beside = " beside it" if self.vector is None else ""
        if self.baseline is None:
            yield f"baseline kernel{beside}, without special strategies"
        else:
            yield f"sweep kernel{beside}"
            yield f"    not baseline kernel: {self.baseline.reason}"


def refuse_vector(facts: RunFacts, costs: RunCosts) -> Refusal | None:
    """Refuse a vector kernel by what is known without looking for one."""
    if facts.vector is False:
        return Refusal("the run uses none")
    if facts.vector is None and facts.chunk is None and facts.rows < costs.vector_rows:
        return Refusal(f"{facts.rows:,} rows are fewer than {costs.vector_rows:,}")
    return None


def plan_run(facts: RunFacts, vector: VectorFacts | Refusal, costs: Costs) -> RunPlan:
    """Choose the kernels of a run.

    `vector` is the time range of the vector kernel, or why there is none: that of
    `refuse_vector`, or what was missing when it was looked for.
    """
    refusal, beside = None, facts.rows
    if isinstance(vector, Refusal):
        refusal = vector
    else:
        refusal = _refuse_visits(vector, costs)
        beside = facts.rows if refusal is not None else vector.rows_outside
    return RunPlan(
        refusal,
        _refuse_baseline(facts, beside, costs.run),
        _chunk_rule(facts, costs.run, vector=refusal is None),
    )


def _refuse_visits(vector: VectorFacts, costs: Costs) -> Refusal | None:
    """Refuse to visit many cells without rows: windows may reach far beyond them."""
    most = costs.cells_per_row * vector.rows_read + costs.run.unpaid_visits
    if vector.visits <= most:
        return None
    return Refusal(
        f"{vector.visits:,} visits for {vector.rows_read:,} rows are more than {most:,}"
    )


def _refuse_baseline(facts: RunFacts, beside: int, costs: RunCosts) -> Refusal | None:
    """Refuse the baseline kernel; `beside`: the rows that a vector kernel leaves."""
    if not facts.whole:
        return Refusal("more of the outputs may be computed with the same kernel")
    if facts.chunk is not None:
        return Refusal("the caller cuts time into chunks")
    if facts.vector is not None:
        return Refusal("the caller decides on vector kernels")
    if beside >= costs.baseline_rows:
        return Refusal(f"{beside:,} rows are no fewer than {costs.baseline_rows:,}")
    return None


def _chunk_rule(facts: RunFacts, costs: RunCosts, *, vector: bool) -> ChunkRule:
    if vector and (facts.chunk is None or facts.chunk > costs.longest_vector_chunk):
        return ChunkRule.VECTOR
    return ChunkRule.WORK if facts.chunk is None else ChunkRule.GIVEN


def most_work(costs: RunCosts, *, ranked: bool) -> int:
    """Bound the work of a chunk; `ranked`: loops keep structures of windows."""
    return costs.ranked_chunk_work if ranked else costs.chunk_work


def chunk_count(
    work: int, costs: RunCosts, *, ranked: bool = False, shared: bool = True
) -> int:
    """Choose how many chunks some rows or cells are cut into.

    Enough for any number of workers, if they are `shared` by several.
    """
    enough = min(costs.enough_chunks, work // costs.least_chunk_work) if shared else 1
    return max(1, work // most_work(costs, ranked=ranked), enough)


def needs_threads(rows: int, chunks: int, costs: RunCosts) -> bool:
    """Tell whether other threads take chunks, if the caller does not say how many."""
    return rows >= costs.least_chunk_work or chunks > costs.few_chunks

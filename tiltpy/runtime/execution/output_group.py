"""The outputs of a query that have the same keys, and what all runs of them ask."""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from tiltpy.abi.layouts import Layout
from tiltpy.ir.nodes import Query
from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrow.encode_strings import Vocabulary
from tiltpy.runtime.concurrency.idle_pool import IdlePool
from tiltpy.runtime.execution.call_states import StateKinds
from tiltpy.runtime.execution.kernel import Kernels
from tiltpy.runtime.ingest.visible_rows import may_hide_rows

K_co = TypeVar("K_co", bound=Kernels, covariant=True)


class OutputGroup(Generic[K_co]):
    """A query whose outputs have the same keys, or none, and its kernels.

    What is asked of it in each run is found once: the names of its inputs, whether any
    has keys, the definitions of its outputs and their types, and what it says of
    strings. `shared` are the groups that compute the same, where keys share objects.
    """

    def __init__(
        self,
        query: Query,
        compile_for: Callable[[Mapping[str, Layout]], K_co],
        shared: "SharedGroups[K_co] | None" = None,
    ) -> None:
        self.query = query
        self.compile_for = compile_for
        self.shared = shared
        self.inputs = {declared.name for declared in query.inputs}
        definitions = {each.name: each for each in query.definitions}
        self.outputs = {name: definitions[name] for name in query.outputs}
        self.types = {name: each.type for name, each in self.outputs.items()}
        self.is_keyed = query.is_keyed
        self.vocabulary = Vocabulary.of(query)
        self.has_run = False
        """True once it has run, without keys over few rows."""
        self.idle = IdlePool()
        """The calls that runs over few rows have made, for the next ones."""

    def without_hidden_rows(self, rows: Mapping[str, SnapshotBuffer]) -> frozenset[str]:
        """Find the inputs that may have hidden rows, and whose kernels need none."""
        tied = frozenset(name for name, buffer in rows.items() if may_hide_rows(buffer))
        if not tied:
            return tied
        layouts = {name: buffer.abi_layout() for name, buffer in rows.items()}
        return tied & self.compile_for(layouts).without_hidden_rows

    def list_states(self, rows: Mapping[str, SnapshotBuffer]) -> StateKinds:
        """List the states that its sweep kernel for rows of any layout keeps."""
        layouts = {
            name: buffer.as_overlapping().abi_layout() for name, buffer in rows.items()
        }
        return self.compile_for(layouts).sweep().signature.states


@dataclass(frozen=True, slots=True, eq=False)
class SharedGroups(Generic[K_co]):
    """The objects that all keys share, and the outputs by key that read them."""

    objects: OutputGroup[K_co]
    keyed: OutputGroup[K_co]

"""Kernels as the runtime sees them: machine code, its signature, who compiles it."""

from collections.abc import Callable, Mapping
from typing import Protocol

from tiltpy.abi.layouts import SamplingGrid
from tiltpy.abi.signature import Signature
from tiltpy.ir.nodes import Query
from tiltpy.lean_dataclass import dataclass
from tiltpy.plan.key_concatenation import KeyConcatenation
from tiltpy.plan.nodes import Refusal


class Code(Protocol):
    """Machine code of a kernel; what it holds lives as long as itself."""

    @property
    def address(self) -> int:
        """The address of the kernel."""

    def call(self, slots: int, stop: int, /) -> object:
        """Call the kernel with the address of its slots and that of a stop flag."""

    @property
    def call_many(self) -> Callable[[int, int, int, int], object]:
        """Call any kernels, each over its own slots.

        Parameters: the address of the calls (for each, the kernel's address and that of
        its slots), their number, the address of a counter of the calls that are taken,
        and that of a stop flag.
        """

    @property
    def call_appending(self) -> Callable[[int, int, int, int, int, int], object]:
        """Call the kernel for each row of slots, outputs behind one another.

        Parameters: the address of the slots, their rows and columns, the address and
        the number of the outputs' descriptions, the address of a stop flag. An output
        is described by its slot, the slot of its count, and the bytes of an item. Its
        slot holds an address in the first row, and in the others the bytes to leave
        free before.
        """


class Executable(Protocol):
    """A kernel that may still have to be compiled; hashed by identity."""

    def code(self) -> Code:
        """Compile it, if nobody has."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel ready to be called, and its signature."""

    signature: Signature
    code: Executable


class Kernels(Protocol):
    """Kernels for the layouts of a run, compiled when first asked for."""

    query: Query
    """The optimised query, with its boundaries."""

    @property
    def warmup_rows(self) -> int:
        """The rows from which states of windows that fold on are guessed.

        After so many they no longer depend on those before, as far as anyone knows.
        """

    def refuse_chunks(self, kernel: Kernel) -> str | None:
        """Say why windows without bound need one chunk of a kernel, if they do."""

    @property
    def without_hidden_rows(self) -> frozenset[str]:
        """The inputs whose hidden rows change nothing (`plan.visible_rows`)."""

    @property
    def sees_beyond_keys(self) -> bool:
        """Tell whether concatenated keys take kernels of the query confined to keys."""

    @property
    def concatenation(self) -> KeyConcatenation | Refusal:
        """Plan the concatenation of keys, or say why the rows of each need a call."""

    def sweep(self, *, baseline: bool = False) -> Kernel:
        """The sweep kernel for any rows, or the baseline kernel."""

    def vector(self, sampling_grids: Mapping[str, SamplingGrid]) -> Kernel | None:
        """The vector kernel for inputs on these sampling grids, if there is one."""

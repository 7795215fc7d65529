"""A signature's slots by where their contents come from."""

from weakref import WeakKeyDictionary

from tiltpy.abi.signature import Loop, Scratch, Signature
from tiltpy.abi.slots import OF_STRINGS, Slot, SlotKind
from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.execution.kernel import Executable, Kernel
from tiltpy.runtime.execution.row_slices import ROW_NUMBERS
from tiltpy.types import BOOL, I64, U8, Scalar, columns

WRITTEN_TYPES = {
    SlotKind.OUT_STARTS: I64,
    SlotKind.OUT_ENDS: I64,
    SlotKind.OUT_VALIDITY: BOOL,
    SlotKind.OUT_BEGINS: U8,
    SlotKind.OUT_COVERED: U8,
}
"""The types of what loops write besides values."""
TIMES = SlotKind.OUT_STARTS, SlotKind.OUT_ENDS
BITS = SlotKind.OUT_BEGINS, SlotKind.OUT_COVERED

ArrayKey = tuple[SlotKind, str, int]
"""An array that a loop writes: its kind, the loop's name, the payload column."""


@dataclass(frozen=True, slots=True)
class OutputSlot:
    """A slot with the address of an array that a loop writes."""

    index: int
    kind: SlotKind
    loop: Loop
    column: int
    type: Scalar
    key: ArrayKey

    @property
    def is_implied(self) -> bool:
        """Return whether times follow from the loop's visits, and are not written."""
        return self.loop.implicit_times and self.kind in TIMES


class SlotMap:
    """The slots of a signature by origin; built once for each kernel.

    Each list has the index of a slot, and what is needed to fill it. `numbers` are
    those that say which part of the work a call does. `payloads` has the arrays of each
    loop's columns: of values, and of what is valid if any value may be null.
    """

    def __init__(self, signature: Signature) -> None:
        self.size = len(signature.slots) or 1
        self.inputs: list[tuple[int, SlotKind, str, int]] = []
        self.outputs: list[OutputSlot] = []
        self.scratch: list[tuple[int, int, Scratch]] = []
        self.states: list[tuple[int, int]] = []
        self.counts: dict[str, int] = {}
        self.strings: list[tuple[int, SlotKind, str, int]] = []
        self.zones: list[tuple[int, str, int]] = []
        self.numbers: list[tuple[int, Slot]] = []
        loops = {loop.name: loop for loop in signature.loops}
        for index, slot in enumerate(signature.slots):
            kind, name, column = slot.kind, slot.object, slot.column
            if kind in ROW_NUMBERS:
                self.inputs.append((index, kind, name, column))
            elif kind in OF_STRINGS:
                self.strings.append((index, kind, name, column))
            elif kind is SlotKind.ZONE:
                self.zones.append((index, name, column))
            elif kind is SlotKind.SCRATCH:
                self.scratch.append((index, column, signature.scratch[column]))
            elif kind is SlotKind.STATE:
                self.states.append((index, column))
            elif kind is SlotKind.OUT_COUNT:
                self.counts[name] = index
            elif kind in WRITTEN_TYPES or kind is SlotKind.OUT_VALUES:
                loop = loops[name]
                scalar = WRITTEN_TYPES.get(kind) or columns(loop.type)[column][1]
                key = kind, name, column
                self.outputs.append(OutputSlot(index, kind, loop, column, scalar, key))
            else:
                self.numbers.append((index, slot))
        written = {slot.key for slot in self.outputs}
        self.payloads: dict[str, list[tuple[ArrayKey, ArrayKey | None]]] = {}
        for name, loop in loops.items():
            keys: list[tuple[ArrayKey, ArrayKey | None]] = []
            for number in range(len(columns(loop.type))):
                nulls = SlotKind.OUT_VALIDITY, name, number
                values = SlotKind.OUT_VALUES, name, number
                keys.append((values, nulls if nulls in written else None))
            self.payloads[name] = keys


_MAPS: WeakKeyDictionary[Executable, SlotMap] = WeakKeyDictionary()


def map_slots(kernel: Kernel) -> SlotMap:
    """The slot map of a kernel, kept as long as its code."""
    known = _MAPS.get(kernel.code)
    if known is None:
        known = _MAPS[kernel.code] = SlotMap(kernel.signature)
    return known

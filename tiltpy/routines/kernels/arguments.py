"""The arguments of a routine under construction."""

from tiltpy.loops.nodes import Array, LExpr, LoopKernel, Stmt, Var, WriteSlot
from tiltpy.types import I64, Scalar


class RoutineArguments:
    """Declares the arguments of a routine, a slot for each, in their order."""

    def __init__(self) -> None:
        self._numbers: list[tuple[Var, int]] = []
        self._arrays: list[Array] = []

    def number(self, name: str) -> Var:
        """Declare a number."""
        var = Var(name, I64)
        self._numbers.append((var, self.size))
        return var

    def array(
        self, name: str, of: Scalar = I64, *, written: bool = False, bits: bool = False
    ) -> Array:
        """Declare an array; a bool is a byte, or a bit with `bits`."""
        array = Array(name, of, self.size, written, bits)
        self._arrays.append(array)
        return array

    def write_back(self, number: Var, value: LExpr) -> WriteSlot:
        """Write what the caller finds in the place of a number."""
        slots = {var.name: slot for var, slot in self._numbers}
        return WriteSlot(slots[number.name], value)

    @property
    def size(self) -> int:
        """The number of slots so far."""
        return len(self._numbers) + len(self._arrays)

    def kernel(self, *body: Stmt) -> LoopKernel:
        """Make the kernel of these arguments with a body."""
        return LoopKernel(tuple(self._numbers), tuple(self._arrays), body)

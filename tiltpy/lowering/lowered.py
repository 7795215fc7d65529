"""The product of lowering: a kernel in loop IR, and how the runtime calls it."""

from tiltpy.abi.signature import Signature
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.nodes import LoopKernel


@dataclass(frozen=True, slots=True)
class LoweredKernel:
    """A kernel and what the runtime must know to call it."""

    kernel: LoopKernel
    signature: Signature

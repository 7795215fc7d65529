"""What lowering gives: a kernel in loop IR, and how the runtime calls it."""

from dataclasses import dataclass

from tiltpy.abi import Signature
from tiltpy.loops.nodes import Kernel


@dataclass(frozen=True, slots=True)
class LoweredKernel:
    """A kernel and what the runtime must know to call it."""

    kernel: Kernel
    signature: Signature

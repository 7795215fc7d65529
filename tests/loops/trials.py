"""Small kernels built by hand, run over memory between fences."""

from dataclasses import replace
from functools import cache, partial
from typing import TypeVar
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from tests.runtime.execution.fences import Fences
from tiltpy.codegen import jit
from tiltpy.codegen.llvm.module import emit_module
from tiltpy.codegen.llvm.packing import PackMethod, choose_pack_method
from tiltpy.codegen.machine_code import NEVER, Drivers, MachineCode, host
from tiltpy.loops.build import i64
from tiltpy.loops.nodes import Array, For, LoopKernel, Stmt, Var
from tiltpy.runtime.arrays.pool import dtype_of
from tiltpy.types import BOOL, I64, Scalar

Number = TypeVar("Number", bound=np.generic)
Numbers = NDArray[np.generic]

HOST = host()
PACKS = "+avx512f" in HOST.features
WITHOUT = replace(
    HOST,
    cpu="x86-64-v3" if PACKS else HOST.cpu,
    features=",".join(
        f"-{name[1:]}" if name[1:].startswith(("avx512", "avx10")) else name
        for name in HOST.features.split(",")
    ),
)
"""This machine, as if it had no wider registers than those of 256 bits."""
TARGETS = {"host": HOST, "without AVX-512": WITHOUT}

I = Var("i", I64)  # noqa: E741
"""The index of every loop."""


class Trial:
    """A kernel under construction, with the memory of its arrays."""

    def __init__(self) -> None:
        self.fences = {low: Fences(low=low) for low in (False, True)}
        self.arrays: dict[Array, Numbers] = {}
        self.body: list[Stmt] = []

    def reads(self, scalar: Scalar, values: NDArray[Number]) -> Array:
        """An array with these items, and nothing behind them."""
        return self._array(scalar, self.fences[False].copy(values), written=False)

    def reads_bits(self, bits: NDArray[np.bool_], *, low: bool = False) -> Array:
        """A bitmap of these bits, with a fence behind it (`low`: before it)."""
        packed = np.packbits(bits, bitorder="little")
        memory = self.fences[low].copy(packed)
        return self._array(BOOL, memory, written=False, bits=True)

    def writes(self, scalar: Scalar, size: int) -> tuple[Array, Numbers]:
        """An array to write; both ends are fences."""
        found = self.fences[False].array(dtype_of(scalar), size)
        return self._array(scalar, found, written=True), found

    def writes_bits(self, size: int) -> tuple[Array, NDArray[np.uint8]]:
        found = self.fences[False].array(np.dtype(np.uint8), size // 8)
        return self._array(BOOL, found, written=True, bits=True), found

    def _array(
        self, scalar: Scalar, memory: Numbers, *, written: bool, bits: bool = False
    ) -> Array:
        number = len(self.arrays)
        array = Array(f"array{number}", scalar, number, written, bits)
        self.arrays[array] = memory
        return array

    def loop(self, size: int, *body: Stmt, step: int = 1) -> None:
        """Append a loop in which `I` counts up."""
        self.body.append(For(I, i64(0), i64(size), body, step))

    def kernel(self) -> LoopKernel:
        """All of it."""
        return LoopKernel((), tuple(self.arrays), tuple(self.body))

    def run(self, packing: PackMethod | None = None, *, converts: bool = False) -> None:
        """Compile and execute; `packing`: another than the machine's.

        `converts`: LLVM is asked to convert 64-bit integers in lanes to doubles.
        """
        slots = np.array([m.ctypes.data for m in self.arrays.values()], np.int64)
        packing = packing or choose_pack_method(HOST.features)
        emit = partial(emit_module, packing=packing, converts=converts)
        with patch.object(jit, "_emit", emit):
            code = compiled(self.kernel())  # which lives until it has run
        code.call(slots.ctypes.data, NEVER)


def compiled(kernel: LoopKernel) -> MachineCode:
    """A kernel in memory, alone."""
    return MachineCode(jit.compile_object(kernel), drivers())


@cache
def drivers() -> Drivers:
    return Drivers(jit.compile_drivers())


def same(found: Numbers, meant: Numbers) -> bool:
    """Return whether all bits are the same, but for those of NaNs."""
    if found.dtype.kind == "f":
        nan = np.isnan(found)
        if not np.array_equal(nan, np.isnan(meant)):
            return False
        found, meant = found[~nan], meant[~nan]
    return found.tobytes() == meant.tobytes()


def items(scalar: Scalar, count: int, seed: int = 0) -> Numbers:
    """Any items of a type, whole bytes at random; no NaN."""
    random = np.random.default_rng(seed)
    if scalar == BOOL:
        return random.integers(0, 2, count).astype(np.bool_)
    if scalar.is_float:
        return random.normal(size=count).astype(dtype_of(scalar))
    raw = random.integers(0, 256, count * scalar.bits // 8, np.uint8)
    return np.frombuffer(raw.tobytes(), dtype_of(scalar))

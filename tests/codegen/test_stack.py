"""Alignment of the stack of kernels, to which vectors are spilled."""

import pytest

from tests.lowering.vector.test_golden_kernels import SAMPLED, lowered
from tiltpy.codegen.llvm.module import emit_module
from tiltpy.lowering.lowered import LoweredKernel


@pytest.mark.parametrize(("sizes", "aligned"), [([3], False), (range(2, 60), True)])
def test_only_kernels_of_many_vectors_align_it(
    sizes: list[int], *, aligned: bool
) -> None:
    terms = " + ".join(f"std(~m[t-{size}:t])" for size in sizes)
    kernel = lowered(f"input m : f64\n~o[t] = {terms}", SAMPLED, 1)
    assert isinstance(kernel, LoweredKernel)
    assert ("alignstack(64)" in emit_module(kernel.kernel)) is aligned

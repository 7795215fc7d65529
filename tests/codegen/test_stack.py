"""Alignment of the stack of kernels, to which vectors are spilled."""

import platform
import re

import pytest

from tests.loops.trials import compiled
from tests.lowering.vector.test_golden_kernels import SAMPLED, lowered
from tiltpy.codegen import jit
from tiltpy.lowering.lowered import LoweredKernel

MOVE = re.compile(r"vmov[au]p[sd]\s.*\(%rsp\)")
"""An instruction that moves a vector to the stack, or from it."""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="reads code of x86-64")
@pytest.mark.parametrize("longest", [8, 40])
def test_no_spilled_vector_lies_across_lines(longest: int) -> None:
    terms = " + ".join(f"std(~m[t-{size}:t])" for size in range(2, longest))
    kernel = lowered(f"input m : f64\n~o[t] = {terms}", SAMPLED, 1)
    assert isinstance(kernel, LoweredKernel)
    text = jit.format_assembly(kernel.kernel, compiled(kernel.kernel))
    outer, _, body = text.partition("body:")
    assert re.search(r"andq\s+\$-64, %rsp", outer)
    moves = MOVE.findall(body)
    assert moves
    assert not [move for move in moves if "vmovu" in move and "%xmm" not in move]

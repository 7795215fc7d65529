"""Every routine has a kernel, which keeps the rules of the loop IR."""

import pytest

from tiltpy.loops.verify import verify_kernel
from tiltpy.routines import catalogue
from tiltpy.routines.kernels.builders import BUILDERS
from tiltpy.routines.routine import Routine


def test_each_routine_has_a_kernel() -> None:
    routines = []
    for each in vars(catalogue).values():
        several = each.values() if isinstance(each, dict) else (each,)
        routines += [one for one in several if isinstance(one, Routine)]
    assert sorted(routine.name for routine in routines) == sorted(BUILDERS)


@pytest.mark.parametrize("name", BUILDERS)
def test_its_kernel_keeps_the_rules(name: str) -> None:
    verify_kernel(BUILDERS[name]())

"""Python has each function and reduction of the tables, by the language's name."""

from pathlib import Path

import pytest

import tiltpy as tilt
from tests.frontend.functions_in_python import functions_module, reductions_module
from tiltpy.frontend.python import functions, reductions
from tiltpy.ops import DATE_COMPONENTS, FUNCTIONS, PAIRS, REDUCTIONS, STRING_FUNCTIONS

MODULES = {functions.__file__: functions_module, reductions.__file__: reductions_module}


@pytest.mark.parametrize("path", MODULES)
def test_the_files_are_what_the_tables_give(path: str, *, update_golden: bool) -> None:
    text = MODULES[path]()
    if update_golden:
        Path(path).write_text(text)
    assert Path(path).read_text() == text


def test_all_names_are_public(*, update_golden: bool) -> None:
    if update_golden:
        pytest.skip("the modules were imported before they were written")
    named = {
        *FUNCTIONS,
        *DATE_COMPONENTS,
        *STRING_FUNCTIONS,
        *REDUCTIONS,
        *PAIRS,
        *(f"{name}_active" for name in REDUCTIONS),
    }
    assert named <= set(dir(tilt))
    assert all(callable(getattr(tilt, name)) for name in named)
    assert len(set(tilt.__all__)) == len(tilt.__all__)
    assert all(hasattr(tilt, name) for name in tilt.__all__)

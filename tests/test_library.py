"""The library: what its functions are, and that both doors have the same ones."""

from pathlib import Path

import tiltpy.library
from tests.library_in_python import docs, module
from tests.reference_pages import FOLDER
from tiltpy.frontend.callees import is_built_in
from tiltpy.frontend.library import library_functions

PAGE = (FOLDER / "library.md").read_text()
NAMES = [function.name.text for function in library_functions()]


def test_python_has_the_same_functions(update_golden: bool) -> None:
    path = Path(tiltpy.library.__file__)
    if update_golden:
        path.write_text(module())
    assert path.read_text() == module()


def test_every_function_says_what_it_is() -> None:
    assert set(docs()) == set(NAMES)
    assert len(NAMES) == len(set(NAMES))
    assert not [name for name in NAMES if is_built_in(name)]


def test_every_function_has_an_example() -> None:
    rows = PAGE[PAGE.index("## The library") :]
    assert not [name for name in NAMES if f"`{name}(~" not in rows]

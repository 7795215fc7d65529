"""Arrow's functions, imported at the first call of one: most runs call none.

Modules import this instead of `pyarrow.compute`, which writes the documentation of all
functions when it is imported: a tenth of what a small run takes from start to end.
"""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    return getattr(import_module("pyarrow.compute"), name)

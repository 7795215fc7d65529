"""Notebooks that a real kernel runs, and what their cells show."""

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from tests import ROOT

_COLOR = re.compile(r"\x1b\[[\d;]*m")


@dataclass(frozen=True, slots=True)
class Cell:
    """The outputs of a cell.

    `error` is the text of what it raised, `data` are the shown values by MIME type,
    `printed` is what went to stdout and stderr. `number` is what its prompt says.
    """

    error: str
    data: tuple[dict[str, Any], ...]
    printed: str
    number: int

    @property
    def text(self) -> str:
        """All as text, without colours."""
        plain = [str(each.get("text/plain", "")) for each in self.data]
        return _COLOR.sub(
            "", "\n".join(filter(None, (self.printed, *plain, self.error)))
        )


def run_cells(sources: Sequence[str], folder: Path) -> list[Cell]:
    """Run cells one after the other in a kernel of their own; errors do not stop it."""
    notebook: Any = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in sources]
    client = NotebookClient(
        notebook,
        allow_errors=True,
        timeout=120,
        resources={"metadata": {"path": str(folder)}},
    )
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    }
    environment.pop("NO_COLOR", None)
    client.execute(env=environment)
    return [_read_outputs(c.outputs, c.execution_count) for c in notebook.cells]


def _read_outputs(outputs: Sequence[Any], number: int) -> Cell:
    errors = ["\n".join(o.traceback) for o in outputs if o.output_type == "error"]
    streams = [str(o.text) for o in outputs if o.output_type == "stream"]
    # A progress bar that was shown is emptied at the end; a slow machine shows one.
    data = [dict(o.data) for o in outputs if "data" in o and o.data["text/plain"]]
    return Cell("".join(errors), tuple(data), "".join(streams).rstrip("\n"), number)

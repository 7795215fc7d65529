"""The cell magic `%%tilt`: a query over the variables of a notebook.

Errors are shown as on the command line, with carets below the cell's own lines and
without a traceback; the cell has failed, and those below it do not run.
"""

import os
import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.display import SVG

from tiltpy.api import CompiledQuery, parse
from tiltpy.colors import embolden_message, paint_message
from tiltpy.errors import TiltError, TiltWarning
from tiltpy.notebook.cell_arguments import (
    CellArguments,
    build_cell_parser,
    read_cell_arguments,
)
from tiltpy.notebook.user_inputs import find_inputs
from tiltpy.progress.progress_bar import ProgressBar
from tiltpy.visible import escape_lines


def register_magic(shell: object) -> None:
    """Register `%%tilt` with a shell of IPython."""
    assert isinstance(shell, InteractiveShell)

    def tilt(line: str, cell: str) -> object:
        return run_cell(shell, line, cell)

    tilt.__doc__ = build_cell_parser().format_help()
    register: Any = shell.register_magic_function
    register(tilt, "cell", "tilt")


def run_cell(shell: InteractiveShell, line: str, cell: str) -> object:
    """Run a cell: options on its first `line`, a query below.

    Gives what is shown: the result, or a picture. A `TiltError` that it raises shows
    itself in a line, or with carets.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", TiltWarning)
            show: Any = partial(_show_warning, shell, warnings.showwarning)
            warnings.showwarning = show
            return _run(shell, read_cell_arguments(line), cell)
    except TiltError as error:
        text = _format_error(shell, error)
        vars(error)["_render_traceback_"] = text.splitlines
        raise


def _run(shell: InteractiveShell, arguments: CellArguments, cell: str) -> object:
    # The query begins in the second line of its cell, as editors count. IPython counts
    # a cell before or after it runs, depending on its version; its display knows.
    name = f"In[{shell.displayhook.prompt_count}]"
    query = parse(f"\n{cell}", name=name, params=arguments.params or None)
    if arguments.query is not None:
        shell.user_ns[arguments.query] = query
    if arguments.explain:
        return SVG(query.explain(format="svg"))
    return _compute(shell, arguments, query)


def _compute(
    shell: InteractiveShell, arguments: CellArguments, query: CompiledQuery
) -> object:
    """Run a query, and give what is shown of its result."""
    inputs = find_inputs(query, arguments.inputs, shell.user_ns)
    with ProgressBar() as progress:
        result = query.run(
            start=arguments.start, end=arguments.end, progress=progress, **inputs
        )
    if arguments.name is not None:
        shell.user_ns[arguments.name] = result
    if arguments.quiet:
        return None
    return result.plot() if arguments.plot else result


def _format_error(shell: InteractiveShell, error: TiltError) -> str:
    message = str(error)
    prefix = "" if message.startswith("error[") else "error: "
    return _paint(shell, f"{prefix}{message}")


def _show_warning(
    shell: InteractiveShell,
    show: Callable[..., object],
    message: Warning | str,
    *args: Any,
    **options: Any,
) -> None:
    """Print a warning of ours without its line; `show` all others."""
    if isinstance(message, TiltWarning):
        text = f"warning: {escape_lines(str(message))}"
        print(_paint(shell, text), file=sys.stderr)
    else:
        show(message, *args, **options)


def _paint(shell: InteractiveShell, message: str) -> str:
    if os.environ.get("NO_COLOR") or shell.colors.lower() == "nocolor":
        return message
    # Notebooks show errors and warnings on red, where our red and cyan are unreadable.
    in_notebook = getattr(shell, "kernel", None) is not None
    return embolden_message(message) if in_notebook else paint_message(message)

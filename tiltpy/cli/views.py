"""Views of outputs: snapshots, points, windows, or snapshots joined where equal."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import Any

import tiltpy as tilt
from tiltpy.cli import arguments
from tiltpy.cli.arguments import ArgumentsError
from tiltpy.runtime.results.output_table import OutputTable

_NOUNS = {
    "snapshots": "snapshot",
    "points": "point",
    "windows": "window",
    "coalesced": "snapshot",
}
"""The meaning of a row in each view."""
_WHOLE = ("windows", "coalesced")
"""Views that need all snapshots at once."""


def add_view_argument(parser: ArgumentParser) -> None:
    """Add the option that says what a row is."""
    parser.add_argument(
        "--view",
        metavar="[NAME=]VIEW",
        action="append",
        default=[],
        help="what a row of an output is: snapshots, from start to end (the default); "
        "points, with the end alone, as `time`; windows, one for each cell of its "
        "grid, empty or not, with its label as `time`; coalesced, snapshots that "
        "touch and are equal as one",
    )


def read_views(query: tilt.CompiledQuery, args: Namespace) -> dict[str, str]:
    """Read the name of the view of each output."""
    names = query.query.outputs
    views = arguments.assign("--view", args.view, names, bare_is_for_all=True)
    for view in views.values():
        if view not in _NOUNS:
            hint = arguments.explain_unknown(view, _NOUNS)
            raise ArgumentsError(f"--view {view}: {hint}")
    return dict.fromkeys(names, "snapshots") | views


def check_parts(views: Mapping[str, str]) -> None:
    """Refuse views that need all snapshots where there are only parts of them."""
    for view in views.values():
        if view in _WHOLE:
            raise ArgumentsError(
                f"--view {view} needs all snapshots at once; leave --memory out, bind "
                "a single file, or take --view points"
            )


def needs_all(views: Mapping[str, str]) -> bool:
    """Tell whether a view needs all snapshots at once."""
    return any(view in _WHOLE for view in views.values())


def noun(view: str) -> str:
    """Name a row of a view."""
    return _NOUNS[view]


def table_of(output: OutputTable, view: str) -> Any:
    """Make the Arrow table of a view; stamps are `time`, or `end` if that is taken."""
    if view == "snapshots":
        return output.to_arrow()
    if view == "coalesced":
        return output.coalesce()
    # no column of an output but its own is called `end`
    time = "end" if "time" in output.schema.names else "time"
    return output.windows(time) if view == "windows" else output.points(time)

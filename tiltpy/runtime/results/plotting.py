"""Pictures of outputs: arguments, series and panels."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, get_args

from tiltpy.argument_checks import (
    check_argument,
    check_choice,
    check_flag,
    check_path,
    check_text,
)
from tiltpy.errors import TiltError
from tiltpy.plot.series import KeyStyle, Series
from tiltpy.runtime.arrow.timestamps import OutputStamp
from tiltpy.runtime.concurrency.offload import offload
from tiltpy.runtime.results.plot_keys import KeySelection
from tiltpy.runtime.results.plot_series import Form, clock_of, draw, form_of, write


class Drawable(Protocol):
    """An output that can be a panel of a picture."""

    stamp: OutputStamp

    def series(
        self, choice: KeySelection, *, is_input: bool
    ) -> list[tuple[Series, ...]]:
        """Make the series of each payload column."""


def plot_outputs(
    outputs: Sequence[Drawable],
    inputs: Sequence[Drawable],
    path: str | Path | None,
    *,
    keys: Sequence[object] | None,
    by_key: KeyStyle | None,
    title: str | None,
    interactive: bool,
) -> Any:
    """Draw `inputs` above `outputs`, over one time axis; see `Result.plot`.

    `path` is where to write it, too; `keys` are those to draw (None: the
    first), `by_key` how; `interactive` asks for Bokeh.
    """
    form: Form = "html" if check_flag("interactive", interactive) else "png"
    if path is not None:
        path = check_path("path", path)
        form = form_of(path)
        if interactive and form != "html":
            raise TiltError(f"{path}: interactive pictures are .html")
    if keys is not None:
        check_argument("keys", keys, Sequence, "a list of keys")
    if by_key is not None:
        check_choice("by_key", by_key, get_args(KeyStyle))
    if title is not None:
        check_text("title", title)
    panels = [(drawable, True) for drawable in inputs]
    panels += [(drawable, False) for drawable in outputs]
    stamps = {drawable.stamp for drawable, _ in panels}
    if len(stamps) != 1:
        raise TiltError(
            "the times of outputs and inputs are of different kinds: "
            + " and ".join(sorted(str(stamp.type) for stamp in stamps))
        )
    choice = KeySelection(keys)
    series = offload(
        lambda: [
            column
            for drawable, is_input in panels
            for column in drawable.series(choice, is_input=is_input)
        ]
    )
    choice.check()
    style = choice.choose_style(by_key)
    notes = choice.notes()
    figure = draw(series, clock_of(stamps.pop()), form, title, style, notes)
    if path is not None:
        write(figure, path)
    return figure

"""Texts of queries in files."""

from pathlib import Path

from tiltpy.argument_checks import check_path
from tiltpy.errors import TiltError
from tiltpy.frontend.surface.size_limits import read_start


def read_query(path: str | Path) -> str:
    """Read the text of a `.tilt` file (UTF-8)."""
    try:
        with check_path("path", path).open("rb") as file:
            text = read_start(file).decode("utf-8-sig")
    except OSError as error:
        reason = (error.strerror or "the system says no more").lower()
        raise TiltError(f"{path}: not readable: {reason}") from None
    except UnicodeDecodeError as error:
        raise TiltError(f"{path}: not UTF-8 at byte {error.start}") from None
    return text

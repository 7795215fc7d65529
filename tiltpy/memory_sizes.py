"""Sizes of memory as text, such as `500MB`."""

import re
from numbers import Integral

from tiltpy.errors import ArgumentError, TiltError

UNITS = {"": 1, "b": 1}
for power, letter in enumerate("kmgt", 1):
    UNITS[f"{letter}b"] = 1000**power
    UNITS[f"{letter}ib"] = 1024**power

_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?) ?([a-z]*)", re.ASCII | re.IGNORECASE)


def size_of(size_text: int | str) -> int:
    """A size in bytes: a number of them, or a text like "500MB" or "1.5 GiB"."""
    is_size = isinstance(size_text, str | Integral) and not isinstance(size_text, bool)
    match = _SIZE.fullmatch(str(size_text))
    unit = UNITS.get(match[2].lower()) if match else None
    size = 0 if match is None or unit is None else int(float(match[1]) * unit)
    if size < 1 or not is_size:
        refuse = TiltError if is_size else ArgumentError
        raise refuse(
            f"expected bytes, or a size like 500MB or 2GiB; found {size_text!r}"
        )
    return size


def format_size(size: int) -> str:
    """Format a size in bytes in the largest unit that it is one of: `61 kB`."""
    number, units = float(size), iter(("bytes", "kB", "MB", "GB"))
    unit = next(units)
    while number >= 999.5 and (larger := next(units, None)):
        number, unit = number / 1000, larger
    return f"{number:.3g} {unit}" if number < 999.5 else f"{number:,.0f} {unit}"

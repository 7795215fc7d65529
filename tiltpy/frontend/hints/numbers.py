"""Hints for what begins like a number, and for units of durations."""

import re

from tiltpy.frontend.surface.durations import is_duration

_UNITS = {
    "ns": ("nano", "nanosec", "nanosecond", "n"),
    "us": ("micro", "microsec", "microsecond", "µs", "μs", "µ", "μ", "u", "U"),
    "ms": ("milli", "milliseconds", "millisec", "millisecond", "l"),
    "s": ("sec", "second", "S"),
    "m": ("min", "minute", "t"),
    "h": ("hr", "hour", "h", "H"),
    "d": ("day", "d", "D"),
}
"""Other spellings of the units, in lower case and without a plural's s."""


def hint_number(text: str) -> str:
    """Hint what to write instead of what begins like a number."""
    if ".." in text:
        return "a window is written with `:`, like ~x[t - 10 : t]"
    digits = text.replace("_", "")
    if digits.isdecimal():
        return f"write {digits}"
    if re.fullmatch(r"0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+", text):
        return f"write {int(text, 0)}"
    if re.fullmatch(r"[\d.]+[eE]", text):
        return f"an exponent has digits, like {text}9"
    count, unit = re.fullmatch(r"(\.?\d[\d.]*)?(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    return hint_length(count or "", unit) or (
        "durations are numbers with ns us ms s m h d, like 1h30m"
    )


def hint_text(text: str) -> str:
    """Hint what to write instead of a string that is no duration."""
    close = text.replace(" ", "")
    if is_duration(close):
        return f'write "{close}"'
    hint = hint_number(close)
    if hint.startswith("write ") and " " not in hint[6:]:
        return f'write "{hint[6:]}"'
    return hint if close[:1].isdigit() else 'durations are like "1h30m"'


def hint_length(count: str, unit: str) -> str:
    """Hint how a duration in another unit or spelling is written, or nothing."""
    lower = unit.lower().rstrip("s") or unit.lower()
    for name, spellings in _UNITS.items():
        if unit in spellings or lower in spellings:
            return f"write {count}{name}"
    if lower in ("w", "wk", "week"):
        whole = count.isdecimal()
        return f"write {7 * int(count[:9])}d" if whole else "write d; a week is 7d"
    if lower in ("mo", "mon", "month", "mth"):
        return "months differ in length; write days, like 30d, or cells of a calendar"
    if lower in ("y", "yr", "year", "a", "q", "quarter"):
        return "years differ in length; write days, like 365d, or cells of a calendar"
    if unit == "M":
        return f"write {count}m for minutes; months differ in length"
    return ""

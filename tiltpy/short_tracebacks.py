"""Tracebacks of errors that a user can cause, which end at the user's own line.

What lies below an entry of the API says nothing to a user whose data or query is
wrong. Python's development mode (`python -X dev`) keeps it.
"""

import re
import sys
from collections.abc import Callable
from functools import wraps
from inspect import signature
from types import TracebackType
from typing import ParamSpec, TypeVar

from tiltpy.errors import ArgumentError, TiltError
from tiltpy.messages import nearest_spelling

P = ParamSpec("P")
T = TypeVar("T")

_PACKAGE = __name__.partition(".")[0]


def short_traceback(entry: Callable[P, T]) -> Callable[P, T]:
    """Make a function of the API raise a `TiltError` without the frames below it.

    Those of the caller's own functions stay, such as of an iterator of frames. Missing
    and unknown arguments are an `ArgumentError`.
    """

    @wraps(entry)
    def call(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return entry(*arguments, **named)
        except TiltError as error:
            if sys.flags.dev_mode:
                raise
            trace = _frames_outside(error.__traceback__)
            raise error.with_traceback(trace) from error.__cause__
        except TypeError as error:
            here = error.__traceback__
            if here is None or here.tb_next is not None:  # from within the entry
                raise
            raise ArgumentError(_explain(str(error), entry)) from None

    return call


def _explain(message: str, entry: Callable[..., object]) -> str:
    """Say what is wrong with a call as Python does, and what to write instead.

    From Python 3.13 on it guesses itself, behind what it says before.
    """
    unknown = re.match(r".* unexpected keyword argument '(\w+)'", message)
    if unknown is None:
        return message
    names = [name for name in signature(entry).parameters if name != "self"]
    close = nearest_spelling(unknown[1], names)
    way_out = f"did you mean {close}?" if close else f"it takes {', '.join(names)}"
    return f"{unknown[0]}; {way_out}"


def _frames_outside(trace: TracebackType | None) -> TracebackType | None:
    """Select the frames of a traceback that are not this package's."""
    frames: list[TracebackType] = []
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] != _PACKAGE:
            frames.append(trace)
        trace = trace.tb_next
    outside = None
    for each in reversed(frames):
        outside = TracebackType(outside, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return outside

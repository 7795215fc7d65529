"""The library of functions in Python; `grammar/std.tilt` defines them.

    from tiltpy.library import sma

    average = define("average", t, sma(stock, "10s"))

An object parameter takes a temporal object, a field of one (`trades.price`), or an
expression over the caller's time domain, which becomes an object. This file is written
by `pytest tests/test_library.py --update-golden`.
"""

from tiltpy.frontend.expressions import Expression, Value, call


def sma(x: Expression, w: Value) -> Expression:
    """The mean of a window of length w: a simple moving average."""
    return call("sma", x, w)


def zscore(x: Expression, w: Value) -> Expression:
    """How many deviations a value lies above the mean of the last w."""
    return call("zscore", x, w)

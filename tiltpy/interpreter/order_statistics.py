"""Order statistics of the interpreter, as queries mean them.

They take the values in order, or by how often each is there. All NaNs are one value and
both zeros are one; a NaN stands behind all others.
"""

import math
from collections import Counter
from collections.abc import Sequence

from tiltpy.interpreter.scalars import Atom, Number
from tiltpy.ops import QuantileMethod


def reduce(
    name: str,
    values: Sequence[Atom],
    parameter: float | None,
    method: QuantileMethod = "linear",
) -> Atom:
    """Reduce one value or more, none of them φ."""
    match name:
        case "median":
            return quantile(_numbers(values), 0.5)
        case "quantile":
            assert parameter is not None
            return quantile(_numbers(values), parameter, method)
        case "mode":
            return mode(values)
        case "nunique":
            return len({_identity(value) for value in values})
        case _:
            raise AssertionError(f"no reduction {name} of whole windows")


def quantile(
    values: Sequence[Number], q: float, method: QuantileMethod = "linear"
) -> float:
    """Find the value at `q * (n - 1)` of those in order, counted from 0, as f64.

    Between two of them it is on the line from one to the other, never beyond either,
    and in the middle their mean; or what another `method` says. NaN if a value is; a
    zero is +0.
    """
    if any(map(_is_nan, values)):
        return math.nan
    ordered = sorted(values)
    position = q * (len(values) - 1)
    below = math.floor(position)
    share = position - below
    low = float(ordered[below])
    if share == 0:
        return low + 0.0
    high = float(ordered[below + 1])
    match method:
        case "lower":
            return low + 0.0
        case "higher":
            return high + 0.0
        case "nearest":
            is_low = share < 0.5 or (share == 0.5 and below % 2 == 0)
            return (low if is_low else high) + 0.0
        case "midpoint":
            share = 0.5
        case "linear":
            pass
    between = low + (high - low) * share
    if share == 0.5 or not math.isfinite(high - low):
        between = low * (1 - share) + high * share
    if _is_nan(between):  # of both infinities
        return between
    return min(max(between, low), high) + 0.0


def mode(values: Sequence[Atom]) -> Atom:
    """Find the most frequent value as it stands first; of several the earliest."""
    counts = Counter(map(_identity, values))
    most = max(counts.values())
    return next(value for value in values if counts[_identity(value)] == most)


def modes(values: Sequence[Atom], count: int) -> list[Atom | None]:
    """Find the most frequent values, each before its count; then None.

    Each is as it stands first; of several as frequent the earliest comes first.
    """
    counts = Counter(map(_identity, values))  # in order of the first of each
    first = {_identity(value): value for value in reversed(values)}
    pairs = [(first[each], number) for each, number in counts.most_common(count)]
    flat: list[Atom | None] = [atom for pair in pairs for atom in pair]
    return flat + [None] * (2 * count - len(flat))


def top(values: Sequence[Atom], count: int) -> list[Atom | None]:
    """Find the greatest values, descending, NaNs last, then None; a zero is +0."""
    ordered = sorted(
        (v for v in values if not _is_nan(v)),
        key=lambda v: v.encode() if isinstance(v, str) else v,
        reverse=True,
    )
    greatest: list[Atom | None] = [
        v + 0.0 if isinstance(v, float) else v for v in ordered
    ]
    greatest += [math.nan] * (len(values) - len(ordered))
    return (greatest + [None] * count)[:count]


def _numbers(values: Sequence[Atom]) -> list[Number]:
    numbers = [value for value in values if not isinstance(value, str)]
    assert len(numbers) == len(values), "strings where numbers are expected"
    return numbers


def _is_nan(value: Atom) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _identity(value: Atom) -> Atom | None:
    """Map values that count as one to one value; None stands for every NaN."""
    return None if _is_nan(value) else value

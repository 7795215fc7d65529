"""The reduction of the library's `pan_tompkins` in Python, for any query to use.

The functions are called once, with expressions; what they return is compiled into the
loop. The names are those of `heartbeats` in `grammar/std.tilt`, which explains them.
"""

from math import inf

import tiltpy as tilt
from tiltpy import cast, f64, i64, phi, reduction, when


def usual(pace, interval):
    near = (interval > 0.9 * pace) & (interval < 1.4 * pace)
    kept = when(near, pace + (interval - pace) / 8, pace)
    return when(pace == inf, interval, kept)


def accumulate(state, p):
    noise = when(state.noise != phi, state.noise, p.noise)
    before = when(state.beats != phi, state.beats, p.beats)
    late = p.at - state.last > 1.8 * state.pace
    late &= state.strength > (noise + 0.3 * (before - noise)) / 4
    beats = when(late, before + (state.strength - before) / 4, before)
    pace = when(late, usual(state.pace, state.best - state.last), state.pace)
    last = when(late, state.best, state.last)
    strength = when(late, -inf, state.strength)
    free = p.at - last >= 72
    high = free & (p.strength > noise + 0.3 * (beats - noise))
    low = free & ~high
    stronger = when(low, tilt.max(strength, p.strength), strength)
    return {
        "beats": when(high, beats + (p.strength - beats) / 8, beats),
        "noise": when(low, noise + (p.strength - noise) / 8, noise),
        "last": when(high, p.at, last),
        "pace": when(high, usual(pace, p.at - last), pace),
        "best": when(low & (p.strength > strength), p.at, state.best),
        "strength": when(high, -inf, stronger),
        "at": when(high, p.at),
        "missed": when(late, state.best),
    }


UNKNOWN = cast(phi, f64)
detector = reduction(
    "detector",
    dict.fromkeys(("at", "strength", "beats", "noise"), f64),
    init={
        "beats": UNKNOWN,
        "noise": UNKNOWN,
        "last": -inf,
        "pace": inf,
        "best": -inf,
        "strength": -inf,
        "at": UNKNOWN,
        "missed": UNKNOWN,
    },
    acc=accumulate,
    result=lambda state: {n: cast(state.field(n), i64) for n in ("at", "missed")},
)

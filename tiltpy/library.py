"""The library of functions in Python; `grammar/std.tilt` defines them.

    from tiltpy.library import sma

    average = define("average", t, sma(stock, "10s"))

An object parameter takes a temporal object, a field of one (`trades.price`), or an
expression over the caller's time domain, which becomes an object. This file is written
by `pytest tests/semantics/test_library.py --update-golden`.
"""

from math import inf

from tiltpy.frontend.python.expressions import Expression, Value, call
from tiltpy.frontend.python.times import lift_time


def sma(x: Expression, w: Value) -> Expression:
    """The mean of the rows within the last w: a simple moving average."""
    return call("sma", x, lift_time(w))


def ema(x: Expression, alpha: Value) -> Expression:
    """The exponential moving average of all rows so far.

    The newest has the weight alpha, each before it (1 - alpha) of its successor's.
    """
    return call("ema", x, lift_time(alpha))


def recursive_ema(x: Expression, alpha: Value) -> Expression:
    """The recursive exponential average: alpha of a row, the rest of the one before."""
    return call("recursive_ema", x, lift_time(alpha))


def wilder(x: Expression, n: Value) -> Expression:
    """Wilder's average: the mean of the first n rows, then a recursive one by 1 / n."""
    return call("wilder", x, lift_time(n))


def time_mean(x: Expression, w: Value) -> Expression:
    """The mean of the values within the last w, weighted by duration."""
    return call("time_mean", x, lift_time(w))


def vwap(price: Expression, volume: Expression, w: Value) -> Expression:
    """The mean price within the last w, weighted by volume: fields of one object."""
    return call("vwap", price, volume, lift_time(w))


def deviation(x: Expression, w: Value) -> Expression:
    """The standard deviation within the last w, of the population."""
    return call("deviation", x, lift_time(w))


def zscore(x: Expression, w: Value) -> Expression:
    """The distance of the value from the mean of the last w, in deviations.

    φ where these are all equal.
    """
    return call("zscore", x, lift_time(w))


def normalize(x: Expression, w: Value) -> Expression:
    """The z-score of each value in its own tumbling window of w.

    Windows start at multiples of w; it looks ahead to the end of each.
    """
    return call("normalize", x, lift_time(w))


def rescale(x: Expression, w: Value) -> Expression:
    """The position of the value between the least (0) and greatest (1) of the last w.

    φ where these are equal.
    """
    return call("rescale", x, lift_time(w))


def bollinger(x: Expression, w: Value, k: Value = 2) -> Expression:
    """The mean of the last w, and k deviations below and above it."""
    return call("bollinger", x, lift_time(w), lift_time(k))


def outlier(x: Expression, w: Value, k: Value = 3, step: Value = 1) -> Expression:
    """True where the value is more than k deviations from the mean of those before it.

    Those are within the last w, but not within the last step.
    """
    return call("outlier", x, lift_time(w), lift_time(k), lift_time(step))


def peak_to_peak(x: Expression, w: Value) -> Expression:
    """The greatest minus the least value within the last w."""
    return call("peak_to_peak", x, lift_time(w))


def crest_factor(x: Expression, w: Value) -> Expression:
    """The greatest magnitude within the last w over the root of the mean square.

    φ where all are 0.
    """
    return call("crest_factor", x, lift_time(w))


def zero_crossings(x: Expression, w: Value) -> Expression:
    """The number of sign changes from row to row within the last w.

    A row's predecessor may lie up to w before the window. Zeros and NaNs have no sign
    and are skipped. Never φ.
    """
    return call("zero_crossings", x, lift_time(w))


def correlation(x: Expression, y: Expression, w: Value) -> Expression:
    """The correlation (Pearson's) of two objects within the last w.

    Of the snapshots in which both have a value; φ where one of them does not vary.
    """
    return call("correlation", x, y, lift_time(w))


def beta(x: Expression, market: Expression, w: Value) -> Expression:
    """The beta of ~x against ~market within the last w.

    That is their covariance over the variance of ~market, of the snapshots in which
    both have a value; φ where ~market does not vary.
    """
    return call("beta", x, market, lift_time(w))


def change(x: Expression, step: Value = 1) -> Expression:
    """The value minus the one a step before."""
    return call("change", x, lift_time(step))


def returns(x: Expression, step: Value = 1) -> Expression:
    """The relative growth within a step: 0.1 is ten percent."""
    return call("returns", x, lift_time(step))


def log_returns(x: Expression, step: Value = 1) -> Expression:
    """The natural logarithm of the growth within a step."""
    return call("log_returns", x, lift_time(step))


def drawdown(x: Expression, w: Value) -> Expression:
    """The relative distance to the greatest value of the last w.

    0 or negative.
    """
    return call("drawdown", x, lift_time(w))


def new_high(x: Expression, w: Value, step: Value = 1) -> Expression:
    """True where the value is greater than all before it.

    Those are within the last w, but not within the last step.
    """
    return call("new_high", x, lift_time(w), lift_time(step))


def increase(x: Expression, w: Value) -> Expression:
    """The growth of a counter within the last w: of each row since its predecessor.

    The predecessor may lie up to w before the window. Where a counter falls it was
    reset to 0. φ where no row within the last w has a predecessor.
    """
    return call("increase", x, lift_time(w))


def rsi(x: Expression, n: Value) -> Expression:
    """The relative strength index: gains as a percentage of all absolute changes.

    Both are Wilder's averages over n changes from row to row; 50 where nothing changed.
    """
    return call("rsi", x, lift_time(n))


def macd(
    x: Expression, fast: Value = 12, slow: Value = 26, signal: Value = 9
) -> Expression:
    """The convergence and divergence of moving averages.

    The line is the difference of two exponential averages, with the weights 2 / (n + 1)
    for n rows, the signal the average of the line, the histogram line minus signal.
    """
    return call("macd", x, lift_time(fast), lift_time(slow), lift_time(signal))


def crossover(a: Expression, b: Expression, step: Value = 1) -> Expression:
    """True where ~a is above ~b, and was not a step before."""
    return call("crossover", a, b, lift_time(step))


def crossunder(a: Expression, b: Expression, step: Value = 1) -> Expression:
    """True where ~a is below ~b, and was not a step before."""
    return call("crossunder", a, b, lift_time(step))


def rises(c: Expression, step: Value = 1) -> Expression:
    """True where a condition holds that did not, or was not known, a step before."""
    return call("rises", c, lift_time(step))


def steady(c: Expression, w: Value) -> Expression:
    """True where a condition held at all times of the last w at which it was known."""
    return call("steady", c, lift_time(w))


def ffill(x: Expression, gap: Value = inf) -> Expression:
    """The value, or in a gap the last one.

    With a `gap` it must have ended less than that before.
    """
    return call("ffill", x, lift_time(gap))


def bfill(x: Expression, gap: Value) -> Expression:
    """The value, or in a gap the next one, if it begins within `gap`."""
    return call("bfill", x, lift_time(gap))


def fill(x: Expression, value: Value) -> Expression:
    """The value, or in a gap a default."""
    return call("fill", x, value)


def impute_mean(x: Expression, w: Value) -> Expression:
    """The value, or in a gap the mean of its tumbling window of w.

    Windows start at multiples of w; it looks ahead to the end of each.
    """
    return call("impute_mean", x, lift_time(w))


def interpolate(x: Expression, gap: Value) -> Expression:
    """The value, or in a gap the linear interpolation between the last and the next.

    The last must end, and the next begin, less than `gap` away.
    """
    return call("interpolate", x, lift_time(gap))


def resample_linear(x: Expression, period: Value) -> Expression:
    """A signal of `sampled period`, resampled linearly at the caller's rate.

    Each value lies on the line from the sample before to the one after. Of inputs only.
    """
    return call("resample_linear", x, lift_time(period))


def asof(x: Expression, age: Value = inf) -> Expression:
    """The last value; with an `age` one that ended less than that before."""
    return call("asof", x, lift_time(age))


def age(x: Expression, most: Value = inf) -> Expression:
    """The ticks since the last value; φ if there is none, or none within `most`."""
    return call("age", x, lift_time(most))


def silent(x: Expression, gap: Value) -> Expression:
    """True where there was no value for a time of `gap`.

    Never φ.
    """
    return call("silent", x, lift_time(gap))


def session_start(x: Expression, gap: Value, step: Value = 1) -> Expression:
    """True where a row begins a session, after a pause of `gap` without any.

    The pause ends a step before; φ where there is no row.
    """
    return call("session_start", x, lift_time(gap), lift_time(step))


def pan_tompkins(
    ecg: Expression, second: Value, step: Value = 1, minutes: Value = 5
) -> Expression:
    """The beats of an electrocardiogram, by the detector of Pan and Tompkins (1985).

    `second` is how long a second is: `1s`, or the samples a second where a tick is a
    sample; `step` is the time from one sample to the next. There is a value where a
    beat is (`at`, in ticks), and where it turns out that there was one before
    (`missed`). Filters see as far ahead as back, and delay nothing: slopes of a QRS
    complex pass, and are integrated over 150 ms. No heart beats twice within 200 ms.
    What beats and noise are like is learned from the last `minutes`, at first from two
    seconds as a whole.
    """
    return call(
        "pan_tompkins",
        ecg,
        lift_time(second),
        lift_time(step),
        lift_time(minutes),
    )


def rank(x: Expression, w: Value) -> Expression:
    """The rank of the value among those within the last w: 1 is the least.

    Equal values have the least rank of theirs; φ where there is no value.
    """
    return call("rank", x, lift_time(w))


def mad(x: Expression, w: Value) -> Expression:
    """The median of the distances from the median within the last w."""
    return call("mad", x, lift_time(w))


def mean_deviation(x: Expression, w: Value) -> Expression:
    """The mean of the distances from the mean within the last w."""
    return call("mean_deviation", x, lift_time(w))


def clip(v: Value, low: Value, high: Value) -> Expression:
    """A value, but `low` where it is less, and `high` where it is greater."""
    return call("clip", lift_time(v), lift_time(low), lift_time(high))


def ewm_var(x: Expression, alpha: Value) -> Expression:
    """The exponentially weighted variance of all rows so far, the population's.

    With the weights of `ema`: the newest has alpha, each before it (1 - alpha) of its
    successor's.
    """
    return call("ewm_var", x, lift_time(alpha))


def rate(x: Expression, w: Value, second: Value = "1s") -> Expression:
    """The growth of a counter by second within the last w, by Prometheus' rule.

    Extrapolated: from the first and the last sample it goes on to the window's edge, if
    that is no further than 1.1 times the mean distance of samples, else half of that;
    back to where the counter would have been 0 at most. Of points; φ for fewer than two
    stamps.
    """
    return call("rate", x, lift_time(w), lift_time(second))

"""Many definitions over one signal: chains, indicators, outputs by the dozen."""

from bench.workloads.offpath.draws import prices
from bench.workloads.offpath.rows import OffPath
from bench.workloads.offpath.sampled import MILLION, workload

OUTPUTS, WINDOWS = 50, 60


def _chain(links: list[str]) -> str:
    """Each link is made of the one before it, `~c0` of `~x`; the last goes out."""
    lines = [f"~c{i}[t] = {link}" for i, link in enumerate(links)]
    return "\n".join([*lines, f"~out[t] = ~c{len(links) - 1}[t]", "output ~out"])


def _scalars(count: int) -> str:
    return _chain([f"~{_before(i)}[t] * 0.5 + {i}" for i in range(count)])


def _conditionals(count: int) -> str:
    return _chain(
        [
            f"~{_before(i)}[t] > {i} ? ~{_before(i)}[t] * 0.5 : ~{_before(i)}[t] + {i}"
            for i in range(count)
        ]
    )


def _windows(count: int, size: int) -> str:
    return _chain([f"mean(~{_before(i)}[t-{size} : t])" for i in range(count)])


def _before(i: int) -> str:
    return f"c{i - 1}" if i else "x"


def outputs(count: int) -> str:
    """Write the means of 2 samples and more, each an output."""
    lines = [f"~o{i}[t] = mean(~x[t-{i + 2} : t])" for i in range(count)]
    names = ", ".join(f"~o{i}" for i in range(count))
    return "\n".join([*lines, f"output {names}"])


_INDICATORS = """\
~line[t] = macd(~x)
~band[t] = bollinger(~x, 20)
~out[t] = {
    sma = sma(~x, 20), lower = ~band[t].lower, upper = ~band[t].upper,
    rsi = rsi(~x, 14), line = ~line[t].line, signal = ~line[t].signal
}"""

CHAINS: tuple[OffPath, ...] = (
    workload("chain of 30 scalars", _scalars(30), few=40),
    workload("chain of 10 conditionals", _conditionals(10)),
    workload("windows of windows, 3", _windows(3, 20)),
    workload(
        f"{WINDOWS} chained windows", _windows(WINDOWS, 5), events=MILLION // 4, few=40
    ),
    workload(f"{OUTPUTS} outputs", outputs(OUTPUTS), events=MILLION // 4, few=60),
    workload("ema 0.05 of the library", "~out[t] = ema(~x, 0.05)", prices, few=0),
    workload("SMA, Bollinger, RSI, MACD", _INDICATORS, prices, events=MILLION, few=0),
)

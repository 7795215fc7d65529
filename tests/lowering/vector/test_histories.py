"""Past values of a loop over lanes, and chains of objects that see each other."""

from functools import partial
from random import Random

import pytest

from tests.lowering.vector.test_golden_kernels import SAMPLED, lowered
from tests.lowering.vector.test_windows import GRID, SMALL, samples
from tests.plain import check_engines
from tests.plan.shapes import Census
from tiltpy.abi.slots import SlotKind
from tiltpy.lowering.lowered import LoweredKernel

LINKS, CASES, DEEP_CASES = 8, 3, 100


def kernel_of(text: str) -> LoweredKernel:
    kernel = lowered(text, SAMPLED, 1)
    assert isinstance(kernel, LoweredKernel)
    return kernel


def test_values_that_nobody_looks_back_at_are_not_kept() -> None:
    """States of a window are kept, what they are made of is not."""
    difference = "input m : f64\n~d[t] = ~m[t] - ~m[t-1]\n"
    kernel = kernel_of(f"{difference}~o[t] = sum(~d[t-100 : t])\noutput ~o")
    kept = [slot for slot in kernel.signature.slots if slot.kind is SlotKind.SCRATCH]
    kept = [slot for slot in kept if slot.object.startswith("d.")]
    assert all("value" not in slot.object for slot in kept)
    kernel = kernel_of(f"{difference}~o[t] = sum(~d[t-3 : t]) - ~d[t-100]\noutput ~o")
    (kept_value,) = (s for s in kernel.signature.slots if s.object == "d.value.past")
    assert kept_value.kind is SlotKind.SCRATCH


@pytest.mark.parametrize("links", [10, 40])
def test_a_chain_warms_up_for_its_windows_alone(links: int) -> None:
    """Cells lag behind each other, but know nothing later for that."""
    lines = ["input m : f64", "~c0[t] = mean(~m[t-5 : t])"]
    lines += [f"~c{i}[t] = mean(~c{i - 1}[t-5 : t])" for i in range(1, links)]
    kernel = kernel_of("\n".join([*lines, f"output ~c{links - 1}"]))
    assert kernel.signature.aligned_range is not None
    (read,) = kernel.signature.aligned_range.reads
    lag = 16 * links
    assert -read.low <= lag + 10 * links + 64


def link(random: Random, before: list[str]) -> str:
    """An object made of those before it: points, windows, or nothing at times."""

    def term() -> str:
        name = random.choice(before[-2:])
        offset = random.choice((0, 0, -1, -5, -17, -40, 1, 20))
        if random.random() < 0.3:
            return f"~{name}[t{offset:+d}]"
        cells = random.choice((random.randint(1, 8), random.randint(1, 150)))
        window = f"t{offset - cells:+d} : t{offset:+d}"
        reduction = random.choice(("max", "min", "last", "first", "nunique", "sum"))
        scale = " * 0.5" if reduction == "sum" else " * 1.0"
        return f"{reduction}(~{name}[{window}]){scale}"

    body = " - ".join(term() for _ in range(random.choice((1, 1, 2))))
    return f"{body} > 0.3 ? {body} : φ" if random.random() < 0.15 else body


def check_chain(seed: int) -> None:
    random = Random(seed)  # noqa: S311
    names, lines = ["x"], []
    for number in range(random.randint(3, LINKS)):
        lines.append(f"~c{number}[t] = {link(random, names)}")
        names.append(f"c{number}")
    text = "\n".join(["input x : f64", *lines, f"~o[t] = ~{names[-1]}[t]"])
    text = text.replace("t+0", "t").replace("t-0", "t")
    nulls = random.choice((0, 0, 0.02, 0.3))
    draws = (random.randint(-16, 16) * 128.0 for _ in range(900))
    rows = samples([None if random.random() < nulls else v for v in draws])
    check_engines(f"{text}\noutput ~o", {"x": rows}, settings=(GRID, SMALL))


def test_random_chains(*, deep: bool) -> None:
    """Objects of a loop that lag behind those they see, by rounds and by cells."""
    census = Census()
    for seed in range(DEEP_CASES if deep else CASES):
        census.run(partial(check_chain, seed))
    assert census.counts["grid: long chain"]

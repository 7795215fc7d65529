"""Seeded random queries of windows over samples, of any length up to all rows.

Values are small multiples of 1/8, whose sums are exact. Inputs begin and end apart.
"""

from random import Random

import numpy as np
from numpy.typing import NDArray

import tiltpy as tilt

REDUCTIONS = ("sum", "mean", "count", "min", "max", "rms", "last", "first", "std")
ELEMENTS = ("v", "v", "v * 2", "v * v", "v + 1")
BACK = (0, 0, 0, 0, 1, 5, 16, 40)
"""Cells by which windows end before the present."""
TYPES: dict[str, type[np.generic]] = {
    "f64": np.float64,
    "f32": np.float32,
    "i32": np.int32,
}


class LongWindows:
    """A query over samples, its inputs, and the time ranges to run it over."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)  # noqa: S311
        self.period = random.choice((1, 1, 1, 3))
        self.rows = random.choice((300, 1_000, 3_000))
        self.inputs = {name: self._samples() for name in "xy"[: random.choice((1, 2))]}
        objects = list(self.inputs)
        text = [
            f"input {n} : {kind} sampled 1" for n, (kind, _, _) in self.inputs.items()
        ]
        text = [each.replace("sampled 1", f"sampled {self.period}") for each in text]
        text.append(f"t = TDom(-∞, ∞, {self.period})")
        if random.random() < 0.3:
            text.append(f"~z[t] = {self._term(objects)} - {self._term(objects)}")
            objects.append("z")
        outputs = ("a", "b")[: random.choice((1, 2))]
        text += [f"~{each}[t] = {self._body(objects)}" for each in outputs]
        text.append("output " + ", ".join(f"~{each}" for each in outputs))
        self.text, self.outputs = "\n".join(text), outputs

    def _samples(self) -> tuple[str, NDArray[np.generic], int]:
        """The type of an input, its values, and when they begin."""
        kind = self.random.choice(("f64", "f64", "f32", "i32"))
        count = self.rows + self.random.randint(-100, 100)
        draws = np.random.default_rng(self.random.randint(0, 2**32))
        values = draws.integers(-80, 80, count)
        start = self.period * self.random.randint(-60, 60)
        scale = 1 if kind == "i32" else 8
        return kind, (values / scale).astype(TYPES[kind]), start

    def _body(self, objects: list[str]) -> str:
        terms = [self._term(objects) for _ in range(self.random.choice((1, 1, 2)))]
        if self.random.random() < 0.3:
            terms.append(f"~{self.random.choice(objects)}[t]")
        return " + ".join(terms)

    def _term(self, objects: list[str]) -> str:
        random, period = self.random, self.period
        cells = random.choice(
            (
                random.randint(1, 20),
                random.randint(30, 200),
                random.randint(64, self.rows),
                random.randint(64, self.rows),
            )
        )
        end = -random.choice(BACK)
        if random.random() < 0.1:
            end = random.choice((1, 7, 30))
        window = f"t{(end - cells) * period:+d} : t{end * period:+d}"
        window = window.replace("t+0", "t")
        reduction, name = random.choice(REDUCTIONS), random.choice(objects)
        element = random.choice(ELEMENTS)
        return f"{reduction}({element} for v in ~{name}[{window}])"

    def frames(self) -> dict[str, object]:
        """The inputs, as a run takes them."""
        return {
            name: tilt.sampled(values, start, self.period)
            for name, (_, values, start) in self.inputs.items()
        }

    def bounds(self) -> tuple[int | None, int | None]:
        """A start and an end within the rows, or none."""
        first = self.random.randint(0, self.rows // 2) * self.period
        last = first + self.random.randint(1, self.rows) * self.period
        start, end = (self.random.random() < 0.3 for _ in range(2))
        return first if start else None, last if end else None

"""Moments of panes of singles, folded about one of their values in one pass."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import tiltpy as tilt

Singles = NDArray[np.float32]
PANES = 8
SIZES = (33, 100, 145, 1000, 4096, 5000)
"""Cells of a pane: without a loop, with one, and more than one pass is good for."""
FIELDS = ("mean", "var", "std", "rms", "skew", "kurtosis")


def far_from_zero(values: Singles) -> Singles:
    return values + np.float32(3e6)


def outlier_first(values: Singles) -> Singles:
    """The value that all deviations are from is as far from the others as can be."""
    moved = values.copy()
    moved[0] = np.float32(1e9)
    return moved


def outlier_inside(values: Singles) -> Singles:
    moved = values.copy()
    moved[len(values) // 2] = np.float32(-1e9)
    return moved


def tiny(values: Singles) -> Singles:
    return values * np.float32(1e-30)


def huge(values: Singles) -> Singles:
    return values * np.float32(1e37)


KINDS = (far_from_zero, outlier_first, outlier_inside, tiny, huge)


def run(panes: list[Singles], fields: str, size: int) -> list[dict[str, float]]:
    values = np.concatenate(panes * (1 + 5000 // (size * len(panes))))
    query = tilt.parse(
        f"input x : f32 sampled 1\nw = TDom(-∞, ∞, {size})\n~o[w] = {{ {fields} }}"
    )
    result = query.run(x=tilt.sampled(values, start=0, period=1))
    rows: list[dict[str, float]] = result.to_arrow().to_pylist()
    return rows[: len(panes)]


def fields_of(size: int) -> str:
    return ", ".join(f"{name} = {name}(~x[w-{size} : w])" for name in FIELDS)


def check(found: dict[str, float], pane: Singles) -> None:
    wide = pane.astype(np.longdouble)
    deviations = wide - wide.mean()
    second = (deviations**2).mean()
    scale = (np.abs(deviations) ** 3).mean() / second**1.5
    meant = {
        "mean": wide.mean(),
        "var": second,
        "std": np.sqrt(second),
        "rms": np.sqrt((wide**2).mean()),
        "kurtosis": (deviations**4).mean() / second**2 - 3,
    }
    for name, value in meant.items():
        most = 1e-6 * float(abs(value) + 3 * (name == "kurtosis"))
        assert found[name] == pytest.approx(float(np.float32(value)), abs=most), name
    skew = (deviations**3).mean() / second**1.5
    assert found["skew"] == pytest.approx(float(skew), abs=1e-6 * float(scale))


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES)
def test_moments_are_as_good_as_the_type(
    size: int, kind: Callable[[Singles], Singles]
) -> None:
    random = np.random.default_rng(size)
    panes = [kind(random.normal(size=size).astype(np.float32)) for _ in range(PANES)]
    for found, pane in zip(run(panes, fields_of(size), size), panes, strict=True):
        check(found, pane)


@pytest.mark.parametrize("size", SIZES)
def test_equal_values_have_no_spread(size: int) -> None:
    pane = np.full(size, 0.1, np.float32)
    (found,) = run([pane], fields_of(size), size)
    assert found["mean"] == found["rms"] == pane[0]
    assert found["var"] == found["std"] == 0.0
    assert np.isnan(found["kurtosis"])


@pytest.mark.parametrize("intruder", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("place", [0, 50, 99])
def test_what_is_not_finite_stays_in_its_pane(place: int, intruder: float) -> None:
    clean = np.arange(100, dtype=np.float32)
    pane = clean.copy()
    pane[place] = intruder
    before, found, after = run([clean, pane, clean], fields_of(100), 100)
    assert np.isnan(found["var"])
    assert np.isnan(found["kurtosis"])
    assert found["mean"] == pytest.approx(intruder, nan_ok=True)
    assert found["rms"] == pytest.approx(abs(intruder), nan_ok=True)
    check(before, clean)
    assert after == before | {"start": 200, "end": 300}

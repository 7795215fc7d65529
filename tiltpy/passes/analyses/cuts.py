"""What cuts an object after another has been inlined into it.

A point reference to `~a` cuts where `~a` changes snapshots. Between two cells that both
see a value of `~a` that is where its cuts do, so where the reader is strict in `~a`
those replace the reference as they are. Elsewhere the reader may see one gap of `~a`
whose cells differ underneath, so the cuts travel with the value (`CutInlined`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tiltpy.ir.cuts import leaf_cuts
from tiltpy.ir.nodes import Cut, CutInlined, CutPoint, CutWindow, Expr
from tiltpy.passes.analyses.strictness import References, never_phi, strict_in
from tiltpy.passes.analyses.substitution import inline_points


@dataclass(frozen=True, slots=True)
class Inlined:
    """An object's body and cuts, as seen from the reader's time."""

    value: Expr
    cuts: tuple[Cut, ...]


def points_of(
    cuts: tuple[Cut, ...], object: str, strict: References
) -> Iterator[tuple[int, bool]]:
    """The offsets at which an object cuts, and whether its reader is strict there."""
    for cut in cuts:
        match cut:
            case CutPoint() if cut.object == object:
                yield cut.offset, cut in strict
            case CutInlined():
                yield from points_of(cut.cuts, object, strict | strict_in(cut.value))
            case _:
                pass


def survives_stride(cuts: tuple[Cut, ...], stride: int) -> bool:
    """Whether cuts say the same cell by cell and in steps of `stride` ticks.

    A snapshot between two windows that do not touch is in neither, and a gap between
    two cells may hide another; both are seen cell by cell alone.
    """
    return all(
        not isinstance(cut, CutInlined)
        and (
            not isinstance(cut, CutWindow)
            or cut.window.end - cut.window.start >= stride
        )
        for cut in cuts
    )


def inline_cuts(
    cuts: tuple[Cut, ...],
    strict: References,
    object: str,
    inlined: Mapping[int, Inlined],
) -> tuple[Cut, ...]:
    """The cuts with those at an object's points replaced by what it is made of.

    `strict` are the references that the cuts' reader is strict in.
    """
    found: dict[Cut, None] = {}
    for cut in cuts:
        match cut:
            case CutPoint() if cut.object == object:
                source = inlined[cut.offset]
                if cut in strict or never_phi(source.value):
                    found.update(dict.fromkeys(source.cuts))
                else:
                    found.setdefault(CutInlined(source.value, source.cuts))
            case CutInlined():
                inner_strict = strict | strict_in(cut.value)
                inner = inline_cuts(cut.cuts, inner_strict, object, inlined)
                bodies = {offset: source.value for offset, source in inlined.items()}
                value = inline_points(cut.value, object, bodies)
                found.setdefault(CutInlined(value, inner))
            case _:
                found.setdefault(cut)
    return _without_implied(tuple(found))


def _without_implied(cuts: tuple[Cut, ...]) -> tuple[Cut, ...]:
    """The cuts without those inlined ones that only cut where plain ones do."""
    plain = {cut for cut in cuts if not isinstance(cut, CutInlined)}
    return tuple(
        cut
        for cut in cuts
        if not isinstance(cut, CutInlined) or not plain.issuperset(leaf_cuts(cut.cuts))
    )

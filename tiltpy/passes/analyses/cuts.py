"""Cuts of an object after another has been inlined into it.

A point reference to `~a` cuts where `~a` changes snapshots. Between two cells that both
see a value of `~a` that is where its cuts do, so where the reader is strict in `~a`
those replace the reference as they are. Elsewhere the reader may see one gap of `~a`
whose cells differ underneath, so the cuts travel with the value (`InlinedCut`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tiltpy.ir.cuts import leaf_cuts
from tiltpy.ir.nodes import Cut, CutPoint, CutWindow, Expr, InlinedCut, Since
from tiltpy.lean_dataclass import dataclass
from tiltpy.passes.analyses.strictness import References, never_phi, strict_in
from tiltpy.passes.analyses.substitution import inline_points


@dataclass(frozen=True, slots=True)
class InlinedObject:
    """An object's body and cuts, as seen from the reader's time."""

    value: Expr
    cuts: tuple[Cut, ...]


def points_of(
    cuts: tuple[Cut, ...], object: str, strict: References
) -> Iterator[tuple[int, bool]]:
    """Yield the offsets at which an object cuts, and whether its reader is strict."""
    for cut in cuts:
        match cut:
            case CutPoint() if cut.object == object:
                yield cut.offset, cut in strict
            case InlinedCut():
                yield from points_of(cut.cuts, object, strict | strict_in(cut.value))
            case _:
                pass


def survives_stride(cuts: tuple[Cut, ...], stride: int) -> bool:
    """Tell whether cuts are equal cell by cell and in steps of `stride` ticks.

    A snapshot between two windows that do not touch is in neither, nor is one that a
    restart dropped between two cells, and a gap between two cells may hide another; all
    are seen cell by cell alone.
    """
    return all(
        not isinstance(cut, InlinedCut)
        and (
            not isinstance(cut, CutWindow)
            or (
                cut.window.end - cut.window.start >= stride
                and not isinstance(cut.window.limit, Since)
            )
        )
        for cut in cuts
    )


def inline_cuts(
    cuts: tuple[Cut, ...],
    strict: References,
    object: str,
    inlined: Mapping[int, InlinedObject],
) -> tuple[Cut, ...]:
    """Replace the cuts at an object's points by those of its inlined definition.

    `strict` are the references that the reader is strict in; `inlined` has
    the object as seen from each offset.
    """
    replaced: dict[Cut, None] = {}
    bodies = {offset: source.value for offset, source in inlined.items()}
    for cut in cuts:
        match cut:
            case CutPoint() if cut.object == object:
                source = inlined[cut.offset]
                if cut in strict or never_phi(source.value):
                    replaced.update(dict.fromkeys(source.cuts))
                else:
                    replaced.setdefault(InlinedCut(source.value, source.cuts))
            case CutWindow():
                element = inline_points(cut.element, object, bodies)
                replaced.setdefault(replace(cut, element=element))
            case InlinedCut():
                inner_strict = strict | strict_in(cut.value)
                inner = inline_cuts(cut.cuts, inner_strict, object, inlined)
                value = inline_points(cut.value, object, bodies)
                replaced.setdefault(InlinedCut(value, inner))
            case _:
                replaced.setdefault(cut)
    return _without_implied(tuple(replaced))


def _without_implied(cuts: tuple[Cut, ...]) -> tuple[Cut, ...]:
    """Drop the inlined cuts that only cut where plain ones do."""
    plain = {cut for cut in cuts if not isinstance(cut, InlinedCut)}
    return tuple(
        cut
        for cut in cuts
        if not isinstance(cut, InlinedCut) or not plain.issuperset(leaf_cuts(cut.cuts))
    )

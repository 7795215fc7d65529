"""The facts of one loop: what its object refers to, and how that lies."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tiltpy.aggregates.user_defined import Slide, slide_of
from tiltpy.costs import Costs
from tiltpy.emit.references import (
    present_folds,
    present_reductions,
    reductions,
    references,
    uses_time,
)
from tiltpy.forks import cached_property
from tiltpy.ir.nodes import (
    CutPoint,
    Expr,
    Reduce,
    TemporalExpr,
    UserReduction,
    Window,
)
from tiltpy.ir.traversal import sees_present
from tiltpy.ops import WHOLE_WINDOW
from tiltpy.plan.definedness import strict_points, strict_windows
from tiltpy.plan.emptiness import emptiness_tests
from tiltpy.plan.facts import ObjectFacts
from tiltpy.plan.nodes import Refusal


@dataclass(frozen=True, eq=False)
class LoopFacts:
    """An object whose loop is to be planned.

    `objects` are the facts of all objects of the query, `user_defined` its reductions,
    by name. With `is_read` another loop of the kernel reads the object. `disabled` are
    the names of strategies that are not to be used.
    """

    definition: TemporalExpr
    objects: Mapping[str, ObjectFacts]
    user_defined: Mapping[str, UserReduction]
    is_read: bool
    disabled: frozenset[str]
    costs: Costs
    times_read: bool
    """True if a reader needs times that its snapshots have of their own."""
    folded_once: bool = False
    """True if all that reads it are windows that fold on, or that it restarts."""
    at_events: Mapping[str, str] = field(default_factory=dict)
    """The objects with a snapshot of its own at each event of an input, which it is."""

    @property
    def every_tick(self) -> bool:
        """Return whether the object may change at any tick."""
        tdom = self.definition.tdom
        return tdom.precision == 1 and tdom.calendar is None

    @cached_property
    def every_cell(self) -> bool:
        """Return whether each grid point has a snapshot of its own."""
        return uses_time(self.definition)

    @property
    def calendar_refusal(self) -> Refusal | None:
        """Why only a sweep serves: it looks up the cells of a calendar."""
        if self.definition.tdom.calendar is None:
            return None
        return Refusal("its cells are those of a calendar")

    @property
    def grid_refusal(self) -> Refusal | None:
        """Why a scan of changes at any tick does not serve: grid points decide."""
        if not self.every_tick:
            return Refusal(f"it has a precision of {self.definition.tdom.precision}")
        return Refusal("it uses the time as a number") if self.every_cell else None

    @cached_property
    def strict(self) -> tuple[CutPoint, ...]:
        """The points without which the object is φ."""
        return strict_points(self.definition)

    @cached_property
    def strict_windows(self) -> tuple[Window, ...]:
        """The windows without whose rows the object is φ."""
        return strict_windows(self.definition)

    @cached_property
    def points(self) -> tuple[CutPoint, ...]:
        """The point references."""
        return tuple(references(self.definition)[0])

    @cached_property
    def windows(self) -> tuple[Window, ...]:
        """The window references, but for `present`."""
        return tuple(references(self.definition)[1])

    @cached_property
    def present(self) -> tuple[tuple[Window, Expr], ...]:
        """The windows that are reduced by what sees the present, or by bounds."""
        return tuple(present_folds(self.definition))

    def present_names(self, window: Window, element: Expr) -> set[str]:
        """The reductions over a window by an element that sees more than values."""
        return {
            node.reduction
            for node in present_reductions(self.definition)
            if (node.window, node.element) == (window, element)
        }

    @property
    def present_refusal(self) -> Refusal | None:
        """Why no scan serves that folds windows as they move."""
        if not self.present:
            return None
        window, element = self.present[0]
        if sees_present(element):
            return Refusal(f"elements of ~{window.object} see the present")
        return Refusal(f"reductions see where windows of ~{window.object} cut rows")

    @cached_property
    def reductions(self) -> tuple[Reduce, ...]:
        """The reductions over them."""
        return tuple(reductions(self.definition))

    @cached_property
    def emptiness_tests(self) -> frozenset[Reduce]:
        """The counts that matter as 0 or more alone."""
        return emptiness_tests(self.definition)

    def over(self, window: Window) -> tuple[Reduce, ...]:
        """The reductions over one window."""
        return tuple(node for node in self.reductions if node.window == window)

    def ranks(self, window: Window) -> bool:
        """Decide whether a reduction needs the whole window, in order of values."""
        return any(node.reduction in WHOLE_WINDOW for node in self.over(window))

    def clips(self, node: Reduce) -> bool:
        """Decide whether a reduction sees where its window's edges cut events."""
        reduction = self.user_defined.get(node.reduction)
        disjoint = self.objects[node.window.object].disjoint
        return (
            reduction is not None
            and slide_of(reduction, disjoint=disjoint) is Slide.CLIP
        )

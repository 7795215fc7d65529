"""Fields of a fold's state, told apart by what their next values depend on."""

from collections.abc import Iterable, Mapping

from tiltpy.aggregates.user_defined import code_of
from tiltpy.ir.nodes import Const, Expr, Phi, UserReduction
from tiltpy.passes.analyses.affine_values import AffineValue
from tiltpy.passes.analyses.fold_steps import Step, first_state, steps
from tiltpy.types import F64, columns

MOST_STATES = 64
"""Values of the fields of a state that are told apart."""
Control = tuple[tuple[str, Const | Phi], ...]
"""The values of the fields that take few."""


class FoldFields:
    """The fields of the state of a user-defined reduction over an element.

    `lags` follow from the last rows alone. Those of `controls` take few values, and
    `registers` are all others that matter for later states.
    """

    def __init__(self, reduction: UserReduction, element: Expr) -> None:
        self.reduction = reduction
        self.element = element
        self.lags: dict[str, AffineValue] = {}
        self._explored: dict[Control, list[Step]] = {}
        """The steps from the values that were followed last."""
        self.names = set(first_state(reduction))
        self.gaps = self._find_gaps()
        while self._find_lags():
            pass
        self.controls, self.values = self._find_controls()
        self.steps = [step for each in self.values for step in self._explored[each]]
        others = self.names - self.lags.keys() - self.controls
        self.registers = sorted(others & self._reads(others))

    def _find_gaps(self) -> set[str]:
        """Find the fields that may be φ later than before the first row."""
        of = zip(
            columns(self.reduction.state), code_of(self.reduction).gaps, strict=True
        )
        gaps = {name for (name, _), gap in of if gap}
        for name in sorted(gaps):
            others = gaps - {name}
            empty = {name: AffineValue(Phi(F64), nullable=True)}
            later = (
                step.state[name].nullable
                for known in ({}, empty)
                for step in steps(self.reduction, self.element, known, others)
            )
            if not any(later):
                gaps = others
        return gaps

    def _find_lags(self) -> bool:
        """Find fields that follow from the row and from lags; whether there are any."""
        states = [step.state for step in self._steps(())]
        more = {}
        for name in self.names - self.lags.keys():
            values = [state[name] for state in states]
            if all(value.reads <= self.lags.keys() for value in values):
                constants = {value.constant for value in values}
                constant = constants.pop() if len(constants) == 1 else None
                nullable = any(value.nullable for value in values)
                more[name] = AffineValue(constant, nullable=nullable)
        self.lags |= more
        return bool(more)

    def _steps(self, control: Control) -> list[Step]:
        known = {name: AffineValue(constant) for name, constant in control}
        return list(
            steps(self.reduction, self.element, {**self.lags, **known}, self.gaps)
        )

    def _find_controls(self) -> tuple[set[str], list[Control]]:
        """Find the fields that take few values, and those that they keep taking."""
        first = first_state(self.reduction)
        names = {name for name in self.names - self.lags.keys() if first[name]}
        while names:
            following, varying = self._explore(names, first)
            if not varying:
                return names, _recurrent(following)
            names -= varying
        self._explored = {(): self._steps(())}
        return names, [()]

    def _explore(
        self, names: set[str], first: Mapping[str, Const | Phi | None]
    ) -> tuple[dict[Control, set[Control]], set[str]]:
        """Follow fields from their first values; also those that take too many."""
        order = sorted(names)
        start = tuple((name, _certain(first[name])) for name in order)
        following: dict[Control, set[Control]] = {}
        waiting, self._explored = [start], {}
        while waiting:
            control = waiting.pop()
            if control in following:
                continue
            following[control] = set()
            self._explored[control] = self._steps(control)
            for step in self._explored[control]:
                values = {name: step.state[name].constant for name in order}
                unknown = {name for name, value in values.items() if value is None}
                if unknown:
                    return {}, unknown
                after = tuple((name, _certain(values[name])) for name in order)
                following[control].add(after)
                waiting.append(after)
            if len(following) > MOST_STATES:
                counts = {
                    name: len({dict(each)[name] for each in following})
                    for name in order
                }
                return {}, {max(order, key=counts.__getitem__)}
        return following, set()

    def _reads(self, others: Iterable[str]) -> frozenset[str]:
        """The fields that those to come depend on."""
        reads: set[str] = set()
        for step in self.steps:
            for choice in step.choices:
                reads |= choice.reads
            for name in (*others, *self.controls):
                reads |= step.state[name].reads
        return frozenset(reads)


def _certain(constant: Const | Phi | None) -> Const | Phi:
    assert constant is not None
    return constant


def _recurrent(following: Mapping[Control, set[Control]]) -> list[Control]:
    """Keep the states that can be met again: others are left for good."""

    def reachable(start: Control) -> set[Control]:
        known: set[Control] = set()
        waiting = [*following[start]]
        while waiting:
            control = waiting.pop()
            if control not in known:
                known.add(control)
                waiting.extend(following[control])
        return known

    return [control for control in following if control in reachable(control)]

"""Options of compiling."""

from __future__ import annotations

from dataclasses import dataclass

from tiltpy.argument_checks import check_argument, check_flag
from tiltpy.costs import DEFAULT_COSTS, Costs


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileOptions:
    """Options of the compiler; none of them changes a result.

    `disabled_passes`: names of `passes.PASS_NAMES` to leave out. `disabled_strategies`:
    names of `plan.STRATEGY_NAMES` to leave out; without any, sweeps do all. `optimize`:
    whether LLVM optimizes; without, compiling takes a fraction of the time and the code
    is slow, which suits very small data. `cache`: whether compiled code is stored on
    disk, in the user's cache folder, for other processes. `costs`: where one strategy
    becomes cheaper than another.
    """

    disabled_passes: frozenset[str] = frozenset()
    disabled_strategies: frozenset[str] = frozenset()
    optimize: bool = True
    cache: bool = True
    costs: Costs = DEFAULT_COSTS

    def __post_init__(self) -> None:
        """Refuse what are no options."""
        check_flag("optimize", self.optimize)
        check_flag("cache", self.cache)
        check_argument("costs", self.costs, Costs, "Costs(...)")

"""Options of a user for how the rows of an input come into a live session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tiltpy.argument_checks import check_choice, check_flag
from tiltpy.errors import ArgumentError, TiltError
from tiltpy.frontend.surface import syntax
from tiltpy.inputs import BoundFrame, bind
from tiltpy.lean_dataclass import dataclass
from tiltpy.lifetimes import Lifetime
from tiltpy.messages import article
from tiltpy.run_arguments import in_ticks
from tiltpy.runtime.arrivals.ingress_options import (
    LATE_POLICIES,
    IngressOptions,
    LatePolicy,
    check_schema,
)
from tiltpy.short_tracebacks import short_traceback
from tiltpy.time_literals import Length, ticks_of
from tiltpy.types import Unit


@dataclass(frozen=True, slots=True)
class Ingress:
    """Options for how the rows of an input come in; made by `ingress`."""

    reorder: Length | None
    late: LatePolicy
    jump: Length | None
    schema: object
    accepted: bool
    bound: BoundFrame

    def options(self, unit: Unit | None) -> IngressOptions:
        """Convert lengths of time to ticks of a query."""
        lengths = {}
        for name in ("reorder", "jump"):
            value = getattr(self, name)
            if value is not None:
                lengths[name] = in_ticks(name, ticks_of, value, unit)
                if lengths[name] < 0:
                    raise TiltError(f"{name}={value}: expected no negative length")
        binding = self.bound.binding(unit)
        reorder, jump = lengths.get("reorder", 0), lengths.get("jump")
        schema = check_schema(self.schema)
        return IngressOptions(binding, reorder, self.late, jump, schema, self.accepted)


@short_traceback
def ingress(
    *,
    reorder: Length | None = None,
    late: LatePolicy = "drop",
    jump: Length | None = None,
    schema: object = None,
    accepted: bool = False,
    time: str | None = None,
    lifetime: syntax.Lifetime | Lifetime | None = None,
    column: str | None = None,
    order: str | Sequence[str] = (),
    by: str | Sequence[str] = (),
) -> Ingress:
    """Say how the rows of an input come into a live session.

    `reorder` is how long the input waits for rows out of order: it is complete through
    the greatest start of its events so far, less `reorder`. A row that starts before
    is late: `late="drop"` leaves it out, `"side"` gives it back in the update,
    `"adjust"` moves its start to where it is in time, and `"throw"` refuses the push.
    All are counted.

    `jump` refuses a row that lies further than that beyond all rows before it: one row
    stamped 2099 would make all others late. `schema` (pyarrow) tells the columns of an
    input that may have no rows for long. `accepted` gives the accepted rows back, once
    and in order of time: an archive over which `run` says what the session said. The
    others are as in `bind`.
    """
    check_choice("late", late, LATE_POLICIES)
    check_schema(schema)
    bound = bind(None, time=time, lifetime=lifetime, column=column, order=order, by=by)
    check_flag("accepted", accepted)
    return Ingress(reorder, late, jump, schema, accepted, bound)


def read_ways(
    names: Iterable[str], arguments: Mapping[str, object]
) -> dict[str, Ingress]:
    """Read how rows of inputs come in: by name, each by default as `ingress()` says."""
    return {
        name: _check_ingress(name, arguments.get(name, ingress())) for name in names
    }


def _check_ingress(name: str, value: object) -> Ingress:
    if isinstance(value, Ingress):
        return value
    wanted = 'tilt.ingress(...), like tilt.ingress(reorder="3s")'
    if hasattr(value, "__arrow_c_stream__"):
        wanted = f"tilt.ingress(...), and rows later, by push({name}=frame)"
    raise ArgumentError(
        f"{name}: expected {wanted}, found {article(type(value).__name__)}"
    )

"""Plan of partial aggregation: rows are folded where they are, and states are moved.

    input x by k : {a: i32, b: f64} point
    w = TDom(-∞, ∞, 10)
    ~out[w] = {
        n = count(v for v in ~x[w-20 : w] if v.a > 0),
        b = max(~x[w-20 : w].b)
    }

A task that has some of the rows computes `partials`, a state for each key and pane:

    input x by k : {a: i32, b: f64} point
    w = TDom(-∞, ∞, 10)
    ~x_panes[w] = count(~x[w-10 : w]) > 0 ? {
        s0 = count(v for v in ~x[w-10 : w] if v.a > 0),
        s1 = max(~x[w-10 : w].b)
    } : φ

and `merge` is computed of all tasks' states, which are events over their panes:

    input x_panes by k : {s0: i64, s1: f64} interval
    w = TDom(-∞, ∞, 10)
    ~n[w] = sum(v.s0 for v in ~x_panes[w-20 : w] if v.s0 > 0)
    ~out[w] = { n = ~n[w] != φ ? ~n[w] : 0, b = max(~x_panes[w-20 : w].s1) }

Only states that merge exactly in any order are partial; a sum of floats depends on it.
A state is φ, or a count 0, where nothing contributes, so that windows of states differ
where those of rows do. A state begins no earlier than the first row of its key, and
outputs begin with that.
"""

from dataclasses import replace

from tiltpy.ir.nodes import (
    Binary,
    Const,
    Element,
    Exists,
    Expr,
    Field,
    If,
    Input,
    MakeStruct,
    Phi,
    Query,
    Reduce,
    TemporalExpr,
    Window,
)
from tiltpy.ir.traversal import rewrite, source_cuts, walk
from tiltpy.lean_dataclass import dataclass
from tiltpy.lifetimes import Interval, Point
from tiltpy.plan.nodes import Misfit, Refusal
from tiltpy.plan.preaggregation_plan import PaneAggregationPlan
from tiltpy.types import BOOL, I64, Scalar, Struct, TDom

MOST_PANES = 8
"""Panes of a window, at most: where it hops by less, keys may have few rows in a pane,
and a state for almost each."""
STATE = "tilt_state"
"""The first part of the names of fields with states."""
MERGED = ("min", "max", "any", "all")
"""Reductions of which that of states is that of all rows."""


@dataclass(frozen=True, slots=True)
class PartialPanes:
    """An output as a query of states (`states`) by pane, and one that merges them."""

    partials: Query
    merge: Query
    states: str

    @property
    def tdom(self) -> TDom:
        """The panes, as the cells of a time domain."""
        return self.partials.definitions[0].tdom

    @property
    def is_selective(self) -> bool:
        """Tell whether all reductions have conditions on the rows that they take.

        Spark's own aggregates are quicker for few rows, kernels for many.
        """
        return all(
            isinstance(node.element, If) and isinstance(node.element.otherwise, Phi)
            for node in self.reductions
        )

    @property
    def reductions(self) -> tuple[Reduce, ...]:
        """The reductions over a pane that make the states, in order of the fields."""
        body = self.partials.definitions[0].body
        assert isinstance(body, If)
        assert isinstance(body.then, MakeStruct)
        return tuple(node for node in body.then.fields if isinstance(node, Reduce))


def split_into_panes(query: Query, output: str) -> PartialPanes | Refusal:
    """Split a query of one output into partial states and their merge, or refuse it.

    Its input has the lifetime that is bound.
    """
    try:
        plan = PaneAggregationPlan(query, output, {})
        _check(query, plan)
    except Misfit as misfit:
        return Refusal(str(misfit))
    return _Split(query, plan).panes()


def _check(query: Query, plan: PaneAggregationPlan) -> None:
    """Refuse what is no short window of points by key, or has no exact merge."""
    (declared, *more), definition = query.inputs, plan.definition
    if more or len(query.definitions) > 1:
        raise Misfit(f"~{definition.name} refers to other objects than an input")
    if not declared.keys or not isinstance(declared.lifetime, Point):
        raise Misfit(f"~{declared.name} has no keys, or events that are no points")
    if any(name.startswith(STATE) for name in declared.keys):
        raise Misfit(f"a key of ~{declared.name} begins with {STATE}")
    if definition.tdom.calendar is not None:
        raise Misfit(f"the panes of ~{definition.name} are cells of a calendar")
    if plan.longest_window > MOST_PANES:
        raise Misfit(f"windows of ~{declared.name} have more than {MOST_PANES} panes")
    for node in _reductions(definition.body):
        _check_merge(node)
    if set(source_cuts(definition.body)) != set(definition.cuts):
        raise Misfit(f"~{definition.name} is cut by more than it refers to")


def _check_merge(node: Reduce) -> None:
    if node.reduction == "count":
        return
    kind = node.element.type
    whole = isinstance(kind, Scalar) and (kind.is_integer or kind == BOOL)
    plain = whole or (isinstance(kind, Scalar) and kind.is_float)
    if not (whole if node.reduction == "sum" else plain):
        raise Misfit(f"{node.reduction} of {kind} has no exact merge in any order")
    if node.reduction not in ("sum", *MERGED):
        raise Misfit(f"{node.reduction} has no exact merge in any order")


def _reductions(body: Expr) -> list[Reduce]:
    nodes = (node for node in walk(body) if isinstance(node, Reduce))
    return list(dict.fromkeys(nodes))


class _Split:
    """The two queries, made from the state that each reduction needs."""

    def __init__(self, query: Query, plan: PaneAggregationPlan) -> None:
        self.query = query
        (self.input,) = query.inputs
        self.definition = plan.definition
        self.pane = plan.pane
        self.fields: dict[Reduce, str] = {}
        for node in _reductions(self.definition.body):
            self.fields.setdefault(self._state(node), f"{STATE}{len(self.fields)}")
        self.type = Struct(tuple((name, s.type) for s, name in self.fields.items()))
        self.name = f"{self.input.name}_panes"
        while self.name == self.definition.name:
            self.name += "_"

    def panes(self) -> PartialPanes:
        """Make both queries."""
        return PartialPanes(self._partials(), self._merge(), self.name)

    def _state(self, node: Reduce) -> Reduce:
        """Make the reduction over a pane that a reduction over windows needs."""
        return replace(node, window=Window(self.input.name, -self.pane, 0))

    def _partials(self) -> Query:
        row = Element(self.input.type)
        every = Reduce("count", Window(self.input.name, -self.pane, 0), row, I64)
        body = If(
            Binary(">", every, Const(0, I64), BOOL),
            MakeStruct(tuple(self.fields), self.type),
            Phi(self.type),
        )
        tdom = TDom(precision=self.pane, offset=self.definition.tdom.offset % self.pane)
        definition = TemporalExpr(self.name, tdom, body, source_cuts(body))
        return Query(self.query.unit, (self.input,), (definition,), (self.name,))

    def _merge(self) -> Query:
        def rule(node: Expr) -> Expr:
            return self._read_state(node) if isinstance(node, Reduce) else node

        body = rewrite(self.definition.body, rule)
        definition = replace(self.definition, body=body, cuts=source_cuts(body))
        states = Input(self.name, self.type, Interval(), keys=self.input.keys)
        return replace(self.query, inputs=(states,), definitions=(definition,))

    def _read_state(self, node: Reduce) -> Expr:
        """Make the reduction over states of windows that a reduction is."""
        window = replace(node.window, object=self.name)
        state = Field(Element(self.type), self.fields[self._state(node)], node.type)
        if node.reduction != "count":
            return replace(node, window=window, element=state)
        some = If(Binary(">", state, Const(0, I64), BOOL), state, Phi(I64))
        total = Reduce("sum", window, some, I64)
        return If(Exists(total, BOOL), total, Const(0, I64))

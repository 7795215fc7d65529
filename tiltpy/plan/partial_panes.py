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

`first` and `last` are the value of a row. Their states merge where each is an event of
that row's time and place among ties, of which the partial query says which row it is:

    input x by k : {tilt_value0: i32, tilt_value1: f64, tilt_row: i64} point
    ~x_panes[w] = count(~x[w-10 : w]) > 0 ? {
        s0 = last(~x[w-10 : w].tilt_value1),
        tilt_row0 = first(~x[w-10 : w].tilt_row),
        tilt_row1 = last(v.tilt_row for v in ~x[w-10 : w] if v.tilt_value1 != φ)
    } : φ

`tilt_row` numbers the rows, and `tilt_row0` is the pane's first of all.
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
OWN = "tilt_"
"""The first part of the names that are made here."""
STATE, ROW, VALUE = f"{OWN}state", f"{OWN}row", f"{OWN}value"
"""The first parts of the names of states, of numbers of rows, and of a row's fields."""
MERGED = ("min", "max", "any", "all")
"""Reductions of which that of states is that of all rows."""
OF_A_ROW = ("first", "last")
"""Reductions to the value of one row: states are in the order of these rows."""


@dataclass(frozen=True, slots=True)
class PartialPanes:
    """An output as a query of states (`states`) by pane, and one that merges them.

    `of_rows` are the states that are the value of a row; field `n` of the partial query
    that begins with `ROW` says of which, the first of these fields which is the first.
    """

    partials: Query
    merge: Query
    states: str
    of_rows: tuple[str, ...] = ()

    @property
    def tdom(self) -> TDom:
        """The panes, as the cells of a time domain."""
        return self.partials.definitions[0].tdom

    @property
    def is_selective(self) -> bool:
        """Tell whether all reductions have conditions on the rows that they take.

        Spark's own aggregates are quicker for few rows, kernels for many.
        """
        return not self.of_rows and all(
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
    if any(name.startswith(OWN) for name in declared.keys):
        raise Misfit(f"a key of ~{declared.name} begins with {OWN}")
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
    if node.reduction in OF_A_ROW:
        if not plain and not (isinstance(kind, Scalar) and kind.kind == "string"):
            raise Misfit(f"{node.reduction} of {kind} is no value of one column")
        return
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
        self.window = Window(self.input.name, -plan.pane, 0)
        self.fields: dict[Reduce, str] = {}
        for node in _reductions(self.definition.body):
            self.fields.setdefault(self._state(node), f"{STATE}{len(self.fields)}")
        self.of_rows = {s: n for s, n in self.fields.items() if s.reduction in OF_A_ROW}
        self.type = Struct(tuple((name, s.type) for s, name in self.fields.items()))
        self.name = f"{self.input.name}_panes"
        while self.name == self.definition.name:
            self.name += "_"

    def panes(self) -> PartialPanes:
        """Make both queries."""
        of_rows = tuple(self.of_rows.values())
        return PartialPanes(self._partials(), self._merge(), self.name, of_rows)

    def _state(self, node: Reduce) -> Reduce:
        """Make the reduction over a pane that a reduction over windows needs."""
        return replace(node, window=self.window)

    def _partials(self) -> Query:
        declared, states = self.input, self.fields
        if self.of_rows:
            declared = replace(declared, type=self._row_type())
            states = {self._of_numbered(s): name for s, name in states.items()}
            rows = map(self._row, [None, *self.of_rows])
            states |= {row: f"{ROW}{number}" for number, row in enumerate(rows)}
        every = Reduce("count", self.window, Element(declared.type), I64)
        kind = Struct(tuple((name, s.type) for s, name in states.items()))
        body = If(
            Binary(">", every, Const(0, I64), BOOL),
            MakeStruct(tuple(states), kind),
            Phi(kind),
        )
        tdom, pane = self.definition.tdom, -self.window.start
        tdom = TDom(precision=pane, offset=tdom.offset % pane)
        definition = TemporalExpr(self.name, tdom, body, source_cuts(body))
        return Query(self.query.unit, (declared,), (definition,), (self.name,))

    def _row_type(self) -> Struct:
        """Find the type of rows with their numbers."""
        kind = self.input.type
        kinds = [k for _, k in kind.fields] if isinstance(kind, Struct) else [kind]
        values = ((f"{VALUE}{number}", k) for number, k in enumerate(kinds))
        return Struct((*values, (ROW, I64)))

    def _of_numbered(self, state: Reduce) -> Reduce:
        """Make a reduction over rows that of numbered ones."""
        kind, numbered = self.input.type, Element(self._row_type())
        names = dict(kind.fields) if isinstance(kind, Struct) else {}
        fields = {name: f"{VALUE}{number}" for number, name in enumerate(names)}

        def rule(node: Expr) -> Expr:
            match node:
                case Element() if isinstance(kind, Scalar):
                    return Field(numbered, f"{VALUE}0", kind)
                case Element():
                    return numbered
                case Field(operand=Element(), name=name):
                    return replace(node, operand=numbered, name=fields[name])
                case _:
                    return node

        return replace(state, element=rewrite(state.element, rule))

    def _row(self, state: Reduce | None) -> Reduce:
        """Find the number of the row whose value a state is, or of the first of all."""
        number: Expr = Field(Element(self._row_type()), ROW, I64)
        if state is None:
            return Reduce("first", self.window, number, I64)
        element = self._of_numbered(state).element
        number = If(Exists(element, BOOL), number, Phi(I64))
        return Reduce(state.reduction, self.window, number, I64)

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

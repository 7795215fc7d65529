"""The temporal objects of a query, and how large it has become, as it is elaborated."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tiltpy.errors import QueryError
from tiltpy.frontend.elaboration.poison import FatalPoison, Poison
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.names import fresh_name, nearest
from tiltpy.ir.keys import Keys, definition_keys, format_keys
from tiltpy.ir.nodes import Expr, TemporalExpr
from tiltpy.ir.print.query import format_expr
from tiltpy.ir.traversal import source_cuts
from tiltpy.lifetimes import Lifetime, UntilNext
from tiltpy.limits import MAX_CALLS, MAX_NODES, MAX_OBJECTS
from tiltpy.source import Span
from tiltpy.types import TDom, Type


@dataclass(slots=True)
class Expansion:
    """The size of a query with its functions expanded where they are called.

    Beyond a limit an error is raised once, and `FatalPoison` from then on.
    """

    calls: int = 0
    nodes: int = 0

    def count_call(self, span: Span) -> None:
        """Count a call of a function; those inside of functions count every time."""
        self.calls += 1
        if self.calls > MAX_CALLS:
            message = f"the functions of this query are called more than {MAX_CALLS:,}"
            self._refuse(self.calls == MAX_CALLS + 1, f"{message} times", span)

    def count_node(self, span: Span) -> None:
        """Count a node of an expression."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            message = f"this query has more than {MAX_NODES:,} parts"
            message += ", with its functions expanded"
            self._refuse(self.nodes == MAX_NODES + 1, message, span)

    def _refuse(self, first: bool, message: str, span: Span) -> None:
        if not first:
            raise FatalPoison
        hint = "give names to what is used many times"
        raise QueryError("E0303", message, span, hint)


@dataclass(slots=True)
class Objects:
    """The temporal objects that a body may refer to, and those that bodies define.

    `lifetimes` are those of the inputs, where the query says them. `types` are those
    elaborated so far, `keys` their key columns; `poisoned` has those (as `~x`) that
    were wrong or unknown; `taken` are all object names of the query, `local_names` the
    names of the objects that bodies define, `definitions` all that is defined so far;
    `roots` are the inputs whose rows inputs and row objects have.
    """

    types: dict[str, Type]
    keys: dict[str, Keys]
    lifetimes: Mapping[str, Lifetime | None]
    poisoned: set[str]
    taken: set[str] = field(default_factory=set)
    local_names: dict[tuple[TDom, bool, str], str] = field(default_factory=dict)
    definitions: list[TemporalExpr] = field(default_factory=list)
    expansion: Expansion = field(default_factory=Expansion)
    roots: dict[str, str] = field(default_factory=dict)

    def has_bounds(self, name: str) -> bool:
        """Tell whether `start` and `end` of an object are defined."""
        distinct = (d.name == name and d.distinct for d in self.definitions)
        return name in self.roots or any(distinct)

    def in_text(self) -> list[str]:
        """List the objects that have a name in the query's text."""
        local_names = set(self.local_names.values())
        return [name for name in self.types if name not in local_names]

    def define(
        self, name: str, tdom: TDom, body: Expr, span: Span, *, distinct: bool
    ) -> str:
        """Define an object inside of a body, and return its name.

        Equal bodies over one domain are one object.
        """
        text = format_expr(body, same_rows=self.same_rows(tdom))
        key = tdom, distinct, text
        if key not in self.local_names:
            fresh = fresh_name(name, self.taken)
            self.taken.add(fresh)
            self.local_names[key] = fresh
            cuts = source_cuts(body)
            self.add(TemporalExpr(fresh, tdom, body, cuts, distinct, span))
        return self.local_names[key]

    def add(self, definition: TemporalExpr) -> None:
        """Add a definition, which can be referred to from then on."""
        if len(self.definitions) >= MAX_OBJECTS:
            raise QueryError(
                "E0304",
                f"more than {MAX_OBJECTS:,} definitions, those in functions included",
                definition.span,
                "split the query in two: the outputs of one can be the inputs of the "
                "other",
            )
        self.types[definition.name] = definition.type
        self.keys[definition.name] = definition_keys(definition, self.keys)
        self.definitions.append(definition)
        if definition.tdom.rows is not None:
            self.roots[definition.name] = self.roots[definition.tdom.rows]

    def same_rows(self, tdom: TDom) -> frozenset[str]:
        """List the objects that have the rows at which a row domain stands."""
        root = None if tdom.rows is None else self.roots[tdom.rows]
        return frozenset(name for name, other in self.roots.items() if other == root)

    def check_rows(self, tdom: TDom) -> None:
        """Check that a row domain is one of an input or of a row object.

        And that cells are those of an input.
        """
        if tdom.cells is not None:
            self._check_cells(syntax.Ref(tdom.cells, None, None, tdom.span))
        if tdom.rows is None:
            return
        ref = syntax.Ref(tdom.rows, None, None, tdom.span)
        self.payload_type(ref)
        if ref.object not in self.roots:
            raise QueryError(
                "E0111",
                f"~{ref.object} has no rows of its own: it is not an input, and not "
                "defined over rows",
                ref.span,
                "give Rows an input, or an object that is defined over one",
            )
        root = self.roots[ref.object]
        if tdom.nulls and root != ref.object:
            raise QueryError(
                "E0111",
                f"`null` keeps rows of inputs, and ~{ref.object} has those of "
                f"~{root} that it leaves",
                ref.span,
                f"write Rows(~{root}, null), or Rows(~{ref.object})",
            )

    def _check_cells(self, ref: syntax.Ref) -> None:
        """Check that cells are the intervals of an input, which has an end of each."""
        self.payload_type(ref)
        name, lifetime = ref.object, self.lifetimes.get(ref.object)
        if name not in self.lifetimes:
            raise QueryError(
                "E0111",
                f"~{name} is not an input, and cells are the intervals of one",
                ref.span,
                f"bind the intervals as an input, like input {name} : f64 interval",
            )
        if isinstance(lifetime, UntilNext) and lifetime.max is None:
            raise QueryError(
                "E0111",
                f"the last cell of ~{name} would have no end",
                ref.span,
                "limit the rows, like until_next max 1d, or bind them as intervals",
            )

    def payload_type(self, ref: syntax.Ref) -> Type:
        """Find the payload type of the object that a reference names.

        An unknown object is an error once, and poison from then on.
        """
        name = ref.object
        if f"~{name}" in self.poisoned:
            raise Poison
        if name not in self.types:
            self.poisoned.add(f"~{name}")
            raise unknown_object(ref, self.in_text())
        return self.types[name]

    def require_same_keys(self, ref: syntax.Ref, other: syntax.Ref) -> None:
        """Raise an error if two references are to objects of different keys."""
        keys, known = self.keys[ref.object], self.keys[other.object]
        if keys == known:
            return
        raise QueryError(
            "E0117",
            f"~{ref.object} is keyed by {format_keys(keys)}, but ~{other.object} by "
            f"{format_keys(known)}",
            _name_span(ref),
            "objects are joined key by key: declare their inputs by the same columns, "
            "in order",
        )


def unknown_object(ref: syntax.Ref, known: Iterable[str], hint: str = "") -> QueryError:
    """Make the error that no object has the name of a reference."""
    name = ref.object
    hint = hint or nearest(name, known, "~") or f"declare it, like input {name} : f64"
    return QueryError("E0101", f"unknown object ~{name}", _name_span(ref), hint)


def _name_span(ref: syntax.Ref) -> Span:
    """Find the span of a reference's name; all of the reference, if from Python."""
    source, start = ref.span.source, ref.span.start
    in_text = source.text.startswith(f"~{ref.object}", start)
    return Span(source, start, start + 1 + len(ref.object)) if in_text else ref.span

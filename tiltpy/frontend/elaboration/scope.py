"""Scopes: the meaning of names at one position in a body.

A function's body has a scope of its own: it sees its parameters and what stands around
its definition, never the names of its caller. That is all of hygiene; nothing in a text
is ever renamed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tiltpy.frontend.elaboration.library import Functions
from tiltpy.frontend.elaboration.tick_constants import Ticks, Times
from tiltpy.frontend.surface import syntax
from tiltpy.ir.nodes import Const, Element, Expr
from tiltpy.ir.traversal import walk
from tiltpy.types import TDom


@dataclass(eq=False, slots=True)
class LocalBinding:
    """A local name or an argument: its expression, and the scope of that.

    Each body elaborates it again, where it first uses it: the objects that a block
    defines are bodies too. `poisoned` once an error in it has been reported.
    """

    name: syntax.Word
    node: syntax.Expr
    scope: "Scope"
    argument: bool = False
    poisoned: bool = False


@dataclass(frozen=True, slots=True)
class Alias:
    """The target of `~name`: an object of the query, or a field of one.

    `object` is None where its definition was wrong.
    """

    object: str | None
    fields: tuple[syntax.Word, ...] = ()


@dataclass(frozen=True, slots=True)
class Scope:
    """Names and what they stand for, in the body of `within` at `time`.

    `points` is the domain at whose grid points the body is evaluated, `tdom` the domain
    of the objects that the body defines at `time`: that of the definition, but ticks in
    a function and in an argument of one.

    A name stands for a `LocalBinding`, or for a value: the element of a reduction, or a
    field of it; None for an element that a reduction inside that one does not see.
    `domains` are the time domains that blocks declare, None where one was
    wrong. A `closed` scope does not see the objects of the query.
    """

    time: str
    times: Times
    functions: Functions
    tdom: TDom = field(default_factory=TDom)
    points: TDom = field(default_factory=TDom)
    within: str = ""
    names: Mapping[str, LocalBinding | Expr | None] = field(default_factory=dict)
    objects: Mapping[str, Alias] = field(default_factory=dict)
    domains: Mapping[str, TDom | None] = field(default_factory=dict)
    closed: bool = False

    def with_name(
        self, name: str, value: LocalBinding | Expr, known: Const | None
    ) -> "Scope":
        """Extend the scope by a name; `known` is its value, if it is a constant."""
        params: dict[str, Const | Ticks] = {
            key: param for key, param in self.times.params.items() if key != name
        }
        if known is not None:
            params[name] = known
        times = replace(self.times, params=params)
        return replace(self, names={**self.names, name: value}, times=times)

    def without_elements(self) -> "Scope":
        """Hide the elements of the reductions around: the scope inside another one."""
        names = {
            name: value
            if isinstance(value, LocalBinding) or not _varies(value)
            else None
            for name, value in self.names.items()
        }
        return replace(self, names=names)

    def with_ticks(self, name: str, ticks: int) -> "Scope":
        """Extend the scope by the name of a duration."""
        names = {key: value for key, value in self.names.items() if key != name}
        times = replace(self.times, params={**self.times.params, name: Ticks(ticks)})
        return replace(self, names=names, times=times)

    def with_domain(self, name: str, tdom: TDom | None) -> "Scope":
        """Extend the scope by a time variable."""
        domains = {**self.domains, name: tdom}
        known = self.times.domains | {name}
        return replace(self, domains=domains, times=replace(self.times, domains=known))

    def with_object(self, name: str, alias: Alias) -> "Scope":
        """Extend the scope by `~name`, an object."""
        return replace(self, objects={**self.objects, name: alias})


def _varies(value: Expr | None) -> bool:
    """Tell whether a value is made of an element of a reduction."""
    return value is None or any(isinstance(node, Element) for node in walk(value))

"""Decorators for frozen dataclasses with slots that take less time.

`dataclass` makes classes quickly: a process that imports tiltpy makes hundreds of them,
and `dataclasses` compiles seven functions of source text for each, which was two fifths
of the time of all imports. Here `__init__` alone is compiled; the other methods are
closures over the fields.

`record` is for classes of which a run makes dozens of objects for each table. Those of
a frozen dataclass take three times as long to make as others, since each field is set
by a call. Here type checkers alone refuse to set one.

Type checkers see `dataclasses.dataclass` in both.
"""

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass", "record"]

if TYPE_CHECKING:
    from dataclasses import dataclass
    from dataclasses import dataclass as record
else:

    def record(
        *, frozen: bool, slots: bool, eq: bool = True, weakref_slot: bool = False
    ) -> Callable[[type], type]:
        """Make a dataclass with slots that is equal to itself alone."""
        assert frozen
        assert slots
        assert not eq
        return dataclasses.dataclass(slots=True, eq=False, weakref_slot=weakref_slot)

    def dataclass(
        *, frozen: bool, slots: bool, eq: bool = True, repr: bool = True
    ) -> Callable[[type], type]:
        """Make a class a frozen dataclass with slots, as `dataclasses.dataclass` does.

        Its bases are no dataclasses, and all of its fields are arguments of `__init__`.
        """
        assert frozen
        assert slots
        return lambda cls: _freeze(cls, eq=eq, show=repr)


def _freeze(cls: type, *, eq: bool, show: bool) -> type:
    own = {name for name, value in vars(cls).items() if value is not None}
    make = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)
    made: Any = make(cls)
    fields = dataclasses.fields(made)
    assert all(f.init and not f.kw_only for f in fields), "all are arguments, by place"
    made.__dataclass_params__.frozen = True  # for classes that are derived from it
    made.__dataclass_params__.repr = show
    methods = {**_make_frozen(made, fields), **_make_pickled(fields)}
    if show and "__repr__" not in own:
        methods["__repr__"] = _make_repr([f.name for f in fields if f.repr])
    if eq:
        compared = _values([f.name for f in fields if f.compare])
        if "__eq__" not in own:
            methods["__eq__"] = _make_eq(compared)
        if "__hash__" not in own:
            methods["__hash__"] = lambda self: hash(compared(self))
    for name, method in methods.items():
        method.__name__ = name
        method.__qualname__ = f"{made.__qualname__}.{name}"
        setattr(made, name, method)
    result: type = made
    return result


def _values(names: list[str]) -> Callable[[object], tuple[Any, ...]]:
    """Make what reads some attributes of an object."""
    match names:
        case []:
            return lambda _: ()
        case [name]:
            read = attrgetter(name)
            return lambda self: (read(self),)
        case _:
            return attrgetter(*names)


class _Factory:
    """The default of an argument that a call makes."""

    def __repr__(self) -> str:
        return "<factory>"


FACTORY = _Factory()
Methods = dict[str, Callable[..., Any]]


def _make_frozen(made: Any, fields: tuple[dataclasses.Field[Any], ...]) -> Methods:
    """Make `__init__`, which alone sets fields, and what refuses to."""
    names = {f.name for f in fields}

    def refuse_set(self: object, name: str, value: object) -> None:
        if type(self) is made or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(made, self).__setattr__(name, value)

    def refuse_delete(self: object, name: str) -> None:
        if type(self) is made or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(made, self).__delattr__(name)

    return {
        "__init__": _make_init(made, fields),
        "__setattr__": refuse_set,
        "__delattr__": refuse_delete,
    }


def _make_init(
    made: Any, fields: tuple[dataclasses.Field[Any], ...]
) -> Callable[..., None]:
    """Compile `__init__`, whose arguments are the fields."""
    known: dict[str, Any] = {"_factory": FACTORY}
    arguments, lines = [], []
    for field in fields:
        name = field.name
        known[f"_set_{name}"] = vars(made)[name].__set__
        known[f"_default_{name}"] = field.default
        known[f"_make_{name}"] = field.default_factory
        value, default = name, f" = _default_{name}"
        if field.default_factory is not dataclasses.MISSING:
            default = " = _factory"
            value = f"_make_{name}() if {name} is _factory else {name}"
        elif field.default is dataclasses.MISSING:
            default = ""
        arguments.append(name + default)
        lines.append(f" _set_{name}(self, {value})")
    if hasattr(made, "__post_init__"):
        lines.append(" self.__post_init__()")
    head = f"def __init__({', '.join(['self', *arguments])}):\n"
    exec(head + "\n".join(lines or [" pass"]), known)  # noqa: S102
    init: Callable[..., None] = known["__init__"]
    init.__module__ = made.__module__
    init.__annotations__ = {f.name: f.type for f in fields} | {"return": None}
    return init


def _make_pickled(fields: tuple[dataclasses.Field[Any], ...]) -> Methods:
    """Make what `pickle` and `copy` call: the state is a list of the fields' values."""
    read = _values([field.name for field in fields])
    names = [field.name for field in fields]

    def set_state(self: object, state: list[Any]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return {"__getstate__": lambda self: list(read(self)), "__setstate__": set_state}


def _make_repr(names: list[str]) -> Callable[[object], str]:
    """Make `__repr__`, with one Python frame for each level: objects may be deep."""

    def represent(self: object) -> str:
        shown: list[str] = []
        for name in names:  # a generator would be another frame
            shown.append(f"{name}={getattr(self, name)!r}")  # noqa: PERF401
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def origin() -> None: ...

    origin.__qualname__ = "__create_fn__"  # so that pprint knows it for a dataclass's
    represent.__wrapped__ = origin  # type: ignore[attr-defined]
    return represent


def _make_eq(compared: Callable[[object], tuple[Any, ...]]) -> Callable[..., Any]:
    def equal(self: object, other: object) -> Any:
        if type(other) is not type(self):
            return NotImplemented
        return compared(self) == compared(other)

    return equal

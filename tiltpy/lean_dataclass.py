"""Decorators for dataclasses with slots that take less time.

`dataclass` makes frozen classes quickly: a process that imports tiltpy makes hundreds
of them, and uses a third. `dataclasses` compiles seven functions of source text for
each. Here a method is made when it is first looked up, and `__init__` alone is
compiled: its code is that of any class with as many fields, under other names.

`record` is for classes of which a run makes dozens of objects for each table. Those of
a frozen dataclass take three times as long to make as others, since each field is set
by a call. Here type checkers alone refuse to set one.

Type checkers see `dataclasses.dataclass` in both.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field
from functools import cache
from operator import attrgetter
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

__all__ = ["dataclass", "record"]

if TYPE_CHECKING:
    from dataclasses import dataclass
    from dataclasses import dataclass as record
else:

    def record(*, frozen: bool, slots: bool, eq: bool = True) -> Callable[[type], type]:
        """Make a dataclass with slots that is equal to itself alone."""
        assert frozen
        assert slots
        assert not eq
        return lambda cls: _make_class(cls, _RECORD, _params(show=True))

    def dataclass(
        *, frozen: bool, slots: bool, eq: bool = True, repr: bool = True
    ) -> Callable[[type], type]:
        """Make a class a frozen dataclass with slots, as `dataclasses.dataclass` does.

        Its bases are no dataclasses, and all of its fields are arguments of `__init__`.
        """
        assert frozen
        assert slots
        methods = {**_FROZEN, **(_SHOWN if repr else {}), **(_COMPARED if eq else {})}
        return lambda cls: _make_class(cls, methods, _params(frozen=True, show=repr))


_DECLARED = "__lean_fields__"
"""The attribute of a class that has what its body says of its fields."""


class _FieldDeclaration(NamedTuple):
    """A field as the body of a class declares it."""

    type: Any
    field: Any
    """Its default and other options."""


class _LateMethod:
    """A method that a class has when it is first looked up.

    All classes share it: those that they derive from have none that is still to come.
    """

    __slots__ = ("_make", "_name")

    def __init__(self, name: str, make: Callable[[type], Any]) -> None:
        self._name = name
        self._make = make

    def __get__(self, instance: object, owner: type) -> Any:
        made = _install(self, self._name, self._make, owner)
        bind = getattr(made, "__get__", None)
        return made if bind is None else bind(instance, owner)


def _late_operator(name: str, make: Callable[[type], Any]) -> Callable[..., Any]:
    """Make a method that makes its successor when it is first called.

    Python hides what is raised while it looks up the method of an operator, such as an
    interrupt: `hash` then says that an object is unhashable, and `==` that two are not
    equal.
    """

    def call(self: object, *others: object) -> Any:
        return _install(call, name, make, type(self))(self, *others)

    call.__name__ = name
    return call


def _install(
    late: object, name: str, make: Callable[[type], Any], derived: type
) -> Any:
    """Return the method of the class that has a late one: made, if it still has."""
    cls = next(each for each in derived.__mro__ if _DECLARED in vars(each))
    if vars(cls)[name] is late:
        made = make(cls)
        if isinstance(made, FunctionType):
            made.__name__ = name
            made.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, made)
    return vars(cls)[name]


def _make_class(cls: type, methods: Mapping[str, object], params: object) -> type:
    """Make the class anew, with slots for its fields."""
    body = dict(vars(cls))
    own = {name for name, value in body.items() if value is not None}
    fields = {
        name: _FieldDeclaration(kind, _options(body.pop(name, MISSING)))
        for name, kind in cls.__annotations__.items()
        if not _is_of_class(kind)
    }
    for name in ("__dict__", "__weakref__"):
        body.pop(name, None)
    arguments = tuple(n for n, each in fields.items() if each.field.init)
    body |= {
        "__qualname__": cls.__qualname__,
        "__slots__": tuple(fields),
        "__match_args__": arguments,
        "__dataclass_params__": params,
        _DECLARED: fields,
        **{name: method for name, method in methods.items() if name not in own},
    }
    made: type = type(cls)(cls.__name__, cls.__bases__, body)
    return made


def _is_of_class(kind: Any) -> bool:
    """Tell whether an annotation is that of a variable of the class."""
    if isinstance(kind, str):
        return kind.removeprefix("typing.").startswith("ClassVar")
    return kind is ClassVar or getattr(kind, "__origin__", None) is ClassVar


def _options(value: Any) -> Any:
    """Return the options of a field; a default alone is one of them."""
    if isinstance(value, Field):
        assert value.kw_only in (MISSING, False), "all arguments are by place"
        return value
    assert value.__class__.__hash__ is not None, "objects would share what can change"
    return _PLAIN if value is MISSING else dataclasses.field(default=value)


_PLAIN: Any = dataclasses.field()
_OPTIONS: Final = (
    "default", "default_factory", "init", "repr", "hash", "compare", "metadata",
)  # fmt: skip
_FIELD: Final[Any] = dataclasses._FIELD  # type: ignore[attr-defined]  # noqa: SLF001
"""The mark of a field, which a variable of the class has not."""


@cache
def _params(*, frozen: bool = False, show: bool) -> object:
    """Make what `dataclasses` asks of a class: it derives others of a frozen one."""
    like = type("Like", (), {})
    made: Any = dataclasses.dataclass(frozen=frozen, repr=show, eq=False)(like)
    return made.__dataclass_params__


def _fields(cls: type) -> dict[str, _FieldDeclaration]:
    fields: dict[str, _FieldDeclaration] = getattr(cls, _DECLARED)
    return fields


def _names(cls: type, choose: Callable[[Any], bool]) -> list[str]:
    """List the fields that a choice is for."""
    return [name for name, each in _fields(cls).items() if choose(each.field)]


def _make_fields(cls: type) -> dict[str, Field[Any]]:
    """Make the fields that `dataclasses` knows of a class."""
    fields: dict[str, Field[Any]] = {}
    for name, (kind, declared) in _fields(cls).items():
        options = {option: getattr(declared, option) for option in _OPTIONS}
        field: Any = dataclasses.field(**options, kw_only=False)
        field.name, field.type, field._field_type = name, kind, _FIELD  # noqa: SLF001
        fields[name] = field
    return fields


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


def _make_refuse_set(cls: Any) -> Callable[..., None]:
    names = set(_fields(cls))

    def refuse_set(self: object, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    return refuse_set


def _make_refuse_delete(cls: Any) -> Callable[..., None]:
    names = set(_fields(cls))

    def refuse_delete(self: object, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return refuse_delete


def _make_frozen_init(cls: type) -> Callable[..., None]:
    """Make `__init__`, which alone sets fields."""
    return _make_init(cls, "_set_{name}(self, {value})")


def _make_record_init(cls: type) -> Callable[..., None]:
    return _make_init(cls, "self.{name} = {value}")


def _make_init(cls: type, statement: str) -> Callable[..., None]:
    """Compile `__init__`, whose arguments are fields; a statement sets each."""
    known: dict[str, Any] = {"_factory": FACTORY}
    arguments, lines = ["self"], []
    for name, (_, field) in _fields(cls).items():
        known[f"_set_{name}"] = vars(cls)[name].__set__
        known[f"_default_{name}"] = field.default
        known[f"_make_{name}"] = field.default_factory
        value, default = name, f" = _default_{name}"
        if field.default_factory is not MISSING:
            default = " = _factory"
            value = f"_make_{name}() if {name} is _factory else {name}"
        elif field.default is MISSING:
            default = ""
        if field.init:
            arguments.append(name + default)
        elif default:
            value = (
                value.partition(" if ")[0] if field.default is MISSING else default[3:]
            )
        else:
            continue
        lines.append(f" {statement.format(name=name, value=value)}")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    head = f"def __init__({', '.join(arguments)}):\n"
    exec(head + "\n".join(lines or [" pass"]), known)  # noqa: S102
    init: Callable[..., None] = known["__init__"]
    init.__module__ = cls.__module__
    types = {name: each.type for name, each in _fields(cls).items()}
    init.__annotations__ = {n: types[n] for n in vars(cls)["__match_args__"]} | {
        "return": None
    }
    return init


def _get_state(self: Any) -> list[Any]:
    """Return what `pickle` and `copy` keep: a list of the fields' values."""
    return [getattr(self, name) for name in _fields(type(self))]


def _set_state(self: object, state: list[Any]) -> None:
    for name, value in zip(_fields(type(self)), state, strict=True):
        object.__setattr__(self, name, value)


def _make_repr(cls: type) -> Callable[[object], str]:
    """Make `__repr__`, with one Python frame for each level: objects may be deep."""
    names = _names(cls, lambda field: field.repr)

    def represent(self: object) -> str:
        shown: list[str] = []
        for name in names:  # a generator would be another frame
            shown.append(f"{name}={getattr(self, name)!r}")  # noqa: PERF401
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def origin() -> None: ...

    origin.__qualname__ = "__create_fn__"  # so that pprint knows it for a dataclass's
    represent.__wrapped__ = origin  # type: ignore[attr-defined]
    return represent


def _make_eq(cls: type) -> Callable[..., Any]:
    compared = _values(_names(cls, lambda field: field.compare))

    def equal(self: object, other: object) -> Any:
        if other is self:
            return True
        if type(other) is not type(self):
            return NotImplemented
        return compared(self) == compared(other)

    return equal


def _make_hash(cls: type) -> Callable[[object], int]:
    compared = _values(_names(cls, lambda field: field.compare))
    return lambda self: hash(compared(self))


def _late(
    late: Callable[[str, Callable[[type], Any]], object],
    **makers: Callable[[type], Any],
) -> dict[str, object]:
    methods = {f"__{name}__": make for name, make in makers.items()}
    return {name: late(name, make) for name, make in methods.items()}


_SHOWN: Final = _late(_late_operator, repr=_make_repr)
_COMPARED: Final = _late(_late_operator, eq=_make_eq, hash=_make_hash)
_EVERY: Final = {
    **_late(_LateMethod, dataclass_fields=_make_fields),
    "__replace__": dataclasses.replace,
}
_RECORD: Final = {**_EVERY, **_SHOWN, **_late(_LateMethod, init=_make_record_init)}
_FROZEN: Final = {
    **_EVERY,
    **_late(
        _LateMethod,
        init=_make_frozen_init,
        setattr=_make_refuse_set,
        delattr=_make_refuse_delete,
    ),
    "__getstate__": _get_state,
    "__setstate__": _set_state,
}

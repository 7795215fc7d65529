"""The decorator of `lean_dataclass` makes classes that behave as those of Python's."""

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import field
from functools import partial
from typing import Any

import pytest

from tiltpy import lean_dataclass

standard = partial(dataclasses.dataclass, frozen=True, slots=True)
lean: Callable[..., Any] = partial(lean_dataclass.dataclass, frozen=True, slots=True)


@lean_dataclass.dataclass(frozen=True, slots=True)
class Point:
    """A class that can be pickled."""

    x: int
    y: float = 0.5
    tags: list[str] = field(default_factory=list)
    place: str = field(default="here", compare=False, repr=False)


def _declare(decorate: Callable[..., Any]) -> list[Any]:
    """Declare classes of several shapes."""

    @decorate()
    class Empty:
        pass

    @decorate()
    class One:
        x: int

    @decorate()
    class Several:
        x: int
        y: float = 0.5
        tags: list[str] = field(default_factory=list)
        place: str = field(default="here", compare=False, repr=False)

    @decorate(eq=False, repr=False)
    class Identity:
        x: int

    @decorate()
    class Custom:
        x: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Custom) and abs(self.x) == abs(other.x)

        def __hash__(self) -> int:
            return abs(self.x)

        def __repr__(self) -> str:
            return f"<{self.x}>"

    @decorate()
    class Derived(Behaviour):
        x: int

    return [Empty, One, Several, Identity, Custom, Derived]


class Behaviour:
    """A base that is no dataclass."""

    __slots__ = ()

    def __post_init__(self) -> None:
        """Refuse a value."""
        if self.x < 0:  # type: ignore[attr-defined]
            raise ValueError("negative")


def _name(shown: str) -> str:
    return shown.rpartition("<locals>.")[2]


PAIRS = list(zip(_declare(standard), _declare(lean), strict=True))


@pytest.mark.parametrize(("theirs", "ours"), PAIRS, ids=lambda cls: cls.__name__)
def test_a_class_is_as_the_standard_decorator_makes_it(theirs: Any, ours: Any) -> None:
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert ours.__match_args__ == theirs.__match_args__
    assert ours.__slots__ == theirs.__slots__
    names = [each.name for each in dataclasses.fields(ours)]
    assert names == [each.name for each in dataclasses.fields(theirs)]
    made = [cls(*([3] if names else [])) for cls in (theirs, ours)]
    again = [cls(*([3] if names else [])) for cls in (theirs, ours)]
    assert (made[1] == again[1]) == (made[0] == again[0])
    assert made[1] != made[0]
    for cls, one in zip((theirs, ours), made, strict=True):
        assert cls.__eq__(one, "another") in (NotImplemented, False)
        if not names:
            continue
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign"):
            one.x = 4
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete"):
            del one.x
    if "__repr__" in vars(theirs):
        assert _name(repr(made[1])) == _name(repr(made[0]))
    if names and "__eq__" in vars(theirs):
        several = [
            [cls(*([value] if names else [])) for value in (1, 2, 1)]
            for cls in (theirs, ours)
        ]
        assert [a == b for a in several[1] for b in several[1]] == [
            a == b for a in several[0] for b in several[0]
        ]
        if "tags" not in names:  # a list, which has no hash
            assert hash(made[1]) == hash(made[0])


def test_defaults_are_made_anew_and_can_be_given_by_name() -> None:
    one, other = Point(1), Point(1)
    one.tags.append("a")
    assert other.tags == []
    assert Point(x=1, tags=["a"], place="there") == one
    assert repr(one) == "Point(x=1, y=0.5, tags=['a'])"
    assert dataclasses.replace(one, y=2.0) == Point(1, 2.0, ["a"])
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]


def test_an_object_survives_pickle_and_copy() -> None:
    one = Point(1, 2.5, ["a"], "there")
    for again in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):  # noqa: S301
        assert again == one
        assert again.place == "there"
        assert again is not one


def test_a_dataclass_may_be_derived_and_what_is_invalid_is_refused() -> None:
    derived: Any = standard(type("Derived", (Point,), {"__annotations__": {}}))
    assert derived(2).x == 2
    _, negative = PAIRS[-1]
    with pytest.raises(ValueError, match="negative"):
        negative(-1)


def test_a_record_has_slots_and_is_equal_to_itself_alone() -> None:
    @lean_dataclass.record(frozen=True, slots=True, eq=False)
    class Row:
        x: int
        tags: list[str] = field(default_factory=list, init=False)

    row = Row(3)
    assert (row.x, row.tags) == (3, [])
    assert row != Row(3)
    assert len({row, row}) == 1
    assert dataclasses.replace(row, x=4).x == 4
    with pytest.raises(AttributeError):
        row.other = 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("use", [hash, repr, lambda one: one == copy.copy(one)])
def test_an_interrupt_of_a_first_use_is_raised(
    use: Callable[[object], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's operators drop what is raised while they look up a method."""

    class Declared:
        x: int

    cls = lean()(Declared)
    one = cls(1)
    copy.copy(one)
    with monkeypatch.context() as patched:
        patched.setattr(lean_dataclass, "_names", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            use(one)
    assert use(one) == use(cls(1))


def _interrupt(*_: object) -> list[str]:
    raise KeyboardInterrupt


def test_overrides_may_call_what_is_still_to_come() -> None:
    """The method of the class itself is made, not the override looked up again."""

    class Declared:
        x: int

    base: Any = lean()(Declared)

    class Derived(base):  # type: ignore[misc]
        def __init__(self, x: int) -> None:
            super().__init__(x + 1)

        def __repr__(self) -> str:
            return f"D:{early(self)}"

        def __hash__(self) -> int:
            return 1 + int(super().__hash__())

        def __eq__(self, other: object) -> bool:
            return super().__eq__(other) is True

    early = base.__repr__
    one = Derived(3)
    assert one.x == 4
    assert [repr(one) for _ in range(2)] == [f"D:{Derived.__qualname__}(x=4)"] * 2
    assert [hash(one) for _ in range(2)] == [hash(base(4)) + 1] * 2
    assert one == Derived(3)
    assert one != Derived(4)

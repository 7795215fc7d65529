"""Builders of kernels: slots, arrays, variables, and blocks of statements."""

from collections.abc import Iterable, Mapping, Sequence

from tiltpy.abi.layouts import Layout
from tiltpy.abi.signature import RowCount, Scratch
from tiltpy.abi.slots import OF_STRINGS, Slot, SlotKind
from tiltpy.costs import DEFAULT_COSTS, Costs
from tiltpy.ir.nodes import UserReduction
from tiltpy.ir.reductions import block_ticks
from tiltpy.loops.build import TRUE
from tiltpy.loops.nodes import Array, Assign, Branch, For, LExpr, Num, Stmt, Var
from tiltpy.types import I64, Scalar


class KernelBuilder:
    """Collects the slots, arrays, variables and scratch that statements refer to."""

    def __init__(
        self,
        layouts: Mapping[str, Layout],
        user_reductions: Iterable[UserReduction] = (),
        costs: Costs = DEFAULT_COSTS,
    ) -> None:
        self.layouts = layouts
        self.rows = set(layouts)
        """The objects whose rows have bounds of their own: inputs and row objects."""
        self.fields: Mapping[str, frozenset[str]] = {}
        """The fields that are read of an object, unless it is read as a whole."""
        self.costs = costs
        self.user_reductions = {r.name: r for r in user_reductions}
        self.slots: list[Slot] = []
        self._indices: dict[Slot, int] = {}
        self.numbers: dict[Slot, Var] = {}
        self.arrays: dict[Slot, Array] = {}
        self.scratch: list[Scratch] = []
        self.states: list[tuple[str, Scalar]] = []
        self.block_ticks = block_ticks(None)
        self._used: dict[str, int] = {}

    def fresh(self, name: str, scalar: Scalar = I64) -> Var:
        """A new variable."""
        count = self._used.get(name, 0)
        self._used[name] = count + 1
        return Var(f"{name}.{count}" if count else name, scalar)

    def slot(self, kind: SlotKind, name: str, column: int = 0) -> int:
        """The index of a slot."""
        slot = Slot(kind, name, column)
        index = self._indices.setdefault(slot, len(self.slots))
        if index == len(self.slots):
            self.slots.append(slot)
        return index

    def slot_numbers(self) -> tuple[tuple[Var, int], ...]:
        """The variables that hold a slot's number, each with the slot's index."""
        return tuple((var, self._indices[slot]) for slot, var in self.numbers.items())

    def number(self, kind: SlotKind, name: str, column: int = 0) -> Var:
        """A variable that holds a slot's number."""
        slot = Slot(kind, name, column)
        if slot not in self.numbers:
            self.slot(kind, name, column)
            self.numbers[slot] = self.fresh(_label(slot))
        return self.numbers[slot]

    def array(
        self,
        kind: SlotKind,
        name: str,
        scalar: Scalar,
        column: int = 0,
        *,
        written: bool = False,
        bits: bool = False,
    ) -> Array:
        """An array whose address is in a slot."""
        slot = Slot(kind, name, column)
        if slot not in self.arrays:
            number = self.slot(kind, name, column)
            label = self.fresh(_label(slot)).name
            self.arrays[slot] = Array(label, scalar, number, written, bits)
        return self.arrays[slot]

    def address(self, array: Array) -> Var:
        """A variable that holds the address of an array that has a slot."""
        slot = self.slots[array.slot]
        return self.number(slot.kind, slot.object, slot.column)

    def temporary(
        self, name: str, scalar: Scalar, rows: RowCount, constant: int = 0
    ) -> Array:
        """A new scratch array."""
        self.scratch.append(Scratch(scalar, rows, constant))
        return self.array(
            SlotKind.SCRATCH, name, scalar, len(self.scratch) - 1, written=True
        )

    def reads(self, name: str, field: str) -> bool:
        """Decide whether any definition may read a field of an object."""
        return name not in self.fields or field in self.fields[name]

    def state(self, name: str, scalar: Scalar) -> Array:
        """A new state array of one entry, which outlives the call."""
        self.states.append((name, scalar))
        column = len(self.states) - 1
        return self.array(SlotKind.STATE, "", scalar, column, written=True)


def _label(slot: Slot) -> str:
    """The name of a slot in printed kernels; strings, patterns and zones are quoted."""
    name = slot.object
    if slot.kind in OF_STRINGS or slot.kind is SlotKind.ZONE:
        name = repr(name if len(name) <= 60 else f"{name[:57]}...")
    return f"{name}.{slot.kind.value}{slot.column or ''}"


class Block:
    """A list of statements under construction."""

    def __init__(self, builder: KernelBuilder) -> None:
        self.builder = builder
        self.statements: list[Stmt] = []

    @property
    def costs(self) -> Costs:
        """The costs by which its kernel is built."""
        return self.builder.costs

    def add(self, *statements: Stmt) -> None:
        """Append statements, without loops over rows that do nothing."""
        self.statements.extend(
            each for each in statements if not isinstance(each, For) or each.body
        )

    def set(self, var: Var, value: LExpr) -> None:
        """Append an assignment."""
        if var != value:
            self.statements.append(Assign(var, value))

    def name(self, label: str, value: LExpr) -> LExpr:
        """Assign a value to a new variable, unless it is one or a constant already."""
        if isinstance(value, Var | Num):
            return value
        var = self.builder.fresh(label, value.type)
        self.set(var, value)
        return var

    def assign(self, label: str, to: Sequence[Var], values: Iterable[LExpr]) -> None:
        """Assign variables at once: new values may depend on old ones, or be such."""
        renamed = []
        for var, value in zip(to, values, strict=True):
            new = self.name(label, value)
            if new != var and new in to:
                old, new = new, self.builder.fresh(label, new.type)
                self.set(new, old)
            renamed.append(new)
        for var, value in zip(to, renamed, strict=True):
            self.set(var, value)

    def when(self, condition: LExpr, then: "Block", *, rarely: bool = False) -> None:
        """Append a block that runs under a condition, which may hold `rarely`."""
        if condition == TRUE:
            self.add(*then.statements)
        elif then.statements:
            self.statements.append(Branch(condition, then.body(), rarely=rarely))

    def either(self, condition: LExpr, then: "Block", otherwise: "Block") -> None:
        """Append two blocks of which one runs."""
        self.statements.append(Branch(condition, then.body(), otherwise.body()))

    def inner(self) -> "Block":
        """An empty block to be put inside a loop or a branch."""
        return Block(self.builder)

    def body(self) -> tuple[Stmt, ...]:
        """The statements so far."""
        return tuple(self.statements)


class ExpressionBlock(Block):
    """A block without statements: what would be named is put where it is used."""

    def name(self, _label: str, value: LExpr) -> LExpr:
        """Return the value itself."""
        return value

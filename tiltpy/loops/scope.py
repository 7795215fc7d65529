"""The scope of a kernel's verifier: what is declared and assigned at a statement."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from tiltpy.loops.nodes import Array, LoopKernel, Stmt, Var
from tiltpy.loops.operand_types import scalar_fault
from tiltpy.loops.printer import format_statement
from tiltpy.loops.widths import wide_variables
from tiltpy.types import BOOL, I64, Scalar


class KernelScope:
    """The assigned variables, the declared arrays and the enclosing statements.

    Names of the inside of a loop or a branch go out of scope after it: `_trail` and
    `_choices` have them in the order in which they entered. `counters` are the
    variables of the enclosing counted loops, `addresses` the slots of arrays, `reads`
    and `changes` the names of variables and arrays in order. `around` has the current
    statement last.
    """

    def __init__(self, slots: int | None) -> None:
        self.slots = slots
        self.types: dict[str, Scalar] = {}
        self.assigned: set[str] = set()
        self.arrays: dict[str, Array] = {}
        self.counters: set[str] = set()
        self.wide: frozenset[str] = frozenset()
        self.addresses: set[int] = set()
        self.reads: list[str] = []
        self.changes: list[str] = []
        self._trail: list[str] = []
        self._choices: list[str] = []
        self.around: list[Stmt] = []

    def fail(self, rule: str) -> NoReturn:
        """Refuse the current statement."""
        lines = [
            format_statement(statement).rstrip(":")
            for statement in reversed(self.around)
        ]
        first = f"{lines[0]}: {rule}" if lines else rule
        raise AssertionError("\n  in ".join([first, *lines[1:]]))

    # Declarations

    def declare(self, kernel: LoopKernel) -> None:
        """Verify and declare a kernel's slots and arrays."""
        self.wide = frozenset(var.name for var in wide_variables(kernel.body))
        owners: dict[int, Array] = {}
        for array in kernel.arrays:
            self.require_slot(array.slot, f"array {array.name}")
            other = owners.setdefault(array.slot, array)
            if other is not array and (array.written or other.written):
                names = f"{other.name}, {array.name}"
                self.fail(f"arrays that are written do not overlap others: {names}")
            self.add_array(array)
        self.addresses = set(owners)
        for var, slot in kernel.numbers:
            self.require_slot(slot, f"number {var.name}")
            if var.type != I64:
                self.fail(f"a slot holds an i64: {var.name} is {var.type}")
            if var.name in self.assigned:
                self.fail(f"a number has a variable of its own: {var.name}")
            self.assign(var)

    def require_slot(self, slot: int, what: str) -> None:
        """Refuse a slot that the kernel does not have."""
        if slot < 0 or (self.slots is not None and slot >= self.slots):
            among = "" if self.slots is None else f" of {self.slots}"
            self.fail(f"a slot is one of the kernel's: {slot}{among}, {what}")

    def add_array(self, array: Array) -> None:
        """Declare an array from here on."""
        if array.name in self.arrays:
            self.fail(f"an array is declared or chosen once: {array.name}")
        if array.bits and array.type != BOOL:
            self.fail(f"a bitmap is of bools: {array.name} is of {array.type}")
        fault = scalar_fault(array.type)
        if fault is not None:
            self.fail(f"{fault}, in {array.name}")
        self.arrays[array.name] = array

    def require_array(self, array: Array) -> None:
        """Refuse an array that is not declared, or not like this."""
        known = self.arrays.get(array.name)
        if known is not array and known != array:
            how = "" if known is None else " like this"
            self.fail(f"an array is declared or chosen{how} before: {array.name}")

    def change_array(self, array: Array) -> None:
        """Note a store; refuse an array that is not declared, or only read."""
        self.require_array(array)
        self.changes.append(array.name)
        if not array.written:
            self.fail(f"stores go to arrays that are written: {array.name}")

    def choose_array(self, array: Array) -> None:
        """Declare an array to the end of the block."""
        self.add_array(array)
        self._choices.append(array.name)

    # Variables

    def name_variable(self, var: Var) -> None:
        """Note a variable's type; refuse another one."""
        known = self.types.get(var.name)
        if known is None:
            self.types[var.name] = var.type
            fault = scalar_fault(var.type)
            if fault is not None:
                self.fail(f"{fault}, of {var.name}")
        elif known is not var.type and known != var.type:
            self.fail(f"a variable has one type: {var.name}, {known} and {var.type}")

    def assign(self, var: Var) -> None:
        """Assign a variable from here on."""
        self.name_variable(var)
        if var.name in self.counters:
            self.fail(f"a loop's body does not assign its variable: {var.name}")
        self.changes.append(var.name)
        if var.name not in self.assigned:
            self.assigned.add(var.name)
            self._trail.append(var.name)

    @contextmanager
    def inside(self) -> Iterator[list[str]]:
        """Open an inner scope; yields the variables that it assigned, once closed."""
        start, choices = len(self._trail), len(self._choices)
        names: list[str] = []
        yield names
        names += self._trail[start:]
        del self._trail[start:]
        self.assigned.difference_update(names)
        for name in self._choices[choices:]:
            del self.arrays[name]
        del self._choices[choices:]

    def merge(self, then: Iterable[str], otherwise: Iterable[str]) -> None:
        """Assign the variables that both arms of a branch have assigned."""
        both = set(otherwise).intersection(then)
        self.assigned |= both
        self._trail += sorted(both)

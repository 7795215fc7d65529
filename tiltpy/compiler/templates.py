"""Queries before their parameters have values: of a text, or of Python's calls.

A query with other values is elaborated anew from what was parsed once.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from tiltpy.compiler.declarations import ParameterDeclaration
from tiltpy.frontend.python.builder import elaborate_program
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.print import format_syntax
from tiltpy.ir.nodes import Query


class QueryTemplate(ABC):
    """A query and the values of its parameters that are not the defaults."""

    def __init__(self, values: Mapping[str, object] | None = None) -> None:
        self.values: dict[str, object] = dict(values or {})

    def with_values(self, values: Mapping[str, object]) -> "QueryTemplate":
        """Set more values; what was parsed is shared."""
        self.program()
        other = object.__new__(type(self))
        vars(other).update(vars(self), values={**self.values, **values})
        return other

    @property
    @abstractmethod
    def may_have_parameters(self) -> bool:
        """Return whether there may be parameters, found without parsing."""

    @abstractmethod
    def program(self) -> syntax.Program:
        """Return the query as it was written."""

    @abstractmethod
    def query(self) -> Query:
        """Elaborate the query with the values."""

    def parameters(self) -> dict[str, ParameterDeclaration]:
        """List the parameters by name, with the values that they have."""
        if not self.may_have_parameters:
            return {}
        from tiltpy.frontend.text import parameter_values  # noqa: PLC0415 - late

        program = self.program()
        values = parameter_values.read_values(program, self.values)
        declared = {}
        for node in parameter_values.parameters(program):
            name = node.name.text
            value = format_syntax(values.get(name, node.value))
            declared[name] = ParameterDeclaration(name, node.type.text, value)
        return declared


class TextTemplate(QueryTemplate):
    """The query of a text; `name` is what errors call it."""

    def __init__(
        self, text: str, name: str, values: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(values)
        self._text, self._name = text, name
        self._program: syntax.Program | None = None

    def __getstate__(self) -> dict[str, object]:
        """Pickle the text, without what was parsed of it."""
        return {**vars(self), "_program": None}

    @property
    def may_have_parameters(self) -> bool:
        return "param" in self._text

    def program(self) -> syntax.Program:
        if self._program is None:
            from tiltpy.frontend import parse as frontend  # noqa: PLC0415 - late

            self._program = frontend.read(self._text, name=self._name)
        return self._program

    def query(self) -> Query:
        from tiltpy.frontend import parse as frontend  # noqa: PLC0415 - late

        return frontend.set_parameters(self.program(), self.values)


class ProgramTemplate(QueryTemplate):
    """A query that was built in Python."""

    def __init__(self, program: syntax.Program) -> None:
        super().__init__()
        self._program = program

    @property
    def may_have_parameters(self) -> bool:
        return any(isinstance(s, syntax.Param) for s in self._program.statements)

    def program(self) -> syntax.Program:
        return self._program

    def query(self) -> Query:
        return elaborate_program(self._program, self.values)

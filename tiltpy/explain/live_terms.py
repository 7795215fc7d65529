"""Terms of a live session: when its outputs are final, and what it keeps for them."""

from tiltpy.compiler.output_selection import split_by_keys
from tiltpy.engines.live.finality import find_delay, is_never_final
from tiltpy.ir.keys import keys_of
from tiltpy.ir.nodes import Query, TemporalExpr
from tiltpy.ir.print.expressions import ExprPrinter
from tiltpy.messages import quantity
from tiltpy.passes.pipeline import optimize
from tiltpy.passes.resolve_boundaries import resolve_boundaries
from tiltpy.passes.streamed_keys import find_key_traits
from tiltpy.types import Boundary


def explain_live(query: Query) -> str:
    """Say of each output when it is final, what is kept, and what becomes of keys.

    ~trend: final when ~stock is complete
      ~stock: the rows of the last 20d are kept
    """
    counted = resolve_boundaries(query, "counted")
    printer = ExprPrinter(query.unit)
    sparse = _find_sparse(query)
    lines: list[str] = []
    for name, reach in counted.boundaries:
        output = counted.definition(name)
        assert output is not None
        lines.append(f"~{name}: {_say_finality(output, reach, printer)}")
        for source, boundary in reach:
            lines.append(f"  ~{source}: {_say_rows(boundary, printer)}")
        if keys_of(query, name):
            lines.append(f"  {_say_keys(sparse=sparse[name])}")
    return "\n".join(lines) + "\n"


def _find_sparse(query: Query) -> dict[str, bool]:
    """Tell of each output by key whether it is φ for a key without rows."""
    sparse: dict[str, bool] = {}
    for part in split_by_keys(query):
        if part.is_keyed:
            _, optimized = optimize(part)[-1]
            traits = find_key_traits(optimized)
            sparse.update({name: each.sparse for name, each in traits.items()})
    return sparse


def _say_finality(
    output: TemporalExpr,
    reach: tuple[tuple[str, Boundary], ...],
    printer: ExprPrinter,
) -> str:
    """Say when cells are final, by what the output looks ahead."""
    inputs: list[str] = []
    for source, boundary in reach:
        if is_never_final(boundary):
            return f"refused: it looks ahead into ~{source} without a bound"
        ahead = find_delay(output, boundary)
        beyond = f" {printer.ticks(ahead)} beyond" if ahead else ""
        inputs.append(f"~{source} is complete{beyond}")
    return f"final when {' and '.join(inputs) or 'all inputs are complete'}"


def _say_rows(boundary: Boundary, printer: ExprPrinter) -> str:
    """Say which rows of an input stay, or what stands for them."""
    back = boundary.back
    if back.is_unbounded:
        return "a state stands for all rows, or all are kept"
    rows = f" and {quantity(back.rows, 'row')} before them" if back.rows else ""
    if not back.ticks:
        return f"the rows that still last are kept{rows}"
    return f"the rows of the last {printer.ticks(back.ticks)} are kept{rows}"


def _say_keys(*, sparse: bool) -> str:
    if sparse:
        return "a key is forgotten once its rows are out of reach"
    return "a key stays: there are values where it has no rows"

"""The stages of a whole query, for the layouts of given data or for assumed ones."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from tiltpy.abi.layouts import Layout, SamplingGrid
from tiltpy.compiler.query_kernels import Compiler
from tiltpy.costs import Costs
from tiltpy.engines.local import bind_inputs, plan_group
from tiltpy.engines.output_groups import make_group
from tiltpy.explain.stages import DEFAULT_LAYOUT, explain, explain_preaggregation
from tiltpy.ir.nodes import Query
from tiltpy.lean_dataclass import dataclass
from tiltpy.passes.analyses.row_inputs import row_inputs
from tiltpy.run_arguments import run_time_bounds
from tiltpy.runtime.concurrency.offload import offload
from tiltpy.runtime.execution.hidden_rows import HiddenRows
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.execution.vector_range import find_sampling_grid
from tiltpy.runtime.ingest.binding import InputBinding
from tiltpy.runtime.ingest.read_input import InputRows
from tiltpy.runtime.ingest.visible_rows import visible_rows
from tiltpy.types import columns


@dataclass(frozen=True, slots=True)
class ExplainedData:
    """Data to explain a query for; without any, layouts are assumed.

    `layouts` and `sampling_grids` are those of the key with most rows. The latter has
    the inputs with a grid, and is None without data.
    """

    bindings: Mapping[str, InputBinding]
    rows: Mapping[str, InputRows]
    layouts: Mapping[str, Layout]
    sampling_grids: Mapping[str, SamplingGrid] | None


def read_data(
    query: Query, bindings: Mapping[str, InputBinding], costs: Costs
) -> ExplainedData:
    """Read the data of all inputs, or of none."""
    if not bindings:
        nullable = {i.name: (False,) * len(columns(i.type)) for i in query.inputs}
        layouts = {name: Layout(DEFAULT_LAYOUT, n) for name, n in nullable.items()}
        return ExplainedData({}, {}, layouts, None)
    rows = offload(partial(bind_inputs, query, bindings, allow_sort=True))
    buffers = {name: each.most_rows() for name, each in rows.items()}
    layouts = {name: buffer.abi_layout() for name, buffer in buffers.items()}
    grids = {
        name: find_sampling_grid(buffer, costs) for name, buffer in buffers.items()
    }
    regular = {name: grid for name, grid in grids.items() if grid is not None}
    return ExplainedData(bindings, rows, layouts, regular)


def explain_stages(
    query: Query,
    compilers: Iterable[Compiler],
    data: ExplainedData,
    *,
    llvm: bool,
    asm: bool,
) -> str:
    """Format all stages, those of outputs with the same keys together.

    `compilers` has one for each set of keys.
    """
    bounded = bool(run_time_bounds(query))  # by values that only a run is given
    texts = [
        _explain_outputs(each, data, bounded=bounded, llvm=llvm, asm=asm)
        for each in compilers
    ]
    return "\n".join((*texts, *_hidden_rows(query, data)))


def _explain_outputs(
    compiler: Compiler, data: ExplainedData, *, bounded: bool, llvm: bool, asm: bool
) -> str:
    query, grids = compiler.query, data.sampling_grids
    names = [each.name for each in query.inputs]
    layouts = {name: data.layouts[name] for name in names}
    if not data.bindings or grids is None:
        return explain(query, compiler.compile_for(layouts), llvm=llvm, asm=asm)
    grids = {name: grids[name] for name in names if name in grids}
    group = make_group(compiler)
    buffers = {name: data.rows[name].most_rows() for name in names}
    hiding = group.without_hidden_rows(buffers)
    for name in hiding:
        buffer = visible_rows(buffers[name])
        layouts[name] = buffer.abi_layout()
        grid = find_sampling_grid(buffer, compiler.options.costs)
        if grid is not None:
            grids[name] = grid
    folds = explain_preaggregation(compiler, data.bindings)
    run = None
    if not isinstance(folds, list) and not bounded:
        options = RunOptions(costs=compiler.options.costs)
        run = plan_group(group, data.rows, Request(), options).plan
    compiled = compiler.compile_for(layouts)
    return explain(query, compiled, grids, folds, run, hiding, llvm=llvm, asm=asm)


def _hidden_rows(query: Query, data: ExplainedData) -> Iterator[str]:
    hidden = HiddenRows(query, lambda: row_inputs(query), Request())
    for name, rows in data.rows.items():
        hidden.add(name, rows.buffer, rows.groups)
    message = hidden.message()
    if message is not None:
        yield f"== hidden rows ==\n{message}\n"

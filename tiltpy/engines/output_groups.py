"""The outputs of a query that have the same keys, with their kernels."""

from tiltpy.compiler.query_kernels import Compiler, QueryKernels
from tiltpy.runtime.execution.output_group import OutputGroup, SharedGroups


def make_group(compiler: Compiler) -> OutputGroup[QueryKernels]:
    """Make the group of outputs of the same keys, and those of what keys share."""
    query, shared = compiler.query, None
    if query.is_keyed and not all(each.keys for each in query.inputs):
        from tiltpy.compiler.shared_objects import separate_shared  # noqa: PLC0415 - late

        separate = separate_shared(query)
        if separate is not None:
            objects, keyed = (
                Compiler(each, compiler.options)
                for each in (separate.objects, separate.keyed)
            )
            shared = SharedGroups(
                OutputGroup(objects.query, objects.compile_for),
                OutputGroup(keyed.query, keyed.compile_for),
            )
    return OutputGroup(query, compiler.compile_for, shared)

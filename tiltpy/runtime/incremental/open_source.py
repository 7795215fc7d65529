"""Open whatever an input is bound to, to be read piece by piece."""

from tiltpy.ir.nodes import Input
from tiltpy.runtime.incremental.batch_source import BatchSource
from tiltpy.runtime.incremental.event_source import EventSource, Reading
from tiltpy.runtime.incremental.sample_source import SampleSource
from tiltpy.runtime.ingest.binding import InputBinding, complete_input


def open_source(
    declared: Input, binding: InputBinding, reading: Reading
) -> EventSource:
    """Open a scan of Parquet files, an iterator of frames, or of arrays of samples.

    Or one frame or array.
    """
    settled = complete_input(declared, binding)
    if binding.samples is not None:
        return SampleSource(settled, binding, binding.samples, reading)
    return BatchSource(settled, binding, reading)

"""One run of kernels over buffers: time domains, chunks, calls, workers, stitching.

`time_run.py` follows the plan of a run, `run_chunks.py` cuts its time. Each chunk owns
a time range (its owned range) and reads a halo beside it; a carry is the snapshot that
continues into the next chunk. `keyed`, `preaggregation` and `incremental` build on it.
"""

"""One run of kernels over buffers: time domains, chunks, calls, workers, stitching.

`time_run.py` cuts the run into chunks and calls the kernels; the other files are its
parts. The ways to run (`keyed`, `preaggregation`, `incremental`) build on this room.
"""

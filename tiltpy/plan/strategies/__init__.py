"""Strategies: the facts of a loop or of a query to a plan or a refusal.

`choose.py` tries those of loops of sweep kernels in order, most special first.
`tumbling_fold.py` plans windows inside such a loop, `vector_kernel.py` a kernel, with
the refusals of its loops in `vector_loops.py`.
"""

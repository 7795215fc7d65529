"""Strategies: the facts of a kernel, a loop or a window to a plan or a refusal.

`edge_scan`, `event_scan`, `merge_scan` and `row_map` plan loops of sweep kernels, in
the order of `choose.py`; `window_algorithms` and `tumbling_fold` the windows in them.
`vector_kernel` plans a kernel, and `vector_loops` refuses its loops.
"""

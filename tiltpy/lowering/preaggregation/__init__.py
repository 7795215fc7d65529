"""The kernels of pre-aggregation: rows to states by pane and key, states to cells.

`accumulate.py` and `finalize.py` lower one each; `runtime.preaggregation` calls the
machine code.
"""

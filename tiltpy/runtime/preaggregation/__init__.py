"""Pre-aggregation: runs that accumulate rows into states by pane and key, ungrouped.

`run.py` is the entry; `Misfit` says why rows must be grouped after all.
"""

"""Reports of `python -m bench`: the table of all workloads, and the figures.

A figure is a module with `lines(chosen, wanted)`, which measures as it goes.
"""

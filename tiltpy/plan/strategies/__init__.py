"""Strategies for the loops of sweep kernels: the facts of a loop to a plan or refusal.

`choose.py` tries them in order, most special first. `tumbling_fold.py` plans windows
inside a loop.
"""

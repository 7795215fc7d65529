"""Runs by key over grouped rows: a batch of kernel calls evaluates many keys.

`keyed_run.py` is the entry. The calls of sweep and vector kernels are columns with an
entry for each key.
"""

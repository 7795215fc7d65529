"""Runs by key: many keys evaluated in one batch of kernel calls.

`keyed_run.py` is the entry; both kernels' calls are columns with an entry for each key.
"""

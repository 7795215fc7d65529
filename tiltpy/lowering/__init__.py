"""Lowering of a plan to loop IR, in a sub-package for each kind of kernel.

`sweep` lowers sweep and baseline kernels, `vector` vector kernels, `preaggregation` the
two kernels of a pre-aggregation. No file here decides whether it should be used.
"""

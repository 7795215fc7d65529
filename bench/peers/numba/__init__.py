"""The workloads as cursor loops, which Numba compiles.

Loops are plain Python functions over arrays, so that tests run them as they are.
"""

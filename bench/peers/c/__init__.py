"""The workloads in C with vectors, compiled here for this CPU.

A function takes arrays and the cells to compute; `library.py` compiles them all.
"""

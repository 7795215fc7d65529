"""Kernels of pre-aggregation: rows to states by pane and key, and states to cells."""

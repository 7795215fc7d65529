"""Arrays in memory: what kernels read and write, as numpy views.

Snapshot buffers and their time layouts, bitmaps, dictionaries of strings, and the pool
that their memory comes from.
"""

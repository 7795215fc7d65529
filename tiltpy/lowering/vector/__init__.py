"""The vector kernel: `LANES` neighbouring grid points at once.

`kernel.py` is the entry. It serves regular data, and short rows after densifying.
"""

"""The sweep kernel: one loop for each object, from change point to change point.

`kernel.py` is the entry; loops, cursors and windows each have a file. It fits any data.
"""

"""Machine code that the runtime calls between kernels, the same for all queries.

Each routine of `catalogue.py` is a kernel in loop IR (`kernels`), compiled at its first
call and kept on disk: who finds it there imports nothing that compiles.
"""

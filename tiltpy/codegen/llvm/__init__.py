"""Loop IR to LLVM IR, as text.

`module.py` emits a kernel, `drivers.py` the loops over its calls; the other files emit
expressions and instructions of one kind each.
"""

"""Loop IR to LLVM IR to machine code. The only importer of llvmlite.

`llvm` emits modules, `jit.py` compiles and loads them, `cache` keeps machine code on
disk.
"""

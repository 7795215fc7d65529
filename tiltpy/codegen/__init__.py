"""Loop IR to LLVM IR to machine code. The only importer of llvmlite.

`llvm` emits modules, `jit.py` compiles them, `machine_code.py` loads and calls what was
compiled, `cache` keeps it on disk.
"""

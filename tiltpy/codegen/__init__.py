"""Loop IR to LLVM IR to machine code. The only importer of llvmlite."""

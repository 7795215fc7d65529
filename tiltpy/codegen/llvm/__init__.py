"""Loop IR to LLVM IR, as text: one file for each kind of instruction."""

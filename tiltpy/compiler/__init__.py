"""From a query to machine code: the stages in order.

    text or Python    -> frontend   -> Query            functional IR
    Query + layouts   -> specialise -> Query            whether inputs may overlap
                      -> passes     -> Query            fused, folded, with boundaries
    Query + layouts   -> plan       -> LoopChoice, ...  a strategy for each loop
    Query + plan      -> lowering   -> LoweredKernel    loop IR and signature
                      -> codegen    -> MachineCode      LLVM
    Arrow + code      -> runtime    -> Result           chunks, workers, Arrow

Data (or `explain`) decide which layouts a query is compiled for; kernels are kept for
every combination of layouts that it has met. `stages.py` and the modules that it needs
are imported when something has to be compiled or printed: a run whose kernels are on
disk starts without them.
"""

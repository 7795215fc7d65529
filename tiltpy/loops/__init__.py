"""The loop IR: what a kernel does, as loops over arrays and scalars."""

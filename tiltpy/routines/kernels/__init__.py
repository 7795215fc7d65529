"""The kernels of routines, in loop IR."""

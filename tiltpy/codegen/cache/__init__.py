"""The compile cache: machine code on disk as plain data, found by what decides it."""

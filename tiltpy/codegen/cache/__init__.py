"""The compile cache: machine code on disk as plain data, keyed by query and options."""

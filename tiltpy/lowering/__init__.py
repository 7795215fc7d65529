"""Functional IR to loop IR: where the shape of a kernel is chosen."""

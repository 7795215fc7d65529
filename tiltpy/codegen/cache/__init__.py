"""The compile cache: products of compiling on disk (plain data and machine code).

Keyed by query, layouts, options, compiler and machine.
"""

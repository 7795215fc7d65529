"""Surface syntax to typed IR: names, units, types, time and the library.

`query.py` elaborates a whole query; each other file owns one kind of syntax.
"""

"""Arrow and files: tables, their types and time stamps, to and from numpy.

Reads whatever frame a user binds, Parquet, CSV and Arrow files, and writes them.
Events, kernels and runs are unknown here.
"""

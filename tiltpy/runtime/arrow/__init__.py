"""Arrow and files: tables, their types and timestamps, to and from numpy.

Reads the frames that users bind (one-shot frames only once), Parquet, CSV and Arrow
files, and writes them. Events, kernels and runs are unknown here.
"""

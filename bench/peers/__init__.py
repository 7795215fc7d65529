"""Peers that compute the workloads, too: a package for each language or library.

Each is written as one would write it there, and its result is compared with tiltpy's.
"""

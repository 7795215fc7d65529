"""State of runs in bounded memory between evaluations: buffered rows, progress.

Imported by the engines alone.
"""

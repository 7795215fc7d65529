"""What runs in bounded memory hold between evaluations: buffered rows, progress.

Imported by the engines alone.
"""

"""Results of runs: Arrow tables made on demand, pictures, and files.

Knows the pieces that runs produce, not their computation.
"""

"""Threads: long work beside the caller's thread, and work shared among workers.

Knows nothing of queries or data. Any room may import it.
"""

"""Threads: long work beside the caller's thread, and work shared among workers.

It is independent of queries and data.
"""

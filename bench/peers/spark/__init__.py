"""Queries by key, and Spark's own windows and aggregates that find the same."""

"""Rows as they arrive at a live session: late ones, those that wait, settled ones."""

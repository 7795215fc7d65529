"""Notebooks, by a real kernel."""

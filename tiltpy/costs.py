"""The numbers that decide between strategies, each with its unit and its source."""

from tiltpy.abi import LANES

LONGEST_TREE = 8 * LANES
"""Cells of a window that is made by doubling alone."""

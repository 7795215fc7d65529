"""The loop IR: how a query is computed, in loops over snapshot buffers."""

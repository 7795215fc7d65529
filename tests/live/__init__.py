"""Live queries: sources, sinks, and the loop between."""

"""Building blocks of every kernel: slots, values, row access and output arrays."""

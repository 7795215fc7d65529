"""States of sessions as bytes: what is read back is checked, and never code."""

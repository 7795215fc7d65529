"""The IR as `.tilt` text, which parses to the same query."""

"""Checks of the repository: names, the map, installation, examples."""

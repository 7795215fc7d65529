"""The two ways in: the `.tilt` language and the Python builder, both to the same IR."""

"""The magic `%%tilt` of IPython and notebooks: `%load_ext tiltpy`."""

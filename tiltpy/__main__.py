"""`python -m tiltpy`: the `tilt` command, also where its script is not on the path."""

import sys

from tiltpy.cli.main import main

if __name__ == "__main__":
    sys.exit(main())

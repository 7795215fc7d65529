"""Packages as in `tiltpy/`; random cases in `random`, meaning in `semantics`."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
"""The repository's root."""

GOLDEN = ROOT / "tests" / "golden"
"""Texts that `pytest --update-golden` writes."""

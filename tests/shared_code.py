"""Machine code that the processes of a test run share: LLVM compiles each text once.

Two kernels of five are compiled a second time otherwise, as tests run a query with
several settings, and have few rows for all that users would find in the cache.

Of three texts in four the instructions are selected fast, as those of long kernels are
for users: in a third of the time. Which ones, the texts decide. Where no passes are
wanted, these have the fewest, as the code is half as long then. In a deep run none of
this is done.
"""

import os
import time
from hashlib import sha256
from pathlib import Path
from typing import Protocol
from zlib import crc32

from tiltpy.codegen import jit
from tiltpy.codegen.machine_code import Effort

FOLDER = "TILTPY_TESTS_CODE"
"""The variable of the environment that has the folder."""

AS_FOR_USERS = 4
"""One text of so many is compiled at the level that users have."""


class Generate(Protocol):
    """Generates machine code, as `jit.generate` does."""

    def __call__(
        self, text: str, effort: Effort, level: int
    ) -> tuple[bytes, dict[str, float]]: ...


def share(*, deep: bool) -> None:
    """Have `jit` look into the folder first, which must be there."""
    jit.generate = _shared(jit.generate, Path(os.environ[FOLDER]), deep=deep)


def _shared(generate: Generate, folder: Path, *, deep: bool) -> Generate:
    def found_or_generated(
        text: str, effort: Effort, level: int
    ) -> tuple[bytes, dict[str, float]]:
        began = time.perf_counter()
        target = vars(jit)["host"]()  # which some tests change
        if not deep and crc32(text.encode()) % AS_FOR_USERS:
            level = 0
            effort = Effort.REGISTERS if effort is Effort.NONE else effort
        key = "\0".join((str(target), effort.value, str(level), text))
        path = folder / sha256(key.encode()).hexdigest()
        try:
            code = path.read_bytes()
        except FileNotFoundError:
            code, seconds = generate(text, effort, level)
            unfinished = path.with_suffix(f".{os.getpid()}-{time.monotonic_ns()}")
            unfinished.write_bytes(code)
            unfinished.replace(path)
            return code, seconds
        return code, {"optimize": 0.0, "machine code": time.perf_counter() - began}

    return found_or_generated

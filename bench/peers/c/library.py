"""C beside Python: the `.c` files here, compiled when they are first needed.

All functions have one form, `i64 f(void *const *in, void *const *out, i64 low, i64
high)`: the arrays they read and write, and the cells that they compute. They run
without Python's lock, so several threads can share a workload.
"""

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

COMPILERS = ("gcc", "clang", "cc")
FLAGS = (
    *("-O3", "-march=native", "-ffp-contract=off"),
    *("-Wno-psabi", "-shared", "-fPIC"),
)
SOURCES = Path(__file__).parent
Function = Callable[..., int]


def compiler() -> str | None:
    """The C compiler of this machine, if there is one that we know how to call."""
    return next((found for name in COMPILERS if (found := shutil.which(name))), None)


@cache
def library(*, plain: bool = False) -> ctypes.CDLL:
    """The compiled functions. Raises a `RuntimeError` where they cannot be had.

    `plain`: they do not ask for memory ahead of time, nor write past the caches.
    """
    command = compiler()
    if command is None:
        raise RuntimeError(
            f"no C compiler found, looked for {', '.join(COMPILERS)}; install one, or "
            "leave C out"
        )
    with TemporaryDirectory() as folder:
        made = Path(folder, "peers.so")
        sources = sorted(SOURCES.glob("*.c"))
        done = subprocess.run(  # noqa: S603 - a compiler found by its name
            [command, *FLAGS, *["-DPLAIN"] * plain, "-o", made, *sources, "-lm"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{command} failed:\n{done.stderr}")
        return ctypes.CDLL(str(made))


def function(name: str, *, plain: bool = False) -> Function:
    """A compiled function of the common form."""
    found = getattr(library(plain=plain), name)
    found.restype = ctypes.c_int64
    found.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    return found  # type: ignore[no-any-return]

"""Run queries in a Python that has lost what Windows has not: `python -m ... FOLDER`.

The names of `os`, `signal` and `mmap` that are there on POSIX alone are removed after
numpy, Arrow and LLVM were imported, and files behave as there: one that is open is
neither replaced nor removed, a directory is not opened, and only what may be written to
is synced. What Windows does besides, this does not show.
"""

import ctypes
import mmap
import os
import signal
import sys
import types
import zoneinfo  # noqa: F401 - before the platform is another
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lark  # noqa: F401
import llvmlite.binding  # noqa: F401
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

POSIX_ONLY = {
    os: (
        "O_CLOEXEC", "O_DIRECTORY", "O_NOCTTY", "O_NOFOLLOW", "O_NONBLOCK", "chown",
        "fchmod", "fork", "getegid", "geteuid", "getgid", "getpgid", "getuid", "kill",
        "killpg", "mkfifo", "nice", "posix_fadvise", "pread", "pwrite",
        "register_at_fork", "sched_getaffinity", "statvfs", "sync", "sysconf", "uname",
    ),
    signal: ("SIGALRM", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGUSR1", "pthread_kill"),
    mmap: ("MADV_HUGEPAGE", "MAP_ANON", "MAP_ANONYMOUS", "MAP_PRIVATE"),
}  # fmt: skip
MODULES = "fcntl", "grp", "posix", "pty", "pwd", "resource", "termios"
MEMORY = 1 << 33
QUERY = "input x by k : f64 point\n~y[t] = mean(~x[t-4 : t])\n"


def become_windows(folder: Path) -> None:
    """Take away what Windows has not."""
    for module, names in POSIX_ONLY.items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    os.supports_dir_fd = set()
    mapping = mmap.mmap

    def map_anonymous(descriptor: int, size: int) -> mmap.mmap:
        return mapping(descriptor, size)

    mmap.mmap = map_anonymous  # type: ignore[assignment, misc]
    _change_files()
    kernel32 = types.SimpleNamespace(GlobalMemoryStatusEx=_tell_memory)
    ctypes.windll = types.SimpleNamespace(kernel32=kernel32)  # type: ignore[attr-defined]
    sys.platform = "win32"
    os.environ.pop("XDG_CACHE_HOME", None)
    os.environ["LOCALAPPDATA"] = str(folder / "AppData" / "Local")


def _tell_memory(reference: Any) -> int:
    status = reference._obj
    status.total = MEMORY
    return 1


def _change_files() -> None:
    open_file, sync = os.open, os.fsync

    def open_no_folder(path: Any, flags: int, *args: Any, **options: Any) -> int:
        if Path(path).is_dir():
            raise PermissionError(13, "Permission denied", str(path))
        return open_file(path, flags, *args, **options)

    def sync_written(descriptor: Any) -> None:
        status = Path(f"/proc/self/fdinfo/{descriptor}").read_text()
        if not int(status.split()[3], 8) & (os.O_WRONLY | os.O_RDWR):
            raise OSError(9, "Bad file descriptor")
        sync(descriptor)

    def refuse_open(function: Callable[..., Any]) -> Callable[..., Any]:
        def change(path: Any, *others: Any, **options: Any) -> Any:
            if any(_is_open(each) for each in (path, *others[:1])):
                raise PermissionError(13, "The process cannot access the file")
            return function(path, *others, **options)

        return change

    os.open = open_no_folder
    setattr(os, "fsync", sync_written)  # noqa: B010 - of a narrower type
    for name in ("replace", "rename", "unlink", "remove"):
        setattr(os, name, refuse_open(getattr(os, name)))


def _is_open(path: Any) -> bool:
    """Tell from /proc whether this process has a file open."""
    if not isinstance(path, str | Path):
        return False
    real = os.path.realpath(path)
    links = Path("/proc/self/fd").iterdir()
    return any(os.path.realpath(link) == real for link in links)


def main(folder: Path) -> None:
    """Run queries, write files, and use the command line."""
    become_windows(folder)
    import tiltpy as tilt  # noqa: PLC0415 - the system is another now
    from tiltpy.cli.main import main as run_tilt  # noqa: PLC0415
    from tiltpy.disk_store import user_store  # noqa: PLC0415
    from tiltpy.runtime.arrays.pool import physical_memory  # noqa: PLC0415

    assert physical_memory() <= MEMORY
    rows = pa.table(
        {"k": np.arange(60_000) % 3, "t": np.arange(60_000) // 3, "x": np.ones(60_000)}
    )
    query = tilt.parse(QUERY)
    result = query.run(x=rows)
    assert result.num_rows == 60_000
    result.write_parquet(folder / "y.parquet")
    result.write_csv(folder / "y.csv")
    result.write_csv(folder / "y.csv")  # once more, over what is there
    store = user_store()
    assert store is not None
    store.put("key", b"content")
    assert store.get("key") == b"content"
    (folder / "q.tilt").write_text(QUERY, encoding="utf-8")
    run_tilt(["fmt", str(folder / "q.tilt")])
    pyarrow.parquet.write_table(rows, folder / "x.parquet")
    data = ["--input", str(folder / "x.parquet")]
    code = run_tilt(
        ["run", str(folder / "q.tilt"), *data, "--output", str(folder / "z.parquet")]
    )
    assert code == 0, code
    assert pyarrow.parquet.read_metadata(folder / "z.parquet").num_rows == 60_000
    frames = [rows.slice(first, 5_000) for first in range(0, 60_000, 5_000)]
    outcome = tilt.run_live(
        query,
        sources={"x": tilt.sources.frames(frames)},
        into={"y": tilt.sinks.folder(folder / "live")},
        late={"x": tilt.sinks.file(folder / "late.jsonl")},
        state=folder / "state",
        checkpoint="0s",
        x=tilt.ingress(late="side"),
    )
    assert outcome.rows == {"y": 60_000}, outcome
    print(store.folder)
    print(sorted(path.name for path in folder.iterdir()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Memory for outputs and scratch, whose pages are reused from run to run.

Pages fresh from the system cost three to four times what a simple query does. So large
arrays lie in regions of a pool: when the last array, or Arrow column, over a region has
gone, it serves the next one of about its size. Small arrays are Arrow's pool's, which
does the same.
"""

import ctypes
import gc
import mmap
import os
from collections import OrderedDict, deque
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path
from threading import local
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy.costs import DEFAULT_COSTS
from tiltpy.errors import DataError
from tiltpy.forks import ForkSafe
from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.arrays.dtypes import Times
from tiltpy.types import I64, NAMED, Scalar

Array = NDArray[np.generic]

HUGE_PAGE = 1 << 21
SMALL = 1 << 12
"""Bytes of an array for which nobody asks how much memory there is."""
COLOR = 128
"""Bytes from one color to the next: what a loop stores to an array in each round."""
COSTS = DEFAULT_COSTS.memory
_NUMBERS = count()


@dataclass(frozen=True, slots=True)
class Region:
    """A mapping of memory, and the range of it that is lent out."""

    mapping: mmap.mmap
    address: int
    size: int


class Lease:
    """A region on loan: arrays over it hold it, and with the last one it goes back."""

    __slots__ = ("__array_interface__", "_pool", "_region")

    def __init__(
        self, pool: "Pool", region: Region, kind: np.dtype[np.generic], count: int
    ) -> None:
        self._pool = pool
        self._region = region
        self.__array_interface__ = {
            "version": 3,
            "data": (region.address, False),
            "typestr": kind.str,
            "shape": (count,),
        }

    def __del__(self) -> None:
        self._pool.give_back(self._region)


class Pool(ForkSafe):
    """Regions of memory, in use and idle. Safe for any number of threads."""

    def __init__(self, idle_limit: int) -> None:
        super().__init__()
        self.in_use = 0
        self.idle = 0
        self._idle_limit = idle_limit
        self._regions: OrderedDict[int, list[Region]] = OrderedDict()
        """The idle regions by size, the least recently used size first."""
        self._returned: deque[Region] = deque()

    def take(self, kind: np.dtype[np.generic], count: int) -> Array:
        """Take an uninitialised array of that many items; or `MemoryError`."""
        size = size_class(count * kind.itemsize)
        with self._lock:
            self._sort_in()
            region = self._reuse(size)
            self.in_use += size
        self._settle()
        if region is None:
            region = self._map(size)
        return np.asarray(Lease(self, region, kind, count))

    def give_back(self, region: Region) -> None:
        """Take a region back.

        The garbage collector may call it anywhere, also in here: it waits for no lock.
        """
        self._returned.append(region)
        self._settle()

    def release(self, limit: int = 0) -> None:
        """Give idle memory back to the system but for so many bytes, used last."""
        with self._lock:
            self._sort_in()
            self._shrink(limit)

    def _settle(self) -> None:
        """Sort in what was returned, here or where the lock is held at the moment."""
        while self._returned and self._lock.acquire(blocking=False):
            try:
                self._sort_in()
            finally:
                self._lock.release()

    def _sort_in(self) -> None:
        while self._returned:
            region = self._returned.popleft()
            self._regions.setdefault(region.size, []).append(region)
            self._regions.move_to_end(region.size)
            self.in_use -= region.size
            self.idle += region.size
        self._shrink(self._idle_limit)

    def _reuse(self, size: int) -> Region | None:
        same = self._regions.get(size)
        if not same:
            return None
        self._regions.move_to_end(size)
        self.idle -= size
        return same.pop()

    def _shrink(self, limit: int) -> None:
        while self.idle > limit:
            size, oldest = next(iter(self._regions.items()))
            if oldest:
                oldest.pop()
                self.idle -= size
            else:
                del self._regions[size]

    def _map(self, size: int) -> Region:
        with suppress(OSError):
            return map_region(size)
        self.release()
        try:
            return map_region(size)
        except OSError as error:
            with self._lock:
                self.in_use -= size
            raise MemoryError from error


def size_class(size: int) -> int:
    """Round up to the size of a region: four sizes from one power of 2 to the next.

    What lies behind the array is never touched, and so takes no memory.
    """
    step = max(mmap.PAGESIZE, 1 << max(0, size.bit_length() - 3))
    return -(-size // step) * step


def map_region(size: int) -> Region:
    """Map a region fresh from the system, in huge pages where they pay off.

    Each begins at another color: arrays that are read and written side by side would
    otherwise share the few places that a cache has for addresses so far apart.
    """
    color = next(_NUMBERS) * COLOR % mmap.PAGESIZE
    huge = size >= COSTS.huge_page_bytes and hasattr(mmap, "MADV_HUGEPAGE")
    if hasattr(mmap, "MAP_ANONYMOUS"):
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        mapping = mmap.mmap(-1, size + color + HUGE_PAGE * huge, flags=flags)
    else:  # Windows has no flags, and shares none of it with others
        mapping = mmap.mmap(-1, size + color)
    address = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
    if huge:
        address += -address % HUGE_PAGE
        with suppress(OSError):  # a system without them
            mapping.madvise(mmap.MADV_HUGEPAGE)
    return Region(mapping, address + color, size)


def dtype_of(scalar: Scalar) -> np.dtype[np.generic]:
    """Choose the numpy type of a column: a bool takes a byte, a string its code."""
    return _DTYPES[scalar.name]


def _dtype_of(scalar: Scalar) -> np.dtype[np.generic]:
    if scalar.kind == "bool":
        return np.dtype(np.uint8)
    if scalar.is_temporal:
        return np.dtype(np.int64)
    letter = {"int": "i", "uint": "u", "float": "f", "string": "i"}[scalar.kind]
    return np.dtype(f"{letter}{scalar.bits // 8}")


_DTYPES = {name: _dtype_of(scalar) for name, scalar in NAMED.items()}


class ScratchArrays:
    """A worker's scratch arrays, kept from chunk to chunk."""

    def __init__(self) -> None:
        self._arrays: dict[tuple[str, int], Array] = {}

    def take(self, key: tuple[str, int], scalar: Scalar, size: int) -> Array:
        """Take an uninitialised array of at least that size."""
        array = self._arrays.get(key)
        if array is None or array.size < size or array.dtype != dtype_of(scalar):
            array = self._arrays[key] = allocate(scalar, size)
        return array


class ThreadScratch(local):
    """The scratch arrays of each thread."""

    def __init__(self) -> None:
        self.arrays = ScratchArrays()


def allocate(scalar: Scalar, size: int) -> Array:
    """Allocate uninitialised memory for a column."""
    kind = dtype_of(scalar)
    count = max(1, size)
    length = count * kind.itemsize
    if length > SMALL and not _would_fit(length):
        gc.collect()  # the arrays of a run that failed are in cycles with its error
        if not _would_fit(length):
            raise _out_of_memory(size)
    try:
        if length < COSTS.pooled_bytes:
            return np.frombuffer(pa.allocate_buffer(length), kind)
        return POOL.take(kind, count)
    except MemoryError:
        raise _out_of_memory(size) from None


def empty_times(size: int) -> Times:
    """Allocate uninitialised memory for times."""
    times: Times = allocate(I64, size)[:size].view(np.int64)
    return times


def _out_of_memory(size: int) -> DataError:
    return DataError(
        f"a chunk could have {size:,} snapshots, which with all the others do not fit "
        "into memory; give a shorter chunk, a smaller domain or a coarser precision"
    )


def _would_fit(length: int) -> bool:
    used = POOL.in_use + int(pa.total_allocated_bytes())
    return length + used <= physical_memory()


@cache
def physical_memory() -> int:
    """Find the bytes of memory that this machine, or this container, has.

    The system would allocate more, and kill the process when the pages are touched.
    """
    limits = [_installed_memory()]
    with suppress(OSError, ValueError):  # "max": the container has no limit
        limits.append(int(Path("/sys/fs/cgroup/memory.max").read_text("ascii")))
    return min(limits)


def _installed_memory() -> int:
    if hasattr(os, "sysconf"):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    windll: Any = getattr(ctypes, "windll")  # noqa: B009 - there on Windows alone
    status = _MemoryStatus(length=ctypes.sizeof(_MemoryStatus))
    if not windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        raise OSError("Windows does not say how much memory there is")
    return int(status.total)


class _MemoryStatus(ctypes.Structure):
    """The account that Windows gives of its memory (`MEMORYSTATUSEX`)."""

    _fields_ = (
        ("length", ctypes.c_uint32),
        ("load", ctypes.c_uint32),
        ("total", ctypes.c_uint64),
        ("free", ctypes.c_uint64),
        ("page_file", ctypes.c_uint64 * 2),
        ("address_space", ctypes.c_uint64 * 3),
    )


POOL = Pool(min(COSTS.idle_bytes, physical_memory() // 4))
"""The pool of this process."""

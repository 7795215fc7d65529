"""Arrow's memory pool, and whether pages that it frees are used again.

mimalloc, which Arrow prefers, takes huge pages, and gives freed ones back after
milliseconds: what is read portion by portion lies in pages that the system has to
clear. That took half of the time of a query by key over files.
"""

import os

import pyarrow as pa


def reuse_arrow_pages() -> None:
    """Have Arrow's memory come from jemalloc, unless the environment says otherwise.

    For a process of our own: it is the pool of all that use pyarrow in it.
    """
    has_jemalloc = "jemalloc" in pa.supported_memory_backends()
    if has_jemalloc and "ARROW_DEFAULT_MEMORY_POOL" not in os.environ:
        pa.set_memory_pool(pa.jemalloc_memory_pool())


def are_arrow_pages_reused() -> bool:
    """Tell whether what Arrow frees soon serves again."""
    return bool(pa.default_memory_pool().backend_name != "mimalloc")

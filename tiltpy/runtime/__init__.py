"""Arrow in, chunks and workers, Arrow out. The only importer of pyarrow."""

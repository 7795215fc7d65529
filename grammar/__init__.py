"""The grammar of the query language and its reference, which `README.md` begins."""

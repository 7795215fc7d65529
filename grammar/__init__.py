"""The grammar of the query language and its reference (`README.md`)."""

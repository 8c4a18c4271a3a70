"""left out: says that there is no memory when it is imported."""

raise MemoryError("no memory for a table")

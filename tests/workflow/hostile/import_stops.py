"""left out: raises StopIteration."""

raise StopIteration

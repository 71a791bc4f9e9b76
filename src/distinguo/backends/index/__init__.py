"""The index on disk and the retrievers over it."""

"""Bytes to passages: readers and chunking."""

"""One reader per kind of file: bytes to documents."""

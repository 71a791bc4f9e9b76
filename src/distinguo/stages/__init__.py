"""Small async functions over records, out of which methods are composed."""

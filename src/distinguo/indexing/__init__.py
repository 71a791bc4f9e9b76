"""Documents to passages to vectors to index: add, update, delete."""

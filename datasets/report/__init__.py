"""The report of a dataset: one page that needs no other file."""

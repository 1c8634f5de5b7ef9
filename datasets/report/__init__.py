"""The report of a dataset: a self-contained page."""

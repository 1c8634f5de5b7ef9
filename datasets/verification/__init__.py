"""Verification: everything that can be wrong with a dataset's files, found and named."""

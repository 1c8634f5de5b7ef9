"""Verification: checks that find and name every fault of a dataset's files."""

"""Verification of a dataset's files: every fault is found and named."""

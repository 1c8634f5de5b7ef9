"""Datasets for and from other libraries, a file for each format."""

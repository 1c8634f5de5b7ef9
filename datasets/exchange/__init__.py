"""Conversion of datasets to other libraries' formats, one file per format."""

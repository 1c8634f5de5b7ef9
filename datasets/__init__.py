"""Datasets: episodes in Parquet, written whole, read back checked."""

from .embedded import embedded_dataset
from .reader import Dataset, open_dataset
from .schema import DatasetInfo, Episode
from .writer import DatasetWriter

__all__ = ["Dataset", "DatasetInfo", "DatasetWriter", "Episode", "embedded_dataset", "open_dataset"]

"""Datasets: episodes in Parquet, written atomically and checked when read."""

if __name__ == "datasets":
    # Imported from the checkout's root, where this folder hides Hugging Face's package of the same name.
    from .extras import import_installed

    import_installed(__name__)
else:
    from .embedded import embedded_dataset
    from .reader import Dataset, open_dataset
    from .schema import DatasetInfo, Episode
    from .writer import DatasetWriter

__all__ = ["Dataset", "DatasetInfo", "DatasetWriter", "Episode", "embedded_dataset", "open_dataset"]

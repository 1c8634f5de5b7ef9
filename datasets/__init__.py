"""Datasets: episodes in Parquet, written atomically and checked when read."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .embedded import embedded_dataset
    from .reader import Dataset, open_dataset
    from .schema import DatasetInfo, Episode
    from .writer import DatasetWriter

if __name__ == "datasets":
    # Imported from the checkout's root, where this folder hides Hugging Face's package of the same name.
    from .extras import import_installed

    import_installed(__name__)
else:
    from ..common.lazy import lazy_names

    _MODULES = {
        ".embedded": ("embedded_dataset",),
        ".reader": ("Dataset", "open_dataset"),
        ".schema": ("DatasetInfo", "Episode"),
        ".writer": ("DatasetWriter",),
    }
    __getattr__, __dir__ = lazy_names(__name__, {name: module for module, names in _MODULES.items() for name in names})

__all__ = ["Dataset", "DatasetInfo", "DatasetWriter", "Episode", "embedded_dataset", "open_dataset"]

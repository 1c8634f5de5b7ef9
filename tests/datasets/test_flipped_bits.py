"""A flipped bit anywhere in a file without a listed checksum is found, or changes nothing that can be read."""

import base64
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import Dataset, DatasetWriter, Episode, open_dataset
from qwop.datasets.checksums import CHECKSUMS
from qwop.datasets.episode_file import ARROW_SCHEMA
from qwop.datasets.from_keys import episode_from_keys, qwop_info
from qwop.datasets.verification.command import VerifySettings, run


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The only episode of a dataset that has no list of checksums."""
    writer = DatasetWriter(tmp_path_factory.mktemp("flipped") / "data", qwop_info(frames_per_step=3, reward="shaped"))
    keys = np.repeat(np.random.default_rng(1).integers(16, size=8), 8).astype(np.uint8)
    path = writer.write(episode_from_keys(keys, writer.info, player="somebody", source="a test", epsilon=0.05))
    (writer.folder / CHECKSUMS).unlink()
    return path


def everything(dataset: Dataset) -> Any:
    """All that the library gives of a dataset's first episode."""
    episode = dataset[0]
    values = [getattr(episode, field.name) for field in fields(Episode) if field.name != "keys"]
    return (
        [value.tobytes() if isinstance(value, np.ndarray) else value for value in values],
        [frames.tobytes() for frames in episode.keys or ()],
        dataset.lengths().tolist(),
        dataset.metadata(0),
        dataset.summary().rows(),
        dataset.steps().to_csv(),
    )


def bits(content: bytes, count: int, seed: int) -> Iterator[tuple[int, int]]:
    """Places of bits: half of them anywhere, half in the footer, which no checksum of Parquet guards."""
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    random = np.random.default_rng(seed)
    for number in range(count):
        yield int(random.integers(footer if number % 2 else 0, len(content))), int(random.integers(8))


def check(path: Path, count: int, seed: int) -> None:
    right, content = everything(open_dataset(path.parent)), path.read_bytes()
    wrong = []
    try:
        for place, bit in bits(content, count, seed):
            flipped = bytearray(content)
            flipped[place] ^= 1 << bit
            path.write_bytes(flipped)
            try:
                if everything(open_dataset(path.parent)) != right:
                    wrong.append(f"bit {bit} of byte {place} is read as another value")
            except BadInput as error:
                if not str(error).startswith(f"{path}: ") or "\n" in str(error):
                    wrong.append(f"bit {bit} of byte {place}: {error}")
    finally:
        path.write_bytes(content)
    assert wrong == []


def test_a_sample_of_flipped_bits_is_found_or_harmless(path: Path) -> None:
    check(path, 100, seed=0)


@pytest.mark.exhaustive
@pytest.mark.timeout(600)
def test_two_thousand_flipped_bits_are_found_or_harmless(path: Path) -> None:
    check(path, 2000, seed=1)


def test_arrows_copy_of_the_metadata_has_to_be_the_one_that_is_hashed(path: Path) -> None:
    """Arrow's schema holds the metadata again, in base64; Arrow's reader takes them from there."""
    content = path.read_bytes()
    (encoded,) = re.findall(re.escape(ARROW_SCHEMA) + rb".{1,12}?(/////[A-Za-z0-9+/]+=*)", content, re.DOTALL)
    schema = base64.b64decode(encoded + b"=" * (-len(encoded) % 4))
    forged = base64.b64encode(schema.replace(b'"somebody"', b'"anybody" '))[: len(encoded)]
    path.write_bytes(content.replace(encoded, forged))
    try:
        assert pq.ParquetFile(path).schema_arrow.metadata[b"player"] == b'"anybody" '
        dataset = open_dataset(path.parent)
        for read in (lambda: dataset[0], lambda: dataset.metadata(0), dataset.summary, dataset.lengths):
            with pytest.raises(BadInput, match="its metadata are in it twice, and player differs between them"):
                read()
        with pytest.raises(BadInput, match=rf"{re.escape(str(path))}: .*player differs.*restore it"):
            run(VerifySettings(dataset=str(path.parent), threads=1))
    finally:
        path.write_bytes(content)

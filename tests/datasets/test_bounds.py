"""Small files that would take all memory: refused before anything in them is decoded."""

import io
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import open_dataset
from qwop.datasets.arrow import to_table
from qwop.datasets.reader import read_episode
from qwop.datasets.schema import DatasetInfo, Episode
from qwop.datasets.writer import DatasetWriter
from qwop.envs.spec import EnvironmentSpec, ObservationSpec

MANY = 60_000_000


@pytest.fixture
def table(info: DatasetInfo, make_episode: Callable[..., Episode]) -> pa.Table:
    return to_table(make_episode(), info, 0)


def bomb(table: pa.Table) -> bytes:
    """The file of an episode of which one decision has 60 million frames, all the same: a few kilobytes."""
    lengths = [MANY, 1, 1, 1, 1]
    values = pa.array(np.ones(sum(lengths), np.uint8))
    keys = pa.ListArray.from_arrays(
        pa.array(np.concatenate([[0], np.cumsum(lengths), [sum(lengths)]]), pa.int32()), values
    )
    place = table.column_names.index("keys")
    sink = io.BytesIO()
    pq.write_table(table.set_column(place, table.schema.field("keys"), keys), sink, data_page_size=2**30)
    return sink.getvalue()


def varint(number: int) -> bytes:
    """A number of Thrift's compact protocol, zigzag encoded."""
    number, made = number << 1, b""
    while number > 127:
        made, number = made + bytes([number & 127 | 128]), number >> 7
    return made + bytes([number])


def refused(path: Path, info: DatasetInfo) -> str:
    with pytest.raises(BadInput) as raised:
        read_episode(path, info)
    assert str(raised.value).startswith(f"{path}: ")
    return str(raised.value)


def test_a_decision_of_millions_of_frames_is_refused(tmp_path: Path, table: pa.Table, info: DatasetInfo) -> None:
    path = tmp_path / "episode-000000.parquet"
    path.write_bytes(data := bomb(table))
    assert len(data) < 100_000
    assert "MB or more in memory, more than the 256 MB permitted" in refused(path, info)


def test_what_the_pages_say_counts_not_what_the_footer_says(tmp_path: Path, table: pa.Table, info: DatasetInfo) -> None:
    data = bytearray(bomb(table))
    number = varint(MANY + 4)
    places = [place for place in range(len(data)) if data.startswith(number, place)]
    for place in places:  # the page's header, its statistics and the footer's two
        lie = data[:]
        lie[place : place + len(number)] = bytes([0x8A, *[0x80] * (len(number) - 2), 0])
        (tmp_path / "episode-000000.parquet").write_bytes(lie)
        refused(tmp_path / "episode-000000.parquet", info)
    assert len(places) > 1


def test_a_page_that_unpacks_to_gigabytes_is_refused(tmp_path: Path, table: pa.Table, info: DatasetInfo) -> None:
    sink = io.BytesIO()
    pq.write_table(table, sink, use_dictionary=False)
    data = sink.getvalue()
    chunk = pq.ParquetFile(sink).metadata.row_group(0).column(0)
    size = varint(4 * table.num_rows)
    place = data.index(b"\x15" + size, chunk.data_page_offset)
    path = tmp_path / "episode-000000.parquet"
    path.write_bytes(data[: place + 1] + varint(2**31 - 1) + data[place + 1 + len(size) :])
    assert "2,048 MB or more in memory" in refused(path, info)


def test_a_footer_of_gigabytes_is_refused(tmp_path: Path, info: DatasetInfo) -> None:
    path = tmp_path / "episode-000000.parquet"
    with path.open("wb") as file:
        file.truncate(2**31)
        file.seek(0, os.SEEK_END)
        file.write(struct.pack("<I", 2**31) + b"PAR1")
    assert "a footer of 2,147,483,648 bytes" in refused(path, info)


def test_a_long_game_of_pictures_is_read(tmp_path: Path, make_episode: Callable[..., Episode]) -> None:
    shape = (64, 64)
    info = DatasetInfo(EnvironmentSpec("Any-v0"), ObservationSpec(shape, "uint8"), 11)
    pictures: Any = np.random.default_rng(0).integers(255, size=(3001, *shape)).astype(np.uint8)
    DatasetWriter(tmp_path, info).write(make_episode(steps=3000, shape=shape, observations=pictures))
    assert (open_dataset(tmp_path)[0].observations == pictures).all()


def test_a_pipe_is_not_waited_for(tmp_path: Path, info: DatasetInfo) -> None:
    os.mkfifo(tmp_path / "episode-000000.parquet")
    assert "a pipe" in refused(tmp_path / "episode-000000.parquet", info)

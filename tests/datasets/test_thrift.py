"""Parquet's footer without Arrow: the same places, and no wrong bit that ends the process."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import DatasetInfo, DatasetWriter, Episode
from qwop.datasets.thrift import read_struct


def footer_of(content: bytes) -> bytes:
    return content[-8 - int.from_bytes(content[-8:-4], "little") : -8]


@pytest.fixture
def path(tmp_path: Path, info: DatasetInfo, make_episode: Callable[..., Episode]) -> Path:
    return DatasetWriter(tmp_path, info).write(make_episode())


def test_the_places_are_those_that_arrow_finds(path: Path) -> None:
    group = pq.ParquetFile(path).metadata.row_group(0)
    footer, length = read_struct(footer_of(path.read_bytes()), "its footer")
    assert length == len(footer_of(path.read_bytes()))
    (found,) = footer[4]
    for number, chunk in enumerate(found[1]):
        expected = group.column(number)
        assert chunk[3][9] == expected.data_page_offset
        assert chunk[3][7] == expected.total_compressed_size
        assert b".".join(chunk[3][3]).decode() == expected.path_in_schema


@pytest.mark.parametrize("keep", [0, 1, 50, -1])
def test_a_footer_that_is_cut_is_refused(path: Path, keep: int) -> None:
    with pytest.raises(BadInput, match="its footer"):
        read_struct(footer_of(path.read_bytes())[:keep], "its footer")


@pytest.mark.parametrize("nested", [b"\x19", b"\x1c"], ids=["lists", "structures"])
def test_what_is_nested_without_end_is_refused(nested: bytes) -> None:
    with pytest.raises(BadInput, match="a page's header is nested too deeply"):
        read_struct(nested * 60_000, "a page's header")


FLIPS = """
import sys
from pathlib import Path
from qwop.common.errors import BadInput
from qwop.datasets.folder import read_info
from qwop.datasets.reader import read_episode

path = Path(sys.argv[1])
info, content = read_info(path.parent), path.read_bytes()
end = len(content) - 8
begin = end - int.from_bytes(content[end : end + 4], "little")
for place in range(begin, end, 7):
    changed = bytearray(content)
    changed[place] ^= 1 << place % 8
    path.write_bytes(changed)
    try:
        read_episode(path, info)
    except BadInput:
        pass
print("survived")
"""


@pytest.mark.skipif(os.name == "nt", reason="a crash shows as another code there")
def test_no_wrong_bit_in_the_footer_ends_the_process(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FLIPS, str(path)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "survived\n", "")

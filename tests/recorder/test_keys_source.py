"""`source=keys`: files of keys as episodes."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import DatasetWriter, open_dataset
from qwop.envs.qwop.keys_file import write_keys
from qwop.recorder.game_writer import GameWriter
from qwop.recorder.keys_source import open_keys
from qwop.recorder.settings import KeysSettings

RUN = np.repeat([0, 5, 10, 9], [3, 20, 15, 22]).astype(np.uint8)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "games"
    folder.mkdir()
    write_keys(folder / "one.txt", RUN, "one")
    write_keys(folder / "two.txt", RUN[:30], "two")
    return folder


def record(folder: Path, *names: Path, **more: object) -> None:
    source = open_keys(KeysSettings(files=tuple(map(str, names)), player="ada", **more), folder)  # type: ignore[arg-type]
    source.record(GameWriter(DatasetWriter(folder, source.info)))
    assert source.total == sum(1 for name in names for _ in name.parent.glob(name.name))


def test_every_file_is_an_episode_with_its_keys(files: Path, tmp_path: Path) -> None:
    record(tmp_path / "data", files / "*.txt", frames_per_step=2, epsilon=0.1)
    one, two = open_dataset(tmp_path / "data")
    assert one.keys is not None
    assert two.keys is not None
    np.testing.assert_array_equal(np.concatenate(one.keys), RUN)
    np.testing.assert_array_equal(np.concatenate(two.keys), RUN[:30])
    assert (one.player, one.source, one.outcome, len(two)) == ("ada", "one.txt", "stopped", 15)
    assert one.mu == "smoothed(0.1)"


def test_each_player_is_the_one_whom_the_file_names_unless_one_is_given(files: Path, tmp_path: Path) -> None:
    for name in ("Zoë", "山田太郎"):
        runs = f"3 -\n20 QO\n15 WP\n{len(name) + 2} QP\n"
        (files / f"{name}.txt").write_text(f"# player: {name}\n{runs}", encoding="utf-8")
    with zipfile.ZipFile(files / "both.zip", "w") as archive:
        for name in ("Zoë", "山田太郎"):
            archive.write(files / f"{name}.txt", f"{name}.txt")
    zipped = open_keys(KeysSettings(files=(str(files / "both.zip"),)), tmp_path).episodes
    assert [(one.player, one.source) for one in zipped] == [(name, f"{name}.txt") for name in ("Zoë", "山田太郎")]
    names = [str(files / f"{name}.txt") for name in ("one", "Zoë", "山田太郎")]
    found = [
        [episode.player for episode in open_keys(KeysSettings(files=tuple(names), player=given), tmp_path).episodes]
        for given in (None, "ada")
    ]
    assert found == [["me", "Zoë", "山田太郎"], ["ada"] * 3]


def test_a_game_that_is_there_already_is_refused_whatever_its_file_is_called(files: Path, tmp_path: Path) -> None:
    record(tmp_path / "data", files / "one.txt")
    write_keys(files / "copy.txt", RUN, "another title")
    for name in ("copy.txt", "one.txt"):
        with pytest.raises(BadInput, match=f"{name}: .*data already contains it"):
            record(tmp_path / "data", files / name)
    with pytest.raises(BadInput, match=r"the same as .*copy\.txt"):
        record(tmp_path / "new", files / "copy.txt", files / "one.txt")
    record(tmp_path / "data", files / "two.txt")
    assert len(open_dataset(tmp_path / "data")) == 2


@pytest.mark.parametrize(
    ("name", "member", "message"),
    [
        ("none*.txt", None, "no file of such a name; expected files of keys"),
        ("bad.txt", None, "line 1"),
        ("all.zip", None, "cannot be read"),
        ("all.zip", "a.md", "no file of keys"),
        ("all.zip", "a.txt", "line 1"),
    ],
)
def test_what_is_no_file_of_keys_is_refused_in_a_line(
    name: str, member: str | None, message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if "*" not in name:
        path.write_text("nothing")
    if member is not None:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(member, "nothing")
    with pytest.raises(BadInput, match=message) as refused:
        record(tmp_path / "data", path)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "data").exists()

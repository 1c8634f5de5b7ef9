from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import DatasetWriter, open_dataset
from qwop.envs.spec import EnvironmentSpec
from qwop.recorder.published_source import open_import
from qwop.recorder.settings import ImportSettings
from qwop.recorder.source import Source

FAST = [((3, 4) * 10, 10.0, 6.0), ((3, 3, 4) * 100, 28.0, -4.0)]
SLOW = [((6, 7) * 10, 10.0, 6.0)]


@pytest.fixture
def files(tmp_path: Path, make_demo: Callable[..., Any]) -> Path:
    folder = tmp_path / "demos"
    folder.mkdir()
    np.savez(folder / "relative.npz", **make_demo(FAST))
    np.savez(folder / "absolute.npz", **make_demo(FAST, absolute=True, seed=1))
    np.savez(folder / "slow.npz", **make_demo(SLOW))
    return folder


def written(source: Source, folder: Path) -> Path:
    writer = DatasetWriter(folder, source.info)
    for episode in source.episodes:
        writer.write(episode)
    return folder


def settings(files: Path, *names: str, **more: Any) -> ImportSettings:
    return ImportSettings(files=[str(files / name) for name in names], **more)


def test_every_game_of_every_file_is_an_episode(files: Path, tmp_path: Path) -> None:
    source = open_import(settings(files, "relative.npz", "absolute.npz", player="kurodo"), tmp_path / "new")
    assert source.total == 4
    assert source.info.environment == EnvironmentSpec(
        "QWOP-v1", {"frames_per_step": 3, "reward": "shaped", "observation_lag": 1}
    )
    episodes = list(open_dataset(written(source, tmp_path / "new")))
    assert [len(episode) for episode in episodes] == [20, 300, 20, 300]
    assert [episode.outcome for episode in episodes] == ["fell", "finished", "fell", "finished"]
    assert {episode.player for episode in episodes} == {"kurodo"}
    assert [episode.source for episode in episodes] == ["relative.npz"] * 2 + ["absolute.npz"] * 2
    assert [episode.origin.game for episode in episodes] == [0, 1, 0, 1]
    for episode in episodes:
        assert (episode.keys, episode.seed, episode.terminated, episode.truncated) == (None, None, True, False)
        assert episode.mu == "smoothed(0.05)"
        taken = episode.behaviour_probabilities[np.arange(len(episode)), episode.actions]
        assert taken == pytest.approx(0.95 + 0.05 / 11)


def test_notes_report_findings_and_changes(files: Path, tmp_path: Path) -> None:
    notes = "\n".join(open_import(settings(files, "relative.npz", "absolute.npz"), tmp_path).notes)
    for expected in (
        "relative.npz: x relative to the torso and shaped reward: both kept",
        "absolute.npz: absolute x: made relative to the torso",
        "replaced by the shaped reward",
        "a decision lasts 3.34 game frames on average (3: 66%, 4: 34%)",
        "2 games, 320 decisions (fell 1, finished 1)",
        "smoothed(0.05)",
    ):
        assert expected in notes


def test_a_stopped_game_is_truncated(tmp_path: Path, make_demo: Callable[..., Any]) -> None:
    np.savez(tmp_path / "demo.npz", **make_demo([((3,) * 30, 10.0, -4.0)]))
    (episode,) = open_import(settings(tmp_path, "demo.npz"), tmp_path).episodes
    assert (episode.outcome, episode.terminated, episode.truncated) == ("stopped", False, True)


def test_epsilon_is_a_setting(files: Path, tmp_path: Path) -> None:
    source = open_import(settings(files, "relative.npz", epsilon=0.2), tmp_path)
    episode = next(source.episodes)
    assert episode.mu == "smoothed(0.2)"
    assert episode.behaviour_probabilities.min() == pytest.approx(0.2 / 11)
    with pytest.raises(BadInput, match=r"epsilon=0.0: expected"):
        open_import(settings(files, "relative.npz", epsilon=0.0), tmp_path)


def test_recordings_of_another_pace_are_not_mixed(files: Path, tmp_path: Path) -> None:
    both = settings(files, "relative.npz", "slow.npz")
    with pytest.raises(BadInput, match=r"slow\.npz: its decisions last 6 game frames, those of relative\.npz 3"):
        open_import(both, tmp_path)
    slow = open_import(settings(files, "slow.npz"), tmp_path)
    assert slow.info.environment.settings["frames_per_step"] == 6
    forced = open_import(settings(files, "relative.npz", "slow.npz", frames_per_step=4), tmp_path)
    assert forced.info.environment.settings["frames_per_step"] == 4
    with pytest.raises(BadInput, match=r"frames_per_step=0"):
        open_import(settings(files, "slow.npz", frames_per_step=0), tmp_path)


def test_a_recording_is_imported_once(files: Path, tmp_path: Path) -> None:
    dataset = tmp_path / "dataset"
    written(open_import(settings(files, "relative.npz"), dataset), dataset)
    (files / "renamed.npz").write_bytes((files / "relative.npz").read_bytes())
    for name in ("relative.npz", "renamed.npz"):
        with pytest.raises(BadInput, match=f"{name}: .*dataset already contains it; remove it"):
            open_import(settings(files, name), dataset)
    with pytest.raises(BadInput, match=r"renamed\.npz: the same as .*relative\.npz"):
        open_import(settings(files, "relative.npz", "renamed.npz"), tmp_path / "new")
    written(open_import(settings(files, "absolute.npz"), dataset), dataset)
    assert len(open_dataset(dataset)) == 4


def test_one_bad_file_stops_the_others(files: Path, tmp_path: Path) -> None:
    (files / "bad.npz").write_text("text")
    with pytest.raises(BadInput, match=r"bad\.npz: not an \.npz file"):
        open_import(settings(files, "relative.npz", "bad.npz"), tmp_path)

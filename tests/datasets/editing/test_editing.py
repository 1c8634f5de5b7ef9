"""The verbs that write a new dataset: what the new one holds, and that the old one stays."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import DatasetWriter, Episode, open_dataset
from qwop.datasets import describe_command as describe
from qwop.datasets.control import Branch
from qwop.datasets.editing import drop, merge, relabel, split, upgrade
from qwop.datasets.from_keys import episode_from_keys, qwop_info
from qwop.datasets.schema import SHARED_CONTROL
from qwop.datasets.verification.command import command as verify
from qwop.datasets.verification.command import run as run_verify

VERSION_1 = Path(__file__).parents[1] / "version_1"


def keys_of(seed: int, frames: int = 90) -> "np.ndarray[tuple[int], np.dtype[np.uint8]]":
    return np.repeat(np.random.default_rng(seed).integers(16, size=100), 6).astype(np.uint8)[:frames]


def make(folder: Path, seeds: range, player: str = "me") -> Path:
    writer = DatasetWriter(folder, qwop_info(frames_per_step=3, reward="shaped"))
    for seed in seeds:
        writer.write(
            episode_from_keys(keys_of(seed, 60 + 30 * seed), writer.info, player=player, source="a test", epsilon=0.05)
        )
    return folder


@pytest.fixture
def mine(tmp_path: Path) -> Iterator[Path]:
    """A dataset of five games, which no verb may change."""
    folder = make(tmp_path / "mine", range(5))
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}
    yield folder
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()} == before


def arrays(episodes: list[Episode]) -> list[bytes]:
    return [episode.observations.tobytes() + episode.behaviour_probabilities.tobytes() for episode in episodes]


def verified(folder: Path) -> list[Episode]:
    run_verify(verify.read([f"dataset={folder}", "replay=true", "threads=1"]))
    return list(open_dataset(folder))


def test_a_dataset_of_version_1_is_upgraded_with_the_same_content(tmp_path: Path) -> None:
    upgrade.run(upgrade.command.read([f"dataset={VERSION_1}", f"out={tmp_path / 'new'}"]))
    old, new = list(open_dataset(VERSION_1)), list(open_dataset(tmp_path / "new"))
    assert arrays(new) == arrays(old)
    for one, other in zip(new, old, strict=True):
        assert (one.source, one.origin, one.seed, one.max_idle_frames) == (
            other.source, other.origin, other.seed, other.max_idle_frames,
        )  # fmt: skip
        assert (one.created, one.software_version) == (other.created, other.software_version)
    assert open_dataset(tmp_path / "new").info.version == 3


def test_merging_puts_the_episodes_one_after_the_other(mine: Path, tmp_path: Path) -> None:
    yours, out = make(tmp_path / "yours", range(5, 7), "you"), tmp_path / "out"
    merge.run(merge.command.read([f"dataset={mine}", f"others=[{yours}]", f"out={out}"]))
    episodes = verified(out)
    assert arrays(episodes) == arrays([*open_dataset(mine), *open_dataset(yours)])
    assert [one.player for one in episodes] == ["me"] * 5 + ["you"] * 2


def test_merging_keeps_every_file_of_both_recordings(tmp_path: Path) -> None:
    one, other = make(tmp_path / "one", range(2)), make(tmp_path / "other", range(2, 4))
    for folder, report in ((one, "[1]"), (other, "[2]")):
        (folder / "recordings").mkdir(exist_ok=True)
        (folder / "recordings" / "reconstruction.json").write_text(report)
        (folder / "recordings" / "samples.npz").write_text("the same")
    both = tmp_path / "both"
    merge.run(merge.MergeSettings(str(one), (str(other),), str(both)))
    kept = {path.name: path.read_text() for path in (both / "recordings").iterdir()}
    assert kept == {"reconstruction.json": "[1]", "reconstruction-2.json": "[2]", "samples.npz": "the same"}


def test_an_episode_in_both_is_refused_or_skipped(mine: Path, tmp_path: Path) -> None:
    drop.run(drop.command.read([f"dataset={mine}", f"out={tmp_path / 'some'}", "episodes=[0,1,2]"]))
    arguments = [f"dataset={mine}", f"others=[{tmp_path / 'some'}]", f"out={tmp_path / 'out'}"]
    with pytest.raises(BadInput, match=r"episode-000000\.parquet: the same episode as .*mine/episode-000003"):
        merge.run(merge.command.read(arguments))
    assert not (tmp_path / "out").exists()
    merge.run(merge.command.read([*arguments, "duplicates=skip"]))
    assert len(verified(tmp_path / "out")) == 5


def test_datasets_of_other_settings_are_not_merged(mine: Path, tmp_path: Path) -> None:
    relabel.run(relabel.command.read([f"dataset={mine}", f"out={tmp_path / 'other'}", "reward=speed"]))
    with pytest.raises(BadInput, match="reward is shaped, not speed"):
        merge.run(merge.command.read([f"dataset={mine}", f"others=[{tmp_path / 'other'}]", f"out={tmp_path / 'out'}"]))


def test_every_episode_is_in_one_part(mine: Path, tmp_path: Path) -> None:
    out = tmp_path / "parts"
    split.run(split.command.read([f"dataset={mine}", f"out={out}", "parts={train: 0.6, test: 0.4}"]))
    train, test = verified(out / "train"), verified(out / "test")
    assert (len(train), len(test)) == (3, 2)
    assert sorted(arrays(train + test)) == sorted(arrays(list(open_dataset(mine))))


def test_the_seed_deals_the_episodes_and_shares_are_rounded() -> None:
    shares = {"few": 0.29, "many": 0.71}  # 28.999999999999996 of 100
    dealt = split.deal(100, shares, 3)
    assert dealt == split.deal(100, shares, 3)
    assert dealt != split.deal(100, shares, 4)
    assert len(dealt["few"]) == 29


@pytest.mark.parametrize(
    ("given", "names"), [([], {"train", "test"}), (["parts={first: 0.4, rest: 0.6}"], {"first", "rest"})]
)
def test_parts_have_the_names_given_or_the_usual_ones(
    mine: Path, tmp_path: Path, given: list[str], names: set[str]
) -> None:
    split.run(split.command.read([f"dataset={mine}", f"out={tmp_path / 'parts'}", *given]))
    assert {path.name for path in (tmp_path / "parts").iterdir()} == names


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"a": 0.5, "b": 0.4}, "sum to 0.9, expected 1"),
        ({"a": 0.999, "b": 0.001}, "parts.b=0.001: no episode of 5 is left for it"),
        ({"../a": 1.0}, r"parts=\.\./a: expected names of letters"),
        ({"a": 2.0}, "parts.a=2.0: expected a share"),
    ],
)
def test_impossible_parts_are_refused(parts: dict[str, float], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        split.deal(5, parts, 0)


@pytest.mark.parametrize(
    ("setting", "left"),
    [("episodes=[1,3]", [0, 2, 4]), ("shorter_than=40", [1, 2, 3, 4])],
)
def test_dropping_leaves_the_others(mine: Path, tmp_path: Path, setting: str, left: list[int]) -> None:
    old = list(open_dataset(mine))
    lengths = [len(one) for one in old]
    drop.run(drop.command.read([f"dataset={mine}", f"out={tmp_path / 'out'}", setting]))
    if setting.startswith("shorter"):
        left = [number for number, length in enumerate(lengths) if length >= 40]
    assert arrays(verified(tmp_path / "out")) == arrays([old[number] for number in left])


@pytest.mark.parametrize(("setting", "left"), [("players=[you]", [0, 1]), ("outcomes=[stopped]", [1, 2])])
def test_games_of_a_player_or_an_outcome_are_dropped(tmp_path: Path, setting: str, left: list[int]) -> None:
    folder = make(make(tmp_path / "ours", range(2)), range(2, 3), "you")
    old = list(open_dataset(folder))
    assert [one.outcome for one in old] == ["stopped", "fell", "fell"]
    drop.run(drop.command.read([f"dataset={folder}", f"out={tmp_path / 'out'}", setting]))
    assert arrays(list(open_dataset(tmp_path / "out"))) == arrays([old[number] for number in left])


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("episodes=[9]", "has no episode 9"),
        ("players=[you]", "has no player you"),
        ("players=[me]", "no episode is left"),
        ("shorter_than=0", "nothing to"),
    ],
)
def test_dropping_nothing_or_everything_is_refused(mine: Path, tmp_path: Path, setting: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        drop.run(drop.command.read([f"dataset={mine}", f"out={tmp_path / 'out'}", setting]))
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_another_reward_keeps_the_decisions(mine: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    relabel.run(
        relabel.command.read([f"dataset={mine}", f"out={out}", "reward=race", "observation=full", "shaping=0.5"])
    )
    for old, new in zip(open_dataset(mine), verified(out), strict=True):
        assert new.observations.shape == (len(old) + 1, 94)
        np.testing.assert_array_equal(new.observations[:, :71], old.observations)
        np.testing.assert_array_equal(new.behaviour_probabilities, old.behaviour_probabilities)
        np.testing.assert_array_equal(new.actions, old.actions)
        assert (new.probabilities_from, new.created) == (old.probabilities_from, old.created)
        assert (new.rewards != old.rewards).any()


@pytest.mark.parametrize(("setting", "step"), [("reward=race", 10), ("frames_per_step=2", 15)])
def test_games_of_shared_control_are_relabelled_with_who_acted(
    mine: Path, tmp_path: Path, setting: str, step: int
) -> None:
    game = open_dataset(mine)[0]
    actors = (np.arange(len(game)) >= 10).astype(np.int8)
    info = replace(open_dataset(mine).info, version=SHARED_CONTROL)
    asked = game.behaviour_probabilities[::-1].copy()
    coached = replace(game, actors=actors, policy_probabilities=asked, branch=Branch(7, 10))
    DatasetWriter(tmp_path / "coached", info).write(coached)
    relabel.run(relabel.command.read([f"dataset={tmp_path / 'coached'}", f"out={tmp_path / 'out'}", setting]))
    (found,) = open_dataset(tmp_path / "out")
    assert found.actors is not None
    assert found.times[1:][found.actors == 0].max() == game.times[10]
    assert found.branch == Branch(7, step)
    if step == 10:  # what the policy would have done at other moments is not known
        np.testing.assert_array_equal(found.policy_probabilities, asked)
    else:
        assert found.policy_probabilities is None


@pytest.mark.parametrize(("rate", "setting"), [(30, "frames_per_step=1"), (15, "frames_per_step=2")])
def test_one_recording_serves_other_decision_rates(mine: Path, tmp_path: Path, rate: int, setting: str) -> None:
    relabel.run(relabel.command.read([f"dataset={mine}", f"out={tmp_path / 'out'}", setting]))
    for old, new in zip(open_dataset(mine), verified(tmp_path / "out"), strict=True):
        assert old.keys is not None
        assert new.keys is not None
        np.testing.assert_array_equal(np.concatenate(new.keys), np.concatenate(old.keys))
        assert len(new) == -(-len(np.concatenate(old.keys)) * rate // 30)


@pytest.mark.parametrize("name", ["shaping", "fall_penalty", "push_penalty"])
def test_a_weight_that_no_dataset_may_have_is_refused_as_a_setting(name: str) -> None:
    with pytest.raises(BadInput, match=rf"^{name}=1e\+38: expected a number from 0 to 1,000,000"):
        relabel.command.read(["dataset=mine", "out=out", f"{name}=1e38"])


@pytest.mark.parametrize("rate", [9, 18])
def test_decisions_may_be_of_unequal_length(mine: Path, tmp_path: Path, rate: int) -> None:
    relabel.run(relabel.command.read([f"dataset={mine}", f"out={tmp_path / 'out'}", f"decisions_per_second={rate}"]))
    for old, new in zip(open_dataset(mine), verified(tmp_path / "out"), strict=True):
        assert old.keys is not None
        assert new.keys is not None
        np.testing.assert_array_equal(np.concatenate(new.keys), np.concatenate(old.keys))
        assert len(new) == pytest.approx(len(np.concatenate(old.keys)) * rate / 30, abs=1)
        assert {len(keys) for keys in new.keys[:-1]} == {30 // rate, 30 // rate + 1}


@pytest.mark.parametrize("made", [lambda mine: mine, lambda mine: mine / "inside"])
def test_the_old_dataset_is_no_place_for_the_new(mine: Path, made: Callable[[Path], Path]) -> None:
    with pytest.raises(BadInput, match="stays as it is"):
        upgrade.run(upgrade.command.read([f"dataset={mine}", f"out={made(mine)}"]))


def test_a_folder_in_use_is_refused(mine: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(BadInput, match="is not empty"):
        upgrade.run(upgrade.command.read([f"dataset={mine}", f"out={tmp_path / 'out'}"]))


def test_a_link_to_an_empty_folder_may_be_the_place_of_the_new(mine: Path, tmp_path: Path) -> None:
    (tmp_path / "large disk").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "large disk")
    upgrade.run(upgrade.command.read([f"dataset={mine}", f"out={tmp_path / 'out'}"]))
    assert (tmp_path / "out").is_symlink()
    assert len(open_dataset(tmp_path / "large disk")) == 5


def test_the_working_folder_is_no_place_for_the_new(
    mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(BadInput, match=r"out=\.: is the working folder"):
        upgrade.run(upgrade.command.read([f"dataset={mine}", "out=."]))


def test_what_a_killed_command_left_is_removed_by_the_next(
    mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = [f"dataset={mine}", f"out={tmp_path / 'out'}"]
    with monkeypatch.context() as killed:
        killed.setattr("shutil.rmtree", lambda *_, **__: None)
        killed.setattr(DatasetWriter, "write", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            upgrade.run(upgrade.command.read(arguments))
    assert len(list(tmp_path.iterdir())) == 2
    upgrade.run(upgrade.command.read(arguments))
    assert {path.name for path in tmp_path.iterdir()} == {"mine", "out"}


def test_names_are_printed_as_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make(tmp_path / "[b]mine", range(2), "[/you]")
    drop.run(drop.command.read([f"dataset='{folder}'", f"out={tmp_path / 'out'}", "episodes=[0]"]))
    describe.run(describe.command.read([f"dataset='{folder}'"]))
    run_verify(verify.read([f"dataset='{folder}'"]))
    printed = capsys.readouterr().out
    assert "[/you] 1" in printed
    assert "[/you] 2" in printed
    assert "[b]mine: 2 episodes" in printed


def test_an_outcome_without_brackets_is_asked_for_with_them(mine: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"outcomes=fell: expected a list in brackets of finished, fell, "):
        drop.command.read([f"dataset={mine}", f"out={tmp_path / 'out'}", "outcomes=fell"])


def test_an_interrupted_command_leaves_nothing(mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(self: DatasetWriter, episode: Episode) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(DatasetWriter, "write", interrupt)
    with pytest.raises(KeyboardInterrupt):
        upgrade.run(upgrade.command.read([f"dataset={mine}", f"out={tmp_path / 'out'}"]))
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]

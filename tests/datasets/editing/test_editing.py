"""`qwop-dataset copy` and `relabel`: what the new dataset holds, and that the old one stays."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import DatasetWriter, Episode, describe, open_dataset
from qwop.datasets.control import Branch
from qwop.datasets.editing import copy, relabel
from qwop.datasets.verify import command as verify
from qwop.datasets.verify import run as run_verify


def content(folder: Path) -> dict[Path, tuple[bytes, int]]:
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def mine(tmp_path: Path, make_games: Callable[..., Path]) -> Iterator[Path]:
    """A dataset of five games, which no verb may change."""
    folder = make_games(tmp_path / "mine")
    before = content(folder)
    yield folder
    assert content(folder) == before


def run(*arguments: str) -> None:
    copy.run(copy.command.read([*arguments]))


def arrays(episodes: list[Episode]) -> list[bytes]:
    return [episode.observations.tobytes() + episode.behaviour_probabilities.tobytes() for episode in episodes]


def verified(folder: Path) -> list[Episode]:
    run_verify(verify.read([f"dataset={folder}", "replay=true"]))
    return list(open_dataset(folder))


def test_merging_puts_the_episodes_one_after_the_other_each_once(
    mine: Path, tmp_path: Path, make_games: Callable[..., Path]
) -> None:
    yours, some, out = make_games(tmp_path / "yours", (210, 240), 5, "you"), tmp_path / "some", tmp_path / "out"
    run(f"dataset={mine}", f"out={some}", "drop_episodes=[0,1,2]")
    run(f"dataset={mine}", f"others=[{some}, {yours}]", f"out={out}")
    episodes = verified(out)
    assert arrays(episodes) == arrays([*open_dataset(mine), *open_dataset(yours)])
    assert [one.player for one in episodes] == ["me"] * 5 + ["you"] * 2


def test_every_episode_is_in_one_part_which_the_seed_decides(mine: Path, tmp_path: Path) -> None:
    out = tmp_path / "parts"
    run(f"dataset={mine}", f"out={out}", "parts={train: 0.6, test: 0.4}")
    train, test = verified(out / "train"), verified(out / "test")
    assert (len(train), len(test)) == (3, 2)
    assert sorted(arrays(train + test)) == sorted(arrays(list(open_dataset(mine))))
    shares = {"few": 0.29, "many": 0.71}  # 28.999999999999996 of 100
    assert len(copy.deal(100, shares, 3)["few"]) == 29
    assert copy.deal(100, shares, 3) == copy.deal(100, shares, 3) != copy.deal(100, shares, 4)


@pytest.mark.parametrize(
    ("setting", "left"),
    [
        ("drop_episodes=[1,2]", [0]),
        ("drop_players=[you]", [0, 1]),
        ("drop_outcomes=[stopped]", [1, 2]),
    ],
)
def test_what_a_setting_names_is_left_out(
    tmp_path: Path, make_games: Callable[..., Path], setting: str, left: list[int]
) -> None:
    folder = make_games(make_games(tmp_path / "ours", (60, 90)), (120,), 2, "you")
    old = list(open_dataset(folder))
    assert [(len(one), one.outcome) for one in old] == [(20, "stopped"), (28, "fell"), (16, "fell")]
    run(f"dataset={folder}", f"out={tmp_path / 'out'}", setting)
    assert arrays(verified(tmp_path / "out")) == arrays([old[number] for number in left])


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("drop_episodes=[9]", "has no episode 9"),
        ("drop_players=[you]", "has no player you"),
        ("drop_players=[me]", "no episode is left"),
        ("drop_outcomes=fell", r"drop_outcomes=fell: expected a list in brackets of finished, fell, "),
        ("parts={a: 0.5, b: 0.4}", "sum to 0.9, expected 1"),
        ("parts={a: 0.999, b: 0.001}", "parts.b=0.001: no episode of 5 is left for it"),
        ("parts={../a: 1.0}", r"parts=\.\./a: expected names of letters"),
        ("parts={a: 2.0}", "parts.a=2.0: expected a share"),
        ("out=../mine", "stays as it is"),
        ("out=../mine/inside", "stays as it is"),
        ("others=[../other]", "reward is shaped, not speed"),
        ("out=.", r"out=\.: is the working folder"),
        ("out=../full", "is not empty"),
    ],
)
def test_what_cannot_be_copied_or_to_there_is_refused_and_nothing_is_written(
    mine: Path,
    tmp_path: Path,
    make_games: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    setting: str,
    said: str,
) -> None:
    make_games(tmp_path / "other", (60,), reward="speed")
    for name in ("here", "full"):
        (tmp_path / name).mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    monkeypatch.chdir(tmp_path / "here")
    out = [] if setting.startswith("out=") else ["out=out"]
    with pytest.raises(BadInput, match=said):
        run(f"dataset={mine}", setting, *out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full", "here", "mine", "other"]
    assert not [*(tmp_path / "here").iterdir()]


def test_a_link_to_an_empty_folder_may_be_the_place_of_the_new(mine: Path, tmp_path: Path) -> None:
    (tmp_path / "large disk").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "large disk")
    run(f"dataset={mine}", f"out={tmp_path / 'out'}")
    assert (tmp_path / "out").is_symlink()
    assert len(open_dataset(tmp_path / "large disk")) == 5


def test_names_are_printed_as_they_are(
    tmp_path: Path, make_games: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_games(tmp_path / "[b]mine", (60, 90), player="[/you]")
    run(f"dataset='{folder}'", f"out={tmp_path / 'out'}", "drop_episodes=[0]")
    describe.run(describe.command.read([f"dataset='{folder}'"]))
    run_verify(verify.read([f"dataset='{folder}'"]))
    printed = capsys.readouterr().out
    assert "[/you] 1" in printed
    assert "[/you] 2" in printed
    assert "[b]mine: 2 episodes" in printed


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
        assert (new.mu, new.created) == (old.mu, old.created)
        assert (new.rewards != old.rewards).any()


@pytest.mark.parametrize(("setting", "step"), [("reward=race", 10), ("frames_per_step=2", 15)])
def test_games_of_shared_control_are_relabelled_with_who_acted(
    mine: Path, tmp_path: Path, setting: str, step: int
) -> None:
    game = open_dataset(mine)[0]
    actors = (np.arange(len(game)) >= 10).astype(np.int8)
    info = open_dataset(mine).info
    asked = game.behaviour_probabilities[::-1].copy()
    coached = replace(game, actors=actors, policy_probabilities=asked, branch=Branch(7, 10))
    DatasetWriter(tmp_path / "coached", info).write(coached)
    relabel.run(relabel.command.read([f"dataset={tmp_path / 'coached'}", f"out={tmp_path / 'out'}", setting]))
    (found,) = open_dataset(tmp_path / "out")
    assert found.times[1:][found.actors == 0].max() == game.times[10]
    assert found.branch == Branch(7, step)
    if step == 10:  # what the policy would have done at other moments is not known
        np.testing.assert_array_equal(found.policy_probabilities, asked)
    else:
        assert found.policy_probabilities is None


def test_a_weight_that_no_dataset_may_have_is_refused_as_a_setting() -> None:
    for name in ("shaping", "fall_penalty", "push_penalty"):
        with pytest.raises(BadInput, match=rf"^{name}=1e\+38: expected a number from 0 to 1,000,000"):
            relabel.command.read(["dataset=mine", "out=out", f"{name}=1e38"])

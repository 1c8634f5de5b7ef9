"""Behaviour probabilities of a person, re-estimated by clones that never saw the game."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import DatasetInfo, DatasetWriter, Episode, open_dataset
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.pretrain.reestimate import run
from qwop.pretrain.settings import command as main

from ..fakes import dataset_of, episode_of

INFO = DatasetInfo(EnvironmentSpec("CartPole-v1"), ObservationSpec((4,)), 2)


def reestimate(*overrides: str) -> None:
    """`qwop-dataset reestimate` without a process of its own."""
    run(main.read(["cloning.epochs=8", *overrides]))


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Games of a person who pushes right (1) with probability 0.9 where the first number is positive, else 0.2."""
    random = np.random.default_rng(0)
    writer = DatasetWriter(tmp_path / "people", INFO)
    for number in range(9):
        steps = 150
        seen = random.choice([-1.0, 1.0], size=(steps + 1, 4)).astype(np.float32)
        right = np.where(seen[:-1, 0] > 0, 0.9, 0.2)
        actions = (random.random(steps) < right).astype(np.int16)
        writer.write(episode_of(seen, actions, source=f"game {number}"))
    return writer.folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*.*")}


def probabilities(episodes: Sequence[Episode]) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities estimated for action 1, where the person pushes right and elsewhere."""
    seen = np.concatenate([episode.observations[:-1, 0] for episode in episodes])
    found = np.concatenate([episode.behaviour_probabilities[:, 1] for episode in episodes])
    return found[seen > 0], found[seen < 0]


def test_a_new_dataset_has_the_person_s_own_probabilities(
    people: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(people)
    reestimate(f"dataset={people}", f"out={tmp_path / 'new'}", "folds=3", "floor=0.002", "cloning.epochs=20")
    assert contents(people) == before
    old, new = open_dataset(people), open_dataset(tmp_path / "new")
    assert new.info == old.info
    assert [episode.source for episode in new] == [episode.source for episode in old]
    for one, other in zip(old, new, strict=True):
        assert np.array_equal(one.observations, other.observations)
        assert np.array_equal(one.actions, other.actions)
        assert other.mu == "cloned"
        assert other.behaviour_probabilities.min() >= 0.002
    right, left = probabilities(list(new))
    assert right.mean() == pytest.approx(0.9, abs=0.08)
    assert left.mean() == pytest.approx(0.2, abs=0.08)
    assert "of actions that the clones never saw" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["out={people}"], "is inside .*, which stays as it is"),
        (["folds=10"], "folds=10: expected 2 to 9"),
        (["folds=1"], "folds=1: expected"),
        (["floor=0"], "floor=0: expected"),
        (["floor=0.6"], "floor=0.6: expected a number, more than 0, less than 0.5"),
    ],
)
def test_bad_input_writes_nothing(people: Path, tmp_path: Path, overrides: list[str], message: str) -> None:
    before = contents(people)
    with pytest.raises(BadInput, match=message):
        reestimate(f"dataset={people}", f"out={tmp_path / 'new'}", *(text.format(people=people) for text in overrides))
    assert contents(people) == before
    assert not (tmp_path / "new").exists()


def test_games_of_shared_control_are_refused_before_anything_is_cloned(people: Path, tmp_path: Path) -> None:
    alone, other = list(open_dataset(people))[:2]
    shared = replace(other, actors=np.ones(len(other), dtype=np.int8))
    folder = dataset_of(tmp_path / "coached", INFO, alone, shared).folder
    with pytest.raises(BadInput, match=r"episode-000001-\w+\.parquet: a policy and a person shared control"):
        run(main.read([f"dataset={folder}", f"out={tmp_path / 'new'}", "folds=2"]))
    assert not (tmp_path / "new").exists()


def test_every_episode_is_judged_by_a_clone_that_never_saw_it(
    people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    games = {episode.source: episode.actions for episode in open_dataset(people)}
    fitted: list[set[str | None]] = []

    def counted(episodes: Sequence[Episode], *_: object) -> Mock:
        """A clone that counts: π̂(a) is the frequency of a in the episodes."""
        fitted.append({episode.source for episode in episodes})
        share = np.concatenate([episode.actions for episode in episodes]).mean()
        return Mock(probabilities=lambda states: np.tile(np.float32([1 - share, share]), (len(states), 1)))

    monkeypatch.setattr("qwop.pretrain.reestimate.clone", counted)
    for name, seed in (("one", 0), ("same", 0), ("other", 1)):
        reestimate(f"dataset={people}", f"out={tmp_path / name}", "folds=4", "floor=0.002", f"seed={seed}")
    folds = fitted[:4]
    assert folds == fitted[4:8] != fitted[8:]
    assert sorted(map(len, folds)) == [6, 7, 7, 7]
    for episode in open_dataset(tmp_path / "one"):
        (judge,) = (sources for sources in folds if episode.source not in sources)
        share = np.concatenate([actions for source, actions in games.items() if source in judge]).mean()
        assert episode.behaviour_probabilities[:, 1] == pytest.approx((1 - 0.004) * share + 0.002, abs=1e-6)

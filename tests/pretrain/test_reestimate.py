from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import DatasetInfo, DatasetWriter, Episode, open_dataset
from qwop.datasets.behaviour_probabilities import smoothed
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.pretrain.reestimate import run
from qwop.pretrain.reestimate_command import command as main

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
        writer.write(
            Episode(
                observations=seen,
                actions=actions,
                behaviour_probabilities=smoothed(actions, 2, 0.05),
                rewards=np.ones(steps, dtype=np.float32),
                times=np.arange(steps + 1.0),
                keys=None,
                terminated=True,
                truncated=False,
                outcome="terminated",
                player="a person",
                source=f"game {number}",
                mu_kind="smoothed",
                mu_epsilon=0.05,
            )
        )
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


def test_an_interrupted_one_leaves_no_dataset(people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, written = DatasetWriter.write, []

    def interrupted(self: DatasetWriter, episode: Episode) -> Path:
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(write(self, episode))
        return written[-1]

    monkeypatch.setattr(DatasetWriter, "write", interrupted)
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(KeyboardInterrupt):
        reestimate(f"dataset={people}", f"out={tmp_path / 'new'}", "folds=2", "cloning.epochs=1")
    assert len(written) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_the_seed_decides_them(people: Path, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        reestimate(f"dataset={people}", f"out={tmp_path / name}", f"seed={seed}", "folds=2", "cloning.epochs=1")
    a, b, c = (np.concatenate(probabilities(list(open_dataset(tmp_path / name)))) for name in "abc")
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["out="], "out=: expected a text"),
        (["out={people}"], "is inside .*, which stays as it is"),
        (["out={people}/new"], "is inside .*, which stays as it is"),
        (["dataset=nowhere"], "nowhere: no such folder"),
        (["folds=10"], "folds=10: expected 2 to 9"),
        (["floor=0.6"], "floor=0.6: expected a number, more than 0, less than 0.5"),
        (["+cloning.speed=1"], r"cloning\.speed: no such setting"),
        (["folds=some"], "folds=some: expected a whole number"),
    ],
)
def test_bad_input_writes_nothing(people: Path, tmp_path: Path, overrides: list[str], message: str) -> None:
    before = contents(people)
    with pytest.raises(BadInput, match=message):
        reestimate(f"dataset={people}", f"out={tmp_path / 'new'}", *(text.format(people=people) for text in overrides))
    assert contents(people) == before
    assert not (tmp_path / "new").exists()


def test_games_of_shared_control_are_refused_before_anything_is_cloned(people: Path, tmp_path: Path) -> None:
    writer = DatasetWriter(tmp_path / "coached", INFO)
    alone, other = list(open_dataset(people))[:2]
    for episode in (alone, replace(other, actors=np.ones(len(other), dtype=np.int8))):
        writer.write(episode)
    with pytest.raises(BadInput, match=r"episode-000001-\w+\.parquet: a policy and a person shared control"):
        run(main.read([f"dataset={writer.folder}", f"out={tmp_path / 'new'}", "folds=2"]))
    assert not (tmp_path / "new").exists()

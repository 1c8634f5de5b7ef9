"""A killed recorder's games are recorded by the next one."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from qwop.datasets import DatasetWriter, Episode, open_dataset
from qwop.datasets.verification import Verification
from qwop.envs.spec import EnvironmentSpec
from qwop.policies.files import save_policy
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy
from qwop.recorder.coaching.game import CoachedGame
from qwop.recorder.coaching.journal import Journals
from qwop.recorder.coaching.recording import Recording


@dataclass(frozen=True)
class Settings:
    policy: str | None
    player: str = "me"
    greedy: bool = False
    seed: int = 0
    max_idle_frames: int = 5
    epsilon: float = 0.05
    release: float = 0.3


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    spec = EnvironmentSpec("QWOP-v1", {"observation": "full", "frames_per_step": 2})
    observation, actions = spec.interface()
    network = ActorCritic(observation, actions, (16,), torch.Generator().manual_seed(1))
    return Settings(str(save_policy(tmp_path / "policy.safetensors", Policy(network, spec, observation))))


class Killed:
    """A recorder that is killed at some moment: what it wrote is there, and its journal."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.recording, self.folder = Recording(settings, folder), folder
        self.writer = DatasetWriter(folder, self.recording.info)
        self.journals = Journals(folder)
        for episode in self.recording.rescued():
            self.writer.write(episode)
        self.game: CoachedGame = self.recording.new_game()
        self.journal = self.journals.begin(self.game.first_number, self.recording.about)

    def play(self, keys: list[int]) -> None:
        self.journal.keys(keys)
        for held in keys:
            self.game.frame(held)
            self.held = held

    def go_back(self, write: bool = True) -> None:
        line = self.game.go_back(0.5, self.held)
        self.journal.back(0.5, self.game.number, self.held)
        if line is not None and write:
            self.writer.write(line)

    def kill(self) -> None:
        assert self.journals._lock is not None
        self.journals._lock.close()  # as the end of its process does


def keys(random: np.random.Generator) -> list[int]:
    return random.integers(16, size=int(random.integers(10, 50))).tolist()


@pytest.mark.parametrize("write", [True, False])
def test_the_line_under_way_is_recorded_by_the_next_recorder(settings: Settings, tmp_path: Path, write: bool) -> None:
    folder, random = tmp_path / "data", np.random.default_rng(1)
    killed = Killed(settings, folder)
    killed.play(keys(random))
    killed.go_back(write)  # killed before the line that is left was written, or after it
    killed.play([*keys(random), 0])
    lost = killed.game.episode()
    killed.kill()
    next_one = Killed(settings, folder)
    games = open_dataset(folder)
    assert [game.origin.game for game in games] == [0, 1]
    assert games[1].branch is not None
    assert np.array_equal(games[1].keys_of_frames, lost.keys_of_frames)
    assert np.array_equal(games[1].behaviour_probabilities, lost.behaviour_probabilities)
    assert next_one.game.number == 2
    assert not [*folder.glob("aside/*/game-000000.jsonl")]


def test_a_line_after_going_back_twice_in_a_row_keeps_its_own_number(settings: Settings, tmp_path: Path) -> None:
    folder, random = tmp_path / "data", np.random.default_rng(4)
    killed = Killed(settings, folder)
    for times in (2, 1):  # the second time, the line that began there is left and written
        killed.play([*keys(random), 0])
        for _ in range(times):
            killed.go_back()
    killed.play([1, *keys(random)])
    lost = killed.game.episode()
    killed.kill()
    next_one = Killed(settings, folder)
    lines = [*open_dataset(folder)]
    assert [one.origin.game for one in lines] == [0, 1, 2]
    assert np.array_equal(lines[-1].keys_of_frames, lost.keys_of_frames)
    assert next_one.game.number == 3
    next_one.kill()


def test_a_line_that_was_cut_off_costs_only_itself(settings: Settings, tmp_path: Path) -> None:
    killed = Killed(settings, tmp_path / "data")
    killed.play([1, 2, 4, 8] * 5)
    lost = killed.game.episode()
    killed.kill()
    (journal,) = tmp_path.glob("data/aside/*/*.jsonl")
    with journal.open("a") as file:
        file.write("[1, 2")
    Killed(settings, tmp_path / "data")
    (found,) = open_dataset(tmp_path / "data")
    assert np.array_equal(found.keys_of_frames, lost.keys_of_frames)


def test_another_policys_journal_is_left_alone(settings: Settings, tmp_path: Path) -> None:
    killed = Killed(settings, tmp_path / "data")
    killed.play([1] * 20)
    killed.kill()
    other = Recording(Settings(settings.policy, seed=1), tmp_path / "data")
    assert len(other.interrupted) == 0
    assert len([*tmp_path.glob("data/aside/*/*.jsonl")]) == 1


def test_a_game_that_cannot_be_played_again_has_no_journal(tmp_path: Path) -> None:
    journals = Journals(tmp_path / "data", repeats=False)
    journal = journals.begin(0, {})
    journal.keys([1, 2])
    journal.close()
    journals.remove()
    assert [*tmp_path.rglob("*")] == []


@pytest.mark.parametrize("kills", [6, pytest.param(50, marks=pytest.mark.slow)])
def test_kills_lose_nothing(settings: Settings, tmp_path: Path, kills: int) -> None:
    folder, random = tmp_path / "data", np.random.default_rng(2)
    expected: list[Episode] = []
    for _ in range(kills):
        killed = Killed(settings, folder)
        for _ in range(int(random.integers(1, 4))):
            killed.play(keys(random))
            if random.random() < 0.5:
                before = killed.game.number
                line = killed.game.episode() if killed.game.has_own else None
                killed.go_back(write=bool(random.random() < 0.5))
                if line is not None and killed.game.number != before:
                    expected.append(line)
        if not killed.game.recorded:
            expected.append(killed.game.episode())
        killed.kill()
    Killed(settings, folder)
    found = {game.origin.game: game for game in open_dataset(folder)}
    assert len(found) == len(expected)
    for line in expected:
        assert np.array_equal(found[line.origin.game].keys_of_frames, line.keys_of_frames)
    verification = Verification(folder, replay=True, threads=1)
    problems = [problem for one in verification.episodes() for problem in one.problems]
    assert [*problems, *(one for one in verification.of_folder() if not one.harmless)] == []
